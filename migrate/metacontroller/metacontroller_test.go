package metacontroller

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	kjson "k8s.io/apimachinery/pkg/util/json"

	"cairn.dev/cairn/api/v1alpha1"
)

// request is a recorded one, to be changed.
func request(t testing.TB, name string) (r CompositeRequest) {
	t.Helper()
	decode(t, "composite", name, &r)
	return r
}

func decorating(t testing.TB, name string) (r DecoratorRequest) {
	t.Helper()
	decode(t, "decorator", name, &r)
	return r
}

func decode(t testing.TB, hook, name string, to any) {
	t.Helper()
	if err := kjson.Unmarshal(recorded(t, hook)["testdata/recorded/"+hook+"/"+name], to); err != nil {
		t.Fatal(err)
	}
}

var automatic = Options{Apply: v1alpha1.ApplyAutomatic}

func answerTo(t testing.TB, r CompositeRequest) CompositeAnswer {
	t.Helper()
	a, err := Composite(r, automatic)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// names are those of an answer's children of a kind.
func names(children []Object, kind string) (names []string) {
	for _, child := range children {
		if child["kind"] == kind {
			names = append(names, text(child, "metadata", "name"))
		}
	}
	return names
}

func stackOf(o Observed) Object { return o.of("Stack")[0] }

func set(o Object, value any, path ...string) {
	for _, name := range path[:len(path)-1] {
		in, _ := o[name].(map[string]any)
		if in == nil {
			in = Object{}
			o[name] = in
		}
		o = in
	}
	o[path[len(path)-1]] = value
}

func TestFinalizerIsRemovedWithoutAnObservedStack(t *testing.T) {
	for _, name := range []string{"delete", "destroying"} {
		a := answerTo(t, request(t, name))
		if a.Finalized || names(a.Children, "Stack") != nil || !slices.Equal(names(a.Children, "Repository"),
			[]string{"infra"}) {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a := answerTo(t, request(t, "gone")); !a.Finalized || a.Children == nil || len(a.Children) != 0 {
		t.Errorf("no Stack is observed, and the finalizer is kept: %+v", a)
	}
	r := request(t, "gone")
	r.Controller = nil
	delete(r.Children, "Stack.cairn.dev/v1alpha1")
	if a, err := Composite(r, automatic); err == nil {
		t.Errorf("without observed Stacks the answer is %+v", a)
	}
}

func TestInvalidTerraformDeletesNoChild(t *testing.T) {
	for what, wrong := range map[string]func(Object){
		"no spec":      func(p Object) { delete(p, "spec") },
		"no address":   func(p Object) { set(p, Object{"branch": "main"}, "spec", "gitRepo") },
		"another type": func(p Object) { set(p, "x", "spec", "backend") },
	} {
		r := request(t, "applied")
		wrong(r.Parent)
		a := answerTo(t, r)
		if a.Status["state"] != failed || !slices.Equal(names(a.Children, "Stack"), []string{"infra"}) ||
			!slices.Equal(names(a.Children, "Repository"), []string{"infra"}) {
			t.Errorf("%s: %+v", what, a)
		}
		for _, child := range a.Children {
			if at(child, "spec") == nil {
				t.Errorf("%s: %s would lose its spec", what, child["kind"])
			}
		}
	}
}

func TestRemovedLabelDeletesNoChild(t *testing.T) {
	a := answerTo(t, request(t, "released"))
	if !a.Finalized || len(names(a.Children, "Stack")) != 1 || len(names(a.Children, "Repository")) != 1 ||
		a.Status["state"] != completed {
		t.Errorf("%+v", a)
	}
	d := decorating(t, "applied")
	d.Finalizing = true
	b, err := Decorator(d, automatic)
	if err != nil || !b.Finalized || len(b.Attachments) != 1 || b.Annotations[stateAnnotation] != nil {
		t.Errorf("%+v, %v", b, err)
	}
}

func TestStackOfAnotherNameIsKept(t *testing.T) {
	r := request(t, "applied")
	r.Children["Stack.cairn.dev/v1alpha1"]["older"] = Object{
		"apiVersion": "cairn.dev/v1alpha1", "kind": "Stack",
		"metadata": Object{"name": "older", "labels": Object{"controller-uid": "x"}},
		"spec":     Object{"runHistoryLimit": int64(3)},
	}
	a := answerTo(t, r)
	if !slices.Equal(names(a.Children, "Stack"), []string{"infra", "older"}) {
		t.Errorf("%v", names(a.Children, "Stack"))
	}
}

func TestUnsafeControllersAreRejected(t *testing.T) {
	for what, wrong := range map[string]func(*Controller){
		"Recreate": func(c *Controller) {
			c.Spec.ChildResources[1].UpdateStrategy.Method = "Recreate"
		},
		"no method":                     func(c *Controller) { c.Spec.ChildResources[1].UpdateStrategy.Method = "" },
		"does not list stacks":          func(c *Controller) { c.Spec.ChildResources = c.Spec.ChildResources[:1] },
		"lists another version":         func(c *Controller) { c.Spec.ChildResources[1].APIVersion = "cairn.dev/v2" },
		"lists no repositories":         func(c *Controller) { c.Spec.ChildResources = c.Spec.ChildResources[1:] },
		"lists nothing, like alustan's": func(c *Controller) { c.Spec.ChildResources = nil },
	} {
		r := request(t, "applied")
		wrong(r.Controller)
		if a, err := Composite(r, automatic); err == nil {
			t.Errorf("%s: %+v", what, a)
		}
	}
	d := decorating(t, "applied")
	d.Controller.Spec.Attachments[0].UpdateStrategy.Method = "Recreate"
	if a, err := Decorator(d, automatic); err == nil {
		t.Errorf("%+v", a)
	}
}

func TestOtherParentsAreRejected(t *testing.T) {
	r := request(t, "create")
	r.Parent["kind"] = "App"
	if _, err := Composite(r, automatic); err == nil {
		t.Error("an App was accepted")
	}
	d := decorating(t, "create")
	d.Object["kind"] = "Secret"
	if _, err := Decorator(d, automatic); err == nil {
		t.Error("a Secret was accepted")
	}
}

func TestChildrenHaveNoLabelOfMetacontroller(t *testing.T) {
	r := request(t, "create")
	set(r.Parent, Object{"controller-uid": "that of the parent's own parent", "team": "net"}, "metadata", "labels")
	set(r.Parent, Object{lastApplied: "{}"}, "metadata", "annotations")
	a := answerTo(t, r)
	stack := a.Children[len(a.Children)-1]
	if text(stack, "metadata", "labels", "team") != "net" || at(stack, "metadata", "labels", "controller-uid") != nil ||
		at(stack, "metadata", "annotations") != nil {
		t.Errorf("%v", stack["metadata"])
	}
}

// Two Terraforms of one address each have a Repository.
func TestChildrenHaveTheParentsName(t *testing.T) {
	r := request(t, "create")
	set(r.Parent, "other", "metadata", "name")
	a := answerTo(t, r)
	if !slices.Equal(names(a.Children, "Stack"), []string{"other"}) || !slices.Equal(names(a.Children, "Repository"),
		[]string{"other"}) {
		t.Errorf("%+v", a.Children)
	}
	if got := text(a.Children[1], "spec", "source", "git", "repository", "name"); got != "other" {
		t.Errorf("the Stack reads from Repository %q", got)
	}
}

func TestLastAppliedStackIsReturned(t *testing.T) {
	stack := stackOf(request(t, "applied").Children)
	if got := asItIs(stack); at(got, "spec", "runHistoryLimit") != nil || at(got, "spec", "apply") == nil {
		t.Errorf("the result has the defaults of the API server: %v", got)
	}
	// An annotation of another object is ignored, and one without a spec, which would remove that of the Stack.
	for _, last := range []string{
		`{"apiVersion":"cairn.dev/v1alpha1","kind":"Stack","metadata":{"name":"other"},"spec":{}}`,
		`{"apiVersion":"cairn.dev/v1alpha1","kind":"Stack","metadata":{"name":"infra"}}`, `null`, `[`} {
		set(stack, last, "metadata", "annotations", lastApplied)
		got := asItIs(stack)
		if at(got, "spec", "runHistoryLimit") != int64(10) || text(got, "metadata", "name") != "infra" ||
			at(got, "metadata", "labels", "controller-uid") == nil || got["status"] != nil ||
			at(got, "metadata", "finalizers") != nil {
			t.Errorf("%s: %v", last, got)
		}
	}
}

func TestStatesOfATerraform(t *testing.T) {
	ready := func(status, reason string) Object {
		return Object{"type": "Ready", "status": status, "reason": reason, "message": "why",
			"observedGeneration": int64(2)}
	}
	fresh := func(conditions ...any) Object {
		return Object{"metadata": Object{"generation": int64(2)}, "status": Object{"conditions": conditions}}
	}
	stack := func(conditions ...any) Object {
		stack := fresh(conditions...)
		set(stack, "net-1", "status", "lastRun")
		return stack
	}
	for _, c := range []struct {
		about   string
		stacks  []Object
		name    string
		message string
	}{
		{"no Stack", nil, pending, "Awaiting processing: the Stack is created"},
		{"no status", []Object{{}}, pending, "Awaiting processing: the Stack is not reconciled yet"},
		{"no Run yet", []Object{fresh(ready("Unknown", "RepositoryNotReady"))}, pending,
			"Awaiting processing: RepositoryNotReady: why"},
		{"suspended before its first Run", []Object{fresh(ready("False", "Suspended"))}, pending,
			"Awaiting processing: Suspended: why"},
		{"broken before its first Run", []Object{fresh(ready("False", "BackendInvalid"))}, failed,
			"BackendInvalid: why"},
		{"the newest spec is not reconciled",
			[]Object{stack(Object{"type": "Ready", "status": "True", "reason": "Applied",
				"observedGeneration": int64(1)})}, progressing, "the Stack is not reconciled yet"},
		{"applied", []Object{stack(Object{"type": "Drifted", "status": "True"}, ready("True", "Applied"))}, completed,
			"Applied: why"},
		{"under way", []Object{stack(ready("Unknown", "Running"))}, progressing, "Running: why"},
		{"waits for approval", []Object{stack(ready("False", "AwaitingApproval"))}, progressing,
			"AwaitingApproval: why"},
		{"suspended", []Object{stack(ready("False", "Suspended"))}, progressing, "Suspended: why"},
		{"broken", []Object{stack(ready("False", "RunFailed"))}, failed, "RunFailed: why"},
	} {
		if got := stateOf(c.stacks); got != (state{c.name, c.message}) {
			t.Errorf("%s: %v", c.about, got)
		}
	}
}

// TestChangedTerraformIsProgressing checks a Stack whose status is that of the earlier Terraform: GitOps tools would
// treat Completed as that of the change.
func TestChangedTerraformIsProgressing(t *testing.T) {
	r := request(t, "applied")
	if got := answerTo(t, r).Status["state"]; got != completed {
		t.Fatalf("unchanged: %v", got)
	}
	set(r.Parent, Object{"TF_VAR_size": "2"}, "spec", "variables")
	if got := answerTo(t, r).Status; got["state"] != progressing || got["message"] != "the Stack is being updated" {
		t.Errorf("after a change: %v", got)
	}
}

func TestDeletedStackWithoutARunIsProgressing(t *testing.T) {
	if got := ending([]Object{{}}); got !=
		(state{progressing, "the Stack is being deleted: the Stack is not reconciled yet"}) {
		t.Errorf("%v", got)
	}
}

// TestTerraformIsPendingUntilItsFirstRun checks the recorded requests.
func TestTerraformIsPendingUntilItsFirstRun(t *testing.T) {
	for name, want := range map[string]string{"create": pending, "made": pending, "running": progressing,
		"applied": completed} {
		if got := answerTo(t, request(t, name)).Status["state"]; got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
	d := decorating(t, "create")
	a, err := Decorator(d, automatic)
	if err != nil || *a.Annotations[stateAnnotation] != pending {
		t.Errorf("a ConfigMap: %v, %v", a.Annotations, err)
	}
}

func TestMessageNamesUnsupportedFields(t *testing.T) {
	r := request(t, "create")
	set(r.Parent, Object{
		"environment": "staging", "scripts": Object{"deploy": "deploy", "destroy": "destroy"},
		"containerRegistry": Object{"provider": "docker", "imageName": "acme/infra", "semanticVersion": "~1"},
	}, "spec")
	message := answerTo(t, r).Status["message"].(string)
	for _, want := range []string{"spec.gitRepo", "spec.environment", "spec.containerRegistry.semanticVersion",
		"cairn migrate -f -"} {
		if !strings.Contains(message, want) {
			t.Errorf("%s is not in %q", want, message)
		}
	}
}

func TestApplyPolicyIsThatOfTheController(t *testing.T) {
	body, err := json.Marshal(request(t, "create"))
	if err != nil {
		t.Fatal(err)
	}
	for apply, want := range map[string]string{"": "Manual", "Manual": "Manual", "Automatic": "Automatic",
		"Never": "Never"} {
		answer, err := respond(body, apply, Composite)
		if err != nil || !strings.Contains(string(answer), `"apply":"`+want+`"`) {
			t.Errorf("apply=%s: %s, %v", apply, answer, err)
		}
	}
	if _, err := respond(body, "automatic", Composite); err == nil {
		t.Error("apply=automatic was accepted")
	}
}

func TestNumberOfValuesOfABodyIsLimited(t *testing.T) {
	body := []byte(`{"parent":{"spec":[` + strings.Repeat("{},", 1<<20) + `{}]}}`)
	if _, err := respond(body, "", Composite); err == nil || !strings.Contains(err.Error(), "more than 250000 values") {
		t.Errorf("got %v", err)
	}
}
