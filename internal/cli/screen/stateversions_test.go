package screen

import (
	"bytes"
	"os"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestVersionsOfAState(t *testing.T) {
	at := func(before time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-before)) }
	st := &v1alpha1.State{Status: v1alpha1.StateStatus{
		Version: 4,
		Versions: []v1alpha1.StateVersion{
			{Version: 1, Serial: 1, SHA256: "sha256:aa", Size: 180, Resources: new(int32(-1)),
				Storage: v1alpha1.StateStorageSecret, Run: "net-1", At: at(50 * time.Hour)},
			{Version: 2, Serial: 2, SHA256: "sha256:bb", Size: 30 << 20, Resources: new(int32(9)),
				Storage: v1alpha1.StateStorageBucket, Run: "net-2", At: at(3 * time.Hour)},
			{Version: 3, Serial: 3, SHA256: "sha256:cc", Size: 20 << 10, Storage: v1alpha1.StateStorageSecret,
				Run: "net-3", By: "bob\x1b[2J", At: at(2 * time.Hour)},
			{Version: 4, Serial: 7, SHA256: "sha256:dd", Size: 20 << 10, Resources: new(int32(12)),
				Storage: v1alpha1.StateStorageSecret, By: "alice", At: at(time.Minute)},
		},
		Lock: &v1alpha1.Lock{ID: "5c21e1a5", Run: "net-8", Attempt: 2, Who: "runner@net-8-plan-1",
			Since: at(90 * time.Second)},
		Backend: &v1alpha1.StateBackend{Type: "s3", Version: 3, Serial: 3},
		Move:    &v1alpha1.StateMove{Version: 4, By: "alice"},
		Rescued: &v1alpha1.RescuedState{Serial: 8, Run: "net-7", At: at(10 * time.Minute)},
	}}
	var out bytes.Buffer
	s := Style{Now: noon}
	for _, wide := range []bool{false, true} {
		text, err := printed(StateVersions(st, s), wide)
		if err != nil {
			t.Fatal(err)
		}
		out.WriteString(text + "\n")
	}
	if err := StateNotes(&out, st, s); err != nil {
		t.Fatal(err)
	}
	for _, lock := range []v1alpha1.Lock{{ID: "x", Who: "alice@laptop", Since: at(time.Hour)},
		{ID: "z", By: "alice@example.com", Who: "dev@laptop", Since: at(time.Hour)},
		{ID: "y\x1b[2J", Since: at(time.Hour)}} {
		out.WriteString("\n" + LockOf(&lock, s) + "\n")
	}
	const golden = "testdata/stateversions.txt"
	if *update {
		if err := os.WriteFile(golden, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Error(diff)
	}
}
