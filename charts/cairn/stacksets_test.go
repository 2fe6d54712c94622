//go:build envtest

package cairn

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
)

// newSet is a StackSet with fields of a Stack in its template.
func newSet(t *testing.T, fields string) *v1alpha1.StackSet {
	t.Helper()
	spec := map[string]any{}
	apiserver.Must(t, json.Unmarshal([]byte(`{"source":{"inline":{"main.tf":""}}}`), &spec))
	apiserver.Must(t, json.Unmarshal([]byte(fields), &spec))
	set := &v1alpha1.StackSet{}
	set.Namespace, set.Name = "default", name()
	set.Spec.Template.Metadata.Name = "x"
	var err error
	set.Spec.Template.Spec.Raw, err = json.Marshal(spec)
	apiserver.Must(t, err)
	apiserver.Must(t, json.Unmarshal([]byte(`[{"list":[{"env":"dev"}]}]`), &set.Spec.Generators))
	return set
}

// setsAreProtected waits for the policy of StackSets.
func setsAreProtected(t *testing.T) {
	t.Helper()
	settled(t)
	apiserver.Must(t, wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			err := as(t, "seth").Create(ctx, newSet(t, `{"apply":"Automatic"}`), client.DryRunAll)
			return err != nil && strings.Contains(err.Error(), "cannot write StackSet"), nil
		}))
	apiserver.Must(t, wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			of := newStack(func(s *v1alpha1.Stack) { s.Labels = map[string]string{v1alpha1.StackSetLabel: "x"} })
			err := errors.Join(as(t, operator).Create(ctx, newStack(nil), client.DryRunAll),
				as(t, "seth").Create(ctx, of, client.DryRunAll))
			return err != nil && strings.Contains(err.Error(), "StackSet"), nil
		}))
}

