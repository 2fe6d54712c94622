//go:build envtest

package operator

import (
	"context"
	"regexp"
	"testing"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
)

// TestStatusOfAFormerLeaderIsCorrected checks a former leader that still writes the status of a Stack from a stale
// view. The new leader corrects it without another event. Its own writes start one more reconcile, which writes
// nothing.
func TestStatusOfAFormerLeaderIsCorrected(t *testing.T) {
	env := apiserver.New(t)
	stack := &v1alpha1.Stack{}
	stack.Name = "net"
	stack.Spec.Source.ConfigMap = &v1alpha1.ObjectRef{Name: "missing"}
	env.Make(stack)
	r := start(t, func(o *Options) { o.Operator, o.Namespaces = true, []string{env.Namespace} })
	waitForReason := func(reason string) {
		t.Helper()
		err := wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 2*time.Minute, true,
			func(ctx context.Context) (bool, error) {
				err := env.Live.Get(ctx, client.ObjectKeyFromObject(stack), stack)
				ready := apimeta.FindStatusCondition(stack.Status.Conditions, v1alpha1.ConditionReady)
				return ready != nil && ready.Reason == reason, err
			})
		if err != nil {
			t.Fatalf("the Stack has not got the reason %s: %v", reason, stack.Status.Conditions)
		}
	}
	waitForReason("SourceNotFound")
	before := stack.DeepCopy()
	ready := apimeta.FindStatusCondition(stack.Status.Conditions, v1alpha1.ConditionReady)
	ready.Reason, ready.Message = "Running", "Run net-1 is under way"
	apiserver.Must(t, env.Client.Status().Patch(t.Context(), stack, client.MergeFrom(before)))
	waitForReason("SourceNotFound")

	// Further reconciles write nothing.
	passes, reconciles := regexp.MustCompile(
		`(?m)^controller_runtime_reconcile_total\{controller="stack",result="success"\} .*$`), ""
	r.until(r.metrics, "/metrics", func(_ int, body string) bool {
		reconciles = passes.FindString(body)
		return reconciles != ""
	})
	before = stack.DeepCopy()
	stack.Labels = map[string]string{"changed": "true"}
	apiserver.Must(t, env.Client.Patch(t.Context(), stack, client.MergeFrom(before)))
	r.until(r.metrics, "/metrics", func(_ int, body string) bool { return passes.FindString(body) != reconciles })
	_, body := r.get(r.metrics, "/metrics")
	written := regexp.MustCompile(`(?m)^cairn_api_writes_total\{resource="stacks/status".*$`).FindAllString(body, -1)
	if len(written) != 1 || written[0] !=
		`cairn_api_writes_total{resource="stacks/status",result="success",verb="patch"} 2` {
		t.Errorf("one status was written and then corrected, and the writes are %q", written)
	}
}
