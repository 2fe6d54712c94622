package code

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/egress/egresstest"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/source/git"
	"cairn.dev/cairn/test/gitserver"
)

// BenchmarkProposal merges a commit that changes one of 100 modules, and finds the affected ones of 2,000 Stacks.
func BenchmarkProposal(b *testing.B) {
	const stacks, modules = 2000, 100
	repos := gitserver.New(b)
	remote, err := repos.Init("infra")
	if err != nil {
		b.Fatal(err)
	}
	files := map[string]string{}
	for i := range stacks {
		files[fmt.Sprintf("stacks/%04d/main.tf", i)] = fmt.Sprintf(
			"module \"m\" {\n  source = \"../../modules/m%d\"\n}\n", i%modules)
	}
	for i := range modules {
		files[fmt.Sprintf("modules/m%d/main.tf", i)] = "# 1"
	}
	commit := func(c gitserver.Change) string {
		id, err := remote.Commit(c)
		if err != nil {
			b.Fatal(err)
		}
		return id
	}
	commit(gitserver.Change{Files: files})
	head := commit(gitserver.Change{Branch: "change", Onto: "main",
		Files: map[string]string{"modules/m7/main.tf": "# 2"}})
	commit(gitserver.Change{Files: map[string]string{"README.md": "the base moved"}})
	server, err := gitserver.ServeHTTP(repos, false)
	if err != nil {
		b.Fatal(err)
	}
	defer server.Close()
	mirrors := repository.NewMirrors(b.TempDir())
	mirrors.Egress = egresstest.Loopback()
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- mirrors.Start(ctx) }()
	defer func() { cancel(); <-over }()
	repo := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "infra", UID: "infra"},
		Spec: v1alpha1.RepositorySpec{
			URL: server.URL + remote.Path(), Ref: "main", Timeout: &metav1.Duration{Duration: time.Minute},
		}}
	mirrors.Fetch(repo, git.Auth{}, repository.Ask{}, nil)
	<-mirrors.Ended()
	codes, all := NewCodes(mirrors), make([]v1alpha1.Stack, stacks)
	for i := range all {
		all[i].Spec.Source.Git = &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: "infra"},
			Path: fmt.Sprintf("stacks/%04d", i)}
	}
	propose := func() {
		proposal, err := codes.Propose(ctx, repo, "main", head, "pull/12")
		if err != nil {
			b.Fatal(err)
		}
		affected := 0
		for i := range all {
			if affects, _ := proposal.Affects(ctx, repo, &all[i]); affects {
				affected++
			}
		}
		if err := proposal.Close(); err != nil || affected != stacks/modules {
			b.Fatalf("%d Stacks are affected, %v", affected, err)
		}
	}
	propose() // what the closures of the base are is known before
	for b.Loop() {
		propose()
	}
}
