package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
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
	"cairn.dev/cairn/test/httpstate"
)

// canary is a secret that must not appear in clear text.
const canary = "canary-in-a-password"

// A story is the life of a Stack, in steps.
type story struct {
	name string
	// apply is Automatic; or Manual, then each plan is approved.
	apply v1alpha1.ApplyPolicy
	// takesOver: the state is not of an apply of the Stack, so the first one is approved in any case.
	takesOver bool
	steps     []step
	// visits are requests of runners with a fault, in addition to all those of the first story.
	visits []visit
}

// A step is an action of a user, and the expected state of the Stack.
type step struct {
	name string
	// take performs it. It is retried until it succeeds.
	take func(ctx context.Context, l *lane, apply v1alpha1.ApplyPolicy) error
	// arrived returns an error for what has not reached its expected state; the Stack is nil when it is deleted.
	arrived func(ctx context.Context, l *lane, stack *v1alpha1.Stack) error
	// still is how long nothing may be written then.
	still time.Duration
}

// The stories; the first one is tried with all faults. It and the second create a Stack, change a variable, and delete
// the Stack.
var stories = []story{
	{name: "automatic", apply: v1alpha1.ApplyAutomatic, steps: life},
	{name: "approved", apply: v1alpha1.ApplyManual, steps: life},
	files, pushed, fromCode, fromSet,
}

// life returns the steps of the first stories.
var life = []step{
	{"made", created(stackOf), sized(1), 700 * time.Millisecond},
	{"changed", func(ctx context.Context, l *lane, _ v1alpha1.ApplyPolicy) error {
		return l.patch(ctx, `{"spec":{"variables":[{"name":"size","value":2},{"name":"password","valueFrom":{"secret":{"name":"password","key":"it"}}}]}}`)
	}, sized(2), 1500 * time.Millisecond},
	deletedStep,
}

// deletedStep is the last one of each story.
var deletedStep = step{"deleted", deleted, gone, 500 * time.Millisecond}

// step returns the one with that name.
func (s story) step(name string) step {
	return s.steps[slices.IndexFunc(s.steps, func(it step) bool { return it.name == name })]
}

// The Stack of the first stories: two resources in a cloud, one after the other, outputs, and a secret.
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

// An outcome is the result of a story.
type outcome struct {
	// Endings has the state after each step.
	Endings []ending
	// Writes and Events are those of Cairn.
	Writes []proxy.Write
	Events []proxy.Event
	// Fetches is the number of requests to the Git server.
	Fetches int
}

// hooks are called while a story runs; each may be nil.
type hooks struct {
	// begin is called when the lane is at rest, right before the story starts: it arms a fault.
	begin func()
	// step is called right after the user's write of a step; its error ends the story.
	step func(ctx context.Context, name string) error
	// ended is called when a step has reached its end and is at rest.
	ended func(ctx context.Context, name string) error
}

// runStory runs a story and returns its result. An error is a violation: an object did not reach its end, or an
// invariant does not hold.
func (l *lane) runStory(ctx context.Context, s story, h hooks) (outcome, error) {
	l.reset()
	l.cloud.Store(cloud.New())
	l.states.Store(&httpstate.Server{})
	l.witness.begin()
	// of a story that ended early
	for _, drop := range []func(context.Context) error{l.dropStackSet, l.dropRepository} {
		if err := until(ctx, patience, drop); err != nil {
			return outcome{}, err
		}
	}
	if h.begin != nil {
		h.begin()
	}
	var t outcome
	for _, step := range s.steps {
		err := l.take(ctx, s, step.name)
		if err == nil && h.step != nil {
			err = h.step(ctx, step.name)
		}
		if err == nil {
			err = l.arrive(ctx, s, step.name)
		}
		if err == nil {
			err = l.rest(ctx, step.still)
		}
		if err == nil && h.ended != nil {
			err = h.ended(ctx, step.name)
		}
		if err != nil {
			return t, fmt.Errorf("%s: %w", step.name, err)
		}
		e, err := l.ending(ctx)
		t.Endings = append(t.Endings, e)
		if err != nil {
			return t, fmt.Errorf("%s: %w", step.name, err)
		}
	}
	for _, c := range l.cairns() {
		t.Writes = append(t.Writes, c.Writes()...)
		t.Events = append(t.Events, c.Events()...)
	}
	t.Fetches = l.code.fetches()
	return t, l.witness.end()
}