// A user who writes a StackSet needs the verbs that the same writes of Stacks require.
func TestUsersAndStackSets(t *testing.T) {
	setsAreProtected(t)
	const approve, destroy = "the verb approve on the Runs of the namespace", "the verb destroy on the Stacks of " +
		"the namespace"
	template := func(fields string) string { return `{"spec":{"template":{"spec":` + fields + `}}}` }
	for title, tt := range map[string]struct {
		fields  string // of the template
		user    string // who creates it: alice where empty
		want    string
		changes []change
	}{
		"an editor creates and changes a set": {
			`{"apply":"Manual","deletionPolicy":"Protect","preventSelfApproval":true}`, "ed", "",
			[]change{{"ed", template(`{"timeout":"5m"}`), ""}}},
		"a set without rules takes no other verb": {`{}`, "ed", "", nil},
		"who may create Stacks alone": {`{}`, "seth",
			"requires the verbs create and update on the Stacks",
			[]change{{"seth", template(`{"timeout":"5m"}`), "the verb update on the StackSet"},
				{"seth", `{"metadata":{"labels":{"a":"b"}}}`, "the verb update on the StackSet"}}},
		"who may read": {`{}`, "vera", "forbidden", nil},
		"automatic applies need verb approve": {`{"apply":"Automatic"}`, "ed", approve,
			[]change{{"ed", template(`{"timeout":"5m"}`), approve}, {"ed", `{"spec":{"mode":"Preview"}}`, approve},
				{"abe", template(`{"timeout":"5m"}`), ""}}},
		"an expression can be Automatic": {
			`{"apply":"${params.env == 'dev' ? 'Automatic' : 'Manual'}"}`, "ed", approve, nil},
		"an expression does not spell Automatic": {`{"apply":"Auto${'mat'}ic"}`, "ed",
			approve, nil},
		"with verb approve": {`{"apply":"Automatic"}`, "abe", "", nil},
		"apply Never":       {`{"apply":"Never"}`, "ed", "", nil},
		"self-approval needs verb approve": {`{"preventSelfApproval":false}`, "ed",
			approve, nil},
		"self-approval by an expression": {
			`{"preventSelfApproval":"${params.env == 'prod'}"}`, "ed", approve, nil},
		"kinds of changes with an approval need it": {`{"requireApprovalFor":["Delete"]}`, "ed",
			approve, nil},
		"a policy that destroys needs verb destroy": {`{"deletionPolicy":"Destroy"}`, "ed",
			destroy, []change{{"ed", template(`{"timeout":"5m"}`), destroy},
				{"dora", template(`{"timeout":"5m"}`), ""}}},
		"so does one that is no protection": {`{"deletionPolicy":"Orphan"}`, "abe",
			destroy, nil},
		"an expression can be Destroy": {`{"deletionPolicy":"${params.policy}"}`,
			"ed", destroy, nil},
		"with verb destroy": {`{"deletionPolicy":"Destroy"}`,
			"dora", "", nil},
		"a change to Automatic": {`{"apply":"Manual"}`, "ed", "",
			[]change{{"ed", template(`{"apply":"Automatic"}`), approve}, {"alice", template(`{"apply":"Automatic"}`),
				""}, {"ed", template(`{"apply":null}`), ""}}},
		"a change to Destroy": {`{"deletionPolicy":"Protect"}`, "ed", "",
			[]change{{"ed", template(`{"deletionPolicy":"Destroy"}`), destroy},
				{"ed", template(`{"deletionPolicy":null}`), ""}}},
		"labels of the set need update alone": {`{"apply":"Automatic"}`, "abe", "",
			[]change{{"ed", `{"metadata":{"labels":{"a":"b"}}}`, ""}, {"vera", `{"metadata":{"labels":{"a":"b"}}}`,
				"forbidden"}}},
		"deletions are confirmed with verb destroy": {`{}`, "ed", "",
			[]change{{"ed", `{"metadata":{"annotations":{"cairn.dev/confirm-deletions":"a"}}}`, destroy},
				{"abe", `{"metadata":{"annotations":{"cairn.dev/confirm-deletions":"a"}}}`, destroy},
				{"dora", `{"metadata":{"annotations":{"cairn.dev/confirm-deletions":"a"}}}`, ""},
				{"ed", `{"metadata":{"labels":{"a":"b"}}}`, ""},
				{"ed", `{"metadata":{"annotations":{"cairn.dev/confirm-deletions":"b"}}}`, destroy},
				{"ed", `{"metadata":{"annotations":{"cairn.dev/confirm-deletions":null}}}`, ""}}},
		"the user who changed it is recorded, and no other one can be set": {`{}`, "ed", "",
			[]change{{"ed", `{"spec":{"mode":"Preview"},"metadata":{"annotations":{"cairn.dev/changed-by":"alice"}}}`,
				"must be ed"}}},
		"labels and annotations of Cairn are not the template's": {`{}`, "ed", "",
			[]change{{"ed", `{"spec":{"template":{"metadata":{"labels":{"cairn.dev/stackset":"other"}}}}}`,
				"cannot set labels of cairn.dev"}, {"ed",
				`{"spec":{"template":{"metadata":{"annotations":{"cairn.dev/requested-at":"1"}}}}}`,
				"cannot set annotations of cairn.dev"}}},
		"the operator writes no set": {`{}`, operator, "forbidden",
			[]change{{operator, template(`{"timeout":"5m"}`), "forbidden"}}},
	} {
		t.Run(title, func(t *testing.T) {
			set := newSet(t, tt.fields)
			check(t, as(t, tt.user).Create(t.Context(), set), tt.want)
			if tt.want != "" {
				apiserver.Must(t, as(t, "alice").Create(t.Context(), set))
			}
			writes(t, set, tt.changes)
		})
	}
	t.Run("a new set confirms no deletions", func(t *testing.T) {
		set := newSet(t, `{}`)
		set.Annotations = map[string]string{v1alpha1.ConfirmDeletionsAnnotation: "a"}
		check(t, as(t, "ed").Create(t.Context(), set), destroy)
	})
	t.Run("the status is the operator's", func(t *testing.T) {
		set := newSet(t, `{}`)
		apiserver.Must(t, as(t, "ed").Create(t.Context(), set))
		check(t, as(t, "ed").Status().Patch(t.Context(), set.DeepCopy(), merge(`{"status":{"generated":1}}`)),
			"forbidden")
		check(t, as(t, operator).Status().Patch(t.Context(), set, merge(`{"status":{"generated":1}}`)), "")
	})
}

// generates applies fields of a Stack as the operator does for StackSet platform.
func generates(t *testing.T, user, name string, spec map[string]any, annotations map[string]any) error {
	t.Helper()
	spec["source"] = map[string]any{"inline": map[string]any{"main.tf": ""}}
	metadata := map[string]any{"labels": map[string]any{v1alpha1.StackSetLabel: "platform"}}
	if annotations != nil {
		metadata["annotations"] = annotations
	}
	return applies(t, user, "cairn-stackset", name, map[string]any{"metadata": metadata, "spec": spec})
}

