//go:build envtest

package scale

import (
	"fmt"
	"io"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"text/tabwriter"
	"time"

	"cairn.dev/cairn/test/devcluster"
)

// Two operators, which divide the namespaces, and three servers behind one address do the work of one of each, and go
// on while each of them is killed in turn: every Run succeeds.
func TestReplicas(t *testing.T) {
	i := Start(t)
	i.leases("cairn-operator-0", "cairn-operator-1")
	history := func() *History {
		operator, server := i.Begin("operator"), i.Begin("server")
		defer server.Stop()
		defer operator.Stop()
		return i.Live(*flagRuns)
	}()
	history.Fill(*flagN)
	i.calm()
	w := tabwriter.NewWriter(os.Stdout, 2, 8, 2, ' ', 0)
	line := func(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }
	line("%d Stacks\tRuns a second\tchange to Run, p50\tp99\toperators, RSS\tservers, RSS", *flagN)
	burst := min(*flagN/4, 300)
	measure := func(name string, operators, servers []*Process, size int) {
		b := i.under(operators, servers, burst, 0, burst, size)
		line("%s\t%.1f\t%s\t%s\t%s\t%s", name, Rate(b.load.Ends), Quantile(b.load.Made, 0.5).Round(time.Millisecond),
			Quantile(b.load.Made, 0.99).Round(time.Millisecond), i.rss(operators), i.rss(servers))
	}

	operators, servers := []*Process{i.Begin("operator")}, []*Process{i.Begin("server")}
	measure("one operator, one server", operators, servers, 1_000_000)
	operators[0].Stop()
	servers[0].Stop()

	var addresses []string
	for range 3 {
		addresses = append(addresses, devcluster.FreeAddress(t))
	}
	i.balance(addresses)
	server := func(n int) *Process { return i.Begin("server", "--listen="+addresses[n], "--cache="+t.TempDir()) }
	operator := func(n int) *Process {
		return i.Begin("operator", "--leader-elect", "--total-shards=2", fmt.Sprintf("--shard=%d", n), "--cache="+
			t.TempDir())
	}
	servers, operators = []*Process{server(0), server(1), server(2)}, []*Process{operator(0), operator(1)}
	measure("two operators, three servers", operators, servers, 2_000_000)

	// The processes are killed while the Runs of a second burst are under way.
	load, began := i.Watch(), time.Now()
	change := func(k int) {
		if err := load.Change(1+k%burst, 3_000_000+k); err != nil {
			t.Error(err)
		}
	}
	changes := 0
	next := func() { // without a second change of a Stack whose Run has not ended
		load.Wait(burst-burst/5-1, 5*time.Minute)
		for range burst / 5 {
			change(changes)
			changes++
		}
	}
	for n := range servers {
		next()
		servers[n].Kill()
		servers[n] = server(n)
	}
	for n := range operators {
		next()
		operators[n].Kill()
		operators[n] = operator(n)
	}
	load.Wait(0, 5*time.Minute)
	load.Result()
	if len(load.Bad) > 0 || len(load.Done) != changes {
		t.Errorf("%d Runs of %d changes, of which ended badly: %v", len(load.Done), changes, load.Bad)
	}
	line("the same, each killed in turn\t%.1f\t%s\t%s\t%s\t%s", float64(len(load.Done))/time.Since(began).Seconds(),
		Quantile(load.Made, 0.5).Round(time.Millisecond), Quantile(load.Made, 0.99).Round(time.Millisecond),
		i.rss(operators), i.rss(servers))
	_ = w.Flush()
}

// rss formats the memory of processes.
func (i *Install) rss(processes []*Process) (text string) {
	i.Helper()
	for n, p := range processes {
		u, err := p.Usage()
		if err != nil {
			i.Fatal(err)
		}
		if n > 0 {
			text += ", "
		}
		text += mib(u.RSS)
	}
	return text
}

// balance forwards each connection to the server's address to one of the addresses in turn, to the next one if nothing
// listens there, as a Service does whose endpoints follow the readiness of pods.
func (i *Install) balance(addresses []string) {
	i.Helper()
	listener, err := net.Listen("tcp", i.listen)
	if err != nil {
		i.Fatal(err)
	}
	i.Cleanup(func() { _ = listener.Close() })
	var turn atomic.Int64
	dial := func() (server net.Conn, err error) {
		for range addresses {
			if server, err = net.Dial("tcp", addresses[int(turn.Add(1))%len(addresses)]); err == nil {
				break
			}
		}
		return server, err
	}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return // closed
			}
			server, err := dial()
			if err != nil {
				_ = client.Close()
				continue
			}
			for _, pair := range [][2]net.Conn{{client, server}, {server, client}} {
				go func() {
					_, _ = io.Copy(pair[0], pair[1]) // until one side closes
					_ = pair[0].Close()
					_ = pair[1].Close()
				}()
			}
		}
	}()
}
