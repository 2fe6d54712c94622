package pullrequest

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stack/snapshot"
)

// changing is the plan of a Stack that changes outputs, each as ACTION:NAME.
func changing(outputs ...string) *v1alpha1.Plan {
	plan := &v1alpha1.Plan{Digest: "sha256:plan", Changes: true, Change: 1}
	for _, o := range outputs {
		action, name, _ := strings.Cut(o, ":")
		plan.Outputs = append(plan.Outputs, v1alpha1.OutputChange{Name: name, Action: action})
	}
	return plan
}

// withPlans returns a pull request whose affected Stacks have these plans; without a plan, the Run is in progress.
func withPlans(plans map[string]*v1alpha1.Plan, changes ...func(*Snapshot)) Snapshot {
	w := pull(changes...)
	w.Readers = map[Key][]Reader{}
	next(&w)
	for name, plan := range plans {
		s := w.PullRequest.Status.Stacks[w.stack(Key{"web", name})]
		run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: s.Run, UID: "run"}}
		run.Status.Phase, run.Status.Plan = v1alpha1.PhaseSucceeded, plan
		if w.Runs == nil {
			w.Runs = map[Key]*v1alpha1.Run{}
		}
		w.Runs[Key{"web", s.Run}] = run
	}
	for i := range w.Merge.Affected {
		if w.Merge.Affected[i].Rules == nil {
			w.Merge.Affected[i].Rules = &v1alpha1.Stack{Spec: v1alpha1.StackSpec{Apply: v1alpha1.ApplyAutomatic}}
		}
	}
	return w
}

func reads(name string, outputs ...string) Reader {
	return Reader{Key: Key{"web", name}, Outputs: outputs}
}