func stackOf(t *testing.T, name string) *v1alpha1.Stack {
	t.Helper()
	stack := &v1alpha1.Stack{}
	apiserver.Must(t, apiserver.Kube.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: name}, stack))
	return stack
}

// The operator writes the Stacks of StackSets, with what their templates have, and no others.
func TestOperatorWritesStacksOfStackSets(t *testing.T) {
	setsAreProtected(t)
	type fields = map[string]any
	rendered := fields{v1alpha1.RenderedAnnotation: "sha256:a"}

	t.Run("creates, changes, suspends and deletes", func(t *testing.T) {
		stack := name()
		apiserver.Must(t, generates(t, operator, stack, fields{"deletionPolicy": "Destroy"}, rendered))
		if by := stackOf(t, stack).Annotations[v1alpha1.ChangedByAnnotation]; by != "stackset:platform" {
			t.Errorf("changed by %q", by)
		}
		writes(t, stackOf(t, stack), []change{{"ed", `{"spec":{"timeout":"5m"}}`, ""}})
		if by := stackOf(t, stack).Annotations[v1alpha1.ChangedByAnnotation]; by != "ed" {
			t.Errorf("changed by %q", by)
		}
		apiserver.Must(t, generates(t, operator, stack, fields{"deletionPolicy": "Destroy", "apply": "Automatic"},
			rendered))
		apiserver.Must(t, generates(t, operator, stack, fields{"deletionPolicy": "Destroy", "apply": "Automatic",
			"runHistoryLimit": int64(5)}, rendered))
		if by := stackOf(t, stack).Annotations[v1alpha1.ChangedByAnnotation]; by != "stackset:platform" {
			t.Errorf("changed by %q", by)
		}
		o := stackOf(t, stack)
		check(t, as(t, operator).Delete(t.Context(), o), "only a user can delete it")
		writes(t, o, []change{
			{operator, `{"spec":{"suspend":true},"metadata":{"annotations":{"cairn.dev/stackset-item-gone":"gone"}}}`,
				""}})
		apiserver.Must(t, apiserver.Kube.Status().Patch(t.Context(), o, merge(`{"status":{"lastRun":"net-1"}}`)))
		check(t, as(t, operator).Delete(t.Context(), o), "")
	})
	t.Run("no other Stacks", func(t *testing.T) {
		check(t, as(t, operator).Create(t.Context(), newStack(nil)), "of no StackSet")
		of := newStack(nil)
		apiserver.Must(t, as(t, "ed").Create(t.Context(), of))
		writes(t, of, []change{
			{operator, `{"spec":{"suspend":true}}`, "verb update"},
			{operator, `{"metadata":{"annotations":{"cairn.dev/stackset-item-gone":"gone"}}}`, "verb update"},
		})
		check(t, generates(t, operator, of.Name, fields{}, nil), "verb update") // it takes none over
		check(t, as(t, operator).Delete(t.Context(), of), "only a user can delete it")
		stack := name()
		apiserver.Must(t, generates(t, operator, stack, fields{}, rendered))
		writes(t, stackOf(t, stack), []change{
			{operator, `{"metadata":{"labels":{"cairn.dev/stackset":"other"}}}`, "verb update"},
			{operator, `{"metadata":{"labels":{"cairn.dev/stackset":null}},"spec":{"suspend":true}}`, "verb update"},
			{operator, `{"spec":{"suspend":true},"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Secret","name":"x","uid":"x"}]}}`, "verb update"},
			{operator, asks("requested-at", "1"), "verb apply"},
			{operator, `{"spec":{"suspend":true},"metadata":{"annotations":{"cairn.dev/changed-by":"alice"}}}`, ""},
		})
		if by := stackOf(t, stack).Annotations[v1alpha1.ChangedByAnnotation]; by != "stackset:platform" {
			t.Errorf("changed by %q", by) // and not in the name of a user
		}
	})
	for title, tt := range map[string]struct {
		user, next fields // what alice sets, and what the template has then
		want       string
	}{
		"a template replaces the protection of a Stack": {fields{"deletionPolicy": "Protect"},
			fields{"deletionPolicy": "Destroy"}, ""},
		"a template without it does not": {fields{"deletionPolicy": "Protect"}, fields{}, ""},
		"a template replaces the rules of approval": {fields{"apply": "Manual", "preventSelfApproval": true},
			fields{"apply": "Automatic", "preventSelfApproval": false}, ""},
		"a patch without a template does not": {nil, nil, "fewer approvals"},
	} {
		t.Run(title, func(t *testing.T) {
			stack := name()
			apiserver.Must(t, generates(t, operator, stack, fields{}, rendered))
			if tt.user == nil {
				writes(t, stackOf(t, stack), []change{{operator, `{"spec":{"apply":"Automatic"}}`, tt.want}})
				return
			}
			patch, err := json.Marshal(fields{"spec": tt.user})
			apiserver.Must(t, err)
			writes(t, stackOf(t, stack), []change{{"alice", string(patch), ""}})
			check(t, generates(t, operator, stack, tt.next, rendered), tt.want)
		})
	}
	// The template had it, and has it no more: who wrote the template needed no verb for that.
	for title, tt := range map[string]struct {
		first, next fields
		want        string
	}{
		"no template removes the protection": {fields{"deletionPolicy": "Protect"}, fields{},
			"its deletion destroys its resources"},
		"no template removes preventSelfApproval": {fields{"preventSelfApproval": true}, fields{},
			"fewer approvals"},
		"no template removes requireApprovalFor": {
			fields{"apply": "Automatic", "requireApprovalFor": []any{"Delete"}}, fields{"apply": "Automatic"},
			"fewer approvals"},
		"a template replaces kinds of changes": {
			fields{"apply": "Automatic", "requireApprovalFor": []any{"Delete"}},
			fields{"apply": "Automatic", "requireApprovalFor": []any{"Create"}}, ""},
		"a template that stops applying automatically": {fields{"apply": "Automatic"}, fields{}, ""},
	} {
		t.Run(title, func(t *testing.T) {
			stack := name()
			apiserver.Must(t, generates(t, operator, stack, tt.first, rendered))
			check(t, generates(t, operator, stack, tt.next, rendered), tt.want)
		})
	}
	t.Run("a recreated set of another user removes no protection", func(t *testing.T) {
		stack := name()
		apiserver.Must(t, generates(t, operator, stack,
			fields{"deletionPolicy": "Protect", "preventSelfApproval": true}, rendered))
		check(t, generates(t, operator, stack, fields{"deletionPolicy": "Protect"},
			fields{v1alpha1.RenderedAnnotation: "sha256:b"}), "fewer approvals")
	})
}

