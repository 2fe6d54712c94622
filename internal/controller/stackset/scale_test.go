package stackset

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stackset/decision"
)

// fleet is a set of directories in three environments, with the Stacks that it has created.
type fleet struct {
	set    *v1alpha1.StackSet
	known  *known
	files  []string
	stacks []v1alpha1.Stack
}

func newFleet(tb testing.TB, directories int) *fleet {
	tb.Helper()
	most := int32(20_000)
	f := &fleet{set: &v1alpha1.StackSet{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "platform", UID: "set",
		Generation: 1}}}
	err := yaml.Unmarshal([]byte(`
metadata: {name: "${params.team}-${params.name}-${params.env}", labels: {env: "${params.env}", directory.cairn.dev/team: "${params.team}"}}
spec:
  source: {git: {repository: {name: infra}, path: "${directory}"}}
  variableFiles: [{path: "environments/${params.env}.tfvars"}]
  variables: [{name: replicas, value: "${params.env == 'prod' ? 3 : 1}"}]
  apply: "${params.env == 'prod' ? 'Manual' : 'Automatic'}"
  deletionPolicy: Protect
`), &f.set.Spec.Template)
	if err != nil {
		tb.Fatal(err)
	}
	f.set.Spec.MaxStacks = &most
	f.set.Spec.Generators = []v1alpha1.StackSetGenerator{{Matrix: []v1alpha1.StackSetItems{
		{Directories: &v1alpha1.StackSetDirectories{Include: []string{"teams/{team}/{name}"}}},
		{List: []apiextensionsv1.JSON{{Raw: []byte(`{"env": "dev"}`)}, {Raw: []byte(`{"env": "staging"}`)},
			{Raw: []byte(`{"env": "prod"}`)}}},
	}}}
	for i := range directories {
		f.files = append(f.files, fmt.Sprintf("teams/t%03d/n%05d/main.tf", i%50, i),
			fmt.Sprintf("teams/t%03d/n%05d/variables.tf", i%50, i))
	}
	var all sets
	f.known = all.of(f.set)
	return f
}

// pass is a reconcile without the API server.
func (f *fleet) pass(tb testing.TB, source string) decision.Decision {
	tb.Helper()
	w := decision.Snapshot{Now: time.Unix(0, 0), Set: f.set}
	w.Same = func(one *decision.Rendered, stack *v1alpha1.Stack) bool { return f.known.isSame(f.set, one, stack) }
	if f.known.source != source {
		if err := f.known.render(tb.Context(), &w, source, f.files, nil); err != nil {
			tb.Fatal(err)
		}
	}
	if w.Rendered = f.known.rendered; f.known.problem != nil {
		tb.Fatal(f.known.problem.Message)
	}
	w.Stacks = slices.Clone(f.stacks) // as the cache lists them
	f.known.others(f.set, w.Stacks)
	return decision.Decide(w)
}

// create has the Stacks that a decision creates.
func (f *fleet) create(tb testing.TB, d decision.Decision) {
	tb.Helper()
	for _, one := range d.Writes {
		body, err := BodyOf(f.set, one)
		if err != nil {
			tb.Fatal(err)
		}
		data, err := body.MarshalJSON()
		if err != nil {
			tb.Fatal(err)
		}
		s := v1alpha1.Stack{}
		if err := yaml.Unmarshal(data, &s); err != nil {
			tb.Fatal(err)
		}
		s.UID, s.ResourceVersion, s.Generation = types.UID(s.Name), "1", 1
		s.Status.ObservedGeneration, s.Status.InputsDigest, s.Status.AppliedInputsDigest = 1, "sha256:a", "sha256:a"
		s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue,
			ObservedGeneration: 1}}
		f.stacks = append(f.stacks, s)
	}
}

