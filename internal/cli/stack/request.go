package stack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/lifecycle/action"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// requestRun requests a Run of a Stack and waits until it exists.
func requestRun(
	ctx context.Context, s *session.Session, stack *v1alpha1.Stack, operation v1alpha1.Operation,
	options *v1alpha1.PlanOptions,
) (*v1alpha1.Run, error) {
	if stack.Spec.Suspend {
		return nil, fmt.Errorf("the Stack %s is suspended, so no Run starts: `%s resume %s` resumes it",
			stack.Name, s.Command(), stack.Name)
	}
	user, err := s.User(ctx)
	if err != nil {
		return nil, err
	}
	request := action.Now(s.Now())
	if err := s.Patch(ctx, stack, action.RequestRun(operation, options, request, user)); err != nil {
		verb := action.VerbOf(stack, operation)
		if options != nil && operation == v1alpha1.OperationApply {
			verb = action.Partial
		}
		return nil, s.Denied(err, "stacks", verb)
	}
	run, err := awaitRun(ctx, s, stack, request)
	switch {
	case ctx.Err() != nil:
		return nil, session.Interrupted("interrupted before the Run was created; the request stays: `%s why "+
			"%s` shows its result", s.Command(), stack.Name)
	case err == nil && !fulfills(run, stack, operation):
		return nil, fmt.Errorf(
			"the new Run of Stack %s is not the requested one, and is not followed: %s; `%s why %s` "+
				"shows more",
			stack.Name, screen.Line(run, s.Style()), s.Command(), run.Name)
	}
	return run, err
}

// fulfills returns whether a Run is the requested one, which the user confirmed, and not a later one.
func fulfills(run *v1alpha1.Run, stack *v1alpha1.Stack, requested v1alpha1.Operation) bool {
	if requested == v1alpha1.OperationApply && stack.Spec.Apply == v1alpha1.ApplyNever &&
		run.Spec.Operation == v1alpha1.OperationPlan {
		requested = v1alpha1.OperationPlan
	}
	return run.Spec.Cause.Type == v1alpha1.CauseManual && run.Spec.Operation == requested
}

// awaitRun waits until a request was handled, and returns the Run that was created for it.
func awaitRun(ctx context.Context, s *session.Session, stack *v1alpha1.Stack, request string) (*v1alpha1.Run, error) {
	show := newProgress(s)
	defer show.end()
	for name := ""; ; {
		var err error
		if name, err = awaitName(ctx, s, stack, request, name, show); err != nil {
			return nil, err
		}
		if runinfo.Number(name) <= runinfo.Number(stack.Status.LastRun) { // handled without a new Run
			return nil, rejection(ctx, s, stack)
		}
		run := &v1alpha1.Run{}
		key := client.ObjectKey{Namespace: stack.Namespace, Name: name} // named a moment before it is created
		err = await(ctx, s, &v1alpha1.Run{}, &v1alpha1.RunList{}, key, show,
			func(o client.Object, exists bool) (bool, error) {
				r, ok := o.(*v1alpha1.Run)
				run = r
				return ok && exists, nil
			})
		if apierrors.IsForbidden(err) {
			err = session.Explained(err, "Run %s was created for the request and continues, but cannot be followed: %v",
				name, err)
		}
		if err != nil || metav1.IsControlledBy(run, stack) {
			return run, err
		}
		// An earlier Stack of this name has left a Run of that name, so the Stack names another one.
	}
}

// awaitName waits until a request was handled, and returns the name of its Run, which is another one than before.
func awaitName(
	ctx context.Context, s *session.Session, stack *v1alpha1.Stack, request, before string, show *progress,
) (name string, err error) {
	key := client.ObjectKeyFromObject(stack)
	err = await(ctx, s, &v1alpha1.Stack{}, &v1alpha1.StackList{}, key, show,
		func(o client.Object, exists bool) (bool, error) {
			st, ok := o.(*v1alpha1.Stack)
			switch {
			case !ok || !exists || st.UID != stack.UID:
				return false, fmt.Errorf("the Stack %s was deleted", key.Name)
			case runinfo.Settled(st.Status.LastHandledRequest, request):
				name = cmp.Or(st.Status.CurrentRun, st.Status.LastRun)
				return name != before, nil
			case st.Annotations[v1alpha1.RequestedAtAnnotation] != request:
				return false, fmt.Errorf("%s requested another Run of Stack %s meanwhile: `%s why %s` shows it",
					cmp.Or(screen.Clean(st.Annotations[v1alpha1.RequestedByAnnotation]), "another user"), st.Name,
					s.Command(), st.Name)
			}
			show.pending(st)
			return false, nil
		})
	return name, err
}

// rejection returns why a request was rejected. The event with the reason is written a moment after the request was
// handled.
func rejection(ctx context.Context, s *session.Session, stack *v1alpha1.Stack) error {
	reason := fmt.Sprintf("the request was rejected: `%s why %s` shows the events with the reason", s.Command(),
		stack.Name)
	// An error or a timeout leaves the reason as it is.
	_ = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 10*time.Second, true,
		func(ctx context.Context) (bool, error) {
			events, err := eventsOf(ctx, s, stack)
			found := false
			for _, e := range events { // oldest first
				if e.Reason == v1alpha1.EventRequestRejected {
					reason, found = screen.Clean(e.Message), true
				}
			}
			return found, err
		})
	return errors.New(reason)
}
