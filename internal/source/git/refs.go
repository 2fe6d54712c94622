package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// remoteHead is what the remote's HEAD was at the last fetch. The mirror's own HEAD names the branch that the remote's
// does or, when that is not known or none, remoteHead.
const remoteHead = "refs/cairn/HEAD"

// refs are all branches and tags as they were at the end of a fetch, so that no caller sees half of one. The zero
// value is that of a mirror that no fetch has filled.
type refs struct {
	// ids by full name; of an annotated tag the tag's own. Empty, not nil, when the remote has no branch and no tag.
	ids map[string]string
	// head is the full name of the branch that the remote's HEAD names, remoteHead when it names none.
	head string
}

// mostRefs is how much git may print of all branches and tags.
const mostRefs = 8 << 20

// readRefs reads them from a repository on the disk. It fails with a *gitError when that is broken: an object that
// a ref names is asked for its type.
func (m *Mirror) readRefs(ctx context.Context, repo string) (refs, error) {
	out, err := m.run(ctx, command{repo: repo, most: mostRefs, args: []string{"for-each-ref", "--format=%(HEAD) " +
		"%(objectname) %(refname) %(objecttype)"}})
	if errors.Is(err, ErrTooLarge) {
		return refs{}, fail(ErrMirrorTooLarge, "the repository has more branches and tags than Cairn reads, which "+
			"is %d MiB of their names, about 80,000: delete some", mostRefs>>20)
	}
	if err != nil {
		return refs{}, err
	}
	return parseRefs(out), nil
}

// parseRefs reads lines of "* <id> <name> <type>", where the star is at HEAD's branch and a space at others.
func parseRefs(out []byte) refs {
	r := refs{ids: map[string]string{}, head: remoteHead}
	for line := range bytes.Lines(out) {
		fields := strings.Fields(string(line[1:]))
		if len(fields) < 2 {
			continue
		}
		r.ids[fields[1]] = fields[0]
		if line[0] == '*' {
			r.head = fields[1]
		}
	}
	return r
}

// publish shows all callers what a fetch received.
func (m *Mirror) publish(r refs) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refs = r
}

func (m *Mirror) known() refs {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.refs
}

// find returns the object that a ref names, and the ref's short name. "" and "HEAD" are the remote's HEAD. A full ID is
// always that commit, whatever branch may have such a name.
func (r refs) find(ref string) (id, name string, err error) {
	switch {
	case r.ids == nil:
		return "", "", errEmpty
	case (ref == "" || ref == "HEAD") && r.ids[r.head] == "":
		return "", "", fail(ErrNoRef, "the remote's HEAD names no branch that there is: name a branch, a tag "+
			"or a commit")
	case ref == "" || ref == "HEAD":
		return r.ids[r.head], shortName(r.head), nil
	case isID(ref):
		return ref, "", nil
	}
	candidates := []string{"refs/heads/" + ref, "refs/tags/" + ref}
	if strings.HasPrefix(ref, "refs/heads/") || strings.HasPrefix(ref, "refs/tags/") {
		candidates = []string{ref} // a tag may have that for a name
	}
	for _, name := range candidates {
		if id := r.ids[name]; id != "" {
			return id, shortName(name), nil
		}
	}
	return "", "", fail(ErrNoRef, "there is no branch or tag %.255q, nor is that the full ID of a commit: "+
		"correct the ref", ref)
}

// shortName of a branch or a tag, "" of what is none.
func shortName(ref string) string {
	for _, prefix := range []string{"refs/heads/", "refs/tags/"} {
		if name, ok := strings.CutPrefix(ref, prefix); ok {
			return name
		}
	}
	return ""
}

// isID reports whether text is a full object ID, in lower case as git writes it.
func isID(text string) bool {
	return (len(text) == 40 || len(text) == 64) && strings.Trim(text, "0123456789abcdef") == ""
}

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

// Resolve returns the commit of a branch, a tag, a full commit ID or a name like refs/heads/main, as of the last
// fetch. "" and "HEAD" are the remote's HEAD. A branch wins over a tag of its name. ErrNoRef when there is none,
// ErrMirrorTooLarge when the fetch of the commit was stopped, ErrEmpty when that is not known until a fetch succeeds.
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

// noCommit is the error when there is no commit of an ID. What a branch or a tag names was fetched with it, so that
// it is here unless the mirror was damaged.
func (m *Mirror) noCommit(ctx context.Context, ref, id string) error {
	err := m.readers.stream(ctx, id, "commit", func(string, int64, io.Reader) error { return nil })
	if isID(ref) || !isMissing(err) { // a tag may name what is no commit
		if err := m.oversized.find(id); err != nil {
			return fmt.Errorf("commit %s: %w", id, err)
		}
		return fail(ErrNoRef, "there is no commit %s", id)
	}
	m.suspect.Store(true)
	return fail(ErrEmpty, "the mirror has lost commit %s: the next fetch restores it", id)
}

// parseCommit reads the text of a commit. Only its tree must be right; its author writes the rest.
func parseCommit(data []byte) (Commit, error) {
	var c Commit
	headers, message, _ := strings.Cut(string(data), "\n\n")
	for line := range strings.Lines(headers) {
		key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		switch {
		case key == "tree" && c.Tree == "":
			c.Tree = value
		case key == "author" && c.Author == "":
			c.Author, _ = parseIdent(value)
		case key == "committer" && c.Time.IsZero():
			_, c.Time = parseIdent(value)
		}
	}
	if !isID(c.Tree) {
		return Commit{}, fmt.Errorf("it has no tree")
	}
	subject, _, _ := strings.Cut(strings.TrimLeft(message, "\n"), "\n")
	c.Subject = short(subject)
	return c, nil
}

// parseIdent reads "Name <mail> 1700000000 +0100".
func parseIdent(text string) (name string, at time.Time) {
	name, rest, _ := strings.Cut(text, "<")
	_, rest, _ = strings.Cut(rest, "> ")
	seconds, _, _ := strings.Cut(rest, " ")
	if n, err := strconv.ParseInt(seconds, 10, 64); err == nil && 0 <= n && n < 1<<40 {
		at = time.Unix(n, 0).UTC()
	}
	return short(name), at
}
