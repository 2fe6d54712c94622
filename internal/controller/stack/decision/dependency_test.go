package decision

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/controller/inputs"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

func dependsOn(name, waits string) func(*Snapshot) {
	return func(w *Snapshot) { w.Dependencies = append(w.Dependencies, Dependency{Name: name, Waits: waits}) }
}
func dependent(d Dependent) func(*Snapshot) {
	return func(w *Snapshot) { w.Dependents = append(w.Dependents, d) }
}
func circle(names ...string) func(*Snapshot) { return func(w *Snapshot) { w.Cycle = names } }
func repositoryNotReady(w *Snapshot) {
	w.Problem, w.Digest = &Problem{Reason: "RepositoryNotReady", Message: "waits for Repository infra",
		Transient: true}, ""
}
func knownFrom(reason string) func(*Snapshot) {
	return func(w *Snapshot) {
		w.Stack.Status.InputsDigest, w.Stack.Status.ObservedGeneration = "sha256:before", w.Stack.Generation
		w.Stack.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: "True", Reason: reason}}
	}
}

func TestDependencies(t *testing.T) {
	decide(t, map[string]decision{
		"a new Stack waits for its dependency": {
			snapshot: newSnapshot(dependsOn("vpc", "Running: Run vpc-1 is under way")), ready: "Unknown",
			reason: "DependencyNotReady", message: "waits for Stack vpc: Running",
		},
		"a new Stack waits for all dependencies": {
			snapshot: newSnapshot(dependsOn("vpc", ""), dependsOn("dns", "it is new")), ready: "Unknown",
			reason: "DependencyNotReady", message: "Stack dns: it is new",
		},
		"a wait that may end without an event is checked again": {
			snapshot: newSnapshot(func(w *Snapshot) {
				w.Dependencies = []Dependency{{Name: "vpc", Waits: "what it reads has changed", Unwatched: true}}
			}), ready: "Unknown", reason: "DependencyNotReady", message: "waits for Stack vpc: what",
			requeue: 30 * time.Second,
		},
		"a dependency that does not exist needs a user": {
			snapshot: newSnapshot(func(w *Snapshot) {
				w.Dependencies = []Dependency{{Name: "dns", Missing: true}}
			}), ready: "False", reason: "DependencyNotFound", message: "Stack dns, which this one depends on, " +
				"is not found",
		},
		"an output of a Stack that does not exist needs a user, also when the last inputs are known": {
			snapshot: newSnapshot(knownFrom("Applied"), func(w *Snapshot) {
				w.Problem, w.Digest = &Problem{Transient: true, Missing: true, Reason: "DependencyNotFound",
					Message: MissingDependency("dns")}, ""
			}), ready: "False", reason: "DependencyNotFound", message: "Stack dns",
		},
		"a new Stack starts when its dependencies are Ready": {
			snapshot: newSnapshot(dependsOn("vpc", "")), start: "Apply net-1", ready: "Unknown", reason: "Running",
		},
		"a Stack that is up to date does not wait": {
			snapshot: newSnapshot(dependsOn("vpc", "Running"), state(3), withRun("net-1", "Succeeded", "sha256:now")),
			ready:    "True", reason: "Applied",
		},
		"a cycle is reported": {
			snapshot: newSnapshot(circle("net", "vpc", "net"), dependsOn("vpc", "")), ready: "False",
			reason: "DependencyCycle", message: "net -> vpc -> net", stalled: true,
		},
		"the status is kept while the source is fetched": {
			snapshot: newSnapshot(repositoryNotReady, knownFrom("Applied")),
		},
		"a new Stack reports that its source is fetched": {
			snapshot: newSnapshot(repositoryNotReady), ready: "Unknown", reason: "RepositoryNotReady",
			message: "Repository infra",
		},
		"a Stack is not destroyed before its dependents": {
			snapshot: newSnapshot(deleted, state(3), dependent(Dependent{Name: "app", Deleting: true})),
			ready:    "Unknown", reason: "Deleting", message: "waits for Stack app",
		},
		"dependents that are not deleted prevent the destroy": {
			snapshot: newSnapshot(deleted, state(3), dependent(Dependent{Name: "app"})), ready: "False",
			reason: "DependentsExist", message: "Stack app",
		},
		"Stacks in a cycle do not wait for each other": {
			snapshot: newSnapshot(deleted, state(3), dependent(Dependent{Name: "app", Deleting: true, Circular: true})),
			start:    "Destroy net-1", ready: "Unknown", reason: "Destroying",
		},
		"a Stack that created nothing does not wait for its dependents": {
			snapshot: newSnapshot(deleted, dependent(Dependent{Name: "app"})), finish: "with state",
		},
		"a Stack with the Orphan policy does not wait for its dependents": {
			snapshot: newSnapshot(deleted, orphan, state(3), dependent(Dependent{Name: "app"})), finish: "without",
		},
	})
}

