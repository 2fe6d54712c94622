package scheduler

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cairn.dev/cairn/internal/controller/run/runtest"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

var now = runtest.Now

// clock is one that is set by hand.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func runKey(s string) types.NamespacedName {
	namespace, name, _ := strings.Cut(s, "/")
	return types.NamespacedName{Namespace: namespace, Name: name}
}

// asks is an Entry in short form: "team-a/net-1 apply 3 team-a/infra" is of rank apply, waits since the third minute
// and is from Repository team-a/infra.
func asks(s string) Entry {
	f := strings.Fields(s)
	e := Entry{Key: runKey(f[0]), Rank: Rank(slices.Index([]string{"apply", "plan", "pull", "drift"}, f[1]))}
	var minute int
	fmt.Sscan(f[2], &minute)
	e.Since = now.Add(time.Duration(minute) * time.Minute)
	if len(f) > 3 {
		e.Repository = f[3]
	}
	return e
}

func names(keys []types.NamespacedName) string {
	var all []string
	for _, k := range keys {
		all = append(all, k.String())
	}
	return strings.Join(all, " ")
}

// A history is lines such as
//
//	admit team-a/net-1 apply 3 team-a/infra -> yes | why it waits; its place [wake ...]
//	set, run, remove, reclaim               -> the Runs to wake
//	after 61s
func replay(t *testing.T, limits Limits, history string) *Queue {
	t.Helper()
	c := &clock{now.Add(time.Hour)}
	q := NewQueue(limits, c.now)
	for line := range strings.Lines(history) {
		step, want, _ := strings.Cut(strings.TrimSpace(line), "->")
		verb, rest, _ := strings.Cut(strings.TrimSpace(step), " ")
		want = strings.TrimSpace(want)
		got := ""
		switch verb {
		case "":
			continue
		case "admit":
			v := q.Admit(asks(rest))
			got = "yes"
			if !v.Start {
				got = v.Why + "; " + Position(v.Ahead)
			}
			if len(v.Wake) > 0 {
				got += " wake " + names(v.Wake)
			}
		case "set":
			got = names(q.Set(asks(rest)))
		case "run":
			e := asks(rest)
			e.Running = true
			got = names(q.Set(e))
		case "renew":
			e := asks(rest)
			e.UID = "another"
			got = names(q.Set(e))
		case "remove":
			got = names(q.Remove(runKey(rest)))
		case "reclaim":
			got = names(q.Reclaim())
		case "after":
			d, err := time.ParseDuration(rest)
			if err != nil {
				t.Fatal(err)
			}
			c.at = c.at.Add(d)
			continue
		default:
			t.Fatalf("no step: %s", line)
		}
		if got != want {
			t.Errorf("%s: got %q, want %q", step, got, want)
		}
	}
	return q
}