// A Stack that reads an output which the merge changes is planned after it, whether its code is affected or not. Of the
// readers of such a Stack it is only known that they may be.
func TestStacksThatAMergeChangesThroughOutputs(t *testing.T) {
	net, app := Key{"web", "net"}, Key{"web", "app"}
	for name, test := range map[string]struct {
		plans   map[string]*v1alpha1.Plan
		readers map[Key][]Reader
		change  func(*Snapshot)
		// want are the dependents, each as NAME: MESSAGE, with ? for possible ones. onMerge is that of the Stack app.
		want    []string
		more    int32
		onMerge string
	}{
		"an output that changes": {
			plans: map[string]*v1alpha1.Plan{"net": changing("update:vpc", "create:nat")},
			readers: map[Key][]Reader{net: {reads("cluster", "vpc", "zone"), reads("other", "zone"),
				reads("nodes", "nat", "vpc")}},
			want: []string{"cluster: planned after web/net is applied (vpc)",
				"nodes: planned after web/net is applied (vpc, nat)"},
		},
		"Terragrunt reads all outputs": {
			plans:   map[string]*v1alpha1.Plan{"net": changing("update:vpc")},
			readers: map[Key][]Reader{net: {{Key: Key{"web", "unit"}, All: true}}},
			want:    []string{"unit: planned after web/net is applied (vpc)"},
		},
		"an output that is deleted": {
			plans:   map[string]*v1alpha1.Plan{"net": changing("delete:vpc")},
			readers: map[Key][]Reader{net: {reads("cluster", "vpc")}},
			want:    []string{"cluster: stops after web/net is applied, which deletes what it reads (vpc)"},
		},
		"no output changes": {
			plans:   map[string]*v1alpha1.Plan{"net": changing()},
			readers: map[Key][]Reader{net: {reads("cluster", "vpc")}},
		},
		"the plan is in progress": {readers: map[Key][]Reader{net: {reads("cluster", "vpc")}}},
		"the readers of a dependent": {
			plans: map[string]*v1alpha1.Plan{"net": changing("update:vpc")},
			readers: map[Key][]Reader{
				net: {reads("cluster", "vpc")}, {"web", "cluster"}: {reads("apps", "endpoint")},
				{"web", "apps"}: {reads("dns", "ip"), reads("cluster", "ip")},
			},
			want: []string{"apps?: may be planned after web/cluster is applied",
				"cluster: planned after web/net is applied (vpc)",
				"dns?: may be planned after web/apps is applied"},
		},
		"a plan that only the engine can read": {
			plans:   map[string]*v1alpha1.Plan{"net": {Changes: true, Unverified: "it is encrypted"}},
			readers: map[Key][]Reader{net: {reads("cluster", "vpc")}},
			want:    []string{"cluster?: may be planned after web/net is applied"},
		},
		"more outputs than are listed": {
			plans:   map[string]*v1alpha1.Plan{"net": {Changes: true, MoreOutputs: 1}},
			readers: map[Key][]Reader{net: {reads("cluster", "vpc")}},
			want:    []string{"cluster?: may be planned after web/net is applied"},
		},
		"the merge does not apply the plan": {
			plans:   map[string]*v1alpha1.Plan{"net": changing("update:vpc")},
			readers: map[Key][]Reader{net: {reads("cluster", "vpc")}},
			change: func(w *Snapshot) {
				w.Merge.Affected[1].Rules = &v1alpha1.Stack{Spec: v1alpha1.StackSpec{Apply: v1alpha1.ApplyNever}}
			},
		},
		"the directory is deleted": {
			plans:   map[string]*v1alpha1.Plan{"net": changing("delete:vpc")},
			readers: map[Key][]Reader{net: {reads("cluster", "vpc")}},
			change:  func(w *Snapshot) { w.Merge.Affected[1].DeletedDirectory = "stacks/net" },
		},
		"an affected Stack": {
			plans:   map[string]*v1alpha1.Plan{"net": changing("update:vpc"), "app": changing()},
			readers: map[Key][]Reader{net: {reads("app", "vpc")}, app: {reads("dns", "ip")}},
			want:    []string{"dns?: may be planned after web/app is applied"},
			onMerge: "Apply planned after web/net is applied (vpc)",
		},
		"an affected Stack without changes": {
			plans:   map[string]*v1alpha1.Plan{"net": changing("update:vpc"), "app": {}},
			readers: map[Key][]Reader{net: {reads("app", "vpc")}},
			onMerge: "Nothing planned after web/net is applied (vpc)",
		},
		"a Stack of a namespace that may not use the Repository": {
			plans: map[string]*v1alpha1.Plan{"net": changing("update:vpc")},
			readers: map[Key][]Reader{
				net:                   {{Key: Key{"secret", "cluster"}, Outputs: []string{"vpc"}, Hidden: true}},
				{"secret", "cluster"}: {reads("dns", "ip")},
			},
			more: 1, want: nil,
		},
	} {
		w := withPlans(test.plans, func(w *Snapshot) {
			if test.change != nil {
				test.change(w)
			}
		})
		for key, readers := range test.readers {
			if key.Namespace != "secret" { // whose readers are not gathered
				w.Readers[key] = readers
			}
		}
		status := next(&w)
		var got []string
		for _, d := range status.Dependents {
			mark := ""
			if d.Possible {
				mark = "?"
			}
			got = append(got, d.Name+mark+": "+d.Message)
		}
		if diff := cmp.Diff(test.want, got); diff != "" || status.MoreDependents != test.more {
			t.Errorf("%s: %s, and %d more", name, diff, status.MoreDependents)
		}
		onMerge := ""
		if o := status.Stacks[0].OnMerge; test.onMerge != "" && o != nil {
			onMerge = string(o.Action) + " " + o.Message
		}
		if onMerge != test.onMerge {
			t.Errorf("%s: when merged, app: %q", name, onMerge)
		}
		if again := next(&w); !cmp.Equal(status, again) {
			t.Errorf("%s: decided twice, the status differs: %s", name, cmp.Diff(status, again))
		}
	}
}