func TestDependenciesOfAStack(t *testing.T) {
	s := &v1alpha1.Stack{}
	s.Spec.DependsOn = []v1alpha1.Dependency{{Name: "vpc"}, {Name: "dns"}}
	s.Spec.Variables = []v1alpha1.Variable{
		{Name: "v", ValueFrom: &v1alpha1.ValueFrom{Stack: &v1alpha1.OutputRef{Name: "db", Output: "o"}}}}
	s.Status.Units = []v1alpha1.Unit{{Path: "none"}, {Path: "vpc", Stacks: []string{"vpc", "vpc-blue"}},
		{Path: "db", Stacks: []string{"db"}}}
	if diff := cmp.Diff([]string{"vpc", "dns", "db", "vpc-blue"}, s.Dependencies()); diff != "" {
		t.Error(diff)
	}

	s.Namespace, s.Status.Units = "shop", nil
	s.Spec.DependsOn = []v1alpha1.Dependency{{Name: "vpc", Namespace: "network"}, {Name: "db", Namespace: "shop"}}
	s.Spec.Variables[0].ValueFrom.Stack = &v1alpha1.OutputRef{Name: "vpc", Namespace: "network", Output: "o"}
	if diff := cmp.Diff([]string{"network/vpc", "db"}, s.Dependencies()); diff != "" {
		t.Error(diff)
	}
	for name, want := range map[string]string{"network/vpc": "network/vpc", "db": "shop/db"} {
		if got := s.KeyOf(name).String(); got != want {
			t.Errorf("%s is %s, want %s", name, got, want)
		}
	}
}

// known looks up Stacks by name.
func known(stacks map[string]*v1alpha1.Stack) Lookup {
	return func(_ *v1alpha1.Stack, key types.NamespacedName) (*v1alpha1.Stack, error) {
		return stacks[key.Name], nil
	}
}

func TestReaches(t *testing.T) {
	stacks := map[string]*v1alpha1.Stack{}
	for name, on := range map[string][]string{"a": {"c", "b"}, "b": {"d", "a"}, "c": {"a"}, "d": {"b"}, "e": {"a"}} {
		s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, o := range on {
			s.Spec.DependsOn = append(s.Spec.DependsOn, v1alpha1.Dependency{Name: o})
		}
		stacks[name] = s
	}
	reaches := func(from, to string) bool {
		path, err := DependencyPath(stacks[from], types.NamespacedName{Name: to}, known(stacks))
		return path != nil && err == nil
	}
	// In overlapping cycles each Stack reaches the others, so that neither of two waits for the other.
	for _, from := range []string{"a", "b", "c", "d"} {
		for _, to := range []string{"a", "b", "c", "d"} {
			if !reaches(from, to) {
				t.Errorf("%s does not reach %s", from, to)
			}
		}
	}
	if reaches("a", "e") || !reaches("e", "d") {
		t.Error("e depends on all Stacks, but no Stack depends on it")
	}
}

