// Package gitserver has real git servers for tests: repositories on disk, made by the git binary, served over HTTP,
// HTTPS with LFS, and SSH. It needs no *testing.T, so that a test script's program can use it too.
package gitserver

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Repos is a folder of bare repositories.
type Repos struct{ Dir string }

// New gives repositories in a folder that ends with the test.
func New(t testing.TB) *Repos {
	t.Helper()
	return &Repos{Dir: t.TempDir()}
}

// Repo is a repository in the folder, called <name>.git.
type Repo struct {
	// Dir of the repository on disk.
	Dir string
	// name of the repository, which can have folders.
	name string
	// commits is how many were made, for their times.
	commits int
}

// Init makes an empty repository, whose HEAD is main. Everybody who may read it may push to it.
func (r *Repos) Init(name string) (*Repo, error) {
	repo := &Repo{Dir: filepath.Join(r.Dir, name+".git"), name: name}
	if err := os.MkdirAll(repo.Dir, 0o755); err != nil { //nolint:gosec // a test's own folder
		return nil, err
	}
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "--initial-branch=main"}, {"config", "http.receivepack", "true"},
	} {
		if _, err := repo.Git(args...); err != nil {
			return nil, err
		}
	}
	return repo, nil
}

// Path is where the servers have the repository: /<name>.git.
func (r *Repo) Path() string { return "/" + r.name + ".git" }

// Remove the repository.
func (r *Repo) Remove() error { return os.RemoveAll(r.Dir) }

// Git runs git in the repository and gives what it prints.
func (r *Repo) Git(args ...string) (string, error) { return r.git(nil, args...) }

func (r *Repo) git(in io.Reader, args ...string) (string, error) {
	cmd := exec.CommandContext(context.Background(), "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = r.Dir, environment(), in
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("git %s: %w: %s", strings.Join(args, " "), err, failed.Stderr)
	}
	return strings.TrimSpace(string(out)), err
}

// environment keeps the configuration of the machine out.
func environment() []string {
	return []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
		"GIT_CONFIG_GLOBAL=/dev/null", "LC_ALL=C"}
}

// Change is a commit to be made.
type Change struct {
	// Branch it goes to, main if empty. It is made when there is none.
	Branch string
	// Onto is the commit, branch or tag it is made on: the branch itself if empty.
	Onto string
	// Rewrite makes the commit the first of the branch, as a push by force would.
	Rewrite bool
	// Message, "Change files" if empty.
	Message string
	// Author and Committer, "Alice <alice@example.org>" if empty. The committer is the author if empty.
	Author, Committer string
	// Merge are more parents of the commit.
	Merge []string
	// Files by path. One with an empty content is deleted; use Empty for one that is there and empty.
	Files map[string]string
	// Programs are files that may be executed, Links symlinks by what they say, Submodules commits of other
	// repositories. Files must hold .gitmodules for those: AddSubmodule does.
	Programs, Links, Submodules map[string]string
}

// Empty stands for the content of an empty file.
const Empty = "\x00empty"

// Commit makes a commit, as a push would, and gives its ID. Author and times are the same for every repository, so the
// same commits have the same IDs.
func (r *Repo) Commit(c Change) (string, error) {
	if c.Branch == "" {
		c.Branch = "main"
	}
	if c.Message == "" {
		c.Message = "Change files"
	}
	if c.Onto == "" && !c.Rewrite {
		c.Onto, _ = r.Git("rev-parse", "--verify", "--quiet", "refs/heads/"+c.Branch)
	}
	author := cmp.Or(c.Author, "Alice <alice@example.org>")
	r.commits++
	at := 1_700_000_000 + r.commits
	var stream bytes.Buffer
	fmt.Fprintf(&stream, "reset refs/heads/%s\n", c.Branch)
	if c.Onto != "" {
		fmt.Fprintf(&stream, "from %s\n", c.Onto)
	}
	fmt.Fprintf(&stream, "\ncommit refs/heads/%s\nauthor %s %d +0000\ncommitter %s %d +0000\n", c.Branch, author, at,
		cmp.Or(c.Committer, author), at)
	fmt.Fprintf(&stream, "data %d\n%s\n", len(c.Message), c.Message)
	for _, parent := range c.Merge {
		fmt.Fprintf(&stream, "merge %s\n", parent)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Files)) {
		if content := c.Files[name]; content == "" {
			fmt.Fprintf(&stream, "D %s\n", quoted(name))
		} else {
			write(&stream, "100644", name, strings.TrimPrefix(content, Empty))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Programs)) {
		write(&stream, "100755", name, c.Programs[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.Links)) {
		write(&stream, "120000", name, c.Links[name])
	}
	for _, name := range slices.Sorted(maps.Keys(c.Submodules)) {
		fmt.Fprintf(&stream, "M 160000 %s %s\n", c.Submodules[name], quoted(name))
	}
	if err := r.Import(&stream); err != nil {
		return "", err
	}
	return r.Git("rev-parse", "refs/heads/"+c.Branch)
}

func write(stream *bytes.Buffer, mode, name, content string) {
	fmt.Fprintf(stream, "M %s inline %s\ndata %d\n%s\n", mode, quoted(name), len(content), content)
}

// quoted is a path as git fast-import reads it.
func quoted(name string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(name) + `"`
}

// Import reads a stream of git fast-import: the quick way to many files.
func (r *Repo) Import(stream io.Reader) error {
	_, err := r.git(stream, "fast-import", "--quiet", "--force")
	return err
}

// Tag gives a commit or branch a name; with a message the tag is an object of its own.
func (r *Repo) Tag(name, target, message string) error {
	args := []string{"-c", "user.name=Alice", "-c", "user.email=alice@example.org", "tag", "--force"}
	if message != "" {
		args = append(args, "--annotate", "--message", message)
	}
	_, err := r.Git(append(args, name, target)...)
	return err
}

// DeleteBranch deletes a branch.
func (r *Repo) DeleteBranch(name string) error {
	_, err := r.Git("update-ref", "-d", "refs/heads/"+name)
	return err
}

// SetHead says which branch is the default one.
func (r *Repo) SetHead(branch string) error {
	_, err := r.Git("symbolic-ref", "HEAD", "refs/heads/"+branch)
	return err
}

// AddSubmodule puts a commit of another repository at a path of main, and its URL into .gitmodules.
func (r *Repo) AddSubmodule(path, url, commit string) (string, error) {
	before, _ := r.Git("show", "main:.gitmodules")
	entry := fmt.Sprintf("%s\n[submodule %q]\n\tpath = %s\n\turl = %s\n", before, path, path, url)
	return r.Commit(Change{Message: "Add a submodule", Files: map[string]string{".gitmodules": entry},
		Submodules: map[string]string{path: commit}})
}
