package fence

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

var start = metav1.NewTime(time.Date(2026, 11, 2, 12, 0, 0, 0, time.UTC))

func TestSummaryHasSizeAndSerial(t *testing.T) {
	data := []byte(`{"version":4,"serial":3,"lineage":"L"}`)
	s, err := new(Fence).Summarize(types.NamespacedName{}, data)
	if err != nil || s.Size != int64(len(data)) || s.Serial != 3 {
		t.Fatalf("summary %+v, %v", s, err)
	}
}

func TestVersionsHaveIncreasingTimes(t *testing.T) {
	s := &Fence{Options: Options{Now: func() time.Time { return start.Add(100 * time.Millisecond) }}}
	for _, after := range []time.Time{{}, start.Add(-time.Second), start.Time, start.Add(50 * time.Millisecond)} {
		if at := s.date(Origin{After: after}).Truncate(time.Second); !at.After(after) {
			t.Errorf("%v is not after %v", at, after)
		}
	}
}
