package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cairn.dev/cairn/test/gitserver"
)

// hidden makes a commit that no branch and no tag has.
func (f *fixture) hidden(content string) string {
	f.Helper()
	id := f.change(gitserver.Change{Branch: "pull", Files: map[string]string{"main.tf": content}})
	_, err := f.repo.Git("update-ref", "refs/pull/"+id+"/head", id)
	f.must(err)
	f.must(f.repo.DeleteBranch("pull"))
	return id
}

func TestUnavailableCommitDoesNotBlockOtherCommits(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	main := f.commit(map[string]string{"main.tf": "a"})
	bad, err := f.repo.Git("hash-object", "-t", "commit", "-w", "--literally",
		f.file("tree "+strings.Repeat("0", 40)+"\n\nno author\n"))
	f.must(err)
	_, err = f.repo.Git("update-ref", "refs/pull/bad/head", bad)
	f.must(err)
	one, two := f.hidden("one"), f.hidden("two")
	var unknown []string
	for n := range 5 {
		unknown = append(unknown, strings.Repeat(fmt.Sprintf("%02d", n+10), 20))
	}
	wanted := append([]string{"--upload-pack=x", unknown[0], one, bad}, unknown[1:]...)
	err = f.m.Fetch(t.Context(), f.remote(), FetchOptions{Commits: append(wanted, two)})
	fails(t, err, ErrNoRef, "no such commit: --upload-pack=x, "+unknown[0]+", "+unknown[1]+" and 3 more")
	fails(t, err, ErrNoRef, "commit "+bad)
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than a line: %q", err)
	}
	f.at("main", main)
	f.at(one, one)
	f.at(two, two)
	f.at(bad, "")
}

// file with a content, for git to read.
func (f *fixture) file(content string) string {
	f.Helper()
	name := filepath.Join(f.TempDir(), "file")
	f.must(os.WriteFile(name, []byte(content), 0o600))
	return name
}

// wellFor makes a server be down after some connections.
func wellFor(connections int) func(gitserver.Request) int {
	return func(r gitserver.Request) int {
		if strings.HasSuffix(r.Path, "/info/refs") {
			connections--
		}
		if connections < 0 {
			return 503
		}
		return 0
	}
}

func TestFailureForOneCommitDoesNotFailTheFetch(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{Submodules: true})
	f.commit(map[string]string{"main.tf": "a"})
	f.fetch()
	id := f.hidden("pull")
	next := f.commit(map[string]string{"main.tf": "b"})
	f.http.AnswerBy(wellFor(1)) // git asks for refs, then for the commit
	err := f.m.Fetch(t.Context(), f.remote(), FetchOptions{Commits: []string{id}})
	fails(t, err, ErrNoRef, "commit "+id+": fetch "+f.remote().URL+": the server does not answer")
	if errors.Is(err, ErrUnreachable) || Reason(err) != "RefNotFound" {
		t.Errorf("it is %s too", Reason(err))
	}
	f.at("main", next)

	// The commit of a submodule may exist, so the error asks no user to correct it.
	_, err = f.repo.AddSubmodule("modules", "../infra.git", id)
	f.must(err)
	f.http.AnswerBy(nil)
	f.fetch()
	f.http.AnswerBy(wellFor(2)) // for the name of HEAD too, as it is the first time
	_, err = f.archive("modules")
	fails(t, err, ErrUnreachable, "submodule modules")
	f.http.AnswerBy(nil)
	_, err = f.archive("modules")
	f.must(err)
}

func TestRefsAreNotUpdatedWhileHEADIsUnknown(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	first := f.commit(map[string]string{"main.tf": "a"})
	f.fetch()
	before := f.m.Refs()
	next := f.change(gitserver.Change{Branch: "next", Files: map[string]string{"main.tf": "b"}})
	f.must(f.repo.SetHead("next"))
	f.http.AnswerBy(wellFor(1)) // it is asked for HEAD's name after the fetch
	fails(t, f.m.Fetch(t.Context(), f.remote(), FetchOptions{}), ErrUnreachable, "")
	if f.m.Refs() != before {
		t.Error("a failed fetch updated a ref, so the next successful one would not")
	}
	f.at("", first)
	f.at("next", "")
	f.http.AnswerBy(nil)
	f.fetch()
	if f.m.Refs() == before {
		t.Error("nothing moved")
	}
	if c := f.at("HEAD", next); c.Ref != "next" {
		t.Errorf("HEAD is %q", c.Ref)
	}
}

func TestCanceledFetchIsNotReportedAsMissingCommit(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	f.commit(map[string]string{"main.tf": "a"})
	f.fetch()
	connections, reached, ended := 0, make(chan struct{}), make(chan struct{})
	f.http.AnswerBy(func(r gitserver.Request) int {
		if strings.HasSuffix(r.Path, "/info/refs") {
			if connections++; connections == 2 {
				close(reached)
				<-ended
			}
		}
		return 0
	})
	err := make(chan error, 1)
	go func() {
		err <- f.m.Fetch(context.Background(), f.remote(), FetchOptions{Commits: []string{strings.Repeat("12", 20)}})
	}()
	<-reached
	f.must(f.m.Close())
	close(ended)
	fails(t, <-err, context.Canceled, "fetch")
}

func TestHEADIsTheDefaultBranchOfTheRemote(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	f.fetch() // an empty repository
	f.at("HEAD", "")
	id := f.commit(map[string]string{"main.tf": "a"})
	f.fetch()
	if c := f.at("HEAD", id); c.Ref != "main" {
		t.Errorf("HEAD is %q", c.Ref)
	}
}
