//go:build envtest

package scale

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"text/tabwriter"
	"time"
)

// seen measures what users see of a number of Stacks: pages of lists from the server, its memory, and the list in a
// browser, without an operator.
func seen(i *Install, history *History, n int) {
	i.Helper()
	began := time.Now()
	phase := func(what string) {
		i.Logf("%s after %s", what, time.Since(began).Round(time.Second))
	}
	history.Fill(n)
	phase("all Stacks are there")
	i.calm()
	phase("the control plane is at rest")
	server := i.Begin("server")
	phase("the server is ready")
	i.calm()
	pages := i.Pages()
	phase("pages are measured")
	usage, err := server.Usage()
	if err != nil {
		i.Fatal(err)
	}
	heap, err := server.Heap(context.Background())
	if err != nil {
		i.Fatal(err)
	}

	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }
	verdict := func(ok bool) string {
		if ok {
			return "reached"
		}
		return "MISSED"
	}
	fmt.Fprintf(os.Stdout, "\n%d Stacks, %d Runs\n", n+1, (n+1)**flagRuns)
	w := tabwriter.NewWriter(os.Stdout, 2, 8, 2, ' ', 0)
	fmt.Fprintln(w, "a page of 50 rows\tp50\tp99\tgoal")
	p99 := func(what string) time.Duration { return Quantile(pages[what], 0.99) }
	worst := slices.SortedFunc(maps.Keys(pages), func(a, b string) int { return cmp.Compare(p99(b), p99(a)) })
	for _, what := range worst {
		fmt.Fprintf(w, "%s\t%s\t%s\t200 ms: %s\n", what, ms(Quantile(pages[what], 0.5)), ms(p99(what)),
			verdict(p99(what) < 200*time.Millisecond))
	}
	fmt.Fprintf(w, "the server's RSS; its peak\t%s\t%s\n", mib(usage.RSS), mib(usage.Peak))
	fmt.Fprintf(w, "  without the program's own pages; heap\t%s\t%s\n", mib(usage.Own), mib(heap))
	if *flagPaint {
		paint, rows, err := i.Paint(n + 1)
		if err != nil {
			i.Errorf("the list in a browser: %v (make browser builds what it takes)", err)
		}
		fmt.Fprintf(w, "the page in a browser, first paint\t%s\t\t1 s: %s\n", ms(paint),
			verdict(err == nil && paint < time.Second))
		fmt.Fprintf(w, "  the rows of the list\t%s\t\t1 s: %s\n", ms(rows), verdict(err == nil && rows < time.Second))
	}
	_ = w.Flush()
	phase("all of it is done")
}