func TestQueue(t *testing.T) {
	ofInfra := func(n int) func(string) int {
		return func(key string) int {
			if key == "a/infra" {
				return n
			}
			return 0
		}
	}
	for _, c := range []struct {
		name    string
		limits  Limits
		history string
	}{
		{"without limits all may start", Limits{}, `
			admit a/1 drift 1 a/infra -> yes
			admit a/2 drift 1 a/infra -> yes`},
		{"a Run that was admitted may ask again", Limits{Installation: 1}, `
			admit a/1 plan 1 -> yes
			admit a/1 plan 1 -> yes
			admit a/2 plan 2 -> concurrency limit of this installation reached (1 of 1); next`},
		{"the next one is woken when a Run is gone, and its Admit confirms it", Limits{Installation: 1}, `
			admit a/1 plan 1 -> yes
			admit a/2 plan 2 -> concurrency limit of this installation reached (1 of 1); next
			remove a/1 -> a/2
			admit a/3 plan 0 -> concurrency limit of this installation reached (1 of 1); next
			admit a/2 plan 2 -> yes`},
		{"a Run that no longer runs but wants to goes back into the line", Limits{Installation: 1}, `
			run a/1 plan 1 ->
			admit a/2 plan 0 -> concurrency limit of this installation reached (1 of 1); next
			set a/1 plan 1 -> a/2`},
		{"applies go before plans, plans before pull requests, those before drift", Limits{Installation: 1}, `
			run z/1 plan 0 ->
			set a/drift drift 1 ->
			set a/pull pull 2 ->
			set a/plan plan 3 ->
			set a/apply apply 4 ->
			remove z/1 -> a/apply
			remove a/apply -> a/plan
			remove a/plan -> a/pull
			remove a/pull -> a/drift`},
		{"of two of one namespace the one that waits longest goes first", Limits{Installation: 1}, `
			run z/1 plan 0 ->
			set a/late plan 2 ->
			set a/early plan 1 ->
			remove z/1 -> a/early`},
		{"the namespace with the fewest running goes first, however long another waits", Limits{Installation: 3}, `
			run a/1 plan 0 ->
			run a/2 plan 0 ->
			run b/1 plan 0 ->
			set a/3 plan 1 ->
			set b/2 plan 2 ->
			set c/1 plan 3 ->
			remove a/1 -> c/1
			remove c/1 -> a/3`},
		{"a Run that its namespace holds up holds up no others", Limits{Installation: 3, Namespace: 1}, `
			run a/1 plan 0 ->
			admit a/2 apply 1 -> concurrency limit of namespace a reached (1 of 1); next
			admit b/1 drift 2 -> yes`},
		{"a Run that its Repository holds up holds up no others",
			Limits{Installation: 3, Namespace: 3, Repository: ofInfra(1)}, `
			run a/1 plan 59 a/infra ->
			admit a/2 apply 60 a/infra -> concurrency limit of Repository a/infra reached (1 of 1); next
			admit a/3 drift 61 a/other -> yes`},
		{"the Repository's limit is reported before the namespace's and that before the installation's",
			Limits{Installation: 2, Namespace: 2, Repository: ofInfra(2)}, `
			run a/1 plan 0 a/infra ->
			run a/2 plan 0 a/infra ->
			admit a/3 plan 1 a/infra -> concurrency limit of Repository a/infra reached (2 of 2); next
			admit a/4 plan 2 -> concurrency limit of namespace a reached (2 of 2); among the next 5
			admit b/1 plan 3 -> concurrency limit of this installation reached (2 of 2); next`},
		{"a Repository's limit is for all namespaces together", Limits{Repository: ofInfra(1)}, `
			admit a/1 plan 1 a/infra -> yes
			admit b/1 plan 2 a/infra -> concurrency limit of Repository a/infra reached (1 of 1); next
			admit c/1 plan 3 a/infra -> concurrency limit of Repository a/infra reached (1 of 1); among the next 5
			remove a/1 -> b/1`},
		{"applies cannot be kept from starting by lower ranks that take turns",
			Limits{Namespace: 1, Repository: ofInfra(1)}, `
			run a/1 plan 0 a/other ->
			run b/1 plan 0 a/infra ->
			set a/2 plan 3 a/other ->
			set b/2 plan 3 a/infra ->
			set a/apply apply 2 a/infra ->
			remove a/1 ->
			admit a/2 plan 3 a/other -> concurrency limit of namespace a reached (0 of 1), the last one is kept for a more urgent Run; among the next 5
			remove b/1 -> a/apply`},
		{"at first nothing is kept for a Run that waits for its Repository",
			Limits{Namespace: 1, Repository: ofInfra(1)}, `
			run a/1 plan 50 a/other ->
			run b/1 plan 50 a/infra ->
			set a/2 plan 58 a/other ->
			set a/apply apply 56 a/infra ->
			remove a/1 -> a/2`},
		{"a limit that is lower than what runs lets nothing start until it is kept", Limits{Installation: 1}, `
			run a/1 plan 0 ->
			run a/2 plan 0 ->
			admit a/3 plan 1 -> concurrency limit of this installation reached (2 of 1); next
			remove a/1 ->
			remove a/2 -> a/3`},
		{"a grant is not taken back by what was said before it", Limits{Installation: 1}, `
			admit a/1 plan 1 -> yes
			set a/1 plan 1 ->
			admit a/2 plan 2 -> concurrency limit of this installation reached (1 of 1); next`},
		{"a grant that nothing comes of is taken back after a minute, and its Run is asked", Limits{Installation: 1}, `
			admit a/1 plan 1 -> yes
			admit a/2 plan 2 -> concurrency limit of this installation reached (1 of 1); next
			after 59s
			reclaim ->
			after 1s
			reclaim -> a/2 a/1
			admit a/1 plan 1 -> concurrency limit of this installation reached (1 of 1); next`},
		{"each yes is good for a minute", Limits{Installation: 1}, `
			admit a/1 plan 1 -> yes
			set a/2 plan 2 ->
			after 50s
			admit a/1 plan 1 -> yes
			after 50s
			reclaim ->`},
		{"a Run that started keeps its place", Limits{Installation: 1}, `
			admit a/1 plan 1 -> yes
			run a/1 plan 1 ->
			set a/2 plan 2 ->
			after 1h
			reclaim ->`},
		{"a Run that goes on in a new pod has a minute anew to say so", Limits{Installation: 1}, `
			run a/1 plan 1 ->
			admit a/1 apply 2 -> yes
			set a/1 apply 2 ->
			set a/2 plan 2 ->
			after 1m
			reclaim -> a/2 a/1`},
		{"a Run keeps the Repository that it has its place for", Limits{Repository: ofInfra(1)}, `
			admit a/1 plan 1 a/infra -> yes
			run a/1 plan 1 a/other ->
			admit a/2 plan 2 a/infra -> concurrency limit of Repository a/infra reached (1 of 1); next`},
		{"after a restart those that run are counted first", Limits{Installation: 2}, `
			run a/1 plan 1 ->
			run a/2 plan 1 ->
			set a/3 plan 2 ->
			admit a/3 plan 2 -> concurrency limit of this installation reached (2 of 2); next`},
		{"a Run that is made anew under its name does not have the place of the old one", Limits{Installation: 1}, `
			admit a/1 plan 1 -> yes
			set a/2 plan 2 ->
			renew a/1 plan 3 -> a/2`},
		{"a Run that becomes more urgent goes ahead", Limits{Installation: 1}, `
			run z/1 plan 0 ->
			set a/1 plan 1 ->
			set a/2 drift 2 ->
			set a/2 apply 2 ->
			remove z/1 -> a/2`},
		{"what is removed while it waits is not woken", Limits{Installation: 1}, `
			run z/1 plan 0 ->
			set a/1 plan 1 ->
			remove a/1 ->
			remove a/1 ->
			remove z/1 ->`},
		{"the place in line counts more urgent ones and the turns of other namespaces", Limits{Installation: 1}, `
			run z/1 plan 0 ->
			set a/1 plan 1 ->
			set a/2 plan 2 ->
			set a/3 plan 3 ->
			set a/4 plan 4 ->
			set a/5 plan 5 ->
			set a/6 plan 6 ->
			admit b/1 plan 7 -> concurrency limit of this installation reached (1 of 1); among the next 5
			admit a/6 plan 6 -> concurrency limit of this installation reached (1 of 1); among the next 10
			admit b/2 apply 9 -> concurrency limit of this installation reached (1 of 1); next
			admit z/2 plan 0 -> concurrency limit of this installation reached (1 of 1); among the next 5`},
	} {
		t.Run(c.name, func(t *testing.T) { replay(t, c.limits, c.history) })
	}
}

