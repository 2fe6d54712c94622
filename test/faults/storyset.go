package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/gitserver"
)

// fromSet is the story of a Stack that a StackSet generates from a directory: it is created, gets a changed template,
// is suspended when its directory is gone, and deleted when a user confirms it. A suspended Stack of a list stays.
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
		{"gone", func(ctx context.Context, l *lane, _ v1alpha1.ApplyPolicy) error {
			code := map[string]string{"README.md": "no directory"}
			if err := l.code.push(gitserver.Change{Rewrite: true, Files: code}); err != nil {
				return err
			}
			return l.fetch(ctx)
		}, func(ctx context.Context, l *lane, stack *v1alpha1.Stack) error {
			set := l.stackSet()
			if err := l.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
				return err
			}
			if d := set.Status.Deletions; d == nil || d.Count != 1 || stack == nil || !stack.Spec.Suspend {
				return fmt.Errorf("the Stack is not suspended until a user confirms its deletion: %+v", d)
			}
			return nil
		}, 1500 * time.Millisecond},
		{"deleted", confirmed, func(ctx context.Context, l *lane, stack *v1alpha1.Stack) error {
			if err := l.approve(ctx); err != nil { // who confirmed it saw no resources
				return err
			}
			if err := gone(ctx, l, stack); err != nil {
				return err
			}
			if err := l.Get(ctx, client.ObjectKey{Namespace: l.space, Name: "other"}, &v1alpha1.Stack{}); err != nil {
				return fmt.Errorf("I2: the other Stack: %w", err)
			}
			return nil
		}, 500 * time.Millisecond},
	},
}

// confirmed is a user who confirms the deletion that the StackSet reports.
func confirmed(ctx context.Context, l *lane, _ v1alpha1.ApplyPolicy) error {
	set := l.stackSet()
	if err := l.Get(ctx, client.ObjectKeyFromObject(set), set); err != nil {
		return err
	}
	if set.Status.Deletions == nil {
		if set.Annotations[v1alpha1.ConfirmDeletionsAnnotation] != "" {
			return nil // an earlier try
		}
		return errors.New("the StackSet reports no deletion")
	}
	patch := client.MergeFrom(set.DeepCopy())
	set.Annotations = map[string]string{v1alpha1.ConfirmDeletionsAnnotation: set.Status.Deletions.Digest}
	return l.Patch(ctx, set, patch)
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
prune: Delete
generators:
- directories: {include: ["envs/{name}"]}
- list: [{name: other, hold: true}]
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
    suspend: "${has(params.hold)}"
`

func (l *lane) stackSet() *v1alpha1.StackSet {
	return &v1alpha1.StackSet{ObjectMeta: metav1.ObjectMeta{Namespace: l.space, Name: "platform"}}
}

// dropStackSet deletes it and the other Stack, and returns an error until they are deleted.
func (l *lane) dropStackSet(ctx context.Context) error {
	other := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: l.space, Name: "other"}}
	for _, o := range []client.Object{l.stackSet(), other} {
		if err := l.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
			return err
		}
		err := l.Get(ctx, client.ObjectKeyFromObject(o), o)
		if err == nil {
			err = fmt.Errorf("%T %s is still there", o, o.GetName())
		}
		if client.IgnoreNotFound(err) != nil {
			return err
		}
	}
	return nil
}