// A StackSet takes over Stacks with its label, and does not write those whose annotations are up to date.
func TestUsersAndStacksOfStackSets(t *testing.T) {
	setsAreProtected(t)
	const hand = `{"metadata":{"labels":{"cairn.dev/stackset":"platform"}}}`
	stack := newStack(nil)
	apiserver.Must(t, as(t, "ed").Create(t.Context(), stack))
	writes(t, stack, []change{
		{"seth", hand, "verb update"}, {"ed", hand, "ed cannot hand Stack"}, {"abe", hand, "cannot hand Stack"},
		{"dora", hand, "cannot hand Stack"},
		{"alice", hand, ""},
		{"ed", `{"metadata":{"labels":{"cairn.dev/stackset":"other"}}}`, "ed cannot hand Stack"},
		{"seth", `{"metadata":{"labels":null}}`, "verb update"}, {"seth", `{"spec":{"timeout":"5m"}}`, "verb update"},
		{"ed", `{"spec":{"timeout":"5m"}}`, ""},
		{"ed", `{"metadata":{"annotations":{"cairn.dev/stackset-rendered":"sha256:a"}}}`, "only Cairn sets them"},
		{"alice", `{"metadata":{"annotations":{"cairn.dev/stackset-item-gone":"x"}}}`, "only Cairn sets them"},
		{operator, `{"metadata":{"annotations":{"cairn.dev/stackset-item-gone":"x"}}}`, ""},
		{"ed", `{"metadata":{"annotations":{"cairn.dev/stackset-item-gone":"y"}}}`, "only Cairn sets them"},
		{"ed", `{"metadata":{"annotations":{"cairn.dev/stackset-item-gone":null}}}`, ""},
		{"ed", `{"metadata":{"labels":null}}`, ""},
	})
	labeled := func(s *v1alpha1.Stack) { s.Labels = map[string]string{v1alpha1.StackSetLabel: "platform"} }
	gone := func(s *v1alpha1.Stack) { s.Annotations = map[string]string{v1alpha1.ItemGoneAnnotation: "x"} }
	check(t, as(t, "seth").Create(t.Context(), newStack(labeled)), "seth cannot create a Stack of StackSet platform")
	check(t, as(t, "ed").Create(t.Context(), newStack(labeled)), "")
	check(t, as(t, "ed").Create(t.Context(), newStack(gone)), "only Cairn sets them")
	check(t, as(t, "root").Create(t.Context(), newStack(gone)), "") // from a backup
	check(t, as(t, "seth").Create(t.Context(), newStack(nil)), "")
}

