//go:build envtest

package scale

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

var (
	flagOnly  = flag.Bool("only", false, "leave out the sizes below n")
	flagN     = flag.Int("n", 100, "Stacks")
	flagRuns  = flag.Int("runs", 3, "finished Runs of each Stack")
	flagIdle  = flag.Duration("idle", 5*time.Second, "how long to measure an idle Cairn")
	flagLoad  = flag.Duration("load", 0, "how long to change Stacks at a steady rate, after a burst; 0 leaves both out")
	flagPaint = flag.Bool("paint", false, "have a browser show the list of Stacks")
	flagPages = flag.Bool("pages", false, "measure only what users see: pages of lists, and with -paint the browser")
	flagHold  = flag.Duration("hold", 5*time.Second, "how long the apply lasts beside which others go on")
)

// measured has the results for one size.
type measured struct {
	n                         int
	restart                   time.Duration
	reads, writes, restartCPU float64
	idleWrites                int
	operator, server          Usage
	operatorHeap, serverHeap  int64
	operatorIdle, serverIdle  float64 // of one core
	reconciles, states        float64 // states: of those, of States
	pages                     []time.Duration
	paint, rows               time.Duration // of the list in a browser; 0 if not measured
}

// Measures a large installation. The test is small, and requires only what does not depend on the machine: what a
// restart reads and writes. `make scale` runs it with other numbers and under load, and prints all results with goals.
func TestScale(t *testing.T) {
	i := Start(t)
	operator, server := i.Begin("operator"), i.Begin("server")
	history := i.Live(*flagRuns)
	operator.Stop()
	server.Stop()

	objects, bytes := history.Size()
	t.Logf("a Stack with %d Runs is %d objects of %d bytes in etcd", *flagRuns, objects, bytes)

	if *flagPages {
		seen(i, history, *flagN)
		return
	}
	var rows []measured
	for _, n := range sizes(*flagN, *flagOnly) {
		began := time.Now()
		history.Fill(n)
		t.Logf("%d Stacks with %d Runs each are there after %s", n, *flagRuns, time.Since(began).Round(time.Second))
		i.calm()
		var m measured
		m, operator, server = i.rest(n)
		rows = append(rows, m)
		t.Logf("%d: restart to quiet %s with %.0f reads and %.0f writes and %.1f s of processor; RSS %s, heap %s, "+
			"idle %.2f %%; server RSS %s, heap %s, idle %.2f %%; %d writes while idle; a page of 50 rows in %s, p99 "+
			"%s; in a browser %s, its rows %s",
			n, m.restart.Round(10*time.Millisecond), m.reads, m.writes, m.restartCPU, memory(m.operator),
			mib(m.operatorHeap), 100*m.operatorIdle,
			memory(m.server), mib(m.serverHeap), 100*m.serverIdle, m.idleWrites,
			Quantile(m.pages, 0.5), Quantile(m.pages, 0.99), m.paint, m.rows)
		if m.writes != 0 || m.idleWrites != 0 {
			t.Errorf("%.0f writes at a restart and %d while idle", m.writes, m.idleWrites)
		}
		if m.states != 0 {
			t.Errorf("%.0f reconciliations of States at a restart without any change", m.states)
		}
		if m.reads > 60 {
			t.Errorf("%.0f reads at a restart with %d Stacks", m.reads, n)
		}
		if n < *flagN {
			operator.Stop()
			server.Stop()
		}
	}
	if *flagLoad > 0 {
		report(t, i, rows, operator, server)
	}
}

// memory formats RSS and the part without the program file.
func memory(u Usage) string { return mib(u.RSS) + ", own " + mib(u.Own) + ", peak " + mib(u.Peak) }

// sizes returns the sizes to measure; the last one is n.
func sizes(n int, only bool) []int {
	all := []int{100, 1000, 10_000}
	return append(slices.DeleteFunc(all, func(size int) bool { return size >= n || only }), n)
}

// calm waits until the control plane is idle after a change.
func (i *Install) calm() {
	i.Helper()
	used := func() (sum time.Duration) {
		for _, pid := range i.controlPlane() {
			u, err := UsageOf(pid)
			if err != nil {
				i.Fatal(err)
			}
			sum += u.CPU
		}
		return sum
	}
	const sample = 3 * time.Second
	for end, before := time.Now().Add(15*time.Minute), used(); time.Now().Before(end); {
		time.Sleep(sample) // low usage during this time is measured
		now := used()
		if now-before < sample/5 {
			return
		}
		before = now
	}
	i.Fatal("the control plane does not come to rest")
}

