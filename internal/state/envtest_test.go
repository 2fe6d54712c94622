//go:build envtest

package state_test

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/base/bucket/buckettest"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/decision"
	"cairn.dev/cairn/internal/state/storage"
	"cairn.dev/cairn/test/apiserver"
)

func TestMain(m *testing.M) { apiserver.Main(m, "../../charts/cairn/files/crds") }

// testEnv is a namespace with a Stack's Run and its pods, and a Store.
type testEnv struct {
	*testing.T
	namespace string
	key       types.NamespacedName
	bucket    *bucket.Bucket
	store     *state.Store
	options   state.Options
	run       *v1alpha1.Run
}

// planned is the digest of the plan of the Run, which is approved: most tests apply a state that a user pushed.
const planned = "sha256:0000000000000000000000000000000000000000000000000000000000000002"

func newTestEnv(t *testing.T, o state.Options) *testEnv {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "state-"}}
	must(t, apiserver.Kube.Create(t.Context(), ns))
	b := buckettest.New(t)
	o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	env := &testEnv{T: t, namespace: ns.Name, key: types.NamespacedName{Namespace: ns.Name, Name: "net"}, bucket: b,
		options: o}
	env.store = state.New(apiserver.Kube, apiserver.Kube, b, o)
	env.run = &v1alpha1.Run{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns.Name, Name: "net-1", OwnerReferences: []metav1.OwnerReference{{
			APIVersion: v1alpha1.GroupVersion.String(), Kind: "Stack", Name: "net", UID: "stack", Controller: new(true),
		}}},
		Spec: v1alpha1.RunSpec{
			Stack: v1alpha1.ObjectRef{Name: "net"}, Operation: v1alpha1.OperationApply,
			Cause:        v1alpha1.Cause{Type: v1alpha1.CauseSpec},
			InputsDigest: "sha256:0000000000000000000000000000000000000000000000000000000000000001",
			Approval:     &v1alpha1.Approval{By: "bob", PlanDigest: planned},
		},
	}
	must(t, apiserver.Kube.Create(t.Context(), env.run))
	return env
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// attempt finishes the last attempt and starts another one in a new pod.
func (env *testEnv) attempt() decision.Holder { return env.attemptTo(v1alpha1.AttemptApply) }

// attemptTo is attempt for any phase.
func (env *testEnv) attemptTo(phase v1alpha1.AttemptPhase) decision.Holder {
	env.Helper()
	n := int32(len(env.run.Status.Attempts) + 1)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: fmt.Sprintf("net-1-apply-%d", n)},
		Spec: corev1.PodSpec{
			Containers:                   []corev1.Container{{Name: "runner", Image: "runner"}},
			AutomountServiceAccountToken: new(bool),
		},
	}
	// No controller creates the ServiceAccount.
	_ = apiserver.Kube.Create(env.Context(),
		&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace, Name: "default"}})
	must(env.T, apiserver.Kube.Create(env.Context(), pod))
	now := metav1.NewMicroTime(time.Now())
	if n > 1 {
		env.run.Status.Attempts[n-2].FinishedAt = &now
	}
	env.run.Status.Plan = &v1alpha1.Plan{Digest: planned}
	env.run.Status.Attempts = append(env.run.Status.Attempts, v1alpha1.Attempt{
		Number: n, Phase: phase, Pod: pod.Name, PodUID: pod.UID, StartedAt: now,
	})
	must(env.T, apiserver.Kube.Status().Update(env.Context(), env.run))
	return decision.Holder{Run: env.run.Name, Attempt: n, PodUID: pod.UID}
}

// killPod deletes the pod of an attempt.
func (env *testEnv) killPod(by decision.Holder) {
	env.Helper()
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: env.namespace,
		Name: fmt.Sprintf("net-1-apply-%d", by.Attempt)}}
	must(env.T, apiserver.Kube.Delete(env.Context(), pod, client.GracePeriodSeconds(0)))
}

func (env *testEnv) status() v1alpha1.StateStatus {
	env.Helper()
	st := &v1alpha1.State{}
	must(env.T, apiserver.Kube.Get(env.Context(), env.key, st))
	return st.Status
}

// secrets returns the Secrets that contain versions.
func (env *testEnv) secrets() []corev1.Secret {
	env.Helper()
	list := &corev1.SecretList{}
	must(env.T, apiserver.Kube.List(env.Context(), list, client.InNamespace(env.namespace),
		client.MatchingLabels{storage.Label: env.key.Name}))
	return list.Items
}

// inBucket returns the versions that are stored in the bucket.
func (env *testEnv) inBucket() []string {
	env.Helper()
	keys, err := env.bucket.List(env.Context(), "states")
	must(env.T, err)
	return slices.DeleteFunc(keys, func(key string) bool {
		return strings.HasSuffix(key, "/backup") || strings.HasSuffix(key, "/index")
	})
}

// stateFile returns a state of a serial and a lineage with a text in an output.
func stateFile(serial int, lineage, text string, resources int) []byte {
	instances := ""
	for i := range resources {
		if i > 0 {
			instances += ","
		}
		instances += fmt.Sprintf(`{"index_key":%d,"schema_version":0}`, i)
	}
	return fmt.Appendf(nil, `{"version":4,"terraform_version":"1.12.6","serial":%d,"lineage":%q,"outputs":{"x":{"value":%q,"type":"string"}},`+
		`"resources":[{"mode":"managed","type":"terraform_data","name":"a","instances":[%s]}]}`, serial, lineage,
		text, instances)
}