// bindIn gives users roles in another namespace, and waits for them.
func bindIn(t *testing.T, namespace string, roles map[string][]string) {
	t.Helper()
	apiserver.Must(t, apiserver.Kube.Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}))
	for user, all := range roles {
		for _, role := range all {
			binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: user + "-" + role}}
			binding.RoleRef = rbacv1.RoleRef{Kind: "ClusterRole", Name: role}
			binding.Subjects = []rbacv1.Subject{{Kind: "User", Name: user}}
			apiserver.Must(t, apiserver.Kube.Create(t.Context(), binding))
		}
	}
	apiserver.Must(t, wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			for user, all := range roles {
				set := newSet(t, map[bool]string{true: `{"apply":"Automatic"}`,
					false: `{}`}[slices.Contains(all, "cairn-approve")])
				set.Namespace = namespace
				if as(t, user).Create(ctx, set, client.DryRunAll) != nil {
					return false, nil
				}
			}
			return true, nil
		}))
}

// A user who writes a StackSet needs in each of spec.namespaces what they need in its own namespace.
func TestStackSetsOfOtherNamespaces(t *testing.T) {
	setsAreProtected(t)
	bindIn(t, "shop", map[string][]string{"ed": {"cairn-edit"}, "abe": {"cairn-edit", "cairn-approve"},
		"dora": {"cairn-edit", "cairn-destroy"}})
	bindIn(t, "crm", map[string][]string{"ed": {"cairn-edit"}})
	var many []string
	for _, c := range "abcdefghi" {
		many = append(many, "many-"+string(c))
		bindIn(t, many[len(many)-1],
			map[string][]string{"ed": {"cairn-edit"}, "alice": {"cairn-edit", "cairn-approve", "cairn-destroy"}})
	}
	const approve, destroy, create = "in namespace crm (spec.namespaces): this requires the verb approve on " +
		"the Runs there",
		"in namespace crm (spec.namespaces): this requires the verb destroy on the Stacks there", "this requires the " +
			"verbs create and update on the Stacks there"
	for title, tt := range map[string]struct {
		user, fields string
		namespaces   []string
		want         string
		changes      []change
	}{
		"who may create Stacks in all of them": {"ed", `{}`, []string{"shop", "crm"}, "",
			[]change{{"ed", `{"spec":{"namespaces":["shop","nowhere"]}}`, "in namespace nowhere (spec.namespaces): " +
				create}, {"abe", `{"spec":{"mode":"Preview"}}`, "in namespace crm (spec.namespaces): " + create},
				{"abe", `{"metadata":{"labels":{"a":"b"}}}`, ""}}},
		"who may not in one of them": {"abe", `{}`, []string{"shop", "crm"}, "abe cannot write StackSet", nil},
		"who may in none of them": {"alice", `{}`, []string{"kube-system"},
			"in namespace kube-system (spec.namespaces): " + create, nil},
		"a namespace that does not exist": {"ed", `{}`, []string{"nowhere"}, create, nil},
		"the last of ten": {"ed", `{}`, append([]string{"shop"}, many...), "",
			[]change{{"ed", `{"spec":{"namespaces":["shop","many-a","many-b","many-c","many-d","many-e","many-f","many-g","many-h","kube-system"]}}`, "in namespace kube-system"}}},
		"more than ten": {"root", `{}`, append([]string{"shop", "crm"}, many...), "must have at most 10 items", nil},
		"all verbs in nine, which the API server has a budget for": {"alice",
			`{"apply":"Automatic","deletionPolicy":"Destroy"}`, many, "", nil},
		"one of them twice":              {"root", `{}`, []string{"shop", "shop"}, "Duplicate value", nil},
		"rules need verb approve in all": {"abe", `{"apply":"Automatic"}`, []string{"shop"}, "", nil},
		"which one of its own is not": {"alice", `{"apply":"Automatic"}`, []string{"crm"},
			"in namespace crm (spec.namespaces): this requires the verb", nil},
		"protection needs verb destroy in all": {"dora", `{"deletionPolicy":"Destroy"}`, []string{"shop"}, "", nil},
		"deletions need verb destroy in all": {"dora", `{}`, []string{"shop"}, "",
			[]change{{"dora", `{"metadata":{"annotations":{"cairn.dev/confirm-deletions":"a"}}}`, ""}}},
		"deletions that are confirmed by others": {"ed", `{}`, []string{"shop", "crm"}, "",
			[]change{{"dora", `{"metadata":{"annotations":{"cairn.dev/confirm-deletions":"a"}}}`, destroy},
				{"ed", `{"metadata":{"labels":{"a":"b"}}}`, ""}}},
	} {
		t.Run(title, func(t *testing.T) {
			set := newSet(t, tt.fields)
			set.Spec.Namespaces = tt.namespaces
			if check(t, as(t, tt.user).Create(t.Context(), set), tt.want); tt.want == "" {
				writes(t, set, tt.changes)
			}
		})
	}
	t.Run("with the verbs of edit alone", func(t *testing.T) {
		bindIn(t, "loose", map[string][]string{"abe": {"cairn-edit"}, "dora": {"cairn-edit"}})
		for fields, user := range map[string]string{
			`{"apply":"Automatic"}`: "abe", `{"apply":"${'Auto' + 'matic'}"}`: "abe",
			`{"preventSelfApproval":false}`: "abe", `{"requireApprovalFor":["Delete"]}`: "abe",
			`{"deletionPolicy":"Orphan"}`: "dora", `{"deletionPolicy":"Destroy"}`: "dora",
		} {
			set := newSet(t, fields)
			set.Spec.Namespaces = []string{"loose"}
			want := map[string]string{"abe": approve, "dora": destroy}[user]
			check(t, as(t, user).Create(t.Context(), set), strings.ReplaceAll(want, "crm", "loose"))
			set.Spec.Namespaces = nil
			apiserver.Must(t, as(t, user).Create(t.Context(), set))
			writes(t, set, []change{{user, `{"spec":{"namespaces":["loose"]}}`,
				strings.ReplaceAll(want, "crm", "loose")}})
		}
	})
}

