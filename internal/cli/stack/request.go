package stack

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/action"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/run/runinfo"
)

// request asks for a Run of a Stack as this person, and gives what tells this request from others.
func request(ctx context.Context, s *session.Session, stack *v1alpha1.Stack, operation v1alpha1.Operation) (string, error) {
	who, err := s.User(ctx)
	if err != nil {
		return "", err
	}
	asked := action.Now(s.Now())
	return asked, s.Patch(ctx, stack, action.RequestRun(operation, asked, who))
}

// requested asks for a Run and waits until there is one.
func requested(ctx context.Context, s *session.Session, stack *v1alpha1.Stack, operation v1alpha1.Operation) (*v1alpha1.Run, error) {
	if stack.Spec.Suspend {
		return nil, fmt.Errorf("the Stack %s is suspended, nothing starts: `%s resume %s` lets it", stack.Name, s.Program, stack.Name)
	}
	asked, err := request(ctx, s, stack, operation)
	if err != nil {
		return nil, err
	}
	made, err := awaitRun(ctx, s, stack, asked)
	switch {
	case ctx.Err() != nil:
		return nil, session.Interrupted("interrupted before there is a Run: what was asked for still is, and `%s why %s` shows what becomes of it", s.Program, stack.Name)
	case err == nil && !answers(made, stack, operation):
		return nil, fmt.Errorf("the Run of Stack %s is not the one that was asked for, and is left alone: %s; `%s why %s` shows more",
			stack.Name, screen.Line(made, s.Style()), s.Program, made.Name)
	}
	return made, err
}

// answers says that a Run is what was asked for, and so what consent was given to, and not one that came after it.
func answers(made *v1alpha1.Run, stack *v1alpha1.Stack, asked v1alpha1.Operation) bool {
	operation := made.Spec.Operation
	return made.Spec.Cause.Type == v1alpha1.CauseManual &&
		(operation == asked || asked == v1alpha1.OperationApply && operation == v1alpha1.OperationPlan && stack.Spec.Apply == v1alpha1.ApplyNever)
}

// awaitRun waits until a request was taken up, and gives the Run that was made for it.
func awaitRun(ctx context.Context, s *session.Session, stack *v1alpha1.Stack, asked string) (*v1alpha1.Run, error) {
	show := newProgress(s)
	defer show.end()
	key := client.ObjectKeyFromObject(stack)
	name := ""
	err := until(ctx, s, &v1alpha1.Stack{}, &v1alpha1.StackList{}, key, show, func(o client.Object, there bool) (bool, error) {
		st, ok := o.(*v1alpha1.Stack)
		switch {
		case !ok || !there:
			return false, fmt.Errorf("the Stack %s is gone", key.Name)
		case runinfo.Settled(st.Status.LastHandledRequest, asked):
			if name = st.Status.CurrentRun; name == "" {
				name = st.Status.LastRun
			}
			return true, nil
		case st.Annotations[v1alpha1.RequestedAtAnnotation] != asked:
			return false, fmt.Errorf("%s asked for another Run of Stack %s meanwhile: `%s why %s` shows it",
				orSomebody(st.Annotations[v1alpha1.RequestedByAnnotation]), st.Name, s.Program, st.Name)
		}
		show.pending(st)
		return false, nil
	})
	if err != nil {
		return nil, err
	}
	if runinfo.Number(name) <= runinfo.Number(stack.Status.LastRun) { // taken up, and nothing came of it
		return nil, refusal(ctx, s, stack)
	}
	var made *v1alpha1.Run
	// It is named in the Stack a moment before it is there.
	err = until(ctx, s, &v1alpha1.Run{}, &v1alpha1.RunList{}, client.ObjectKey{Namespace: key.Namespace, Name: name}, show, func(o client.Object, there bool) (bool, error) {
		r, ok := o.(*v1alpha1.Run)
		made = r
		return ok && there, nil
	})
	if apierrors.IsForbidden(err) {
		err = session.Explained(err, "Run %s was created for the request and continues, but cannot be followed: %v", name, err)
	}
	return made, err
}

// refusal says why nothing came of a request. The event that tells it is written a moment after the request was taken up.
func refusal(ctx context.Context, s *session.Session, stack *v1alpha1.Stack) error {
	why := fmt.Sprintf("nothing came of it: `%s why %s` shows the events that say why", s.Program, stack.Name)
	// Who may not read events, or finds none, is told where to look.
	_ = wait.PollUntilContextTimeout(ctx, 100*time.Millisecond, 10*time.Second, true, func(ctx context.Context) (bool, error) {
		events, err := eventsOf(ctx, s, stack)
		found := false
		for _, e := range events { // oldest first
			if e.Reason == v1alpha1.EventRequestRejected {
				why, found = screen.Clean(e.Message), true
			}
		}
		return found, err
	})
	return errors.New(why)
}

func orSomebody(name string) string {
	if name == "" {
		return "somebody"
	}
	return screen.Clean(name)
}

// approve writes the approval of the plan that a Run has now, or of the digest that was read.
func approve(ctx context.Context, s *session.Session, run *v1alpha1.Run, digest string) error {
	who, err := s.User(ctx)
	if err != nil {
		return err
	}
	return s.Patch(ctx, run, action.ApproveRun(digest, who))
}