func TestWaitsFor(t *testing.T) {
	ready := func(status metav1.ConditionStatus, reason string) *v1alpha1.Stack {
		s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Generation: 2}}
		s.Status.ObservedGeneration = 2
		s.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason,
			Message: "why"}}
		return s
	}
	changed, gone := ready("True", "Applied"), ready("True", "Applied")
	changed.Generation = 3
	gone.DeletionTimestamp = &metav1.Time{Time: now}
	for name, tt := range map[string]struct {
		stack *v1alpha1.Stack
		want  string
	}{
		"a Stack that is Ready":        {ready("True", "Applied"), ""},
		"a Stack with drift":           {ready("False", "Drifted"), ""},
		"a Stack with a Run under way": {ready("Unknown", "Running"), "it is not Ready (Running)"},
		"a Stack with a new spec":      {changed, "it is not reconciled yet"},
		"a new Stack":                  {&v1alpha1.Stack{}, "it is not reconciled yet"},
		"a deleted Stack":              {gone, "it is being deleted"},
	} {
		if got := WaitReason(tt.stack); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestCycle(t *testing.T) {
	stacks := map[string]*v1alpha1.Stack{}
	add := func(name string, on ...string) {
		s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for _, o := range on {
			s.Spec.DependsOn = append(s.Spec.DependsOn, v1alpha1.Dependency{Name: o})
		}
		stacks[name] = s
	}
	add("a", "b")
	add("b", "x", "c")
	add("c", "a")
	add("x", "y")
	add("y", "y")
	add("z", "gone", "a")
	add("unit")
	stacks["unit"].Status.Units = []v1alpha1.Unit{{Path: "live/other", Stacks: []string{"other"}}}
	add("other", "unit")
	add("v")
	stacks["v"].Spec.Variables = []v1alpha1.Variable{
		{Name: "v", ValueFrom: &v1alpha1.ValueFrom{Stack: &v1alpha1.OutputRef{Name: "v", Output: "o"}}}}
	for name, want := range map[string][]string{
		"a": {"a", "b", "c", "a"},
		"y": {"y", "y"},
		"x": nil, // leads to a cycle and is not part of one
		"z": nil,
		"v": {"v", "v"},

		"unit":  {"unit", "other", "unit"},
		"other": {"other", "unit", "other"},
	} {
		path, err := DependencyPath(stacks[name], types.NamespacedName{Name: name}, known(stacks))
		var got []string
		for _, key := range path {
			got = append(got, key.Name)
		}
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

func TestUnitsAreKeptWhileTheCodeCannotBeRead(t *testing.T) {
	known, now := []v1alpha1.Unit{{Path: "live/vpc", Stacks: []string{"vpc"}}}, []v1alpha1.Unit{{Path: "live/db"}}
	for name, tt := range map[string]struct {
		read bool
		now  []v1alpha1.Unit
		want []v1alpha1.Unit
	}{
		"code that cannot be read": {false, nil, known},
		"code with other units":    {true, now, now},
		"code without units":       {true, nil, nil},
	} {
		w := newSnapshot()
		w.Stack.Status.Units, w.CodeRead, w.Units = known, tt.read, tt.now
		if diff := cmp.Diff(tt.want, Status(w, Decision{}).Units); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestCauseNamesTheOutputsOfUnits(t *testing.T) {
	versions := func(v string) *inputs.Document {
		return &inputs.Document{Versions: map[string]string{OutputsKey("vpc"): v, "Secret/a": v}}
	}
	w := newSnapshot(withRun("net-1", "Succeeded", "sha256:before"))
	w.LastInputs, w.Inputs = versions("1"), *versions("2")
	want := v1alpha1.Cause{Type: v1alpha1.CauseDependency, Message: "outputs of Stack vpc, Secret a changed"}
	if got := causeOf(w); got != want {
		t.Errorf("got %+v", got)
	}
}
