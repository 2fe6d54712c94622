//go:build envtest

package stackset

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stackset/decision"
	"cairn.dev/cairn/test/apiserver"
	"cairn.dev/cairn/test/gitserver"
)

// TestStackSetCreatesAStackForEachDirectory checks creation, that nothing is written while nothing changes, and that a
// push writes only what it adds.
func TestStackSetCreatesAStackForEachDirectory(t *testing.T) {
	e := newEnv(t)
	e.expect("apply dev-app, apply dev-net, apply prod-net", v1alpha1.ReasonRollingOut)
	if events := e.recordedEvents(); len(events) != 1 ||
		!strings.Contains(events[0], "StacksCreated 3 Stacks created: dev-app, dev-net, prod-net") {
		t.Errorf("events %q", events)
	}
	s := e.stack("prod-net")
	if string(s.Spec.Variables[0].Value.Raw) != "3" || s.Labels[envLabel] != "prod" ||
		s.Labels[v1alpha1.StackSetLabel] != "platform" || s.OwnerReferences != nil {
		t.Errorf("%+v", s)
	}
	if len(s.ManagedFields) != 1 || s.ManagedFields[0].Manager != FieldManager ||
		s.ManagedFields[0].Operation != metav1.ManagedFieldsOperationApply {
		t.Errorf("managed fields %+v", s.ManagedFields)
	}
	if got := e.set.Status; got.Generated != 3 || got.Changing != 3 || !strings.HasPrefix(got.Revision, "main@sha1:") {
		t.Errorf("status %+v", got)
	}
	e.apply("dev-app", "dev-net", "prod-net")
	e.expect("", v1alpha1.ReasonComplete)
	if writes := e.pass(); len(writes) != 0 {
		t.Errorf("nothing changed, and %q are written", writes)
	}
	rendered := e.sets.of(e.set).renderer.Rendered
	e.push("dev/new")
	e.expect("apply dev-new", v1alpha1.ReasonRollingOut)
	e.apply("dev-new")
	e.settle()
	if n := e.sets.of(e.set).renderer.Rendered - rendered; n != 1 {
		t.Errorf("%d Stacks were rendered for one new directory", n)
	}
	e.push("docs") // it matches no pattern
	e.expect("", v1alpha1.ReasonComplete)

	// Deleting the set deletes no Stack.
	apiserver.Must(t, e.Env.Client.Delete(t.Context(), e.set))
	e.Gone(e.set)
	_, err := e.Reconcile(t.Context(), requestOf(e.set))
	apiserver.Must(t, err)
	if s := e.stack("dev-net"); s.DeletionTimestamp != nil || s.Spec.Suspend {
		t.Error("the Stack of a deleted set changed")
	}
}