// TestPushOfOneDirectory checks what a push costs: a directory that is new is rendered and created, and nothing else is
// rendered or written. A reconcile after the status of a Stack renders and compares nothing else.
func TestPushOfOneDirectory(t *testing.T) {
	f := newFleet(t, 300)
	d := f.pass(t, "one")
	if len(d.Writes) != 900 || f.known.renderer.Rendered != 900 {
		t.Fatalf("%d writes, %d rendered", len(d.Writes), f.known.renderer.Rendered)
	}
	f.create(t, d)
	if d := f.pass(t, "one"); len(d.Writes) != 0 || d.Reason != v1alpha1.ReasonComplete {
		t.Fatalf("%d writes, %s", len(d.Writes), d.Message)
	}
	f.files = append(f.files, "teams/t001/new/main.tf", "README.md")
	d = f.pass(t, "two")
	if len(d.Writes) != 3 || f.known.renderer.Rendered != 903 {
		t.Errorf("%d writes, %d rendered", len(d.Writes), f.known.renderer.Rendered)
	}
	f.create(t, d)
	f.pass(t, "two")
	f.stacks[5].ResourceVersion, f.stacks[5].Spec.Apply = "2", v1alpha1.ApplyNever
	if d := f.pass(t, "two"); len(d.Writes) != 1 || f.known.renderer.Rendered != 903 {
		t.Errorf("%d writes, %d rendered", len(d.Writes), f.known.renderer.Rendered)
	}
}

// TestGrowth checks that the cost of a set grows with its Stacks, and not faster, by the number of allocations.
func TestGrowth(t *testing.T) {
	const few, many = 400, 1600
	first, again := map[int]float64{}, map[int]float64{}
	for _, n := range []int{few, many} {
		f := newFleet(t, n)
		f.create(t, f.pass(t, "zero"))
		commit := 0
		first[n] = testing.AllocsPerRun(1, func() {
			commit++
			f.known = newFleet(t, 0).known
			f.pass(t, fmt.Sprint(commit))
		})
		again[n] = testing.AllocsPerRun(1, func() { f.pass(t, fmt.Sprint(commit)) })
	}
	if most := again[many] / (3 * many); most > 0.1 {
		t.Errorf("a status of a Stack: %.2f allocations for each Stack of the set", most)
	}
	for name, allocations := range map[string]map[int]float64{"a commit": first, "a status of a Stack": again} {
		exponent := math.Log(allocations[many]/allocations[few]) / math.Log(many/few)
		if exponent > 1.1 {
			t.Errorf("%s: %v allocations, exponent %.2f", name, allocations, exponent)
		}
	}
}

// BenchmarkSet measures sets of directories in three environments: everything for a first commit, a commit that adds a
// directory, and a status of a Stack.
func BenchmarkSet(b *testing.B) {
	for _, directories := range []int{1667, 5000, 6660} {
		b.Run(fmt.Sprintf("%d-Stacks", 3*directories), func(b *testing.B) {
			f := newFleet(b, directories)
			var before, after runtime.MemStats
			runtime.GC()
			runtime.ReadMemStats(&before)
			f.pass(b, "zero")
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.Logf("%d bytes are kept for the set", int64(after.HeapAlloc)-int64(before.HeapAlloc))
			b.Run("first-commit", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					f = newFleet(b, directories)
					f.pass(b, "zero")
				}
			})
			f.create(b, f.pass(b, "zero"))
			f.pass(b, "zero")
			commit := 0
			b.Run("commit", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					commit++
					f.files = append(f.files[:2*directories:2*directories],
						fmt.Sprintf("teams/t001/%s/main.tf", strings.Repeat("n", commit%20+1)))
					if d := f.pass(b, fmt.Sprint(commit)); len(d.Writes) != 3 {
						b.Fatalf("%d writes", len(d.Writes))
					}
				}
			})
			f.pass(b, fmt.Sprint(commit))
			b.Run("status", func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					f.stacks[7].ResourceVersion += "0"
					f.pass(b, fmt.Sprint(commit))
				}
			})
		})
	}
}