// A Stack is of the StackSet of the namespace in its label: who changes that label hands the Stack to another one.
func TestNamespaceOfTheStackSetOfAStack(t *testing.T) {
	setsAreProtected(t)
	const to, from = `{"metadata":{"labels":{"cairn.dev/stackset-namespace":"shop"}}}`,
		`{"metadata":{"labels":{"cairn.dev/stackset-namespace":null}}}`
	stack := newStack(func(s *v1alpha1.Stack) { s.Labels = map[string]string{v1alpha1.StackSetLabel: "platform"} })
	apiserver.Must(t, as(t, "ed").Create(t.Context(), stack))
	writes(t, stack, []change{
		{"ed", to, "ed cannot hand Stack"}, {operator, to, "verb update"}, {"alice", to, ""},
		{"ed", from, "ed cannot hand Stack"}, {operator, from, "verb update"},
		{operator, `{"spec":{"suspend":true},"metadata":{"labels":{"cairn.dev/stackset-namespace":"other"}}}`,
			"verb update"},
		{operator, `{"spec":{"suspend":true}}`, ""}, {"alice", from, ""},
	})
}

// The policies recognize the operator by this: with the verb, it could write each Stack, and the name of a user would
// be its own.
func TestOperatorHasNoVerbUpdateOnStacks(t *testing.T) {
	data, err := roles.ReadFile("files/roles/operator.yaml")
	apiserver.Must(t, err)
	role := &rbacv1.ClusterRole{}
	apiserver.Must(t, yaml.Unmarshal(data, role))
	for _, rule := range role.Rules {
		if slices.Contains(rule.Resources, "stacks") && (slices.Contains(rule.Verbs, "update") ||
			slices.Contains(rule.Verbs, "*")) {
			t.Errorf("the operator has %v on %v", rule.Verbs, rule.Resources)
		}
	}
}
