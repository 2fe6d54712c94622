package pullrequest

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
)

// passed are the fields that a plan of a pull request gets from its Stack, or from the last apply, and withheld those
// that it does not get: neither is the identity for pull requests among them. A new field has to be added to one of the
// lists, and is passed only if passed.go names it.
var (
	passed = map[reflect.Type]string{
		reflect.TypeFor[v1alpha1.StackSpec](): "Source Engine Commands Hooks Policies Variables VariableFiles " +
			"ModuleCredentials Workspace",
		reflect.TypeFor[v1alpha1.Runner](): "Image Build Resources",
		reflect.TypeFor[inputs.Document](): "Source Folder Path Engine Wrapped Commands Hooks Policies Variables " +
			"VariableFiles ModuleCredentials Workspace Image Build Resources Versions",
	}
	withheld = map[reflect.Type]string{
		reflect.TypeFor[v1alpha1.StackSpec](): "Env EnvFrom Backend Apply RequireApprovalFor Drift Windows DependsOn " +
			"PreventSelfApproval Outputs Retry Timeout DeletionPolicy Suspend RunHistoryLimit PullRequests",
		reflect.TypeFor[v1alpha1.Runner](): "ServiceAccountName IdleTimeout Template",
		reflect.TypeFor[inputs.Document](): "Env EnvFrom Backend Outputs ServiceAccountName Template",
	}
)

// fill sets each field of a struct to a value that is not the zero one.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Field(i).CanSet() {
				fill(v.Field(i))
			}
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(value)
		v.SetMapIndex(key, value)
	case reflect.String:
		v.SetString("own")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint8:
		v.SetUint('1')
	}
}

// checkPassed checks which fields of a value were passed: those that differ from what a value without the Stack has.
func checkPassed(t *testing.T, got, without any) {
	t.Helper()
	value, none := reflect.ValueOf(got), reflect.ValueOf(without)
	of := value.Type()
	for i := range of.NumField() {
		name := of.Field(i).Name
		is := !reflect.DeepEqual(value.Field(i).Interface(), none.Field(i).Interface())
		may, not := slices.Contains(strings.Fields(passed[of]), name), slices.Contains(strings.Fields(withheld[of]),
			name)
		switch {
		case of == reflect.TypeFor[v1alpha1.StackSpec]() && name == "Runner":
			checkPassed(t, value.Field(i).Interface(), none.Field(i).Interface())
		case may == not:
			t.Errorf("%s.%s: decide whether plans of pull requests get it, and add it to passed or to withheld", of,
				name)
		case is != may:
			t.Errorf("%s.%s is passed: %t", of, name, is)
		}
	}
}

// What of a Stack is passed to a plan of a pull request is a list: a new field is not passed until it is listed.
func TestEachFieldThatAPullRequestGetsIsListed(t *testing.T) {
	repo := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: "web"},
		Spec: v1alpha1.RepositorySpec{PullRequests: &v1alpha1.PullRequests{}}}
	stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "net",
		Annotations: map[string]string{"own": "own"}}}
	fill(reflect.ValueOf(&stack.Spec).Elem())
	stack.Spec.Runner.Template = &apiextensionsv1.JSON{
		Raw: []byte(`{"metadata":{"annotations":{"iam.amazonaws.com/role":"own"}}}`)}
	read := v1alpha1.PullRequestRunner{ServiceAccountName: "read"}
	stack.Spec.PullRequests = &v1alpha1.StackPullRequests{Runner: &read}
	empty := &v1alpha1.Stack{Spec: v1alpha1.StackSpec{PullRequests: stack.Spec.PullRequests}}
	empty.Spec.Runner.Template = &apiextensionsv1.JSON{Raw: []byte(`{}`)}

	got := Proposed(repo, stack)
	checkPassed(t, got.Spec, Proposed(repo, empty).Spec)
	if text := fmt.Sprint(got.ObjectMeta); strings.Contains(text, "own") {
		t.Errorf("metadata: %s", text)
	}
	var applied inputs.Document
	fill(reflect.ValueOf(&applied).Elem())
	checkPassed(t, ProposedDestroy(applied, repo, stack), ProposedDestroy(inputs.Document{}, repo, empty))
}

// The identity that the Stack shares is all that it shares: never the backend.
func TestSharedCredentialsHaveNoBackend(t *testing.T) {
	stack := &v1alpha1.Stack{Spec: v1alpha1.StackSpec{
		Backend: &v1alpha1.Backend{Type: "pg"}, Env: []corev1.EnvVar{{Name: "TOKEN"}},
		PullRequests: &v1alpha1.StackPullRequests{UseStackCredentials: true},
	}}
	if got := Proposed(repositoryOf(), stack).Spec; got.Backend != nil || len(got.Env) != 1 {
		t.Errorf("%+v", got)
	}
}

// A pull request is planned with a copy of the state in the backend of its Stack, or not at all.
func TestStateCopy(t *testing.T) {
	in := func(kind string, version int64) v1alpha1.StateStatus {
		return v1alpha1.StateStatus{Version: version, Backend: &v1alpha1.StateBackend{Type: kind}}
	}
	s3, code := &v1alpha1.Backend{Type: "s3"}, &v1alpha1.Backend{FromCode: true}
	for name, tt := range map[string]struct {
		spec  *v1alpha1.Backend
		state v1alpha1.StateStatus
		want  string
		none  string
	}{
		"Cairn keeps the state":               {nil, v1alpha1.StateStatus{Version: 3}, "", ""},
		"Cairn keeps the state, which is new": {nil, v1alpha1.StateStatus{}, "", ""},
		"the backend is gone from the spec":   {nil, in("s3", 3), "s3", ""},
		"it was read":                         {s3, in("s3", 3), "s3", ""},
		"that of the code was read":           {code, in("gcs", 3), "gcs", ""},
		"that of code with or without one":    {&v1alpha1.Backend{FromCode: true, Type: "s3"}, in("pg", 3), "pg", ""},
		"it was never read":                   {s3, v1alpha1.StateStatus{}, "", "in backend s3"},
		"that of the code was never read":     {code, v1alpha1.StateStatus{}, "", "in the backend of the code"},
		"it had no state":                     {s3, in("s3", 0), "", "in backend s3"},
		"another one was read":                {s3, in("pg", 3), "", "in backend s3"},
		"the state is still in Cairn":         {s3, v1alpha1.StateStatus{Version: 3}, "", "in backend s3"},
	} {
		stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "net"},
			Spec: v1alpha1.StackSpec{Backend: tt.spec}}
		got, problem := stateCopy(stack, tt.state)
		if got != tt.want || (problem == "") != (tt.none == "") || !strings.Contains(problem, tt.none) {
			t.Errorf("%s: %q, %s", name, got, problem)
		}
		if problem != "" && !strings.HasSuffix(problem, "cairn -n web plan net") {
			t.Errorf("%s: %s", name, problem)
		}
	}
}

// The status of a PullRequest, and with it the comment, has which copy of the state a plan used.
func TestPlanNamesTheBackendOfItsCopy(t *testing.T) {
	w := pull(func(w *Snapshot) { w.Merge.Affected[1].Backend = "s3" })
	s := next(&w)
	if data, _ := json.Marshal(s.Stacks); s.Stacks[0].Backend != "" || s.Stacks[1].Backend != "s3" {
		t.Errorf("%s", data)
	}
}