// rest measures a restart, and the usage of an idle Cairn.
func (i *Install) rest(n int) (m measured, operator, server *Process) {
	i.Helper()
	ctx := context.Background()
	since := time.Now()
	operator = i.begin("operator")
	profiled := make(chan struct{})
	go func() { defer close(profiled); i.profileRestart(operator, n) }()
	quiet, v := i.Quiet(operator, n+1, 20*time.Minute)
	m = measured{n: n, restart: quiet.Sub(operator.Began), reads: v["rest_client_requests_total/GET"],
		reconciles: v["controller_runtime_reconcile_total"], states: v["controller_runtime_reconcile_total/state"]}
	used := func(p *Process) Usage {
		u, err := p.Usage()
		if err != nil {
			i.Fatal(err)
		}
		return u
	}
	m.restartCPU = used(operator).CPU.Seconds()
	m.writes = float64(Sum(i.Writes(since)))
	server = i.Begin("server")
	i.calm()
	m.pages = slices.Concat(slices.Collect(maps.Values(i.Pages()))...)
	if *flagPaint {
		var why error
		if m.paint, m.rows, why = i.Paint(n + 1); why != nil {
			i.Errorf("the list in a browser: %v (make browser builds what it takes)", why)
		}
	}

	since = time.Now()
	op, sv := used(operator), used(server)
	time.Sleep(*flagIdle) // the usage of an idle Cairn is measured
	m.operator, m.server = used(operator), used(server)
	m.operatorIdle = (m.operator.CPU - op.CPU).Seconds() / time.Since(since).Seconds()
	m.serverIdle = (m.server.CPU - sv.CPU).Seconds() / time.Since(since).Seconds()
	counts := i.Writes(since)
	m.idleWrites = Sum(counts)
	if m.idleWrites > 0 {
		i.Logf("written while idle: %v", counts)
	}
	var err error
	if m.operatorHeap, err = operator.Heap(ctx); err != nil {
		i.Fatal(err)
	}
	if m.serverHeap, err = server.Heap(ctx); err != nil {
		i.Fatal(err)
	}
	<-profiled
	i.keepProfile(operator, fmt.Sprintf("heap-%d", n), "heap")
	i.keepProfile(server, fmt.Sprintf("heap-%d", n), "heap")
	return m, operator, server
}

// profileRestart writes a CPU profile of the start of a process, for analysis (CAIRN_PROFILES=folder).
func (i *Install) profileRestart(p *Process, n int) {
	if os.Getenv("CAIRN_PROFILES") == "" {
		return
	}
	for p.Running() { // until it listens
		if _, err := get(context.Background(), "http://"+p.Pprof+"/debug/pprof/cmdline"); err == nil {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	i.keepProfile(p, fmt.Sprintf("restart-%d", n), "profile?seconds=20")
}

// keepProfile writes a profile of a process to the folder CAIRN_PROFILES, if it is set.
func (i *Install) keepProfile(p *Process, name, what string) {
	dir := os.Getenv("CAIRN_PROFILES")
	if dir == "" {
		return
	}
	data, err := get(context.Background(), "http://"+p.Pprof+"/debug/pprof/"+what)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, p.Name+"-"+name), data, 0o600)
	}
	if err != nil {
		i.Error(err)
	}
}

// busy has the results under load.
type busy struct {
	load             *Load
	runs             int
	took             time.Duration
	writes           map[string]int
	decisions        []time.Duration
	operator, server time.Duration
}

