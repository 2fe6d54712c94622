package state

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestOnlyDeletedStatesAreDue(t *testing.T) {
	now := metav1.Now()
	for name, tt := range map[string]struct {
		st   v1alpha1.State
		want bool
	}{
		"a version":  {v1alpha1.State{Status: v1alpha1.StateStatus{Version: 2}}, false},
		"no version": {v1alpha1.State{}, false},
		"deleted":    {v1alpha1.State{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}}, true},
	} {
		if got := isDue(&tt.st); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
		Lean(&tt.st) // as in a cache
		if got := isDue(&tt.st); got != tt.want {
			t.Errorf("%s, from a cache: %v", name, got)
		}
	}
}

func TestLeanKeepsOnlyNeededFields(t *testing.T) {
	at := func(hour int) metav1.Time { return metav1.Date(2026, 11, 20, hour, 0, 0, 0, time.UTC) }
	meta := metav1.ObjectMeta{Namespace: "prod", Name: "net", UID: "u", ResourceVersion: "7", Generation: 3,
		CreationTimestamp: at(1), DeletionTimestamp: new(at(8))}
	status := v1alpha1.StateStatus{
		Version: 7, Serial: 9, Size: 100, Resources: 3, UpdatedBy: "net-7", InputsDigest: "sha256:i",
		Outputs: map[string]string{"id": "f"},
		Lock:    &v1alpha1.Lock{ID: "l", Run: "net-8", Attempt: 2, PodUID: "p", Who: "runner@net-8", Since: at(7)},
		Rescued: &v1alpha1.RescuedState{SHA256: "sha256:r", Run: "net-6", Lineage: "one"},
		Backend: &v1alpha1.StateBackend{Type: "s3", Version: 6}, Move: &v1alpha1.StateMove{Version: 7, By: "alice"},
	}
	st := &v1alpha1.State{ObjectMeta: meta, Status: *status.DeepCopy()}
	st.Labels, st.Annotations, st.Finalizers = map[string]string{"a": "b"}, map[string]string{"a": "b"}, []string{
		v1alpha1.Finalizer}
	st.OwnerReferences = []metav1.OwnerReference{{Name: "net"}}
	st.Status.Lineage, st.Status.SHA256 = "one", "sha256:7"
	for _, hour := range []int{5, 7, 6} {
		st.Status.Versions = append(st.Status.Versions, v1alpha1.StateVersion{Version: int64(hour), At: at(hour),
			SHA256: "sha256:7", Storage: v1alpha1.StateStorageSecret, Run: "net-7", By: "alice"})
	}
	want := &v1alpha1.State{ObjectMeta: meta, Status: status}
	want.Status.Versions = []v1alpha1.StateVersion{{Version: 7, By: "alice", At: at(7)}}
	for range 2 { // a cache may do it twice
		Lean(st)
		if diff := cmp.Diff(want, st); diff != "" {
			t.Error(diff)
		}
	}
	none := &v1alpha1.State{}
	if Lean(none); none.Status.Versions != nil {
		t.Error("the versions are kept")
	}
}
