package git

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/test/gitserver"
)

// names are the persons as test tables have them: "Alice", or "Bob, committer".
func names(found []Contributor) (names []string) {
	for _, p := range found {
		name := p.Name
		if p.Committer {
			name += ", committer"
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// TestAuthorsOfCommits checks who is listed for a file that changed between two commits.
func TestAuthorsOfCommits(t *testing.T) {
	f := newFixture(t, Options{})
	by := func(author string, more gitserver.Change) string {
		more.Author, more.Committer = author+" <"+author+"@example.org>", "Web <web@example.org>"
		return f.change(more)
	}
	file := func(content string) map[string]string { return map[string]string{"net/main.tf": content} }
	other := func(content string) map[string]string { return map[string]string{"docs/a.md": content} }
	old := by("Olga", gitserver.Change{Files: file("old")})
	base := by("Ben", gitserver.Change{Files: file("base")})
	two := by("Carol", gitserver.Change{Files: file("two")})
	by("Dora", gitserver.Change{Files: other("unrelated")})
	head := by("Dan", gitserver.Change{Files: file("three"),
		Message: "Fix it\n\nco-authored-by: Eve <eve@example.org>\n"})
	branch := by("Frank", gitserver.Change{Branch: "feature", Onto: base, Files: file("feature")})
	merged := by("Grace", gitserver.Change{Branch: "merged", Onto: base, Merge: []string{branch},
		Files: file("feature")})
	evil := by("Mallory", gitserver.Change{Branch: "evil", Onto: base, Merge: []string{branch}, Files: file("mixed")})
	revived := by("Mallory", gitserver.Change{Branch: "revived", Onto: old, Files: other("old")})
	hidden := by("Mallory", gitserver.Change{Branch: "hidden", Onto: base, Merge: []string{revived},
		Files: map[string]string{"net/main.tf": "old", "docs/a.md": "old"}})
	f.fetch()
	for name, tt := range map[string]struct {
		from, to    string
		paths       []string
		want        []string
		unexplained []string
	}{
		"authors, co-authors and committers of all commits": {base, head, []string{"net/main.tf"},
			[]string{"Carol", "Dan", "Eve", "Web, committer"}, nil},
		"only those since the commit": {two, head, []string{"net/main.tf"},
			[]string{"Dan", "Eve", "Web, committer"}, nil},
		"of any file": {two, head, nil, []string{"Dan", "Dora", "Eve", "Web, committer"}, nil},
		"no commits":  {head, head, []string{"net/main.tf"}, nil, []string{"net/main.tf"}},
		"a merge that takes a branch as it is": {base, merged, []string{"net/main.tf"},
			[]string{"Frank", "Web, committer"}, nil},
		"a merge with another result than its branches": {base, evil, []string{"net/main.tf"},
			[]string{"Frank", "Mallory", "Web, committer"}, nil},
		"a push by force to an older commit": {base, old, []string{"net/main.tf"}, nil, []string{"net/main.tf"}},
		"a merge of older code":              {base, hidden, []string{"net/main.tf"}, nil, []string{"net/main.tf"}},
	} {
		found, unexplained, err := f.m.Contributors(t.Context(), tt.from, tt.to, tt.paths)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, names(found)) + cmp.Diff(tt.unexplained, unexplained); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
	found, err := f.m.CommitContributors(t.Context(), head)
	if diff := cmp.Diff([]string{"Dan", "Eve", "Web, committer"}, names(found)); diff != "" || err != nil {
		t.Errorf("-want +got:\n%s%v", diff, err)
	}
	_, _, err = f.m.Contributors(t.Context(), "1111111111111111111111111111111111111111", head, nil)
	fails(t, err, ErrNoRef, "there is no commit")
}

// TestPeopleOfACommit checks that no text of a commit hides a person whom it names.
func TestPeopleOfACommit(t *testing.T) {
	commit := "tree 4b825dc642cb6eb9a060e54bf8d69288fbee4904\n" +
		"author Al\x01ice <alice@example.org> 1 +0000\nauthor Bob <bob@example.org> 1 +0000\ncommitter " +
		"<web@example.org> 1 +0000\ngpgsig -----BEGIN\n author Nobody <no@example.org>\n\nFix it\n\nauthor Nobody " +
		"<no@example.org>\nCO-AUTHORED-BY: Carol <carol@example.org>\n"
	want := []Contributor{
		{Name: "Al ice", Email: "alice@example.org"}, {Name: "Bob", Email: "bob@example.org"},
		{Email: "web@example.org", Committer: true},
		{Name: "Carol", Email: "carol@example.org"},
	}
	if diff := cmp.Diff(want, parseContributors(commit)); diff != "" {
		t.Error(diff)
	}
}
