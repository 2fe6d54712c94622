//go:build envtest

package repository

import (
	"errors"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
	"cairn.dev/cairn/test/gitserver"
)

// A new process has what the one before it fetched, whether the remote is there or not.
func TestRestartKeepsTheMirrors(t *testing.T) {
	r := newEnv(t)
	remote := r.remote("infra")
	repo := r.declare(remote)
	r.settle(repo)
	_, before, err := r.Mirrors.Commit(t.Context(), repo.UID, "main")
	apiserver.Must(t, err)
	written := repo.ResourceVersion

	r.stop()
	r.begin()
	r.http.Hang(true)
	if _, _, err := r.Mirrors.Commit(t.Context(), repo.UID, "main"); !errors.Is(err, ErrNotFetched) {
		t.Errorf("before anything is known: %v", err)
	}
	r.pass(repo)
	r.moves(repo)
	if _, fetching := r.Mirrors.LastFetch(repo.UID); !fetching {
		t.Fatal("the fetch is over, so this tests nothing")
	}
	if _, commit, err := r.Mirrors.Commit(t.Context(), repo.UID, "main"); err != nil || commit != before {
		t.Errorf("while the remote is silent the commit is %+v (%v), was %+v", commit, err, before)
	}
	r.pass(repo)
	if repo.ResourceVersion != written {
		t.Errorf("a new process writes what was known: %+v", repo.Status)
	}

	r.http.Answer(503)
	r.http.Hang(false)
	r.settle(repo)
	r.expect(repo, "False", "Unreachable")
	if _, commit, err := r.Mirrors.Commit(t.Context(), repo.UID, "main"); err != nil || commit != before {
		t.Errorf("while the remote is away the commit is %+v (%v)", commit, err)
	}
	r.http.Answer(0)
	r.later(repo, 10*time.Second)
	r.expect(repo, "True", "Fetched")
}

// Remotes that do not answer do not keep others from what is on the disk.
func TestRestartWhileManyRemotesAreUnresponsive(t *testing.T) {
	r := newEnv(t)
	var repos []*v1alpha1.Repository
	for i := range atOnce + 1 {
		repo := r.declare(r.remote(fmt.Sprintf("infra-%d", i)))
		r.settle(repo)
		repos = append(repos, repo)
	}
	r.stop()
	r.begin()
	r.http.Hang(true)
	for _, repo := range repos {
		r.pass(repo)
	}
	there := map[string]bool{}
	for len(there) < len(repos) {
		select {
		case e := <-r.Mirrors.Moved():
			there[e.Object.Name] = true
		case <-time.After(2 * time.Minute):
			t.Fatalf("of %d Repositories %d are there", len(repos), len(there))
		}
	}
}

func TestDeletionCancelsTheFetchAndRemovesTheMirror(t *testing.T) {
	for name, known := range map[string]bool{"of one that was never fetched": false, "of one that was fetched": true} {
		t.Run(name, func(t *testing.T) {
			r := newEnv(t)
			remote, stays := r.remote("infra"), r.declare(r.remote("stays"))
			r.settle(stays)
			repo := r.declare(remote)
			if known {
				r.settle(repo)
			}
			r.http.Hang(true)
			r.request(repo, "now")
			r.pass(repo)
			if !known {
				r.untilAsked(remote)
			}
			began := time.Now()
			apiserver.Must(t, r.Env.Client.Delete(t.Context(), repo))
			r.Gone(repo)
			r.forgotten(repo)
			if took := time.Since(began); took > time.Minute {
				t.Errorf("it took %s", took)
			}
			if n := len(r.folders()); n != 1 {
				t.Errorf("there are %d folders", n)
			}
			if last, fetching := r.Mirrors.LastFetch(repo.UID); last != nil || fetching {
				t.Errorf("the last fetch is left: %+v", last)
			}
			r.stop() // waits for all that is under way, so this is how it stays
			if n := len(r.folders()); n != 1 {
				t.Errorf("there are %d folders in the end", n)
			}
		})
	}
}

// A Repository that is recreated under its name at once is another one; nothing of the old one remains.
func TestRecreatedRepositoryGetsANewMirror(t *testing.T) {
	r := newEnv(t)
	remote := r.remote("infra")
	old := r.declare(remote)
	r.settle(old)
	next := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Name: old.Name}, Spec: old.Spec}
	apiserver.Must(t, r.Env.Client.Delete(t.Context(), old))
	r.Gone(old)
	r.Make(next)
	r.settle(next)
	r.expect(next, "True", "Fetched")
	if n := len(r.folders()); n != 1 {
		t.Errorf("there are %d folders", n)
	}
}

// A Repository must not read what only the credentials of another one of the same URL give access to.
func TestRepositoriesDoNotShareAMirror(t *testing.T) {
	r := newEnv(t)
	r.http.RequireBasic("cairn", "right-one")
	remote := r.remote("infra")
	apiserver.Must(t, r.Env.Client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: "git"},
		StringData: map[string]string{"username": "cairn", "password": "right-one"},
	}))
	owner, other := r.declare(remote, withSecret("git")), r.declare(remote)
	r.settle(owner)
	r.expect(owner, "True", "Fetched")
	r.settle(other)
	r.expect(other, "False", "AuthenticationFailed")
	if len(other.Status.Refs) != 0 {
		t.Errorf("it knows refs: %v", other.Status.Refs)
	}
	if _, _, err := r.Mirrors.Commit(t.Context(), other.UID, "main"); !errors.Is(err, ErrNotFetched) {
		t.Errorf("it has code: %v", err)
	}
	first, _ := r.Mirrors.LastFetch(owner.UID)
	r.push(remote, gitserver.Change{Files: map[string]string{"net/main.tf": "# 2"}})
	r.request(other, "now")
	r.settle(other)
	if last, _ := r.Mirrors.LastFetch(owner.UID); last != first {
		t.Error("a request of one had the other fetched")
	}
}