// TestStackSetRestoresFields checks fields that users change: those of the template are restored, with an event that
// names the field and the manager, others and those of spec.ignore stay.
func TestStackSetRestoresFields(t *testing.T) {
	e := newEnv(t, func(s *v1alpha1.StackSetSpec) { s.Ignore = []string{"spec.timeout"} })
	e.settle()
	e.apply("dev-app", "dev-net", "prod-net")
	e.settle()
	e.recordedEvents()
	e.edit("dev-net", func(s *v1alpha1.Stack) {
		s.Spec.Apply = v1alpha1.ApplyAutomatic
		s.Spec.RequireApprovalFor = append(s.Spec.RequireApprovalFor, v1alpha1.ChangeReplace)
		s.Spec.Workspace = "mine"
		s.Labels["own"] = "yes"
	})
	e.edit("dev-app", func(s *v1alpha1.Stack) { s.Spec.Timeout.Duration *= 2 })
	e.expect("apply dev-net", v1alpha1.ReasonRollingOut)
	s := e.stack("dev-net")
	if s.Spec.Apply != v1alpha1.ApplyManual || s.Spec.Workspace != "mine" || s.Labels["own"] != "yes" ||
		len(s.Spec.RequireApprovalFor) != 2 {
		t.Errorf("spec %+v", s.Spec)
	}
	events := strings.Join(e.recordedEvents(), "\n")
	if !strings.Contains(events, "FieldsRestored restored from the template: spec.apply of Stack dev-net (changed by "+
		"kubectl-edit)") {
		t.Errorf("events %s", events)
	}
	e.apply("dev-net", "dev-app")
	e.settle()

	// A change of the template keeps the fields of spec.ignore, those that users changed and those that they did not.
	e.declare(func(s *v1alpha1.StackSet) {
		s.Spec.Template = parse(t, strings.ReplaceAll(template, "value: eu", "value: us"))
	})
	e.expect("apply dev-app, apply dev-net, apply prod-net", v1alpha1.ReasonRollingOut)
	for name, minutes := range map[string]float64{"dev-app": 120, "dev-net": 60} {
		if s := e.stack(name); s.Spec.Timeout.Minutes() != minutes || s.Spec.Env[0].Value != "us" {
			t.Errorf("%s has %v, %v", name, s.Spec.Timeout, s.Spec.Env)
		}
	}
	// A field that the template does not have any more is removed.
	e.apply("dev-app", "dev-net", "prod-net")
	e.declare(func(s *v1alpha1.StackSet) {
		s.Spec.Template = parse(t, strings.ReplaceAll(template, "  env: [{name: REGION, value: eu}]\n", ""))
	})
	e.settle()
	if s := e.stack("dev-net"); len(s.Spec.Env) != 0 || s.Spec.Workspace != "mine" {
		t.Errorf("spec %+v", s.Spec)
	}
}

// TestStackSetSuspendsWhatIsGone checks a directory that goes and returns: its Stack is suspended and resumed, unless a
// user had suspended it.
func TestStackSetSuspendsWhatIsGone(t *testing.T) {
	e := newEnv(t)
	e.settle()
	e.apply("dev-app", "dev-net", "prod-net")
	e.edit("dev-app", func(s *v1alpha1.Stack) { s.Spec.Suspend = true })
	e.apply("dev-app")
	for name, suspendedByUser := range map[string]bool{"dev-net": false, "dev-app": true} {
		directory := strings.ReplaceAll(name, "-", "/")
		e.push("-" + directory)
		e.expect("apply "+name, v1alpha1.ReasonComplete)
		if s := e.stack(name); !s.Spec.Suspend || s.Annotations[v1alpha1.ItemGoneAnnotation] == "" ||
			e.set.Status.Gone != 1 {
			t.Errorf("%s: %+v %+v", name, s.Annotations, e.set.Status)
		}
		e.push(directory)
		e.settle()
		if s := e.stack(name); s.Spec.Suspend != suspendedByUser || s.Annotations[v1alpha1.ItemGoneAnnotation] != "" {
			t.Errorf("%s: suspended is %t, want %t, with %+v", name, s.Spec.Suspend, suspendedByUser, s.Annotations)
		}
		e.apply(name)
		e.settle()
	}
	if writes := e.pass(); len(writes) != 0 {
		t.Errorf("nothing changed, and %q are written", writes)
	}
}