// take performs the action of a user.
func (l *lane) take(ctx context.Context, s story, step string) error {
	return until(ctx, patience, func(ctx context.Context) error { return s.step(step).take(ctx, l, s.apply) })
}

// arrive waits for the end of a step, and approves plans that wait.
func (l *lane) arrive(ctx context.Context, s story, step string) error {
	return until(ctx, patience, func(ctx context.Context) error {
		if s.apply == v1alpha1.ApplyManual || s.takesOver {
			if err := l.approve(ctx); err != nil {
				return err
			}
		}
		stack := &v1alpha1.Stack{}
		err := l.Get(ctx, client.ObjectKey{Namespace: l.space, Name: "net"}, stack)
		if apierrors.IsNotFound(err) {
			stack, err = nil, nil
		}
		if err != nil {
			return err
		}
		return s.step(step).arrived(ctx, l, stack)
	})
}

// created creates a Stack, with CLOUD in its text replaced by the URL of the cloud.
func created(text string) func(context.Context, *lane, v1alpha1.ApplyPolicy) error {
	return func(ctx context.Context, l *lane, apply v1alpha1.ApplyPolicy) error {
		stack := &v1alpha1.Stack{}
		if err := yaml.UnmarshalStrict([]byte(strings.ReplaceAll(text, "CLOUD", l.clouds.URL)), stack); err != nil {
			return err
		}
		stack.Namespace, stack.Spec.Apply = l.space, apply
		stack.Spec.Env = append(stack.Spec.Env, env("CLOUD_URL", l.clouds.URL))
		return client.IgnoreAlreadyExists(l.Create(ctx, stack))
	}
}

// patch changes the Stack.
func (l *lane) patch(ctx context.Context, merge string) error {
	stack := &v1alpha1.Stack{}
	stack.Namespace, stack.Name = l.space, "net"
	return l.Patch(ctx, stack, client.RawPatch("application/merge-patch+json", []byte(merge)))
}

// sized expects the Stack to be Ready with that size.
func sized(size int) func(context.Context, *lane, *v1alpha1.Stack) error {
	return func(_ context.Context, _ *lane, stack *v1alpha1.Stack) error {
		switch {
		case stack == nil:
			return errors.New("I9: the Stack is gone")
		case !ready(stack) || string(stack.Status.Outputs["size"].Raw) != strconv.Itoa(size):
			return fmt.Errorf("I9: the Stack is not Ready with size %d: %s", size, standing(stack))
		}
		return nil
	}
}

func deleted(ctx context.Context, l *lane, _ v1alpha1.ApplyPolicy) error {
	stack := &v1alpha1.Stack{}
	stack.Namespace, stack.Name = l.space, "net"
	return client.IgnoreNotFound(l.Delete(ctx, stack))
}

// gone expects that nothing is left.
func gone(ctx context.Context, l *lane, stack *v1alpha1.Stack) error {
	if stack != nil {
		return fmt.Errorf("I5, I9: the Stack is still there: %s", standing(stack))
	}
	return l.empty(ctx)
}

// ready reports whether the declared state is applied, and no Run is active.
func ready(s *v1alpha1.Stack) bool {
	return apimeta.IsStatusConditionTrue(s.Status.Conditions, "Ready") && s.Status.ObservedGeneration == s.Generation &&
		s.Status.InputsDigest == s.Status.AppliedInputsDigest && s.Status.CurrentRun == ""
}

func standing(s *v1alpha1.Stack) string {
	text := fmt.Sprintf("generation %d of %d, Run %q, last %q, outputs %s", s.Status.ObservedGeneration, s.Generation,
		s.Status.CurrentRun, s.Status.LastRun, outputs(s.Status.Outputs))
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

// approve approves the plan that waits, if there is one.
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

// empty checks that nothing of the Stack is left.
func (l *lane) empty(ctx context.Context) error {
	left, err := l.left(ctx)
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("I5: the Stack is gone and left %q", left)
	}
	if left := l.cloud.Load().Resources(); err == nil && len(left) > 0 {
		return errors.New("I5: the Stack is gone and left resources in the cloud")
	}
	return err
}