// under changes a number of Stacks at a rate per second, or as fast as possible with rate 0. It takes Stacks in turn
// from the first on.
func (i *Install) under(operators, servers []*Process, stacks int, rate float64, changes, size int) busy {
	i.Helper()
	for _, operator := range operators {
		i.calmQueues(operator)
	}
	cpu := func(processes []*Process) (sum time.Duration) {
		for _, p := range processes {
			u, err := p.Usage()
			if err != nil {
				i.Fatal(err)
			}
			sum += u.CPU
		}
		return sum
	}
	op, sv, began := cpu(operators), cpu(servers), time.Now()
	l := i.Watch()
	var work sync.WaitGroup
	for c := range changes {
		if rate > 0 {
			// for the given rate
			time.Sleep(time.Until(began.Add(time.Duration(float64(c) / rate * float64(time.Second)))))
		}
		l.Wait(max(stacks-1, 0), 10*time.Minute) // a second change of a Stack would supersede its Run
		work.Go(func() {
			if err := l.Change(1+c%stacks, size+c); err != nil {
				i.Error(err)
			}
		})
		if rate == 0 && c%16 == 15 {
			work.Wait()
		}
	}
	work.Wait()
	l.Wait(0, 20*time.Minute)
	l.Result()
	if len(l.Bad) > 0 {
		i.Errorf("%d Runs ended badly: %s", len(l.Bad), l.Bad[0])
	}
	b := busy{load: l, runs: len(l.Done), took: time.Since(began), decisions: i.Decisions(began),
		operator: cpu(operators) - op, server: cpu(servers) - sv}
	for before := -1; before != Sum(b.writes); time.Sleep(300 * time.Millisecond) { // events are written asynchronously
		before, b.writes = Sum(b.writes), i.Writes(began)
	}
	return b
}

// calmQueues waits until an operator is idle.
func (i *Install) calmQueues(p *Process) {
	i.Helper()
	i.Quiet(p, 0, 10*time.Minute)
}

