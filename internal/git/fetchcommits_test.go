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
func (w *world) hidden(content string) string {
	w.Helper()
	id := w.change(gitserver.Change{Branch: "pull", Files: map[string]string{"main.tf": content}})
	_, err := w.repo.Git("update-ref", "refs/pull/"+id+"/head", id)
	w.must(err)
	w.must(w.repo.DeleteBranch("pull"))
	return id
}

func TestACommitThatCannotBeHadKeepsNoOtherAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	main := w.commit(map[string]string{"main.tf": "a"})
	bad, err := w.repo.Git("hash-object", "-t", "commit", "-w", "--literally", w.file("tree "+strings.Repeat("0", 40)+"\n\nno author\n"))
	w.must(err)
	_, err = w.repo.Git("update-ref", "refs/pull/bad/head", bad)
	w.must(err)
	one, two := w.hidden("one"), w.hidden("two")
	var unknown []string
	for n := range 5 {
		unknown = append(unknown, strings.Repeat(fmt.Sprintf("%02d", n+10), 20))
	}
	wanted := append([]string{"--upload-pack=x", unknown[0], one, bad}, unknown[1:]...)
	err = w.m.Fetch(t.Context(), w.remote(), FetchOptions{Commits: append(wanted, two)})
	fails(t, err, ErrNoRef, "no such commit: --upload-pack=x, "+unknown[0]+", "+unknown[1]+" and 3 more")
	fails(t, err, ErrNoRef, "commit "+bad)
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("more than a line: %q", err)
	}
	w.at("main", main)
	w.at(one, one)
	w.at(two, two)
	w.at(bad, "")
}

// file with a content, for git to read.
func (w *world) file(content string) string {
	w.Helper()
	name := filepath.Join(w.TempDir(), "file")
	w.must(os.WriteFile(name, []byte(content), 0o600))
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

func TestAServerThatFailsOnlyForACommitDoesNotSpoilTheFetch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{Submodules: true})
	w.commit(map[string]string{"main.tf": "a"})
	w.fetch()
	id := w.hidden("pull")
	next := w.commit(map[string]string{"main.tf": "b"})
	w.http.AnswerBy(wellFor(1)) // git asks for refs, then for the commit
	err := w.m.Fetch(t.Context(), w.remote(), FetchOptions{Commits: []string{id}})
	fails(t, err, ErrNoRef, "commit "+id+": fetch "+w.remote().URL+": the server does not answer")
	if errors.Is(err, ErrUnreachable) || Reason(err) != "RefNotFound" {
		t.Errorf("it is %s too", Reason(err))
	}
	w.at("main", next)

	// A submodule's commit may be there, so nobody is told to correct it.
	_, err = w.repo.AddSubmodule("modules", "../infra.git", id)
	w.must(err)
	w.http.AnswerBy(nil)
	w.fetch()
	w.http.AnswerBy(wellFor(2)) // for the name of HEAD too, as it is the first time
	_, err = w.archive("modules")
	fails(t, err, ErrUnreachable, "submodule modules")
	w.http.AnswerBy(nil)
	_, err = w.archive("modules")
	w.must(err)
}

func TestNothingMovesWhileItIsNotKnownWhatHEADIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	first := w.commit(map[string]string{"main.tf": "a"})
	w.fetch()
	before := w.m.Refs()
	next := w.change(gitserver.Change{Branch: "next", Files: map[string]string{"main.tf": "b"}})
	w.must(w.repo.SetHead("next"))
	w.http.AnswerBy(wellFor(1)) // it is asked for HEAD's name after the fetch
	fails(t, w.m.Fetch(t.Context(), w.remote(), FetchOptions{}), ErrUnreachable, "")
	if w.m.Refs() != before {
		t.Error("a fetch that failed moved something, and the next one that succeeds would not")
	}
	w.at("", first)
	w.at("next", "")
	w.http.AnswerBy(nil)
	w.fetch()
	if w.m.Refs() == before {
		t.Error("nothing moved")
	}
	if c := w.at("HEAD", next); c.Ref != "next" {
		t.Errorf("HEAD is %q", c.Ref)
	}
}

func TestAFetchThatIsEndedAtACommitIsNoMissingCommit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	w.commit(map[string]string{"main.tf": "a"})
	w.fetch()
	connections, reached, ended := 0, make(chan struct{}), make(chan struct{})
	w.http.AnswerBy(func(r gitserver.Request) int {
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
		err <- w.m.Fetch(context.Background(), w.remote(), FetchOptions{Commits: []string{strings.Repeat("12", 20)}})
	}()
	<-reached
	w.must(w.m.Close())
	close(ended)
	fails(t, <-err, context.Canceled, "fetch")
}

func TestHEADIsTheRemotesDefaultBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Options{})
	w.fetch() // an empty repository
	w.at("HEAD", "")
	id := w.commit(map[string]string{"main.tf": "a"})
	w.fetch()
	if c := w.at("HEAD", id); c.Ref != "main" {
		t.Errorf("HEAD is %q", c.Ref)
	}
}
