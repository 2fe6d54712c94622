package main

import (
	"context"
	"errors"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/gitserver"
)

// fromSet is the story of a Stack that a StackSet generates from a directory: it is created, gets a changed template, stays
// when the StackSet is deleted, and is deleted by a user.
var fromSet = story{
	name: "set", apply: v1alpha1.ApplyAutomatic,
	steps: []step{
		{"made", func(ctx context.Context, l *lane, apply v1alpha1.ApplyPolicy) error {
			code := map[string]string{"envs/net/main.tf": setCode}
			if err := l.code.push(gitserver.Change{Rewrite: true, Files: code}); err != nil {
				return err
			}
			if err := l.Create(ctx, l.repository()); client.IgnoreAlreadyExists(err) != nil {
				return err
			}
			stackSet := l.stackSet()
			text := strings.NewReplacer("ADDRESS", l.clouds.URL, "APPLY", string(apply)).Replace(stackSetOf)
			if err := yaml.UnmarshalStrict([]byte(text), &stackSet.Spec); err != nil {
				return err
			}
			return client.IgnoreAlreadyExists(l.Create(ctx, stackSet))
		}, sized(1), 1500 * time.Millisecond},
		{"changed", func(ctx context.Context, l *lane, _ v1alpha1.ApplyPolicy) error {
			changed := `[{"op":"replace","path":"/spec/template/spec/variables/0/value","value":2}]`
			return l.Patch(ctx, l.stackSet(), client.RawPatch("application/json-patch+json", []byte(changed)))
		}, sized(2), 2500 * time.Millisecond},
		{"deleted", func(ctx context.Context, l *lane, apply v1alpha1.ApplyPolicy) error {
			if err := l.dropStackSet(ctx); err != nil {
				return err
			}
			return deleted(ctx, l, apply)
		}, func(ctx context.Context, l *lane, stack *v1alpha1.Stack) error {
			if err := gone(ctx, l, stack); err != nil {
				return err
			}
			return l.dropRepository(ctx)
		}, 500 * time.Millisecond},
	},
}

const setCode = `
terraform {
  required_providers { cloud = { source = "cairn.dev/test/cloud" } }
}
variable "size" {}
variable "password" { sensitive = true }
resource "cloud_thing" "a" {
  name       = "a"
  attributes = { size = var.size }
  secret     = var.password
}
output "size" { value = var.size }
output "password" {
  value     = var.password
  sensitive = true
}
`

const stackSetOf = `
repository: {name: code}
generators:
- directories: {include: ["envs/{name}"]}
template:
  metadata: {name: "${params.name}"}
  spec:
    source: {git: {repository: {name: code}, path: "${directory}"}}
    variables:
    - {name: size, value: 1}
    - {name: password, valueFrom: {secret: {name: password, key: it}}}
    env: [{name: CLOUD_URL, value: "ADDRESS"}]
    outputs: {secret: {name: net-outputs}, configMap: {name: net-outputs}}
    retry: {backoff: 100ms}
    apply: APPLY
`

func (l *lane) stackSet() *v1alpha1.StackSet {
	return &v1alpha1.StackSet{ObjectMeta: metav1.ObjectMeta{Namespace: l.space, Name: "platform"}}
}

// dropStackSet deletes it, and returns an error until it is deleted.
func (l *lane) dropStackSet(ctx context.Context) error {
	s := l.stackSet()
	if err := l.Delete(ctx, s); client.IgnoreNotFound(err) != nil {
		return err
	}
	err := l.Get(ctx, client.ObjectKeyFromObject(s), s)
	if err == nil {
		err = errors.New("the StackSet is still there")
	}
	return client.IgnoreNotFound(err)
}
