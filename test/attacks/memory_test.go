package attacks

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"testing"
	"time"
)

// takesAtMost runs f, and fails the test if what it refers to takes more than most bytes beside what was on the heap
// before. Only while the objects on the heap take more than that is garbage collected to know what of them is garbage:
// to collect it more often takes most of the processor time of these tests. The limit of a test is about twice as much
// as was measured, so that a busy machine makes no difference.
func takesAtMost(t *testing.T, most int64, f func()) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	runtime.GC()
	before := onHeap("objects")
	stop, done := make(chan struct{}), make(chan int64)
	look := func() int64 {
		taken := onHeap("objects") - before
		if taken <= most {
			return taken
		}
		runtime.GC()
		return onHeap("live") - before
	}
	go func() {
		var peak int64
		for tick := time.NewTicker(2 * time.Millisecond); ; {
			select {
			case <-stop:
				done <- peak
				return
			case <-tick.C:
				peak = max(peak, look())
			}
		}
	}()
	began := time.Now()
	f()
	took := time.Since(began)
	last := look()
	close(stop)
	peak := max(<-done, last)
	t.Logf("MEASURED %s: %.0f MiB in %v, of %d MiB", t.Name(), float64(peak)/(1<<20), took.Round(10*time.Millisecond),
		most>>20)
	if peak > most {
		t.Errorf("it takes %d MiB of memory, and %d are the limit", peak>>20, most>>20)
	}
}

// onHeap is how many bytes objects on the heap have, with garbage or only those that were live at the last collection.
func onHeap(what string) int64 {
	sample := []metrics.Sample{{Name: map[string]string{
		"objects": "/memory/classes/heap/objects:bytes", "live": "/gc/heap/live:bytes",
	}[what]}}
	metrics.Read(sample)
	return int64(sample[0].Value.Uint64())
}

// retainsAtMost runs f, and fails the test if its result refers to more than most bytes.
func retainsAtMost(t *testing.T, most int64, f func() any) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	result := f()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(result)
	kept := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("MEASURED %s: %d MiB are kept, of %d MiB", t.Name(), kept>>20, most>>20)
	if kept > most {
		t.Errorf("%d MiB of memory stay in use, and %d are the limit", kept>>20, most>>20)
	}
}

// atOnce calls f n times at the same time.
func atOnce(n int, f func(i int)) {
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() { f(i) })
	}
	all.Wait()
}

func mib(n int64) int64 { return n << 20 }

// lines returns n lines that differ in a number.
func lines(n int, format string) string {
	var b []byte
	for i := range n {
		b = fmt.Appendf(b, format, i)
	}
	return string(b)
}
