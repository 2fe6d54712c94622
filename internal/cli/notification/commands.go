// Package notification has the commands for Notifications.
package notification

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/lifecycle/action"
)

// Command returns the commands for Notifications.
func Command(s *session.Session) *cobra.Command {
	cmd := &cobra.Command{Use: "notify", Short: "Test Notifications"}
	cmd.AddCommand(testCommand(s))
	return cmd
}

func testCommand(s *session.Session) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "test NOTIFICATION",
		Short: "Send a test message of a Notification",
		Long: `Requests a test message and waits until the destination accepts it. If it does not, the command prints why; Cairn
continues to send the message for 24 hours. While another message waits for the destination, that one is sent again at
once, in place of a test message.`,
		Example: s.Examples(`
			cairn notify test chat`),
		Args: s.MaxArgs(1),
		ValidArgsFunction: s.Complete(func(ctx context.Context, s *session.Session, args []string) ([]string, error) {
			return s.CompleteNames(ctx, args, &v1alpha1.NotificationList{})
		}),
		RunE: func(cmd *cobra.Command, args []string) error { return test(cmd.Context(), s, args[0], timeout) },
	}
	cmd.Flags().DurationVar(&timeout, "timeout", time.Minute,
		"how long to wait until the destination accepts the message")
	return cmd
}

func test(ctx context.Context, s *session.Session, arg string, timeout time.Duration) error {
	n, err := get(ctx, s, arg)
	if err != nil {
		return err
	}
	if n.Spec.Suspend {
		return fmt.Errorf("spec.suspend of Notification %s is true: set it to false to send messages", n.Name)
	}
	request := time.Now().UTC().Format(time.RFC3339Nano)
	if err := s.Patch(ctx, n, action.RequestAt(request)); err != nil {
		return fmt.Errorf("the test is not requested: %w", err)
	}
	var failure error
	now := &v1alpha1.Notification{}
	inTime, err := session.Poll(ctx, timeout, func(ctx context.Context) (bool, error) {
		if err := s.Get(ctx, client.ObjectKeyFromObject(n), now); err != nil {
			return false, err
		}
		accepted, failed := outcome(now, request)
		failure = failed
		return accepted || failed != nil, nil
	})
	switch {
	case failure != nil:
		return failure
	case !inTime:
		return fmt.Errorf("the message was not accepted within %s: %s", timeout, state(now))
	case err != nil:
		return err
	}
	_, err = fmt.Fprintf(s.Text(), "The destination of Notification %s accepted the message.\n", n.Name)
	return err
}

// outcome reports whether the destination accepted the message of a request, or why not.
func outcome(n *v1alpha1.Notification, request string) (accepted bool, failed error) {
	ready := apimeta.FindStatusCondition(n.Status.Conditions, v1alpha1.ConditionReady)
	handled := n.Status.LastHandledRequest != nil && n.Status.LastHandledRequest.Value == request
	switch {
	case handled && n.Status.Pending == nil:
		return true, nil
	case ready == nil || ready.Status != metav1.ConditionFalse || ready.ObservedGeneration != n.Generation:
		return false, nil
	case handled, ready.Reason == v1alpha1.ReasonNamespacesNotAllowed,
		ready.Reason == v1alpha1.ReasonConfigurationInvalid:
		return false, fmt.Errorf("the message was not accepted: %s", state(n))
	}
	return false, nil
}

// state returns the reason and the message of the Ready condition.
func state(n *v1alpha1.Notification) string {
	ready := apimeta.FindStatusCondition(n.Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil {
		return "the operator has not reconciled the Notification"
	}
	return ready.Reason + ": " + screen.Clean(ready.Message)
}

// get returns a Notification of the namespace.
func get(ctx context.Context, s *session.Session, arg string) (*v1alpha1.Notification, error) {
	ns, err := s.Namespace()
	if err != nil {
		return nil, err
	}
	_, name := session.SplitKind(arg)
	n := &v1alpha1.Notification{}
	err = s.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, n)
	if err != nil {
		return nil, s.NotFound(ctx, err, ns, name, "notification")
	}
	return n, nil
}
