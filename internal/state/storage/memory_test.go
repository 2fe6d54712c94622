package storage

import (
	"runtime"
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/document"
)

func TestUnpackUsesOnePieceOfMemory(t *testing.T) {
	const size = 16 << 20
	data := []byte(strings.Repeat("state ", size/6))
	packed, err := Pack(data)
	if err != nil {
		t.Fatal(err)
	}
	v := v1alpha1.StateVersion{SHA256: document.Digest(data), Size: int64(len(data))}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := Unpack(packed, v); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > size+1<<20 {
		t.Errorf("a state of %d MiB uses %.1f", size>>20, float64(used)/(1<<20))
	}
}