func report(t *testing.T, i *Install, rows []measured, operator, server *Process) {
	last := rows[len(rows)-1]
	operators, servers := []*Process{operator}, []*Process{server}
	burst := min(last.n-1, 300)
	b := i.under(operators, servers, burst, 0, burst, 1_000_000)
	// With the deletion of a Run beyond spec.runHistoryLimit, and the status of a Run that waits for the concurrency
	// limit.
	perRun := float64(Sum(b.writes)) / float64(b.runs)
	if perRun > 20 {
		t.Errorf("%.1f writes a Run: %v", perRun, b.writes)
	}
	rate := max(0.6*Rate(b.load.Ends), 0.5)
	changes := int(rate * flagLoad.Seconds())
	steady := i.under(operators, servers, burst, rate, changes, 2_000_000)
	// One apply takes long: that of a Stack that the load does not change.
	held := make(chan struct{})
	holding := sync.OnceFunc(func() { close(held) })
	i.Node.Hold = func(_, stack string) time.Duration {
		if stack != NameOf(0) {
			return 0
		}
		holding()
		return *flagHold
	}
	if err := i.Resize(context.Background(), NamespaceOf(0), NameOf(0), 3_000_000); err != nil {
		t.Fatal(err)
	}
	<-held
	beside := i.under(operators, servers, burst, rate, int(rate*min(*flagLoad, *flagHold-time.Second).Seconds()),
		4_000_000)
	i.Until("the end of the long apply", func() bool { return i.Applied(NamespaceOf(0), NameOf(0)) })
	print := func(format string, args ...any) { fmt.Fprintf(os.Stdout, format, args...) }

	ms := func(d time.Duration) string { return fmt.Sprintf("%.0f ms", float64(d.Microseconds())/1000) }
	w := tabwriter.NewWriter(os.Stdout, 2, 8, 2, ' ', 0)
	line := func(cells ...string) { fmt.Fprintln(w, strings.Join(cells, "\t")) }
	print("\n%d Stacks, %d Runs in history\n", last.n, last.n**flagRuns)
	line("what", "found", "goal", "")
	goal := func(what, found, goal string, ok bool) {
		said := "reached"
		if !ok {
			said = "MISSED"
		}
		line(what, found, goal, said)
	}
	goal("operator, RSS at rest", mib(last.operator.RSS), "250 MiB", last.operator.RSS < 250<<20)
	line("operator, heap in use", mib(last.operatorHeap))
	line("  without the program's own pages; peak", mib(last.operator.Own)+", "+mib(last.operator.Peak))
	line("server, RSS at rest", mib(last.server.RSS))
	line("  without the program's own pages; peak", mib(last.server.Own)+", "+mib(last.server.Peak))
	line("server, heap in use", mib(last.serverHeap))
	p99 := Quantile(last.pages, 0.99)
	goal("a page of 50 rows from the server, p50 and p99", ms(Quantile(last.pages, 0.5))+", "+ms(p99), "p99 200 ms",
		p99 < 200*time.Millisecond)
	if last.paint > 0 {
		goal("the page in a browser, first paint", ms(last.paint), "1 s", last.paint < time.Second)
		goal("  the rows of the list of Stacks", ms(last.rows), "1 s", last.rows < time.Second)
	}
	goal("operator, processor when idle", fmt.Sprintf("%.2f %% of a core", 100*last.operatorIdle), "1 %",
		last.operatorIdle < 0.01)
	line("server, processor when idle", fmt.Sprintf("%.2f %% of a core", 100*last.serverIdle))
	goal("API writes when idle", fmt.Sprintf("%d in %s", last.idleWrites, *flagIdle), "0", last.idleWrites == 0)
	goal("restart to quiet", last.restart.Round(10*time.Millisecond).String(), "10 s", last.restart < 10*time.Second)
	line("  of it the operator's own processor", fmt.Sprintf("%.1f s", last.restartCPU))
	line("  reads past the cache, writes", fmt.Sprintf("%.0f, %.0f", last.reads, last.writes))
	line("queue: Runs a second, 20 at once", fmt.Sprintf("%.1f", Rate(b.load.Ends)))
	line("API writes a Run", fmt.Sprintf("%.1f", perRun))
	line("processor a Run: operator, server", fmt.Sprintf("%.1f ms, %.1f ms", b.operator.Seconds()*1000/float64(b.runs),
		b.server.Seconds()*1000/float64(b.runs)))
	line("Runs a second, steady", fmt.Sprintf("%.1f", float64(steady.runs)/steady.took.Seconds()), "50",
		"the machine gives no more")
	p99 = Quantile(steady.load.Made, 0.99)
	goal("change to Run, p50 and p99", ms(Quantile(steady.load.Made, 0.5))+", "+ms(p99), "p99 100 ms",
		p99 < 100*time.Millisecond)
	p99 = Quantile(steady.decisions, 0.99)
	goal("  of it without the API server's writes", ms(Quantile(steady.decisions, 0.5))+", "+ms(p99), "p99 100 ms",
		p99 < 100*time.Millisecond)
	line("Run created to finished, p50 and p99", ms(Quantile(steady.load.Done, 0.5))+", "+
		ms(Quantile(steady.load.Done, 0.99)))
	line("  beside an apply of "+flagHold.String(), ms(Quantile(beside.load.Done, 0.5))+", "+
		ms(Quantile(beside.load.Done, 0.99)))
	_ = w.Flush()

	if len(rows) < 2 {
		return
	}
	print("\ngrowth\n")
	line("Stacks", "restart", "its processor", "operator, own memory", "heap", "idle", "server, own memory", "heap")
	var n []float64
	for _, m := range rows {
		n = append(n, float64(m.n))
		line(fmt.Sprint(m.n), m.restart.Round(10*time.Millisecond).String(), fmt.Sprintf("%.2f s", m.restartCPU),
			mib(m.operator.Own), mib(m.operatorHeap),
			fmt.Sprintf("%.2f %%", 100*m.operatorIdle), mib(m.server.Own), mib(m.serverHeap))
	}
	exponent := func(of func(measured) float64) string {
		var y []float64
		for _, m := range rows {
			y = append(y, max(of(m), 1e-9))
		}
		if slices.Min(y) < 1e-6 {
			return "-"
		}
		last := len(n) - 1
		return fmt.Sprintf("%.2f, the last step %.2f", Exponent(n, y),
			math.Log(y[last]/y[last-1])/math.Log(n[last]/n[last-1]))
	}
	line("exponent", exponent(func(m measured) float64 { return m.restart.Seconds() }),
		exponent(func(m measured) float64 {
			return m.restartCPU
		}),
		exponent(func(m measured) float64 { return float64(m.operator.Own) }), exponent(func(m measured) float64 {
			return float64(m.operatorHeap)
		}),
		exponent(func(m measured) float64 { return m.operatorIdle }),
		exponent(func(m measured) float64 { return float64(m.server.Own) }), exponent(func(m measured) float64 {
			return float64(m.serverHeap)
		}))
	_ = w.Flush()
}
