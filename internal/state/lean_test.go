package state

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestLean(t *testing.T) {
	at := func(hour int) metav1.Time { return metav1.Date(2026, 11, 20, hour, 0, 0, 0, time.UTC) }
	st := &v1alpha1.State{Status: v1alpha1.StateStatus{Version: 7, Versions: []v1alpha1.StateVersion{{Version: 5, At: at(5)}, {Version: 7, At: at(7)}, {Version: 6, At: at(6)}}}}
	want := v1alpha1.StateStatus{Version: 7, Versions: []v1alpha1.StateVersion{{Version: 7, At: at(7)}}}
	for range 2 {
		Lean(st)
		if diff := cmp.Diff(want, st.Status); diff != "" {
			t.Error(diff)
		}
	}
	none := &v1alpha1.State{}
	if Lean(none); none.Status.Versions != nil {
		t.Error("it has versions")
	}
}
