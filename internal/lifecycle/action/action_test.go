package action

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestRetryIsWhatTheOperatorDecided(t *testing.T) {
	stack := &v1alpha1.Stack{}
	if operation, err := Again(stack); err == nil {
		t.Errorf("a retry of %s without one in the status", operation)
	}
	stack.Status.Retry = &v1alpha1.StackRetry{Operation: v1alpha1.OperationDestroy, Run: "net-7"}
	if operation, err := Again(stack); err != nil || operation != v1alpha1.OperationDestroy {
		t.Errorf("a retry of %q: %v", operation, err)
	}
}
