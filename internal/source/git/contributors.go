package git

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Contributor is a user whom a commit names. The writer of the commit chose these texts.
type Contributor struct {
	Name, Email string
	// Commit is the ID of the newest commit that names the user.
	Commit string
	// Committer reports that the commit names the user as its committer, and not as an author.
	Committer bool
}

// mostCommits is how many commits Contributors reads, and mostPathspecs how many paths git is given.
const (
	mostCommits   = 5_000
	mostPathspecs = 500
)

// Contributors lists who wrote the commits that changed any of the paths, among those that the commit to has and the
// commit from has not, newest first. Without paths, or with too many for git, it lists all of these commits.
// Unexplained are paths that none of them changed: their history was rewritten, or a merge took them from an older
// commit. ErrNoRef when there is no such commit, ErrTooLarge when there are more than 5,000.
func (m *Mirror) Contributors(ctx context.Context, from, to string, paths []string) (found []Contributor,
	unexplained []string, err error) {
	for _, id := range []string{from, to} {
		if err := m.hasCommit(ctx, id); err != nil {
			return nil, nil, err
		}
	}
	if len(paths) > mostPathspecs {
		paths = nil
	}
	ctx, cancel := context.WithTimeout(ctx, m.o.Timeout)
	defer cancel()
	// Names of a merge are of files that no parent has (-c): the others are explained by the commits of that parent.
	// Git follows only the parent of a merge that has the same files, if that is in the range: so the user who merged
	// is listed where the result is in no such parent.
	log := func(options ...string) ([]byte, error) {
		args := append([]string{"--literal-pathspecs", "log"}, options...)
		args = append(append(args, "--end-of-options", from+".."+to, "--"), paths...)
		out, err := m.run(ctx, command{args: args, most: mostListing})
		if err != nil {
			return nil, explain(fmt.Sprintf("list the commits from %s to %s", from, to), err)
		}
		return out, nil
	}
	ids, err := log("--format=tformat:%H", "--max-count="+strconv.Itoa(mostCommits+1))
	if err != nil {
		return nil, nil, err
	}
	commits := strings.Fields(string(ids))
	if len(commits) > mostCommits {
		return nil, nil, fail(ErrTooLarge, "there are more than %d commits from %s to %s", mostCommits, from, to)
	}
	if found, err = m.contributors(ctx, commits); err != nil || len(paths) == 0 {
		return found, nil, err
	}
	names, err := log("--format=", "--name-only", "--no-renames", "-c", "-z")
	if err != nil {
		return nil, nil, err
	}
	changed := map[string]bool{}
	for name := range bytes.SplitSeq(names, []byte{0}) {
		changed[string(name)] = true
	}
	for _, path := range paths {
		if !changed[path] {
			unexplained = append(unexplained, path)
		}
	}
	return found, unexplained, nil
}

// CommitContributors are the authors and the committer of one commit.
func (m *Mirror) CommitContributors(ctx context.Context, id string) ([]Contributor, error) {
	return m.contributors(ctx, []string{id})
}

// contributors are the users that commits name, each once.
func (m *Mirror) contributors(ctx context.Context, commits []string) (found []Contributor, err error) {
	known := map[Contributor]bool{}
	for _, id := range commits {
		object, err := m.readers.read(ctx, id, "commit", mostCommit)
		if err != nil {
			return nil, fmt.Errorf("read commit %s: %w", id, err)
		}
		for _, p := range parseContributors(string(object.data)) {
			if !known[p] {
				known[p] = true
				p.Commit = id
				found = append(found, p)
			}
		}
	}
	return found, nil
}

// parseContributors are the users that the text of a commit names: all of its authors and committers, whichever of them
// git shows, and its co-authors, which squashed commits have.
func parseContributors(commit string) (found []Contributor) {
	headers, message, _ := strings.Cut(commit, "\n\n")
	add := func(ident string, committer bool) {
		name, rest, _ := strings.Cut(ident, "<")
		email, _, _ := strings.Cut(rest, ">")
		if p := (Contributor{Name: short(name), Email: short(email), Committer: committer}); p !=
			(Contributor{Committer: committer}) {
			found = append(found, p)
		}
	}
	for line := range strings.Lines(headers) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		if key == "author" || key == "committer" {
			add(value, key == "committer")
		}
	}
	for line := range strings.Lines(message) {
		key, value, _ := strings.Cut(line, ":")
		if strings.EqualFold(strings.TrimSpace(key), "co-authored-by") {
			add(value, false)
		}
	}
	return found
}
