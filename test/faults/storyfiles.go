package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/gitserver"
)

// files is the story of a Stack from Git whose code reads a file outside of its folder, and creates a resource for each
// entry. Without the file the same code plans to destroy all of them. A push that changes only this file is applied.
var files = story{
	name: "files", apply: v1alpha1.ApplyAutomatic,
	steps: []step{
		{"made", func(ctx context.Context, l *lane, apply v1alpha1.ApplyPolicy) error {
			code := map[string]string{"envs/app/main.tf": filesCode, settings: `{"a": 1}`}
			if err := l.code.push(gitserver.Change{Rewrite: true, Files: code}); err != nil {
				return err
			}
			if err := l.Create(ctx, l.repository()); client.IgnoreAlreadyExists(err) != nil {
				return err
			}
			return created(stackFromGit)(ctx, l, apply)
		}, wantResources("a 1"), 700 * time.Millisecond},
		{"changed", func(ctx context.Context, l *lane, _ v1alpha1.ApplyPolicy) error {
			if err := l.code.push(
				gitserver.Change{Files: map[string]string{settings: `{"a": 2, "b": 1}`}}); err != nil {
				return err
			}
			return l.fetch(ctx)
		}, wantResources("a 2", "b 1"), 1500 * time.Millisecond},
		{"deleted", deleted, func(ctx context.Context, l *lane, stack *v1alpha1.Stack) error {
			if err := gone(ctx, l, stack); err != nil {
				return err
			}
			return l.dropRepository(ctx)
		}, 500 * time.Millisecond},
	},
	visits: slices.Concat(
		firsts("net-1-plan-1", "GET order", "GET sources", "PUT plan"),
		firsts("net-2-plan-1", "GET order", "GET sources", "POST state"),
	),
}

// settings is the file outside of the folder. Each version has one more entry: the IDs of resources that are created
// concurrently are random.
const settings = "envs/settings.json"

const filesCode = `
terraform {
  required_providers { cloud = { source = "cairn.dev/test/cloud" } }
}
locals {
  settings = fileexists("${path.module}/../settings.json") ? jsondecode(file("${path.module}/../settings.json")) : {}
}
variable "password" { sensitive = true }
resource "cloud_thing" "each" {
  for_each   = local.settings
  name       = each.key
  attributes = { size = each.value }
  secret     = var.password
}
output "size" { value = lookup(local.settings, "a", 0) }
output "password" {
  value     = var.password
  sensitive = true
}
`

const stackFromGit = `
metadata: {name: net}
spec:
  source: {git: {repository: {name: code}, path: envs/app}}
  variables: [{name: password, valueFrom: {secret: {name: password, key: it}}}]
  outputs: {secret: {name: net-outputs}, configMap: {name: net-outputs}}
  retry: {backoff: 100ms}
`

// wantResources expects the Stack to be Ready and exactly these resources in the cloud, each with its size. The first
// one's is an output.
func wantResources(want ...string) func(context.Context, *lane, *v1alpha1.Stack) error {
	return func(ctx context.Context, l *lane, stack *v1alpha1.Stack) error {
		var size int
		if _, err := fmt.Sscanf(want[0], "a %d", &size); err != nil {
			return err
		}
		if err := sized(size)(ctx, l, stack); err != nil {
			return err
		}
		var are []string
		for _, t := range l.cloud.Load().Resources() {
			are = append(are, t.Name+" "+t.Attributes["size"])
		}
		if slices.Sort(are); !slices.Equal(are, want) {
			return fmt.Errorf("I4: the file says %q, and the cloud has %q", want, are)
		}
		return nil
	}
}

// repository is the Repository of the Stack's code, which is fetched on request only.
func (l *lane) repository() *v1alpha1.Repository {
	return &v1alpha1.Repository{
		ObjectMeta: metav1.ObjectMeta{Namespace: l.space, Name: "code"},
		Spec:       v1alpha1.RepositorySpec{URL: l.code.URL + l.code.repo.Path(), Interval: &metav1.Duration{}},
	}
}

// dropRepository deletes it, and returns an error until it is deleted.
func (l *lane) dropRepository(ctx context.Context) error {
	r := l.repository()
	if err := l.Delete(ctx, r); client.IgnoreNotFound(err) != nil {
		return err
	}
	err := l.Get(ctx, client.ObjectKeyFromObject(r), r)
	if err == nil {
		err = errors.New("the Repository is still there")
	}
	return client.IgnoreNotFound(err)
}

// fetch requests a fetch, as a webhook does.
func (l *lane) fetch(ctx context.Context) error {
	now := time.Now().UTC().Format(time.RFC3339Nano)
	asked := fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, v1alpha1.RequestedAtAnnotation, now)
	return l.Patch(ctx, l.repository(), client.RawPatch("application/merge-patch+json", asked))
}

// A codeServer is a Git server with one repository.
type codeServer struct {
	*gitserver.HTTP
	repo *gitserver.Repo
	// before is the number of requests before the story.
	before int
}

// serveCode starts the lane's Git server.
func (l *lane) serveCode(context.Context) error {
	repos := &gitserver.Repos{Dir: filepath.Join(l.dir, "repositories")}
	repo, err := repos.Init("code")
	if err != nil {
		return err
	}
	server, err := gitserver.ServeHTTP(repos, false)
	if err != nil {
		return err
	}
	l.code = &codeServer{HTTP: server, repo: repo}
	l.ends = append(l.ends, func() { _ = server.Close() })
	return nil
}

// reset ends all faults, and resets the counter.
func (c *codeServer) reset() {
	c.AnswerBy(nil)
	c.Hang(false)
	c.before = len(c.Requests())
}

// push commits, as a push does.
func (c *codeServer) push(change gitserver.Change) error {
	_, err := c.repo.Commit(change)
	return err
}

// fetches returns the number of requests since the start of the story.
func (c *codeServer) fetches() int { return len(c.Requests()) - c.before }
