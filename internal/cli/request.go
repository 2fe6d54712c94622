package cli

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/action"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/run/runinfo"
)

// commandOwner of what commands write.
const commandOwner = client.FieldOwner("cairn-cli")

// patch writes some fields of an object, and nothing else of it.
func (s *session) patch(ctx context.Context, o client.Object, fields client.Patch) error {
	c, err := s.kubernetes()
	if err != nil {
		return err
	}
	return s.explain(c.Patch(ctx, o, fields, commandOwner))
}

// request asks for a Run of a Stack as this person, and gives what tells this request from others.
func (s *session) request(ctx context.Context, stack *v1alpha1.Stack, operation v1alpha1.Operation) (string, error) {
	who, err := s.user(ctx)
	if err != nil {
		return "", err
	}
	asked := action.Now(s.now())
	return asked, s.patch(ctx, stack, action.RequestRun(operation, asked, who))
}

// requested asks for a Run and waits until there is one.
func (s *session) requested(ctx context.Context, stack *v1alpha1.Stack, operation v1alpha1.Operation) (*v1alpha1.Run, error) {
	if stack.Spec.Suspend {
		return nil, fmt.Errorf("the Stack %s is suspended, nothing starts: `%s resume %s` lets it", stack.Name, s.program, stack.Name)
	}
	asked, err := s.request(ctx, stack, operation)
	if err != nil {
		return nil, err
	}
	made, err := s.answered(ctx, stack, asked)
	switch {
	case ctx.Err() != nil:
		return nil, exitError{exitInterrupted, fmt.Errorf("interrupted before there is a Run: what was asked for still is, and `%s why %s` shows what becomes of it", s.program, stack.Name)}
	case err == nil && !answers(made, stack, operation):
		return nil, fmt.Errorf("the Run of Stack %s is not the one that was asked for, and is left alone: %s; `%s why %s` shows more",
			stack.Name, screen.Line(made, s.style()), s.program, made.Name)
	}
	return made, err
}

// answers says that a Run is what was asked for, and so what consent was given to, and not one that came after it.
func answers(made *v1alpha1.Run, stack *v1alpha1.Stack, asked v1alpha1.Operation) bool {
	operation := made.Spec.Operation
	return made.Spec.Cause.Type == v1alpha1.CauseManual &&
		(operation == asked || asked == v1alpha1.OperationApply && operation == v1alpha1.OperationPlan && stack.Spec.Apply == v1alpha1.ApplyNever)
}

// answered waits until a request was taken up, and gives the Run that was made for it.
func (s *session) answered(ctx context.Context, stack *v1alpha1.Stack, asked string) (*v1alpha1.Run, error) {
	show := s.progress()
	defer show.end()
	key := client.ObjectKeyFromObject(stack)
	name := ""
	err := s.until(ctx, &v1alpha1.Stack{}, &v1alpha1.StackList{}, key, show, func(o client.Object, there bool) (bool, error) {
		st, ok := o.(*v1alpha1.Stack)
		switch {
		case !ok || !there:
			return false, explained{fmt.Sprintf("the Stack %s is gone", key.Name), nil}
		case runinfo.Settled(st.Status.LastHandledRequest, asked):
			if name = st.Status.CurrentRun; name == "" {
				name = st.Status.LastRun
			}
			return true, nil
		case st.Annotations[v1alpha1.RequestedAtAnnotation] != asked:
			return false, explained{fmt.Sprintf("%s asked for another Run of Stack %s meanwhile: `%s why %s` shows it",
				orSomebody(st.Annotations[v1alpha1.RequestedByAnnotation]), st.Name, s.program, st.Name), nil}
		}
		show.pending(st)
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	if runinfo.Number(name) <= runinfo.Number(stack.Status.LastRun) { // taken up, and nothing came of it
		return nil, s.refusal(ctx, stack)
	}
	var made *v1alpha1.Run
	// It is named in the Stack a moment before it is there.
	err = s.until(ctx, &v1alpha1.Run{}, &v1alpha1.RunList{}, client.ObjectKey{Namespace: key.Namespace, Name: name}, show, func(o client.Object, there bool) (bool, error) {
		r, ok := o.(*v1alpha1.Run)
		made = r
		return ok && there, nil
	})
	if apierrors.IsForbidden(err) {
		err = explained{fmt.Sprintf("Run %s is what was asked for, and goes on; it cannot be followed: %v", name, err), err}
	}
	return made, err
}

// refusal says why nothing came of a request. The event that tells it is written a moment after the request was taken up.
func (s *session) refusal(ctx context.Context, stack *v1alpha1.Stack) error {
	why := fmt.Sprintf("nothing came of it: `%s why %s` shows the events that say why", s.program, stack.Name)
	// Who may not read events, or finds none, is told where to look.
	_ = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
		events, err := s.events(ctx, stack)
		found := false
		for _, e := range events { // oldest first
			if e.Reason == v1alpha1.EventRequestRejected {
				why, found = screen.Clean(e.Message), true
			}
		}
		return found, err
	})
	return explained{why, nil}
}

func orSomebody(name string) string {
	if name == "" {
		return "somebody"
	}
	return screen.Clean(name)
}

// approve writes the approval of the plan that a Run has now, or of the digest that was read.
func (s *session) approve(ctx context.Context, run *v1alpha1.Run, digest string) error {
	who, err := s.user(ctx)
	if err != nil {
		return err
	}
	return s.patch(ctx, run, action.ApproveRun(digest, who))
}

// ignoreGone is for what may be missing, or may not be read by this person: it only adds to a screen.
func ignoreGone(err error) error {
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil
	}
	return err
}