// TestStackSetDeletesWhatIsConfirmed checks prune Delete: only the list that a user confirmed is deleted, from what the
// API server has.
func TestStackSetDeletesWhatIsConfirmed(t *testing.T) {
	e := newEnv(t, func(s *v1alpha1.StackSetSpec) {
		limit := intstr.FromString("100%")
		s.Prune, s.MaxDeletions = v1alpha1.PruneDelete, &limit
	})
	e.settle()
	e.apply("dev-app", "dev-net", "prod-net")
	e.push("-dev/app")
	e.settle()
	if e.ready().Reason != v1alpha1.ReasonAwaitingDeletionConfirmation || e.set.Status.Deletions == nil ||
		e.set.Status.Deletions.Count != 1 {
		t.Fatalf("%+v", e.set.Status)
	}
	confirm := func() {
		e.declare(func(s *v1alpha1.StackSet) {
			s.Annotations = map[string]string{v1alpha1.ConfirmDeletionsAnnotation: e.set.Status.Deletions.Digest}
		})
	}
	confirm()
	e.push("-dev/net") // the list grew
	e.expect("apply dev-net", v1alpha1.ReasonAwaitingDeletionConfirmation)

	// A cache that has not seen another Stack of the set must not delete: the list was confirmed as it is there.
	confirm()
	late := e.stack("prod-net")
	late = &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "hidden", Labels: late.Labels}, Spec: late.Spec}
	w, err := e.gather(t.Context(), e.set, e.sets.of(e.set))
	apiserver.Must(t, err)
	e.Make(late)
	d := decision.Decide(w)
	if out := e.write(t.Context(), w, d, e.sets.of(e.set)); len(out.done[decision.Delete]) != 0 {
		t.Fatalf("deleted %q from a stale cache", out.done)
	}
	apiserver.Must(t, e.Env.Client.Delete(t.Context(), late))
	e.Gone(late)

	// Nor must a confirmation that was withdrawn.
	w, err = e.gather(t.Context(), e.set, e.sets.of(e.set))
	apiserver.Must(t, err)
	e.declare(func(s *v1alpha1.StackSet) { s.Annotations = nil })
	if out := e.write(t.Context(), w, decision.Decide(w), e.sets.of(e.set)); len(out.done[decision.Delete]) != 0 {
		t.Fatalf("deleted %q without a confirmation", out.done)
	}
	e.settle()
	confirm()
	e.edit("dev-app", func(s *v1alpha1.Stack) { s.Finalizers = []string{v1alpha1.Finalizer} })
	e.pass()
	for _, name := range []string{"dev-net"} {
		err := e.Env.Live.Get(t.Context(), client.ObjectKey{Namespace: e.Namespace, Name: name}, &v1alpha1.Stack{})
		if !apierrors.IsNotFound(err) {
			t.Errorf("Stack %s: %v", name, err)
		}
	}
	// One that is destroyed first is not suspended while it is: nothing would be destroyed.
	if s := e.stack("dev-app"); s.DeletionTimestamp == nil {
		t.Error("dev-app is not deleted")
	} else {
		e.Seen(s)
	}
	e.settle()
	if s := e.stack("dev-app"); s.Spec.Suspend {
		t.Error("dev-app is deleted and suspended")
	} else if !slices.Contains(s.Spec.RequireApprovalFor, v1alpha1.ChangeStackDeletion) {
		t.Errorf("the destroy plan of dev-app requires an approval for %q", s.Spec.RequireApprovalFor)
	}
	if s := e.stack("prod-net"); s.DeletionTimestamp != nil || s.Spec.Suspend {
		t.Error("prod-net is gone")
	}
}

// TestStackSetLeavesStacksOfUsers checks a name that a user's Stack has: nothing is written until the user labels it.
func TestStackSetLeavesStacksOfUsers(t *testing.T) {
	e := newEnv(t)
	own := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "dev-net"}, Spec: v1alpha1.StackSpec{
		Source: v1alpha1.Source{Inline: map[string]string{"main.tf": ""}},
	}}
	w, err := e.gather(t.Context(), e.set, e.sets.of(e.set))
	apiserver.Must(t, err)
	d := decision.Decide(w)
	e.Make(own) // after the cache was read
	out := e.write(t.Context(), w, d, e.sets.of(e.set))
	if got := len(out.done[decision.Create]); got != 2 || !out.again {
		t.Errorf("%d are created", got)
	}
	if s := e.stack("dev-net"); s.Labels[v1alpha1.StackSetLabel] != "" || s.Spec.Source.Inline == nil {
		t.Errorf("the Stack of a user was changed: %+v", s.Spec)
	}
	e.expect("", v1alpha1.ReasonStackNotOwned)
	e.edit("dev-net", func(s *v1alpha1.Stack) {
		s.Labels = map[string]string{v1alpha1.StackSetLabel: "platform"}
		s.Spec.Source.Inline = nil
		s.Spec.Source.Git = &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: "infra"}, Path: "old"}
	})
	e.expect("apply dev-net", v1alpha1.ReasonRollingOut)
	if s := e.stack("dev-net"); s.Spec.Source.Git == nil || s.Spec.Source.Git.Path != "dev/net" {
		t.Errorf("%+v", s.Spec.Source)
	}
}

