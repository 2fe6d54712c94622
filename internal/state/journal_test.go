package state

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket/buckettest"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/state/decision"
)

func TestNamesOfJournalParts(t *testing.T) {
	const batch = "journals/web/net/001700000000-0000000007-00002-00003"
	held := heldName(batch, 5, []byte("x"))
	later := heldName(held, 6, []byte("x")) // the name does not grow
	sorted := []string{batch, held, later, later + "-saved", batch + "-saved",
		strings.Replace(batch, "-00003", "-00004", 1), strings.TrimSuffix(batch, "00003") + savedMark}
	if !slices.IsSorted(sorted) || len(later) != len(held) {
		t.Errorf("%q", sorted)
	}
	if other := heldName(batch, 5, []byte("y")); other == held {
		t.Error("two parts have the same name")
	}
	for _, name := range sorted {
		if run, attempt := batchAttempt(types.NamespacedName{Namespace: "web", Name: "net"}, name); run != "net-7" ||
			attempt != 2 {
			t.Errorf("%s is of attempt %d of %s", name, attempt, run)
		}
	}
	if run, _ := batchAttempt(types.NamespacedName{Name: "net"}, "journals/web/net/x"); run != "" {
		t.Error(run)
	}
}

func TestSizeOfHeldPartsIsLimited(t *testing.T) {
	var all, got []engine.Done
	for range 200 {
		all = append(all, engine.Done{Address: strings.Repeat("<", 1000), Action: string(engine.Held)})
	}
	for left := all; len(left) > 0; {
		data, n, err := heldPart(left)
		if err != nil || n == 0 || len(data) > runnerapi.LargestBatch {
			t.Fatalf("%d bytes, %d of %d, %v", len(data), n, len(left), err)
		}
		got, left = append(got, left[:n]...), left[n:]
	}
	if diff := cmp.Diff(all, got); diff != "" {
		t.Error(diff)
	}
}

// TestStaleMarkerDoesNotCoverAJournal checks a marker that all is saved, which remains after its Run if a garbage
// collection was interrupted. If the API server's clock went back since, the batches of the next Run are older than it.
func TestStaleMarkerDoesNotCoverAJournal(t *testing.T) {
	b := buckettest.New(t)
	s, key := New(nil, nil, b, Options{}), types.NamespacedName{Namespace: "web", Name: "net"}
	attempt := v1alpha1.Attempt{Number: 2, PodUID: "pod-2", Phase: v1alpha1.AttemptApply}
	before := &v1alpha1.Run{Status: v1alpha1.RunStatus{Attempts: []v1alpha1.Attempt{attempt}}}
	next := before.DeepCopy()
	before.CreationTimestamp, next.CreationTimestamp = metav1.NewTime(start.Add(time.Hour)), start
	before.Name, next.Name = "net-6", "net-7"
	if err := b.Put(t.Context(), journalName(key, before, 2)+savedMark, nil); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		if err := s.AppendJournal(t.Context(), key, next, decision.Holder{Run: "net-7", Attempt: 2, PodUID: "pod-2"}, i,
			[]byte(`{"entries":[{"address":"a","action":"create"}]}`)); err != nil {
			t.Fatal(err)
		}
	}
	if journal, err := s.Journal(t.Context(), key); err != nil || len(journal.Entries) != 2 {
		t.Errorf("%+v, %v", journal, err)
	}
}