func TestRaisedRepositoryLimitStartsMoreRuns(t *testing.T) {
	limit := 1
	q := NewQueue(Limits{Repository: func(string) int { return limit }}, func() time.Time { return now })
	for _, s := range []string{"a/1 plan 1 a/r", "a/2 plan 2 a/r", "a/3 plan 3 a/r"} {
		q.Admit(asks(s))
	}
	limit = 2
	if got := names(q.Reclaim()); got != "a/2" {
		t.Errorf("Reclaim wakes %q", got)
	}
	limit = 4
	v := q.Admit(asks("a/4 plan 4 a/r"))
	if got := names(v.Wake); !v.Start || got != "a/3" {
		t.Errorf("Admit: start %v, wakes %q", v.Start, got)
	}
}

func TestPlace(t *testing.T) {
	got := map[int]string{}
	for _, n := range []int{-1, 0, 1, 4, 5, 9, 10, 24, 25, 49, 50, 99, 100, 101} {
		got[n] = Position(n)
	}
	want := map[int]string{-1: "next", 0: "next", 1: "among the next 5", 4: "among the next 5", 5: "among the next 10",
		9:  "among the next 10",
		10: "among the next 25", 24: "among the next 25", 25: "among the next 50", 49: "among the next 50",
		50: "among the next 100",
		99: "among the next 100", 100: "more than 100 ahead", 101: "more than 100 ahead"}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestMessageNamesTheLimitThatARunWaitsFor(t *testing.T) {
	q := NewQueue(Limits{Installation: 1}, func() time.Time { return now.Add(time.Hour) })
	q.Admit(asks("a/1 plan 1"))
	got := q.Admit(asks("a/2 drift 2")).Message()
	if want := "concurrency limit of this installation reached (1 of 1); next"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// model is the Queue as one would write it if there were few Runs: it sorts all of them at each turn.
type model struct {
	limits  Limits
	clock   *clock
	waiting map[types.NamespacedName]Entry
	running map[types.NamespacedName]Entry
	granted map[types.NamespacedName]time.Time
}

func (m *model) count(in map[types.NamespacedName]Entry, is func(Entry) bool) int {
	n := 0
	for _, e := range in {
		if is(e) {
			n++
		}
	}
	return n
}

// free is how many places are left of the installation, the namespace and the Repository.
func (m *model) free(e Entry) (installation, namespace, repository int) {
	left := func(limit, running int) int {
		if limit == 0 {
			return 1 << 30
		}
		return limit - running
	}
	return left(m.limits.Installation, len(m.running)),
		left(m.limits.Namespace, m.count(m.running, func(x Entry) bool { return x.Key.Namespace == e.Key.Namespace })),
		left(m.limits.Repository(e.Repository), m.count(m.running, func(x Entry) bool {
			return x.Repository == e.Repository
		}))
}

func (m *model) next() []types.NamespacedName {
	var wake, lost []types.NamespacedName
	for key, at := range m.granted {
		if m.clock.at.Sub(at) >= grantFor {
			lost = append(lost, key)
			delete(m.granted, key)
			delete(m.running, key)
		}
	}
	slices.SortFunc(lost, byName)
	for {
		var all []Entry
		for _, e := range m.waiting {
			all = append(all, e)
		}
		running := func(e Entry) int {
			return m.count(m.running, func(x Entry) bool { return x.Key.Namespace == e.Key.Namespace })
		}
		slices.SortFunc(all, func(a, b Entry) int {
			return cmp.Or(cmp.Compare(a.Rank, b.Rank), cmp.Compare(running(a), running(b)), a.Since.Compare(b.Since),
				byName(a.Key, b.Key))
		})
		i := slices.IndexFunc(all, func(e Entry) bool {
			installation, namespace, repository := m.free(e)
			kept := slices.ContainsFunc(all, func(x Entry) bool {
				_, _, free := m.free(x)
				return x.Rank < e.Rank && x.Key.Namespace == e.Key.Namespace && free <= 0 &&
					m.clock.at.Sub(x.Since) >= patience
			})
			return installation > 0 && namespace > 0 && repository > 0 && (!kept || namespace > 1)
		})
		if i < 0 {
			return append(wake, lost...)
		}
		e := all[i]
		delete(m.waiting, e.Key)
		m.running[e.Key], m.granted[e.Key] = e, m.clock.at
		wake = append(wake, e.Key)
	}
}

func (m *model) set(e Entry) []types.NamespacedName {
	_, granted := m.granted[e.Key]
	old, placed := m.running[e.Key]
	if placed && (granted || e.Running) {
		e.Repository = old.Repository
	}
	switch {
	case e.Running:
		delete(m.waiting, e.Key)
		delete(m.granted, e.Key)
		m.running[e.Key] = e
	case granted:
		m.running[e.Key] = e
	default:
		delete(m.running, e.Key)
		m.waiting[e.Key] = e
	}
	return m.next()
}

func (m *model) remove(key types.NamespacedName) []types.NamespacedName {
	delete(m.waiting, key)
	delete(m.running, key)
	delete(m.granted, key)
	return m.next()
}

func (m *model) admit(e Entry) (bool, []types.NamespacedName) {
	if old, ok := m.running[e.Key]; ok {
		e.Repository = old.Repository
		m.running[e.Key], m.granted[e.Key] = e, m.clock.at
	} else {
		m.waiting[e.Key] = e
	}
	wake := m.next()
	_, ok := m.running[e.Key]
	return ok, slices.DeleteFunc(wake, func(k types.NamespacedName) bool { return k == e.Key })
}

func TestQueueInAnyHistory(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			c := &clock{now}
			limits := Limits{Installation: r.IntN(8), Namespace: r.IntN(4), Repository: func(key string) int {
				return len(key) % 4
			}}
			q := NewQueue(limits, c.now)
			m := &model{limits, c, map[types.NamespacedName]Entry{}, map[types.NamespacedName]Entry{},
				map[types.NamespacedName]time.Time{}}
			for step := range 400 {
				e := Entry{Key: runKey(fmt.Sprintf("ns%d/%d", r.IntN(4), r.IntN(8)))}
				known, ok := m.waiting[e.Key]
				if !ok {
					known, ok = m.running[e.Key]
				}
				if ok && r.IntN(10) > 0 { // at times a Run is another one than it was
					e = known
					e.Running = false
				} else {
					e.Rank = Rank(r.IntN(int(ranks)))
					e.Repository = []string{"", "a", "bb", "ccc"}[r.IntN(4)]
					e.Since = c.at.Add(-time.Duration(r.IntN(20)) * time.Minute)
				}
				var got, want []types.NamespacedName
				var did string
				switch n := r.IntN(20); {
				case n < 6:
					did = "admit"
					v := q.Admit(e)
					start, wake := m.admit(e)
					got, want = v.Wake, wake
					if v.Start != start || start != (v.Why == "") {
						t.Fatalf("step %d: admit %v: start %v, want %v (%s)", step, e, v.Start, start, v.Why)
					}
				case n < 10:
					did = "set"
					got, want = q.Set(e), m.set(e)
				case n < 13:
					if _, ok := m.granted[e.Key]; !ok {
						continue
					}
					did = "started"
					e.Running = true
					got, want = q.Set(e), m.set(e)
				case n < 17:
					did = "remove"
					got, want = q.Remove(e.Key), m.remove(e.Key)
				case n < 19:
					did = "reclaim"
					c.at = c.at.Add(time.Duration(r.IntN(40)) * time.Second)
					got, want = q.Reclaim(), m.next()
				default:
					did = "restart" // what runs is set first, then what waits; the grants are gone
					q = NewQueue(limits, c.now)
					for key := range m.granted {
						delete(m.running, key)
					}
					clear(m.granted)
					for _, e := range m.running {
						e.Running = true
						if woken := q.Set(e); len(woken) > 0 {
							t.Fatalf("step %d: a Run that runs wakes %s", step, names(woken))
						}
					}
					all := m.waiting
					m.waiting = map[types.NamespacedName]Entry{}
					for _, e := range all {
						got, want = append(got, q.Set(e)...), append(want, m.set(e)...)
					}
				}
				if diff := gocmp.Diff(names(want), names(got)); diff != "" {
					t.Fatalf("step %d: %s %v: (-want +got)\n%s", step, did, e, diff)
				}
				check(t, q, m)
			}
			for _, e := range q.runs {
				q.Remove(e.Key)
			}
			if n := len(q.runs) + len(q.grants) + len(q.namespaces) + len(q.repositories) + q.installation.running; n !=
				0 {
				t.Errorf("%d entries are left when all Runs are gone", n)
			}
			for rank, waiting := range q.waiting {
				if len(waiting) > 0 {
					t.Errorf("rank %d still waits", rank)
				}
			}
		})
	}
}