// TestStackSetLeavesAStackOfAUserThatIsTheSame checks a Stack of which the template changes no field: only the
// resourceVersion of the apply prevents that the StackSet takes it over.
func TestStackSetLeavesAStackOfAUserThatIsTheSame(t *testing.T) {
	e := newEnv(t)
	w, err := e.gather(t.Context(), e.set, e.sets.of(e.set))
	apiserver.Must(t, err)
	d := decision.Decide(w)
	at := slices.IndexFunc(d.Writes, func(one decision.Write) bool { return one.Name == "dev-net" })
	same := &v1alpha1.Stack{}
	apiserver.Must(t, json.Unmarshal(d.Writes[at].Rendered.JSON, same))
	same.Spec.Timeout = nil // the API server has another text for the same time
	e.Make(same)
	d.Writes[at].Rendered.JSON, err = json.Marshal(map[string]any{
		"metadata": map[string]any{"name": same.Name}, "spec": map[string]any{"source": same.Spec.Source},
	})
	apiserver.Must(t, err)
	e.write(t.Context(), w, d, e.sets.of(e.set))
	if s := e.stack("dev-net"); s.Labels[v1alpha1.StackSetLabel] != "" {
		t.Errorf("the Stack of a user has the labels %v", s.Labels)
	}
}

// TestStackSetKeepsAMovedStack checks a rename with spec.moved.
func TestStackSetKeepsAMovedStack(t *testing.T) {
	e := newEnv(t)
	e.settle()
	e.apply("dev-app", "dev-net", "prod-net")
	uid := e.stack("dev-net").UID
	e.declare(func(s *v1alpha1.StackSet) {
		s.Spec.Moved = []v1alpha1.StackSetMove{{From: "dev-net", To: "dev-network"}}
	})
	e.push("-dev/net", "dev/network")
	e.expect("apply dev-net", v1alpha1.ReasonRollingOut)
	if s := e.stack("dev-net"); s.UID != uid || s.Spec.Source.Git.Path != "dev/network" || s.Spec.Suspend {
		t.Errorf("%+v", s.Spec.Source)
	}
	e.apply("dev-net")
	e.expect("", v1alpha1.ReasonComplete)
}

// TestStackSetWritesNothingWithoutACommit checks Repositories that are not known, not allowed, and fetches that fail.
func TestStackSetWritesNothingWithoutACommit(t *testing.T) {
	e := newEnv(t)
	e.settle()
	e.apply("dev-app", "dev-net", "prod-net")
	e.settle()
	repositoryIs := func(namespace, name, ref string) {
		e.declare(func(s *v1alpha1.StackSet) {
			s.Spec.Repository, s.Spec.Ref = &v1alpha1.RepositoryRef{Namespace: namespace, Name: name}, ref
		})
	}
	repositoryIs("", "gone", "")
	e.expect("", v1alpha1.ReasonRepositoryNotFound)
	repositoryIs("elsewhere", "infra", "")
	e.expect("", v1alpha1.ReasonRepositoryNotFound)
	repositoryIs("", "infra", "no-branch")
	e.expect("", v1alpha1.ReasonRefNotFound)
	other := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "new"}, Spec: e.repo.Spec}
	e.Make(other)
	repositoryIs("", "new", "")
	e.expect("", v1alpha1.ReasonRepositoryNotReady)
	repositoryIs("", "infra", "")
	e.expect("", v1alpha1.ReasonComplete)
	mirrors := e.Mirrors
	e.Mirrors = repository.NewMirrors(t.TempDir()) // after a restart
	if writes := e.pass(); len(writes) != 0 {
		t.Errorf("a restart writes %q", writes)
	}
	e.Mirrors = mirrors
	e.http.Answer(503)
	e.fetch() // fails: the last commit counts
	e.expect("", v1alpha1.ReasonComplete)
	e.http.Answer(0)
	e.push("-dev/net", "-dev/app") // half a tree
	e.expect("", v1alpha1.ReasonTooManyGone)
	e.push("-prod/net")
	e.expect("", v1alpha1.ReasonNothingGenerated)
	for _, name := range []string{"dev-app", "dev-net", "prod-net"} {
		if s := e.stack(name); s.Spec.Suspend || s.DeletionTimestamp != nil {
			t.Errorf("%s is suspended or deleted", name)
		}
	}
}

