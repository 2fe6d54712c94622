//go:build envtest

package run

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/apiserver"
)

// The bucket was emptied or restored from an older backup: the Run waits and names what is not found, and continues
// when it is back.
func TestRunReportsMissingInputs(t *testing.T) {
	for operation, advice := range map[v1alpha1.Operation]string{
		v1alpha1.OperationApply:   "cancel this Run (cairn cancel net-1)",
		v1alpha1.OperationDestroy: "set spec.deletionPolicy of the Stack to Orphan",
	} {
		t.Run(string(operation), func(t *testing.T) {
			r := newTestEnvFor(t, operation)
			full, empty := r.Inputs, memory{}
			r.Inputs = inputs.NewStore(empty)
			again, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.run)})
			apiserver.Must(t, err)
			r.Seen(r.run)
			c := apimeta.FindStatusCondition(r.run.Status.Conditions, v1alpha1.ConditionSucceeded)
			if c == nil || c.Reason != v1alpha1.ReasonInputsNotFound ||
				!strings.Contains(c.Message, "inputs/"+r.run.Spec.InputsDigest) ||
				!strings.Contains(c.Message, advice) {
				t.Fatalf("the condition is %+v", c)
			}
			if r.run.Status.Phase != v1alpha1.PhaseQueued || len(r.run.Status.Attempts)+len(r.pods()) > 0 ||
				again.RequeueAfter == 0 {
				t.Errorf("it is %s, with attempts %v, and is looked at again after %s", r.run.Status.Phase,
					r.run.Status.Attempts, again.RequeueAfter)
			}
			before := r.run.ResourceVersion
			if r.reconcile(); r.run.ResourceVersion != before {
				t.Error("it is written again though nothing changed")
			}
			r.Inputs = full
			r.reconcile()
			r.expectAttempts("Plan")
		})
	}
}

// A transient failure is retried and is not reported in the status.
func TestUnreadableInputsAreRetried(t *testing.T) {
	for err, gone := range map[error]bool{
		bucket.ErrNotFound: true, bucket.ErrDamaged: true, bucket.ErrWrongKey: true,
		bucket.ErrNoBucket: false, bucket.ErrDenied: false, errors.New("connection refused"): false,
	} {
		if got := isInputsLost(fmt.Errorf("inputs sha256:x: %w", err)); got != gone {
			t.Errorf("%v: %v", err, got)
		}
	}
}

// The server found the inputs damaged, so the runner got no order and its pod ended. The operator has them in memory,
// and a server of its own process tells it nothing: it reads them again before it creates the next pod.
func TestRunReportsInputsThatOnlyTheServerFoundDamaged(t *testing.T) {
	r, kept := newTestEnv(t), memory{}
	doc, err := r.Inputs.Get(t.Context(), r.run.Spec.InputsDigest)
	apiserver.Must(t, err)
	r.Inputs = inputs.NewStore(kept)
	_, err = r.Inputs.Put(t.Context(), doc)
	apiserver.Must(t, err)
	r.reconcile()
	r.expectAttempts("Plan")
	clear(kept)
	r.sendReport(runnerapi.Done{Failure: &runnerapi.Failure{Class: runnerapi.FailureTransient,
		Message: "the server answered 410"}})
	r.Clock = func() time.Time { return time.Now().Add(30 * time.Second) }
	r.reconcile()
	r.expectAttempts("Plan Transient")
	c := apimeta.FindStatusCondition(r.run.Status.Conditions, v1alpha1.ConditionSucceeded)
	if c == nil || c.Reason != v1alpha1.ReasonInputsNotFound || r.run.Status.Phase.Finished() {
		t.Fatalf("the Run is %s, with %+v", r.run.Status.Phase, c)
	}
	_, err = r.Inputs.Put(t.Context(), doc) // a user restored the bucket
	apiserver.Must(t, err)
	r.reconcile()
	r.expectAttempts("Plan Transient", "Plan")
}