// check says what must be true at any time, whatever the model is like.
func check(t *testing.T, q *Queue, m *model) {
	t.Helper()
	if len(q.runs) != len(m.running)+len(m.waiting) || len(q.grants) != len(m.granted) ||
		q.installation.running != len(m.running) {
		t.Fatalf("%d Runs, %d grants, %d running; want %d, %d, %d", len(q.runs), len(q.grants), q.installation.running,
			len(m.running)+len(m.waiting), len(m.granted), len(m.running))
	}
	for _, e := range m.running {
		if installation, namespace, repository := m.free(e); installation < 0 || namespace < 0 || repository < 0 {
			t.Fatalf("more run than may: left are %d of the installation, %d of namespace and %d of Repository of %v",
				installation, namespace, repository, e)
		}
	}
	for _, e := range m.waiting {
		if installation, namespace, repository := m.free(e); e.Rank == RankApply && installation > 0 && namespace > 0 &&
			repository > 0 {
			t.Fatalf("%v waits and could run", e)
		}
	}
}

func TestNamespacesHaveEqualShares(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 7))
	q := NewQueue(Limits{Installation: 20}, func() time.Time { return now })
	var running []Entry
	byKey := map[types.NamespacedName]Entry{}
	start := func(keys []types.NamespacedName) {
		for _, k := range keys {
			running = append(running, byKey[k])
		}
	}
	for n := range 5 { // the first namespace asks for 5 times as much as the second, and long before
		for i := range 500 / (1 + 4*n) {
			e := asks(fmt.Sprintf("ns%d/%d plan %d", n, i, n))
			byKey[e.Key] = e
			start(q.Set(e))
		}
	}
	count := map[string]int{}
	for range 100 { // any 100 of them end
		i := r.IntN(len(running))
		gone := running[i]
		running = slices.Delete(running, i, i+1)
		start(q.Remove(gone.Key))
		clear(count)
		for _, e := range running {
			count[e.Key.Namespace]++
		}
		if len(running) != 20 {
			t.Fatalf("%d run", len(running))
		}
	}
	for ns, n := range count {
		if n < 3 || n > 5 {
			t.Errorf("%d of 20 places are of %s, of 5 namespaces: %v", n, ns, count)
		}
	}
}