// TestStackSetWritesNothingThatTheSchemaRejects checks a template with a wrong value for one directory.
func TestStackSetWritesNothingThatTheSchemaRejects(t *testing.T) {
	e := newEnv(t, func(s *v1alpha1.StackSetSpec) {
		s.Template = parse(t, strings.ReplaceAll(template, "apply: Manual",
			"apply: \"${params.name == 'app' ? 'Perhaps' : 'Manual'}\""))
	})
	e.expect("", v1alpha1.ReasonRenderingFailed)
	if c := e.ready(); !strings.Contains(c.Message, `spec.template.spec.apply: "Perhaps": `) ||
		!strings.Contains(c.Message, "(directory dev/app)") {
		t.Errorf("message %s", c.Message)
	}
}

// TestStackSetPreviews checks that mode Preview writes the status alone.
func TestStackSetPreviews(t *testing.T) {
	e := newEnv(t, func(s *v1alpha1.StackSetSpec) { s.Mode = v1alpha1.StackSetPreview })
	e.expect("", v1alpha1.ReasonPreviewed)
	p := e.set.Status.Preview
	if p == nil || strings.Join(p.Create, " ") != "dev-app dev-net prod-net" || len(p.Samples) != 3 ||
		!strings.Contains(string(p.Samples[2].Raw), `"path":"prod/net"`) {
		t.Errorf("preview %+v", p)
	}
	e.declare(func(s *v1alpha1.StackSet) { s.Spec.Mode = v1alpha1.StackSetCreate })
	e.settle()
	if e.set.Status.Preview != nil {
		t.Error("the preview stays")
	}
}

// TestStackSetWritesManyInParts checks that one reconcile writes a bounded number of Stacks.
func TestStackSetWritesManyInParts(t *testing.T) {
	e := newEnv(t, func(s *v1alpha1.StackSetSpec) {
		var list []any
		for i := range mostWrites + 20 {
			list = append(list,
				map[string]any{"env": "dev", "name": "n" +
					strings.Repeat("x", i%7) + string(rune('a'+i%26)) + strings.Repeat("y", i/26)})
		}
		var items v1alpha1.StackSetItems
		for _, entry := range list {
			items.List = append(items.List, raw(t, entry))
		}
		s.Generators = []v1alpha1.StackSetGenerator{{StackSetItems: items}}
	})
	e.writes.all = nil
	result, err := e.Reconcile(t.Context(), requestOf(e.set))
	apiserver.Must(t, err)
	if n := len(e.writes.all); n != mostWrites+1 || result.RequeueAfter != soon {
		t.Errorf("%d writes, and the next after %s", n, result.RequeueAfter)
	}
	e.settle()
	if e.set.Status.Generated != mostWrites+20 || e.set.Status.Changing != mostWrites+20 {
		t.Errorf("%+v", e.set.Status)
	}
}

