package pulls

import (
	"context"
	"errors"
	"slices"

	"github.com/google/go-github/v88/github"
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

type giteaCommit struct {
	SHA string
	// Author and Committer are those of the server; nil if it has no user with the address in the commit.
	Author, Committer *giteaUser
}

// Committers implements Committers.
func (g *gitea) Committers(ctx context.Context, number int, head string) ([]string, error) {
	found, err := list[giteaCommit](ctx, g, g.pullPath(number)+"/commits", maxCommits)
	if errors.Is(err, ErrTooMany) {
		return []string{""}, nil
	}
	var commits []committed
	for _, c := range found {
		one := committed{id: c.SHA}
		for _, user := range []*giteaUser{c.Author, c.Committer} {
			if user == nil {
				user = &giteaUser{}
			}
			one.logins = append(one.logins, user.Login)
		}
		commits = append(commits, one)
	}
	return committers(commits, head), err
}

// gitHubWeb is the committer of commits that users create in the pages of GitHub.
const gitHubWeb = "web-flow"

// Committers implements Committers.
func (g *gitHub) Committers(ctx context.Context, number int, head string) ([]string, error) {
	var commits []committed
	for options := (&github.ListOptions{PerPage: gitHubPage}); ; {
		page, response, err := g.api.PullRequests.ListCommits(ctx, g.owner, g.name, number, options)
		if err != nil {
			return nil, failed(ctx, err)
		}
		for _, c := range page {
			one := committed{c.GetSHA(), []string{c.GetAuthor().GetLogin()}}
			if by := c.GetCommitter().GetLogin(); by != gitHubWeb {
				one.logins = append(one.logins, by)
			}
			commits = append(commits, one)
		}
		if options.Page = response.NextPage; options.Page == 0 {
			break
		}
	}
	if len(commits) >= maxCommits {
		return []string{""}, nil
	}
	return committers(commits, head), nil
}