func TestAdmitFromManyGoroutinesKeepsTheLimit(t *testing.T) {
	q := NewQueue(Limits{Installation: 5, Namespace: 3}, time.Now)
	var admitted, most atomic.Int64
	var all sync.WaitGroup
	for g := range 16 {
		all.Go(func() {
			for i := range 200 {
				e := asks(fmt.Sprintf("ns%d/%d-%d plan %d", g%4, g, i, i))
				if q.Admit(e).Start {
					n := admitted.Add(1)
					for {
						if old := most.Load(); n <= old || most.CompareAndSwap(old, n) {
							break
						}
					}
					admitted.Add(-1)
				}
				q.Remove(e.Key)
			}
		})
	}
	all.Wait()
	if most.Load() > 5 || most.Load() == 0 {
		t.Errorf("%d at once", most.Load())
	}
	if len(q.runs) != 0 {
		t.Errorf("%d Runs are left", len(q.runs))
	}
}

func BenchmarkQueue(b *testing.B) {
	for _, c := range []struct{ namespaces, repositories int }{{1, 1}, {50, 4}, {500, 10}, {10_000, 1}} {
		full := NewQueue(Limits{Installation: 20, Namespace: 10, Repository: func(string) int {
			return 10
		}}, func() time.Time { return now })
		var all []Entry
		for i := range 10_000 {
			all = append(all, asks(fmt.Sprintf("ns%d/%d %s %d ns%d/r%d", i%c.namespaces, i,
				[]string{"apply", "plan", "pull", "drift"}[i%4], i,
				i%c.namespaces, i/c.namespaces%c.repositories)))
			full.Set(all[i])
		}
		name := fmt.Sprintf("%d namespaces, %d Repositories each: ", c.namespaces, c.repositories)
		i := 0
		b.Run(name+"admit one that waits", func(b *testing.B) {
			for b.Loop() {
				i++
				full.Admit(all[100+i%(len(all)-100)])
			}
		})
		b.Run(name+"one ends, one is woken, one comes", func(b *testing.B) {
			var running []types.NamespacedName
			for key, r := range full.runs {
				if !r.waits {
					running = append(running, key)
				}
			}
			for b.Loop() {
				gone := running[0]
				e := full.runs[gone].Entry
				running = append(running[1:], full.Remove(gone)...)
				e.Since = e.Since.Add(10_000 * time.Minute)
				running = append(running, full.Set(e)...)
			}
		})
	}
}