// TestStackSetWritesOnlyWhatItDecidedOn checks Stacks that changed since the decision.
func TestStackSetWritesOnlyWhatItDecidedOn(t *testing.T) {
	for name, change := range map[string]func(*env){
		"one that a user took from the set": func(e *env) {
			e.edit("dev-net", func(s *v1alpha1.Stack) { s.Labels = nil })
		},
		"one that was created again": func(e *env) {
			s := e.stack("dev-net")
			apiserver.Must(t, e.Env.Client.Delete(t.Context(), s))
			e.Gone(s)
			next := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: s.Name, Labels: s.Labels,
				Annotations: s.Annotations}, Spec: s.Spec}
			e.Make(next)
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t, func(s *v1alpha1.StackSetSpec) {
				limit := intstr.FromString("100%")
				s.Prune, s.MaxDeletions = v1alpha1.PruneDelete, &limit
			})
			e.settle()
			e.apply("dev-app", "dev-net", "prod-net")
			e.push("-dev/net")
			w, err := e.gather(t.Context(), e.set, e.sets.of(e.set))
			apiserver.Must(t, err)
			d := decision.Decide(w)
			change(e)
			if len(d.Writes) != 1 {
				t.Fatalf("%+v", d.Writes)
			}
			if _, err := e.one(t.Context(), e.set, d.Writes[0]); !apierrors.IsConflict(err) {
				t.Error(err)
			}
			if s := e.stack("dev-net"); s.Spec.Suspend || s.Annotations[v1alpha1.ItemGoneAnnotation] != "" {
				t.Error("it is suspended")
			}
		})
	}
}

// TestSettingsFileChangesTheStackOfItsDirectory checks that a push of a settings file alone changes one Stack, and that
// one which sets more than it can, or that is too large, writes nothing, also of other directories.
func TestSettingsFileChangesTheStackOfItsDirectory(t *testing.T) {
	e := newEnv(t, func(s *v1alpha1.StackSetSpec) { s.Generators[0].Directories.SettingsFile = "cairn.yaml" })
	settings := func(text string) {
		_, err := e.remote.Commit(gitserver.Change{Files: map[string]string{"dev/net/cairn.yaml": text,
			"docs/cairn.yaml": "apply: Automatic"}})
		apiserver.Must(t, err)
		e.fetch()
	}
	e.settle()
	settings("variables: [{name: replicas, value: 5}]\ndependsOn: [{name: prod-net}]")
	e.expect("apply dev-net", v1alpha1.ReasonRollingOut)
	s := e.stack("dev-net")
	if string(s.Spec.Variables[0].Value.Raw) != "5" || len(s.Spec.DependsOn) != 1 ||
		s.Spec.Apply != v1alpha1.ApplyManual {
		t.Errorf("%+v", s.Spec)
	}
	e.edit("dev-net", func(s *v1alpha1.Stack) { s.Spec.DependsOn = nil })
	e.expect("apply dev-net", v1alpha1.ReasonRollingOut)
	for text, wrong := range map[string]string{
		"runner: {serviceAccountName: admin}": `dev/net/cairn.yaml: runner.serviceAccountName cannot be set here, and has the value "admin"`,
		"variables: [{name: a, value: x}]\n# " + strings.Repeat("x", 20_000): "dev/net/cairn.yaml: it has more than " +
			"16384 bytes",
	} {
		settings(text)
		e.push("-dev/app", "dev/new")
		e.expect("", v1alpha1.ReasonRenderingFailed)
		if c := e.ready(); !strings.HasPrefix(c.Message, wrong) {
			t.Errorf("%s", c.Message)
		}
		e.push("dev/app", "-dev/new")
	}
	settings("")
	e.expect("apply dev-net", v1alpha1.ReasonRollingOut)
	if s := e.stack("dev-net"); string(s.Spec.Variables[0].Value.Raw) != "1" || len(s.Spec.DependsOn) != 0 {
		t.Errorf("%+v", s.Spec)
	}
}