// The status of a pull request has a limited number of dependents and of outputs, and none of another phase.
func TestDependentsAreLimited(t *testing.T) {
	net := Key{"web", "net"}
	plan := changing()
	for i := range 2 * maxListedOutputs {
		plan.Outputs = append(plan.Outputs, v1alpha1.OutputChange{Name: fmt.Sprintf("o%03d", i), Action: "update"})
	}
	w := withPlans(map[string]*v1alpha1.Plan{"net": plan})
	for i := range maxDependents + 5 {
		w.Readers[net] = append(w.Readers[net], reads(fmt.Sprintf("s%03d", i), "o000", "o001", "o002", "o003",
			"o004", "o005"))
	}
	status := next(&w)
	if len(status.Dependents) != maxDependents || status.MoreDependents != 5 {
		t.Errorf("%d dependents and %d more", len(status.Dependents), status.MoreDependents)
	}
	want := "planned after web/net is applied (o000, o001, o002, o003, o004 and 1 more)"
	if status.Dependents[0].Message != want {
		t.Errorf("%q", status.Dependents[0].Message)
	}
	if p := status.Stacks[1].Plan; len(p.Outputs) != maxListedOutputs || p.MoreOutputs != maxListedOutputs {
		t.Errorf("%d outputs and %d more", len(p.Outputs), p.MoreOutputs)
	}
	w.PullRequest.Spec.Draft = true
	if status := next(&w); len(status.Dependents)+int(status.MoreDependents) != 0 {
		t.Errorf("a draft has dependents: %+v", status.Dependents)
	}
}

// TestReadersOfOutputs reads them from the API server. What no StackGrant allows is no reader, and what may not use the
// Repository is not named.
func TestReadersOfOutputs(t *testing.T) {
	variable := func(namespace, name, output string) v1alpha1.Variable {
		return v1alpha1.Variable{Name: output,
			ValueFrom: &v1alpha1.ValueFrom{Stack: &v1alpha1.OutputRef{Namespace: namespace, Name: name,
				Output: output}}}
	}
	stack := func(namespace, name string, change func(*v1alpha1.Stack)) *v1alpha1.Stack {
		s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		change(s)
		return s
	}
	of := func(of ...v1alpha1.Variable) func(*v1alpha1.Stack) {
		return func(s *v1alpha1.Stack) { s.Spec.Variables = of }
	}
	grant := &v1alpha1.StackGrant{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "others"}}
	grant.Spec.From = []v1alpha1.StackGrantFrom{{Kind: v1alpha1.GrantStack, Namespace: "apps"},
		{Kind: v1alpha1.GrantStack, Namespace: "guest"}}
	kube := fake.NewClientBuilder().WithScheme(schemeOf(t)).WithIndex(&v1alpha1.Stack{}, snapshot.DependencyIndex,
		snapshot.IndexDependencies).
		WithObjects(
			stack("web", "cluster", of(variable("", "net", "vpc"), variable("", "dns", "zone"))),
			stack("apps", "shop", of(variable("web", "net", "vpc"))),
			stack("guest", "shop", of(variable("web", "net", "vpc"))),
			stack("stranger", "shop", of(variable("web", "net", "vpc"))),
			stack("web", "ordered", func(s *v1alpha1.Stack) {
				s.Spec.DependsOn = []v1alpha1.Dependency{{Name: "net"}}
			}),
			stack("web", "unit", func(s *v1alpha1.Stack) {
				s.Status.Units = []v1alpha1.Unit{{Path: "live/net", Outputs: true, Stacks: []string{"net"}}}
			}),
			stack("web", "after", func(s *v1alpha1.Stack) {
				s.Status.Units = []v1alpha1.Unit{{Path: "live/net", Stacks: []string{"net"}}}
			}),
			stack("web", "dns", of(variable("", "cluster", "endpoint"))),
			grant,
		).Build()
	w := withPlans(map[string]*v1alpha1.Plan{"net": changing("update:vpc"), "app": changing()})
	w.Repository = repositoryOf()
	w.Repository.Spec.AllowedNamespaces = []string{"apps"}
	r := &Reconciler{Client: kube}
	if err := r.gatherReaders(t.Context(), &w); err != nil {
		t.Fatal(err)
	}
	want := map[Key][]Reader{
		{"web", "net"}: {
			{Key: Key{"apps", "shop"}, Outputs: []string{"vpc"}}, {Key: Key{"guest", "shop"}, Outputs: []string{"vpc"},
				Hidden: true},
			reads("cluster", "vpc"), {Key: Key{"web", "unit"}, All: true},
		},
		{"apps", "shop"}: nil, {"web", "cluster"}: {reads("dns", "endpoint")}, {"web", "unit"}: nil,
		{"web", "dns"}: {reads("cluster", "zone")},
	}
	if diff := cmp.Diff(want, w.Readers); diff != "" {
		t.Error(diff)
	}
}
