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

// takesAtMost runs f, and fails the test if the objects on the heap take more than most bytes beside those before. The
// limit of a test is about twice as much as was measured, so that a busy machine makes no difference. Once the objects
// take three quarters of the limit, garbage is collected ten times as often, so that little of what they take is garbage.
// To collect that often from the start takes most of the processor time of these tests.
func takesAtMost(t *testing.T, most uint64, f func()) {
	t.Helper()
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	runtime.GC()
	before := onHeap()
	stop, done := make(chan struct{}), make(chan uint64)
	go func() {
		peak, often := before, false
		for tick := time.NewTicker(time.Millisecond); ; {
			select {
			case <-stop:
				done <- peak
				return
			case <-tick.C:
				peak = max(peak, onHeap())
				if !often && peak-before > most/4*3 {
					often = true
					debug.SetGCPercent(10)
				}
			}
		}
	}()
	began := time.Now()
	f()
	took := time.Since(began)
	last := onHeap()
	close(stop)
	peak := max(<-done, last) - before
	t.Logf("MEASURED %s: %.0f MiB in %v, of %d MiB", t.Name(), float64(peak)/(1<<20), took.Round(10*time.Millisecond), most>>20)
	if peak > most {
		t.Errorf("it takes %d MiB of memory, and %d are the limit", peak>>20, most>>20)
	}
}

func onHeap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// retainsAtMost runs f, and fails the test if its result refers to more than most bytes.
func retainsAtMost(t *testing.T, most uint64, f func() any) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	result := f()
	runtime.GC()
	runtime.ReadMemStats(&after)
	runtime.KeepAlive(result)
	kept := after.HeapAlloc - min(before.HeapAlloc, after.HeapAlloc)
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

func mib(n uint64) uint64 { return n << 20 }

// lines returns n lines that differ in a number.
func lines(n int, format string) string {
	var b []byte
	for i := range n {
		b = fmt.Appendf(b, format, i)
	}
	return string(b)
}
