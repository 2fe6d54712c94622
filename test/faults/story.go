package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/dev"
	"cairn.dev/cairn/test/cloud"
	"cairn.dev/cairn/test/faults/proxy"
)

// canary is a secret that must be nowhere in clear.
const canary = "canary-in-a-password"

// A story is the life of a Stack: it is made and applied, a variable is changed and applied, and it is deleted and destroyed.
type story struct {
	name string
	// apply is Automatic; or Manual, then each plan is approved.
	apply v1alpha1.ApplyPolicy
}

var stories = []story{{"automatic", v1alpha1.ApplyAutomatic}, {"approved", v1alpha1.ApplyManual}}

// Steps of each story, in this order.
var steps = []string{"made", "changed", "deleted"}

// The Stack of each story: two things in a cloud, one after the other, outputs, and a secret.
const stackOf = `
metadata: {name: net}
spec:
  source:
    inline:
      main.tf: |
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
        resource "cloud_thing" "b" {
          name       = "b"
          attributes = { beside = cloud_thing.a.name }
        }
        output "size" { value = var.size }
        output "password" {
          value     = var.password
          sensitive = true
        }
  variables:
  - {name: size, value: 1}
  - {name: password, valueFrom: {secret: {name: password, key: it}}}
  outputs: {secret: {name: net-outputs}, configMap: {name: net-outputs}}
  retry: {backoff: 100ms}
`

// A told story is what became of one.
type told struct {
	// Endings are how everything stood after each step.
	Endings []ending
	// Writes and Events are what Cairn wrote and heard of.
	Writes []proxy.Write
	Events []proxy.Event
}

// hooks are what is done while a story is told; each may be nil.
type hooks struct {
	// begin is called when the lane is at rest, right before the story begins: it arms a fault.
	begin func()
	// step is called when a step has been taken, right after the person's write; its error ends the story.
	step func(ctx context.Context, name string) error
	// ended is called when a step has come to its end and to rest.
	ended func(ctx context.Context, name string) error
}

// tell lives through a story and says how it went. An error is a violation: something did not come to its end, or an invariant does not hold.
func (l *lane) tell(ctx context.Context, s story, h hooks) (told, error) {
	l.reset()
	l.cloud.Store(cloud.New())
	l.witness.begin()
	if h.begin != nil {
		h.begin()
	}
	var t told
	for i, step := range steps {
		err := l.take(ctx, s, step)
		if err == nil && h.step != nil {
			err = h.step(ctx, step)
		}
		if err == nil {
			err = l.arrive(ctx, s, step)
		}
		if err == nil {
			err = l.rest(ctx, []time.Duration{700 * time.Millisecond, 1500 * time.Millisecond, 500 * time.Millisecond}[i])
		}
		if err == nil && h.ended != nil {
			err = h.ended(ctx, step)
		}
		if err != nil {
			return t, fmt.Errorf("%s: %w", step, err)
		}
		e, err := l.ending(ctx)
		t.Endings = append(t.Endings, e)
		if err != nil {
			return t, fmt.Errorf("%s: %w", step, err)
		}
	}
	for _, c := range l.cairns() {
		t.Writes = append(t.Writes, c.Writes()...)
		t.Events = append(t.Events, c.Events()...)
	}
	return t, l.witness.end()
}

// take is what a person does.
func (l *lane) take(ctx context.Context, s story, step string) error {
	return until(ctx, patience, func(ctx context.Context) error {
		stack := &v1alpha1.Stack{}
		stack.Namespace, stack.Name = l.space, "net"
		switch step {
		case "made":
			if err := yaml.UnmarshalStrict([]byte(stackOf), stack); err != nil {
				return err
			}
			stack.Namespace, stack.Spec.Apply = l.space, s.apply
			stack.Spec.Env = append(stack.Spec.Env, env("CLOUD_URL", l.clouds.URL))
			return client.IgnoreAlreadyExists(l.Create(ctx, stack))
		case "changed":
			return l.Patch(ctx, stack, client.RawPatch("application/merge-patch+json",
				[]byte(`{"spec":{"variables":[{"name":"size","value":2},{"name":"password","valueFrom":{"secret":{"name":"password","key":"it"}}}]}}`)))
		default:
			return client.IgnoreNotFound(l.Delete(ctx, stack))
		}
	})
}

// arrive waits for the end of a step, and approves what waits for it.
func (l *lane) arrive(ctx context.Context, s story, step string) error {
	return until(ctx, patience, func(ctx context.Context) error {
		if s.apply == v1alpha1.ApplyManual {
			if err := l.approve(ctx); err != nil {
				return err
			}
		}
		stack := &v1alpha1.Stack{}
		err := l.Get(ctx, client.ObjectKey{Namespace: l.space, Name: "net"}, stack)
		switch {
		case step == "deleted" && apierrors.IsNotFound(err):
			return l.empty(ctx)
		case err != nil:
			return err
		case step == "deleted":
			return fmt.Errorf("I5, I9: the Stack is still there: %s", standing(stack))
		}
		size := map[string]string{"made": "1", "changed": "2"}[step]
		if !ready(stack) || string(stack.Status.Outputs["size"].Raw) != size {
			return fmt.Errorf("I9: the Stack is not Ready with size %s: %s", size, standing(stack))
		}
		return nil
	})
}

// ready says that what is declared is applied, and nothing is under way.
func ready(s *v1alpha1.Stack) bool {
	return apimeta.IsStatusConditionTrue(s.Status.Conditions, "Ready") && s.Status.ObservedGeneration == s.Generation &&
		s.Status.InputsDigest == s.Status.AppliedInputsDigest && s.Status.Run == ""
}

func standing(s *v1alpha1.Stack) string {
	text := fmt.Sprintf("generation %d of %d, Run %q, last %q, outputs %s", s.Status.ObservedGeneration, s.Generation, s.Status.Run, s.Status.LastRun, outputs(s.Status.Outputs))
	for _, c := range s.Status.Conditions {
		text += fmt.Sprintf("; %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
	}
	return text
}

func outputs(all map[string]apiextensionsv1.JSON) string {
	text := map[string]string{}
	for name, value := range all {
		text[name] = string(value.Raw)
	}
	return fmt.Sprint(text)
}

// approve approves the plan that waits for it, if one does.
func (l *lane) approve(ctx context.Context) error {
	var runs v1alpha1.RunList
	if err := l.List(ctx, &runs, client.InNamespace(l.space)); err != nil {
		return err
	}
	for i := range runs.Items {
		r := &runs.Items[i]
		if r.Status.Phase != v1alpha1.PhaseAwaitingApproval || r.Status.Plan == nil || r.Spec.Approval != nil {
			continue
		}
		r.Spec.Approval = &v1alpha1.Approval{PlanDigest: r.Status.Plan.Digest, By: dev.Admin}
		if err := l.Update(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// empty makes sure that nothing of the Stack is left.
func (l *lane) empty(ctx context.Context) error {
	left, err := l.left(ctx)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("I5: the Stack is gone and left %q", left)
	}
	if things := l.cloud.Load().Things(); err == nil && len(things) > 0 {
		return errors.New("I5: the Stack is gone and left things in the cloud")
	}
	return err
}
