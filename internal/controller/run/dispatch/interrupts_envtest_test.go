//go:build envtest

package dispatch

import (
	"context"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/index"
	"cairn.dev/cairn/internal/controller/run/runtest"
	"cairn.dev/cairn/test/apiserver"
)

func TestMain(m *testing.M) { apiserver.Main(m, "../../../../charts/cairn/files/crds") }

func TestCancelInterruptsTheAttempt(t *testing.T) {
	r := apiserver.New(t, apiserver.Index{Of: &v1alpha1.Run{}, Field: index.PodField, Values: index.PodUIDs})
	run := runtest.Run(runtest.Planning, func(run *v1alpha1.Run) {
		run.Spec.Cause.Type, run.Spec.InputsDigest = v1alpha1.CauseSpec, "sha256:"+strings.Repeat("0", 64)
	})
	status := run.Status
	r.Make(run)
	run.Status = status
	apiserver.Must(t, r.Client.Status().Update(t.Context(), run))
	r.Seen(run)
	reads := &signaled{Reader: r.Client, began: make(chan struct{}, 100)}
	orders, uid := &Orders{Runs: NewRunsByPod(reads, r.Live)}, run.Status.Attempts[0].PodUID
	pod := types.NamespacedName{Namespace: run.Namespace, Name: run.Status.Attempts[0].Pod}
	wait := func(ctx context.Context, attempt int32) <-chan string {
		said := make(chan string, 1)
		go func() {
			i, err := orders.Interrupt(ctx, pod, uid, attempt)
			if err != nil {
				t.Error(err)
			}
			said <- i.Reason
		}()
		return said
	}

	// While the attempt continues, no reason is returned: not after an event that is no cancel, and not at the end of
	// the request.
	ctx, hangUp := context.WithCancel(t.Context())
	first := wait(ctx, 1)
	<-reads.began
	orders.Changed(run)
	<-reads.began
	hangUp()
	if reason := <-first; reason != "" {
		t.Errorf("interrupted by %q", reason)
	}

	second := wait(t.Context(), 1)
	<-reads.began
	before := run.DeepCopy()
	run.Spec.Cancel, run.Spec.CanceledBy = true, "bob"
	apiserver.Must(t, r.Client.Patch(t.Context(), run, client.MergeFrom(before)))
	r.Seen(run)
	orders.Changed(run)
	if reason := <-second; reason != "canceled by bob" {
		t.Errorf("interrupted by %q", reason)
	}
	if reason := <-wait(t.Context(), 1); reason != "canceled by bob" { // asked again: its answer was lost
		t.Errorf("interrupted by %q", reason)
	}
}

// signaled is a Reader that signals the start of each List.
type signaled struct {
	client.Reader
	began chan struct{}
}

func (s *signaled) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	s.began <- struct{}{}
	return s.Reader.List(ctx, list, opts...)
}
