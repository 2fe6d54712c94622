package code

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/egress/egresstest"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/source/git"
	"cairn.dev/cairn/test/gitserver"
)

// env has the mirrors of a real git server.
type env struct {
	t       *testing.T
	repos   *gitserver.Repos
	http    *gitserver.HTTP
	Mirrors *repository.Mirrors
}

func newEnv(t *testing.T) *env {
	t.Helper()
	r := &env{t: t, repos: gitserver.New(t), Mirrors: repository.NewMirrors(t.TempDir())}
	var err error
	r.http, err = gitserver.ServeHTTP(r.repos, false)
	must(t, err)
	r.Mirrors.Egress = egresstest.Loopback()
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- r.Mirrors.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		must(t, <-over)
		_ = r.http.Close()
	})
	return r
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// remote creates a repository with one commit.
func (r *env) remote(name string) *gitserver.Repo {
	r.t.Helper()
	remote, err := r.repos.Init(name)
	must(r.t, err)
	r.push(remote, gitserver.Change{Message: "Begin", Files: map[string]string{"net/main.tf": "# " + name}})
	return remote
}

func (r *env) push(remote *gitserver.Repo, c gitserver.Change) string {
	r.t.Helper()
	id, err := remote.Commit(c)
	must(r.t, err)
	return id
}

// declare returns the Repository of a remote, at its main branch.
func (r *env) declare(remote *gitserver.Repo) *v1alpha1.Repository {
	return &v1alpha1.Repository{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "infra", UID: "infra"},
		Spec: v1alpha1.RepositorySpec{
			URL: r.http.URL + remote.Path(), Ref: "main", Timeout: &metav1.Duration{Duration: time.Minute},
		},
	}
}

// settle fetches a Repository.
func (r *env) settle(repo *v1alpha1.Repository) {
	r.t.Helper()
	r.Mirrors.Fetch(repo, git.Auth{}, repository.Ask{}, nil)
	<-r.Mirrors.Ended()
	if last, _ := r.Mirrors.LastFetch(repo.UID); last.Reason != "" {
		r.t.Fatal(last.Message)
	}
}

// stack returns a Stack that reads a folder at a ref.
func (r *env) stack(repo *v1alpha1.Repository, namespace, folder, ref string) *v1alpha1.Stack {
	return &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "net", UID: types.UID(folder + "@" + ref)},
		Spec: v1alpha1.StackSpec{Source: v1alpha1.Source{Git: &v1alpha1.GitSource{
			Repository: v1alpha1.RepositoryRef{Namespace: repo.Namespace, Name: repo.Name}, Path: folder, Ref: ref,
		}}},
	}
}
