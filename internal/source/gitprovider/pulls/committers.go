package pulls

import (
	"context"
	"slices"
)

// maxCommits is the maximum number of commits of a pull request whose users are read: that of GitHub.
const maxCommits = 250

// Committers is a Client of a Git provider that knows the users of commits. It knows them by what a commit has in it, which
// its author chooses, unless the Git provider requires signatures.
type Committers interface {
	// Committers returns the logins of the authors and committers of the commits of a pull request with a head, each once.
	// One is empty if the Git provider does not know a user, has another head now, or lists not all commits.
	Committers(ctx context.Context, number int, head string) ([]string, error)
}

// committed is a commit with the logins of its author and committer.
type committed struct {
	id     string
	logins []string
}

// committers returns the logins of commits that include the head, and with it all that the pull request has of this head.
func committers(commits []committed, head string) (logins []string) {
	complete := false
	for _, c := range commits {
		complete = complete || c.id == head
		logins = append(logins, c.logins...)
	}
	if !complete {
		logins = append(logins, "")
	}
	slices.Sort(logins)
	return slices.Compact(logins)
}
