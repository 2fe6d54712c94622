//go:build envtest

package scale

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"testing"
	"text/tabwriter"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

var (
	flagSet   = flag.Int("set", 20, "Stacks of the StackSet that is created beside users' Runs")
	flagAlone = flag.Duration("alone", 2*time.Second, "how long users' Runs are measured without the StackSet")
)

const (
	// platform is the namespace of the StackSet.
	platform = "platform"
	// usersStacks are those that users change, one of them each pause.
	usersStacks = 50
	pause       = time.Second
	// mostSetWrites is how many writes Cairn has for a Run: of an existing Stack, or the first one of a Stack that it
	// creates.
	mostSetWrites = 25
)

// Measures users' Runs, and reads of the API server, while all Stacks of a StackSet are created and have their first
// Run, and before that. The test is small, and requires only what does not depend on the machine: each Run succeeds,
// and a Run has a bounded number of writes. `make scale-set` runs it with 2,000 Stacks.
func TestSet(t *testing.T) {
	i := Start(t, "--audit-reads")
	operator, server := i.Begin("operator"), i.Begin("server")
	history := i.Live(1)
	operator.Stop()
	server.Stop()
	history.Fill(usersStacks + 1)
	operator, _ = i.Begin("operator"), i.Begin("server")
	i.calmQueues(operator)
	i.NewNamespace(platform)

	end := time.Now().Add(*flagAlone)
	alone := i.serve(1_000_000, func() bool { return time.Now().Before(end) })
	i.calmQueues(operator)

	set := setOf(t, *flagSet)
	if err := i.Create(context.Background(), set); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Hour)
	beside := i.serve(2_000_000, func() bool {
		if time.Now().After(deadline) {
			t.Fatalf("the StackSet has %+v", set.Status)
		}
		if err := i.Get(context.Background(), client.ObjectKeyFromObject(set), set); err != nil {
			t.Fatal(err)
		}
		return set.Status.Applied < int32(*flagSet)
	})
	beside.runs += *flagSet

	w := tabwriter.NewWriter(os.Stdout, 2, 8, 2, ' ', 0)
	ms := func(d []time.Duration) string {
		return fmt.Sprintf("%d, %d, %d ms", Quantile(d, 0.5).Milliseconds(), Quantile(d, 0.99).Milliseconds(),
			Quantile(d, 1).Milliseconds())
	}
	row := func(what string, of func(service) string) { fmt.Fprintln(w, what+"\t"+of(alone)+"\t"+of(beside)) }
	fmt.Fprintf(w, "p50, p99, most\twithout a StackSet\tbeside one of %d Stacks\n", *flagSet)
	row("took", func(s service) string { return s.took.Round(time.Second).String() })
	row("Runs of users, all Runs", func(s service) string { return fmt.Sprintf("%d, %d", len(s.load.Done), s.runs) })
	row("change to Run", func(s service) string { return ms(s.load.Made) })
	row("Run created to finished", func(s service) string { return ms(s.load.Done) })
	row("read of a Stack from the API server", func(s service) string { return ms(s.reads) })
	row("reads past the cache, writes a Run", func(s service) string {
		return fmt.Sprintf("%.1f, %.1f", s.perRun(s.requests), s.perRun(s.writes))
	})
	_ = w.Flush()

	for name, s := range map[string]service{"alone": alone, "beside the StackSet": beside} {
		if len(s.load.Done) == 0 || len(s.load.Bad) > 0 {
			t.Errorf("%s %d Runs of users ended, and badly: %v", name, len(s.load.Done), s.load.Bad)
		}
		if n := s.perRun(s.writes); n > mostSetWrites {
			t.Errorf("%s a Run has %.1f writes", name, n)
		}
	}
}

// service is what users had for some time.
type service struct {
	load *Load
	took time.Duration
	// reads of a Stack by a user.
	reads []time.Duration
	// runs that ended, and the requests of Cairn: those that read past the cache, and those that write.
	runs, requests, writes int
}

func (s service) perRun(n int) float64 { return float64(n) / float64(max(s.runs, 1)) }

// serve changes a Stack of a user in each pause, and reads it ten times meanwhile.
func (i *Install) serve(size int, during func() bool) (s service) {
	i.Helper()
	began := time.Now()
	s.load = i.Watch()
	for c := 0; during(); c++ {
		s.load.Wait(usersStacks-1, 10*time.Minute) // a second change of a Stack would supersede its Run
		stack := 1 + c%usersStacks
		next := time.Now().Add(pause)
		if err := s.load.Change(stack, size+c); err != nil {
			i.Fatal(err)
		}
		for range 10 {
			asked := time.Now()
			key := client.ObjectKey{Namespace: NamespaceOf(stack), Name: NameOf(stack)}
			if err := i.Get(context.Background(), key, &v1alpha1.Stack{}); err != nil {
				i.Fatal(err)
			}
			s.reads = append(s.reads, time.Since(asked))
			time.Sleep(min(pause/10, time.Until(next))) // for the given rate
		}
	}
	s.took = time.Since(began)
	s.load.Wait(0, 20*time.Minute)
	s.load.Result()
	s.runs = len(s.load.Done)
	reads, writes := i.Requests(began)
	s.requests, s.writes = Sum(reads), Sum(writes)
	return s
}

// setOf is a StackSet with a number of Stacks like those of users. A list has 1,000 entries at most, so there are two,
// which are combined. The number is a multiple of ten.
func setOf(t *testing.T, n int) *v1alpha1.StackSet {
	t.Helper()
	raw := func(value any) apiextensionsv1.JSON {
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		return apiextensionsv1.JSON{Raw: data}
	}
	const entries = 10
	most := int32(n)
	set := &v1alpha1.StackSet{ObjectMeta: metav1.ObjectMeta{Namespace: platform, Name: platform}}
	set.Spec.MaxStacks = &most
	var services, sizes v1alpha1.StackSetItems
	for s := range n / entries {
		services.List = append(services.List, raw(map[string]any{"service": fmt.Sprintf("s%d", s)}))
	}
	for size := range entries {
		sizes.List = append(sizes.List, raw(map[string]any{"size": size}))
	}
	set.Spec.Generators = []v1alpha1.StackSetGenerator{{Matrix: []v1alpha1.StackSetItems{services, sizes}}}
	stack := Stack(platform, "", 0, 1)
	stack.Spec.Variables[0].Value = &apiextensionsv1.JSON{Raw: []byte(`"${params.size}"`)}
	set.Spec.Template.Metadata.Name = "${params.service}-${params.size}"
	set.Spec.Template.Spec = raw(stack.Spec)
	return set
}
