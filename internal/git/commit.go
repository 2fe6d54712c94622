package git

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// mostCommit is how large a commit's or tag's own text may be.
const mostCommit = 1 << 20

// Commit is what a ref names.
type Commit struct {
	// ID of the commit and of its tree.
	ID, Tree string
	// Ref is the short name of the branch or tag it was found by, "" if by its ID.
	Ref string
	// Author is who wrote it, by name, and Subject its first line; both at most 300 characters.
	Author, Subject string
	// Time of the commit, in UTC.
	Time time.Time
}

// Resolve says what a branch, a tag, a full commit ID or a name like refs/heads/main is now, as of the last fetch. "" and
// "HEAD" are the remote's HEAD. A branch wins over a tag of its name. ErrNoRef when there is no such thing, ErrEmpty when
// that is not known until a fetch succeeds.
func (m *Mirror) Resolve(ctx context.Context, ref string) (Commit, error) {
	id, name, err := m.known().find(ref)
	if err != nil {
		return Commit{}, err
	}
	object, err := m.readers.read(ctx, id+"^{commit}", "commit", mostCommit)
	if isMissing(err) {
		return Commit{}, m.noCommit(ctx, ref, id)
	}
	if err != nil {
		return Commit{}, fmt.Errorf("resolve %s: %w", ref, err)
	}
	commit, err := parseCommit(object.data)
	if err != nil {
		return Commit{}, fmt.Errorf("resolve %s: commit %s: %w", ref, object.id, err)
	}
	commit.ID, commit.Ref = object.id, name
	return commit, nil
}

// noCommit says why there is no commit of an ID. What a branch or a tag names was fetched with it, so that it is here
// unless the mirror was damaged.
func (m *Mirror) noCommit(ctx context.Context, ref, id string) error {
	err := m.readers.stream(ctx, id, "commit", func(string, int64, io.Reader) error { return nil })
	if isID(ref) || !isMissing(err) { // a tag may name what is no commit
		return fail(ErrNoRef, "there is no commit %s", id)
	}
	m.suspect.Store(true)
	return fail(ErrEmpty, "the mirror has lost commit %s: the next fetch brings it", id)
}

// parseCommit reads the text of a commit. Only its tree must be right; people write the rest.
func parseCommit(data []byte) (Commit, error) {
	var c Commit
	headers, message, _ := strings.Cut(string(data), "\n\n")
	for line := range strings.Lines(headers) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case key == "tree" && c.Tree == "":
			c.Tree = value
		case key == "author" && c.Author == "":
			c.Author, _ = parsePerson(value)
		case key == "committer" && c.Time.IsZero():
			_, c.Time = parsePerson(value)
		}
	}
	if !isID(c.Tree) {
		return Commit{}, fmt.Errorf("it has no tree")
	}
	subject, _, _ := strings.Cut(strings.TrimLeft(message, "\n"), "\n")
	c.Subject = short(subject)
	return c, nil
}

// parsePerson reads "Name <mail> 1700000000 +0100".
func parsePerson(text string) (name string, at time.Time) {
	name, rest, _ := strings.Cut(text, "<")
	_, rest, _ = strings.Cut(rest, "> ")
	seconds, _, _ := strings.Cut(rest, " ")
	if n, err := strconv.ParseInt(seconds, 10, 64); err == nil && 0 <= n && n < 1<<40 {
		at = time.Unix(n, 0).UTC()
	}
	return short(name), at
}
