package scripts

import (
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/devcluster"
	"cairn.dev/cairn/test/story"
)

// A restart of `cairn dev` retains everything: the Stack is Ready without a new Run, a plan that waited can be approved
// and is applied unchanged, and the resources can be destroyed.
func TestRestart(t *testing.T) {
	t.Parallel()
	c := devcluster.Start(t)
	stack := &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "net"},
		Spec: v1alpha1.StackSpec{
			Source: v1alpha1.Source{
				Inline: map[string]string{"main.tf": `resource "terraform_data" "it" { input = "a" }`}},
			Apply:   v1alpha1.ApplyManual,
			Timeout: &metav1.Duration{Duration: time.Hour},
		},
	}
	must(t, c.Create(t.Context(), stack))
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "net-1"}}
	waitFor(t, c, run, func() bool { return run.Status.Phase == v1alpha1.PhaseAwaitingApproval })
	plan := run.Status.Plan.Digest

	c.Restart(t)
	must(t, c.Get(t.Context(), client.ObjectKeyFromObject(run), run))
	if run.Status.Phase != v1alpha1.PhaseAwaitingApproval || run.Status.Plan.Digest != plan {
		t.Fatalf("after the restart the Run is %s with plan %s, before it was %s", run.Status.Phase,
			run.Status.Plan.Digest, plan)
	}
	must(t, c.Patch(t.Context(), run, merge(`{"spec":{"approval":{"by":"cairn-dev","planDigest":"`+plan+`"}}}`)))
	waitFor(t, c, run, func() bool { return run.Status.Phase == v1alpha1.PhaseSucceeded })
	if run.Status.Plan.Digest != plan || len(run.Status.Attempts) != 2 {
		t.Errorf("plan %s was applied in %d attempts, %s was approved", run.Status.Plan.Digest,
			len(run.Status.Attempts), plan)
	}

	c.Restart(t)
	waitFor(t, c, stack, func() bool {
		return len(stack.Status.Conditions) > 0 && stack.Status.Conditions[0].Status == "True"
	})
	if stack.Status.LastRun != "net-1" {
		t.Errorf("the restart created Run %s", stack.Status.LastRun)
	}
	must(t, c.Patch(t.Context(), stack, merge(`{"spec":{"apply":"Automatic"}}`)))
	must(t, c.Delete(t.Context(), stack))
	waitFor(t, c, nil, func() bool {
		return apierrors.IsNotFound(c.Get(t.Context(), client.ObjectKeyFromObject(stack), stack))
	})
}

// merge is a patch without a check of the resource version.
func merge(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// waitFor reads an object, unless it is nil, until a condition holds.
func waitFor(t *testing.T, c *devcluster.Cluster, o client.Object, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(story.Timeout); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if o != nil {
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); client.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}
		}
		if ok() {
			return
		}
	}
	t.Fatalf("the condition did not become true: %+v", o)
}
