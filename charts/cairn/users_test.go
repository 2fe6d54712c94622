//go:build envtest

package cairn

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/approval"
	"cairn.dev/cairn/test/apiserver"
)

// users are the users of these tests with their permissions in namespace default: ClusterRoles of the chart, or rules.
var users = map[string]struct {
	roles  []string
	rights []rbacv1.PolicyRule
}{
	"eve":   {rights: []rbacv1.PolicyRule{may("stacks,runs", "get", "list", "watch", "patch")}},
	"vera":  {roles: []string{"cairn-view"}},
	"pete":  {roles: []string{"cairn-plan"}},
	"alan":  {roles: []string{"cairn-apply"}},
	"carol": {roles: []string{"cairn-destroy"}},
	"paul":  {roles: []string{"cairn-apply", "cairn-partial"}},
	"bob":   {roles: []string{"cairn-approve"}},
	"alice": {roles: []string{"cairn-approve", "cairn-apply", "cairn-destroy", "cairn-edit"}},
	"cass":  {roles: []string{"cairn-cancel"}},
	"sue":   {roles: []string{"cairn-shell"}},
	"ed":    {roles: []string{"cairn-edit"}},
	"abe":   {roles: []string{"cairn-edit", "cairn-approve"}},
	"dora":  {roles: []string{"cairn-edit", "cairn-destroy"}},
	"root":  {rights: []rbacv1.PolicyRule{may("*", "*")}},
	"petra": {roles: []string{"cairn-promote"}},
	"pia":   {roles: []string{"cairn-pipelines", "cairn-edit"}},
	"pam":   {roles: []string{"cairn-pipelines", "cairn-promote"}},
	"rita":  {roles: []string{"cairn-edit", "cairn-state"}},
	"seth": {rights: []rbacv1.PolicyRule{may("stacksets", "get", "create", "patch"),
		may("variablesets", "get", "create", "patch", "delete"), may("stacks", "get", "create", "patch")}},
	"cole": {rights: []rbacv1.PolicyRule{may("stacks", "get", "list", "delete", "deletecollection")}},
	// One who may update Runs, and decide nothing about them.
	// One who may patch DriftPauses, and not resume.
	"drew": {rights: []rbacv1.PolicyRule{may("driftpauses", "get", "patch")}},
	"rudi": {rights: []rbacv1.PolicyRule{may("runs", "get", "update", "patch")}},
	// What a controller of GitOps has, and what Cairn's operator needs at least.
	gitops: {rights: []rbacv1.PolicyRule{may("stacks", "get", "list", "watch", "create", "update", "patch", "delete")}},
	operator: {rights: []rbacv1.PolicyRule{
		may("stacks,runs", "get", "list", "watch"), may("stacks", "patch"), may("stacks/finalizers", "update"),
		may("stacks/status,runs/status,stacksets/status", "patch"),
		may("stacks", "create", "delete"),
		may("runs", "create", "delete"), may("states", "get", "create", "update", "patch", "delete"),
	}},
}

const (
	gitops   = "system:serviceaccount:flux-system:kustomize-controller"
	operator = "system:serviceaccount:cairn-system:cairn"
)

func may(resources string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: []string{"cairn.dev"}, Resources: strings.Split(resources, ","), Verbs: verbs}
}

// patience with what the API server hears of in the background: roles, policies, kinds.
const patience = 2 * time.Minute

// as returns a client of a user.
func as(t *testing.T, user string) client.Client {
	t.Helper()
	settled(t)
	config := rest.CopyConfig(apiserver.Config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: []string{"system:authenticated"}}
	c, err := client.New(config, client.Options{Scheme: apiserver.Kube.Scheme()})
	apiserver.Must(t, err)
	return c
}

var settle struct {
	sync.Once
	err error
}

// settled installs policies and roles once, and waits until the API server keeps to them.
func settled(t *testing.T) {
	t.Helper()
	settle.Do(func() { settle.err = introduce(context.WithoutCancel(t.Context())) })
	apiserver.Must(t, settle.err)
}

func introduce(ctx context.Context) error {
	if err := applyManifests(ctx, "policies", "rbac"); err != nil {
		return err
	}
	for user, p := range users {
		name := strings.NewReplacer(":", "-").Replace(user)
		subjects := []rbacv1.Subject{{Kind: "User", Name: user}}
		refs := []rbacv1.RoleRef{}
		for _, role := range p.roles {
			refs = append(refs, rbacv1.RoleRef{Kind: "ClusterRole", Name: role})
		}
		if p.rights != nil {
			role := &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Rules: p.rights}
			if err := apiserver.Kube.Create(ctx, role); err != nil {
				return err
			}
			refs = append(refs, rbacv1.RoleRef{Kind: "Role", Name: name})
		}
		for _, ref := range refs {
			binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name + "-" +
				ref.Name}, RoleRef: ref, Subjects: subjects}
			if err := apiserver.Kube.Create(ctx, binding); err != nil {
				return err
			}
		}
	}
	return wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, inForce)
}

// inForce says that the last of the rights, and each of the policies, has come to those who decide by them.
func inForce(ctx context.Context) (bool, error) {
	for user, want := range map[string]string{
		"eve": "patch stacks", "vera": "get runs/plan", "pete": "plan stacks", "alan": "apply stacks",
		"carol": "destroy stacks", "bob": "approve runs", "cass": "cancel runs", "sue": "shell stacks",
		"ed": "update stacks", "abe": "update stacks", "dora": "destroy stacks", "root": "destroy stacks",
		"cole": "deletecollection stacks", "seth": "create stacks", "rita": "recover states", "rudi": "update runs",
		"drew": "patch driftpauses", gitops: "update stacks", operator: "update stacks/finalizers",
		"alice": "update stacks",
	} {
		verb, resource, _ := strings.Cut(want, " ")
		if ok, err := allowed(ctx, user, verb, resource); !ok {
			return false, err
		}
	}
	stack := newStack(nil)
	// it learns of new kinds every 5 s
	if err := apiserver.Kube.Create(ctx, stack, client.DryRunAll); apierrors.IsServiceUnavailable(err) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if stack.Annotations[v1alpha1.ChangedByAnnotation] == "" {
		return false, nil
	}
	run := newRun("probe")
	run.Spec.Approval = &v1alpha1.Approval{PlanDigest: digestOf("a"), By: "x"}
	if err := apiserver.Kube.Create(ctx, run, client.DryRunAll); err == nil {
		return false, nil
	}
	// The policies that speak of changes come together; each is probed all the same.
	if err := apiserver.Kube.Create(ctx, newRun("probe")); client.IgnoreAlreadyExists(err) != nil {
		return false, err
	}
	stack = newStack(nil)
	stack.Name = "probe"
	if err := apiserver.Kube.Create(ctx, stack); client.IgnoreAlreadyExists(err) != nil {
		return false, err
	}
	named := false
	for _, probe := range []struct {
		of    client.Object
		patch string
		want  string
	}{
		{newRun("probe"), `{"spec":{"canceledBy":"x"}}`, "spec.canceledBy"},
		{stack.DeepCopy(), `{"metadata":{"annotations":{"cairn.dev/requested-at":"x","cairn.dev/requested-operation":"x"}}}`, "requested-operation"},
		{stack.DeepCopy(), `{"spec":{"suspend":true},"metadata":{"annotations":{"cairn.dev/changed-by":"x"}}}`,
			"changed-by"},
	} {
		err := apiserver.Kube.Patch(ctx, probe.of, client.RawPatch(types.MergePatchType, []byte(probe.patch)),
			client.DryRunAll)
		if err == nil || !strings.Contains(err.Error(), probe.want) {
			return false, nil
		}
	}
	run = newRun("probe")
	if err := apiserver.Kube.Patch(ctx, run, merge(`{"spec":{"cancel":true}}`), client.DryRunAll); err != nil {
		return false, err
	}
	named = run.Spec.CanceledBy != ""
	asked := stack.DeepCopy()
	if err := apiserver.Kube.Patch(ctx, asked, merge(`{"metadata":{"annotations":{"cairn.dev/requested-at":"x"}}}`),
		client.DryRunAll); err != nil {
		return false, err
	}
	named = named && asked.Annotations[v1alpha1.RequestedByAnnotation] != ""
	eve := rest.CopyConfig(apiserver.Config)
	eve.Impersonate = rest.ImpersonationConfig{UserName: "eve"}
	c, err := client.New(eve, client.Options{Scheme: apiserver.Kube.Scheme()})
	if err != nil {
		return false, err
	}
	err = c.Patch(ctx, stack.DeepCopy(), merge(`{"spec":{"suspend":true}}`), client.DryRunAll)
	return named && err != nil && strings.Contains(err.Error(), "verb update"), nil
}

func merge(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }

func allowed(ctx context.Context, user, verb, resource string) (bool, error) {
	resource, sub, _ := strings.Cut(resource, "/")
	review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
		User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "default", Group: "cairn.dev",
			Resource: resource, Subresource: sub, Verb: verb, Name: "any"},
	}}
	err := apiserver.Kube.Create(ctx, review)
	return review.Status.Allowed, err
}

// applyManifests applies what is in folders of the chart.
func applyManifests(ctx context.Context, folders ...string) error {
	for _, folder := range folders {
		files, err := fs.Glob(Manifests, "files/"+folder+"/*.yaml")
		if err != nil {
			return err
		}
		for _, file := range files {
			data, err := Manifests.Open(file)
			if err != nil {
				return err
			}
			decoder := yaml.NewYAMLOrJSONDecoder(data, 4096)
			for {
				o := &unstructured.Unstructured{}
				if err := decoder.Decode(&o.Object); err != nil {
					break // io.EOF
				}
				if len(o.Object) == 0 {
					continue
				}
				if err := apiserver.Kube.Apply(ctx, client.ApplyConfigurationFromUnstructured(o),
					client.FieldOwner("test"), client.ForceOwnership); err != nil {
					return fmt.Errorf("%s: %w", file, err)
				}
			}
		}
	}
	return nil
}

func digestOf(c string) string { return "sha256:" + strings.Repeat(c, 64) }

func newRun(name string) *v1alpha1.Run {
	run := &v1alpha1.Run{Spec: v1alpha1.RunSpec{
		Stack: v1alpha1.ObjectRef{Name: "net"}, Operation: v1alpha1.OperationApply,
		Cause: v1alpha1.Cause{Type: v1alpha1.CauseSpec}, InputsDigest: digestOf("1"),
	}}
	run.Namespace, run.Name = "default", name
	return run
}

var names atomic.Int32

func name() string { return fmt.Sprintf("t-%d", names.Add(1)) }

// A change is a merge patch of a user, and a part of the error if it is rejected.
type change struct {
	user, patch string
	want        string
}

// writes tries changes one after the other, and gives the object after them.
func writes(t *testing.T, o client.Object, changes []change) {
	t.Helper()
	for _, c := range changes {
		mine := o.DeepCopyObject().(client.Object)
		err := as(t, c.user).Patch(t.Context(), mine, merge(c.patch))
		switch {
		case c.want == "" && err != nil:
			t.Fatalf("%s may not %s: %v", c.user, c.patch, err)
		case c.want != "" && err == nil:
			t.Fatalf("%s may %s", c.user, c.patch)
		case c.want != "" && !strings.Contains(err.Error(), c.want):
			t.Errorf("%s may not %s: got %v, want one with %q", c.user, c.patch, err, c.want)
		}
	}
	apiserver.Must(t, apiserver.Kube.Get(t.Context(), client.ObjectKeyFromObject(o), o))
}

// A Run that waits for an approval of plan aaa...
func TestUsersAndRuns(t *testing.T) {
	settled(t)
	approve := func(by, digest string) string {
		return fmt.Sprintf(`{"spec":{"approval":{"by":%q,"planDigest":%q}}}`, by, digestOf(digest))
	}
	reject := func(by string) string {
		return fmt.Sprintf(`{"spec":{"rejection":{"by":%q,"planDigest":%q,"reason":"not on a Friday"}}}`, by,
			digestOf("a"))
	}
	preventSelfApproval := func(r *v1alpha1.Run) { r.Spec.PreventSelfApproval, r.Spec.Cause.By = true, "alice" }
	contributors := func(name string, users ...string) []v1alpha1.Contributor {
		return []v1alpha1.Contributor{{Kind: v1alpha1.ContributorSpec, Name: "carol"},
			{Kind: v1alpha1.ContributorAuthor, Name: name, Users: users}}
	}
	authors := func(name, email string) []v1alpha1.Contributor {
		return contributors(name+" <"+email+">", approval.UsersOf(name, email)...)
	}
	phase := func(p v1alpha1.RunPhase) func(*v1alpha1.Run) { return func(r *v1alpha1.Run) { r.Status.Phase = p } }
	for title, tt := range map[string]struct {
		run     func(*v1alpha1.Run)
		changes []change
	}{
		"a user with verb approve approves": {
			changes: []change{{"bob", approve("bob", "a"), ""}}},
		"a user with verb patch alone cannot approve": {
			changes: []change{{"eve", approve("eve", "a"), "eve cannot approve Run"},
				{"eve", approve("eve", "a"), "verb approve"}}},
		"a user with verb update alone cannot approve": {
			changes: []change{{"rudi", approve("rudi", "a"), "verb approve"}}},
		"a user with verb cancel alone cannot approve": {
			changes: []change{{"cass", approve("cass", "a"), "verb approve"}}},
		"a user with verb get alone cannot approve": {
			changes: []change{{"vera", approve("vera", "a"), "forbidden"}}},
		"approval in the name of another user is rejected": {
			changes: []change{{"bob", approve("alice", "a"), "the user who approves is bob"}}},
		"approval of another plan is rejected": {
			changes: []change{{"bob", approve("bob", "b"), "is not the digest of this Run's plan"}}},
		"a second approval replaces the first": {
			changes: []change{{"bob", approve("bob", "a"), ""}, {"alice", approve("alice", "a"), ""}}},
		"an approval can be removed": {
			changes: []change{{"bob", approve("bob", "a"), ""}, {"eve", `{"spec":{"approval":null}}`, "verb approve"},
				{"bob", `{"spec":{"approval":null}}`, ""}}},
		"a Run that waits for no approval cannot be approved": {run: phase("Applying"),
			changes: []change{{"bob", approve("bob", "a"), "this Run is Applying and does not wait for an approval"}}},
		"no self-approval: the user who caused the Run cannot approve": {run: preventSelfApproval,
			changes: []change{
				{"alice", approve("alice", "a"), "was caused by alice and requires the approval of another user"},
				{"bob", approve("bob", "a"), ""}}},
		"no self-approval: the rule of a Run is immutable": {run: preventSelfApproval, changes: []change{
			{"rudi", `{"spec":{"preventSelfApproval":null}}`, "preventSelfApproval cannot change"},
			{"rudi", `{"spec":{"preventSelfApproval":false}}`, "preventSelfApproval cannot change"},
			{"alice", fmt.Sprintf(`{"spec":{"preventSelfApproval":null,"approval":{"by":"alice","planDigest":%q}}}`,
				digestOf("a")), "preventSelfApproval cannot change"},
		}},
		"the spec of a Run is immutable": {run: func(r *v1alpha1.Run) {
			r.Spec.Revision = "main@sha1:1"
		}, changes: []change{
			{"rudi", `{"spec":{"revision":"main@sha1:2"}}`, "revision cannot change"},
			{"rudi", `{"spec":{"revision":null}}`, "revision cannot change"},
			{"rudi", `{"spec":{"preventSelfApproval":true}}`, "preventSelfApproval cannot change"},
		}},
		"no self-approval: the user who removed the rule cannot approve": {run: func(r *v1alpha1.Run) {
			preventSelfApproval(r)
			r.Spec.SelfApprovalRemovedBy = "bob"
		}, changes: []change{
			{"bob", approve("bob", "a"), "requires the approval of another user than bob, who removed " +
				"spec.preventSelfApproval"}, {"alice", approve("alice", "a"), "was caused by alice"},
			{"rudi", `{"spec":{"selfApprovalRemovedBy":null}}`, "selfApprovalRemovedBy cannot change"},
			{"rudi", `{"spec":{"source":{"repository":"a/b","url":"c"}}}`, "source cannot change"},
		}},
		"no self-approval: no user who caused a part of it can approve": {run: func(r *v1alpha1.Run) {
			preventSelfApproval(r)
			r.Spec.CausedBy = contributors("bob")
		}, changes: []change{
			{"bob", approve("bob", "a"), "was caused by bob and requires the approval of another user"},
			{"rudi", `{"spec":{"causedBy":null}}`, "causedBy cannot change"},
			{"rudi", `{"spec":{"causedByUnknown":"x"}}`, "causedByUnknown cannot change"},
			{"alice", approve("alice", "a"), ""}, // the change of the user in cause.by was reverted
		}},
		"no self-approval: no author of a commit, by e-mail address": {run: func(r *v1alpha1.Run) {
			preventSelfApproval(r)
			r.Spec.CausedBy = authors("Bob Smith", "bob@example.com")
		}, changes: []change{{"bob", approve("bob", "a"), "was caused by bob"}}},
		"no self-approval: an author who is no user": {run: func(r *v1alpha1.Run) {
			preventSelfApproval(r)
			r.Spec.CausedBy = authors("Carol", "carol@example.com")
		}, changes: []change{{"bob", approve("bob", "a"), ""}}},
		"no self-approval: unknown users require a request": {run: func(r *v1alpha1.Run) {
			preventSelfApproval(r)
			r.Spec.CausedByUnknown = "a commit is missing"
		}, changes: []change{
			{"bob", approve("bob", "a"), "are known: a commit is missing. Request a Run with cairn apply"},
		}},
		"no self-approval: unknown users and a request of another user": {run: func(r *v1alpha1.Run) {
			preventSelfApproval(r)
			r.Spec.CausedByUnknown, r.Spec.CausedBy = "a commit is missing", []v1alpha1.Contributor{
				{Kind: v1alpha1.ContributorRequest, Name: "carol"}}
		}, changes: []change{{"bob", approve("bob", "a"), ""}}},
		"no self-approval: any user, if the cause has none": {run: func(r *v1alpha1.Run) {
			r.Spec.PreventSelfApproval = true
		}, changes: []change{{"alice", approve("alice", "a"), ""}}},
		"with self-approval the user who caused the Run approves": {run: func(r *v1alpha1.Run) {
			r.Spec.Cause.By = "alice"
		}, changes: []change{{"alice", approve("alice", "a"), ""}}},
		"a user with verb reject rejects": {changes: []change{{"bob", reject("bob"), ""}}},
		"the user who caused the Run can reject it": {run: preventSelfApproval,
			changes: []change{{"alice", reject("alice"), ""}}},
		"a user without verb reject cannot reject": {
			changes: []change{{"eve", reject("eve"), "verb reject"}, {"rudi", reject("rudi"), "verb reject"}}},
		"rejection in the name of another user is rejected": {
			changes: []change{{"bob", reject("alice"), "the user who rejects is bob"}}},
		"a rejected Run cannot be approved": {changes: []change{{"bob", reject("bob"), ""},
			{"alice", approve("alice", "a"), "was rejected by bob and cannot be approved"}}},
		"a rejection cannot be removed": {changes: []change{{"bob", reject("bob"), ""},
			{"alice", `{"spec":{"rejection":null}}`, "was already rejected by bob"}}},
		"an approval with a rejection is rejected": {
			changes: []change{
				{"bob", fmt.Sprintf(
					`{"spec":{"approval":{"by":"bob","planDigest":%q},"rejection":{"by":"bob","planDigest":%q}}}`,
					digestOf("a"), digestOf("a")), "was rejected by bob"}}},
		"an approved Run that waits can be rejected": {changes: []change{{"bob", approve("bob", "a"), ""},
			{"alice", reject("alice"), ""}}},
		"a user with verb cancel cancels and is recorded": {
			changes: []change{{"cass", `{"spec":{"cancel":true}}`, ""}}},
		"canceledBy can be set to the own name": {
			changes: []change{{"cass", `{"spec":{"cancel":true,"canceledBy":"cass"}}`, ""}}},
		"a user without verb cancel cannot cancel": {
			changes: []change{{"eve", `{"spec":{"cancel":true}}`, "verb cancel"},
				{"bob", `{"spec":{"cancel":true}}`, "verb cancel"}}},
		"cancellation in the name of another user is rejected": {
			changes: []change{{"cass", `{"spec":{"cancel":true,"canceledBy":"bob"}}`,
				"to the user who cancels, cass"}}},
		"canceledBy cannot be changed later": {
			changes: []change{{"cass", `{"spec":{"cancel":true}}`, ""},
				{"cass", `{"spec":{"canceledBy":"bob"}}`, "spec.canceledBy"},
				{"rudi", `{"spec":{"canceledBy":"rudi"}}`, "spec.canceledBy"}}},
		"a canceled Run cannot be approved": {
			changes: []change{{"cass", `{"spec":{"cancel":true}}`, ""},
				{"bob", approve("bob", "a"), "was canceled and cannot be approved"}}},
		"an approved Run can be canceled": {changes: []change{{"bob", approve("bob", "a"), ""},
			{"cass", `{"spec":{"cancel":true}}`, ""}}},
		"a Run that is Applying can be canceled": {run: phase("Applying"),
			changes: []change{{"cass", `{"spec":{"cancel":true}}`, ""}}},
		"a Run that has ended cannot be canceled": {run: phase("Succeeded"),
			changes: []change{{"cass", `{"spec":{"cancel":true}}`, "this Run is Succeeded already"}}},
		"a cancellation cannot be removed": {
			changes: []change{{"cass", `{"spec":{"cancel":true}}`, ""},
				{"cass", `{"spec":{"cancel":false}}`, "cancel cannot be unset"},
				{"cass", `{"spec":{"cancel":null}}`, "cancel cannot be unset"}}},
		"users who approve and cancel cannot change other fields": {
			changes: []change{{"bob", `{"metadata":{"labels":{"a":"b"}}}`, "verb update"},
				{"cass", `{"metadata":{"annotations":{"a":"b"}}}`, "verb update"},
				{"bob", `{"spec":{"revision":"x"}}`, "revision cannot change"}}},
		"owner references need verb update": {
			changes: []change{
				{"eve", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Secret","name":"x","uid":"x"}]}}`,
					"verb update"}, {"eve", `{"metadata":{"finalizers":["a.b/c"]}}`, "runs/finalizers"}}},
		"a user with verb update sets labels": {
			changes: []change{{"rudi", `{"metadata":{"labels":{"a":"b"}}}`, ""}}},
		"an approval with a label needs both verbs": {
			changes: []change{
				{"bob", fmt.Sprintf(
					`{"metadata":{"labels":{"a":"b"}},"spec":{"approval":{"by":"bob","planDigest":%q}}}`,
					digestOf("a")), "verb update"}}},
		"the operator cannot approve": {
			changes: []change{{operator, approve(operator, "a"), "forbidden"}}},
		"an administrator approves in their own name only": {
			changes: []change{{"bob", approve("", "a"), "approval.by"}}},
	} {
		t.Run(title, func(t *testing.T) {
			run := newRun(name())
			if tt.run != nil {
				tt.run(run)
			}
			status := run.Status
			apiserver.Must(t, apiserver.Kube.Create(t.Context(), run))
			if run.Status = status; run.Status.Phase == "" {
				run.Status.Phase = v1alpha1.PhaseAwaitingApproval
			}
			run.Status.Plan = &v1alpha1.Plan{Digest: digestOf("a"), Changes: true}
			apiserver.Must(t, apiserver.Kube.Status().Update(t.Context(), run))
			writes(t, run, tt.changes)
			if run.Spec.Cancel && run.Spec.CanceledBy != "cass" {
				t.Errorf("canceled by %q", run.Spec.CanceledBy)
			}
		})
	}
	t.Run("a new Run is neither approved nor rejected", func(t *testing.T) {
		approved, rejected := newRun(name()), newRun(name())
		approved.Spec.Approval = &v1alpha1.Approval{PlanDigest: digestOf("a"), By: operator}
		rejected.Spec.Rejection = &v1alpha1.Rejection{PlanDigest: digestOf("a"), By: operator}
		for _, run := range []*v1alpha1.Run{approved, rejected} {
			check(t, as(t, operator).Create(t.Context(), run), "approve or reject it when it has a plan")
		}
	})
}

func newStack(change func(*v1alpha1.Stack)) *v1alpha1.Stack {
	stack := &v1alpha1.Stack{Spec: v1alpha1.StackSpec{
		Source: v1alpha1.Source{Inline: map[string]string{"main.tf": ""}}}}
	stack.Namespace, stack.Name = "default", name()
	if change != nil {
		change(stack)
	}
	return stack
}

// asks is a patch that asks for a Run.
func asks(fields ...string) string {
	var all []string
	for i := 0; i < len(fields); i += 2 {
		value := `"` + fields[i+1] + `"`
		if fields[i+1] == "-" {
			value = "null"
		}
		all = append(all, fmt.Sprintf(`"cairn.dev/%s":%s`, fields[i], value))
	}
	return `{"metadata":{"annotations":{` + strings.Join(all, ",") + `}}}`
}

// A Stack that alice made.
func TestUsersAndStacks(t *testing.T) {
	settled(t)
	preventSelfApproval := func(s *v1alpha1.Stack) { s.Spec.PreventSelfApproval = true }
	protected := func(s *v1alpha1.Stack) { s.Spec.DeletionPolicy = v1alpha1.DeletionProtect }
	finalizer := func(s *v1alpha1.Stack) { s.Finalizers = []string{v1alpha1.Finalizer} }
	suspend, resume := `{"spec":{"suspend":true}}`, `{"spec":{"suspend":false}}`
	at := func(more ...string) string { return asks(append([]string{"requested-at", "1"}, more...)...) }
	destroy := asks("requested-at", "2026-11-20T12:00:00.5+01:00", "requested-operation", "Destroy")
	again := func(more ...string) string { return asks(append([]string{"requested-at", "2"}, more...)...) }
	for name, tt := range map[string]struct {
		stack   func(*v1alpha1.Stack)
		changes []change
		by      string // who asked, afterwards
		changed string // who changed it, afterwards; alice when empty
	}{
		"a user with verb apply requests an apply and is recorded": {changes: []change{{"alan", at(), ""}},
			by: "alan"},
		"requested-by can be set to the own name": {
			changes: []change{{"alan", at("requested-operation", "Apply", "requested-by", "alan"), ""}}, by: "alan"},
		"the user of the next request is recorded": {
			changes: []change{{"alan", at(), ""}, {"pete", again("requested-operation", "Plan"), ""}}, by: "pete"},
		"a user with verb plan requests a plan": {
			changes: []change{{"pete", at("requested-operation", "Plan"), ""}}, by: "pete"},
		"a user with verb plan alone cannot request an apply": {
			changes: []change{{"pete", at(), "verb apply"}, {"pete", at("requested-operation", "Apply"), "verb apply"},
				{"pete", at("requested-operation", "Destroy"), "verb destroy"}}},
		"a user with verb apply alone cannot request a destroy": {
			changes: []change{{"alan", at("requested-operation", "Destroy"), "alan cannot request a Run of Stack"},
				{"alan", at("requested-operation", "Plan"), "verb plan"}}},
		"a user with verb destroy requests a destroy": {changes: []change{{"carol", destroy, ""}},
			by: "carol"},
		"a request of a destroy needs a time": {
			changes: []change{{"carol", at("requested-operation", "Destroy"),
				"must be a time for the operation Destroy"}}},
		"a destroy of a suspended Stack cannot be requested": {stack: func(s *v1alpha1.Stack) {
			s.Spec.Suspend = true
		}, changes: []change{{"carol", destroy, "is suspended"}, {"alan", at(), ""}}, by: "alan"},
		"a requested Stack can be suspended later": {changes: []change{{"carol", destroy, ""},
			{"ed", suspend, ""}}, by: "carol", changed: "ed"},
		"a user with verb shell requests a shell only": {
			changes: []change{{"sue", at("requested-operation", "Shell"), ""},
				{"sue", again("requested-operation", "Plan"), "verb plan"}}, by: "sue"},
		"a shell needs verb shell": {
			changes: []change{{"carol", at("requested-operation", "Shell"), "verb shell"},
				{"alan", at("requested-operation", "Shell"), "verb shell"}}},
		"options of a plan to apply need verb partial": {
			changes: []change{{"alan", at("requested-plan-options", "{}"), "verb partial"},
				{"paul", at("requested-plan-options", "{}"), ""}}, by: "paul"},
		"options of a plan alone need verb plan": {
			changes: []change{{"pete", at("requested-operation", "Plan", "requested-plan-options", "{}"), ""}},
			by:      "pete"},
		"options are added to no request of another user": {
			changes: []change{{"alan", at(), ""}, {"paul", asks("requested-plan-options", "{}"),
				"are part of a request"}}, by: "alan"},
		"options of a request need verb partial to stay": {
			changes: []change{{"paul", at("requested-plan-options", "{}"), ""}, {"alan", again(), "verb partial"},
				{"alan", again("requested-plan-options", "-"), ""}}, by: "alan"},
		"a destroy of a protected Stack cannot be requested": {stack: protected,
			changes: []change{{"carol", at("requested-operation", "Destroy"), "is protected"}}},
		"a handled destroy is not requested again by another user": {changes: []change{{"carol", destroy, ""},
			{"alan", again(), "verb destroy"}}, by: "carol"},
		"the operation of a request is immutable": {
			changes: []change{{"pete", at("requested-operation", "Plan"), ""},
				{"alice", asks("requested-operation", "Destroy"), "are part of a request"},
				{"pete", asks("requested-operation", "-"), "verb apply"}}, by: "pete"},
		"the user of a request is immutable": {
			changes: []change{{"alan", at(), ""}, {"alice", asks("requested-by", "alice"), "are part of a request"}},
			by:      "alan"},
		"a user with verb patch alone cannot request a Run": {
			changes: []change{{"eve", at(), "verb apply"}, {"eve", at("requested-operation", "Plan"), "verb plan"}}},
		"a user with verb update alone cannot request a Run": {
			changes: []change{{"ed", at(), "verb apply"}}},
		"a user with verb get alone cannot request a Run": {
			changes: []change{{"vera", at(), "forbidden"}}},
		"request in the name of another user is rejected": {
			changes: []change{{"alan", at("requested-by", "bob"), "the user who requests the Run is alan"}}},
		"request of an unknown operation is rejected": {
			changes: []change{{"alice", at("requested-operation", "destroy"),
				"it must be Plan, Apply, Destroy or Shell"}}},
		"the user of a request can remove it": {
			changes: []change{{"pete", at("requested-operation", "Plan"), ""}, {"pete", asks("requested-at", "-"), ""}},
			by:      "pete"},
		"a user with verb update can remove a request": {
			changes: []change{{"alan", at(), ""}, {"ed", asks("requested-at", "-", "requested-by", "-"), ""}}},
		"another user cannot remove a request": {
			changes: []change{{"alan", at(), ""}, {"pete", asks("requested-at", "-"), "verb apply"}}, by: "alan"},
		"the length of a request is limited": {
			changes: []change{{"alan", asks("requested-at", strings.Repeat("1", 254)), "at most 253"}}},
		"users who request Runs cannot change other fields": {
			changes: []change{{"alan", suspend, "alan cannot change Stack"},
				{"alan", `{"metadata":{"labels":{"a":"b"}}}`, "verb update"},
				{"alan", `{"metadata":{"annotations":{"a":"b"}}}`, "verb update"}}},
		"a request with a change of the spec needs verb update": {
			changes: []change{
				{"alan", `{"spec":{"suspend":true},"metadata":{"annotations":{"cairn.dev/requested-at":"1"}}}`,
					"verb update"}}},
		"owner references need verb update": {
			changes: []change{
				{"eve", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Secret","name":"x","uid":"x"}]}}`,
					"verb update"}}},
		"finalizers need verb update on stacks/finalizers": {stack: finalizer,
			changes: []change{{"eve", `{"metadata":{"finalizers":null}}`, "stacks/finalizers"}}},
		"existing annotations need verb update": {stack: func(s *v1alpha1.Stack) {
			s.Annotations = map[string]string{"a": "b"}
		}, changes: []change{{"eve", `{"metadata":{"annotations":{"a":"c"}}}`, "verb update"}, {"eve",
			`{"metadata":{"annotations":{"a":null}}}`, "verb update"}}},
		"a user with verb update changes the spec and is recorded": {changes: []change{{"ed", suspend, ""}},
			changed: "ed"},
		"change in the name of another user is rejected": {
			changes: []change{
				{"ed", `{"spec":{"suspend":true},"metadata":{"annotations":{"cairn.dev/changed-by":"bob"}}}`,
					"must be ed"}}},
		"changed-by needs a change of the spec": {
			changes: []change{{"ed", asks("changed-by", "ed"), "must be ed, the user who changes the spec"},
				{"eve", asks("changed-by", "eve"), "changed-by"}}},
		"a removed annotation does not hide the user who changed the spec": {
			changes: []change{{"ed", asks("changed-by", "-"), ""}, {"ed", `{"metadata":{"annotations":null}}`, ""}}},
		"a change that removes the annotations is recorded": {
			changes: []change{{"ed", `{"spec":{"suspend":true},"metadata":{"annotations":null}}`, ""}}, changed: "ed"},
		// the first one is: it sets what was not set
		"an update without a change names no user": {
			changes: []change{{"ed", resume, ""}, {"ed", `{"metadata":{"labels":{"a":"b"}}}`, ""}}, changed: "ed"},
		"no self-approval: names are filled in": {stack: preventSelfApproval,
			changes: []change{{"ed", suspend, ""}, {"alan", at(), ""}}, by: "alan", changed: "ed"},
		"no self-approval: a name cannot be removed": {stack: preventSelfApproval,
			changes: []change{{"ed", asks("changed-by", "-"), ""}}},
		"no self-approval: verb update alone cannot remove the rule": {stack: preventSelfApproval,
			changes: []change{{"ed", `{"spec":{"preventSelfApproval":false}}`,
				"so that plans are applied with fewer approvals"}, {"ed", `{"spec":{"preventSelfApproval":null}}`,
				"verb approve"}}},
		"no self-approval: automatic applies need verb approve": {stack: preventSelfApproval,
			changes: []change{{"ed", `{"spec":{"apply":"Automatic"}}`, "verb approve"},
				{"ed", `{"spec":{"apply":"Automatic","preventSelfApproval":false}}`, "verb approve"},
				{"ed", `{"spec":{"apply":"Never"}}`, ""}}, changed: "ed"},
		"no self-approval: a user with verb approve can remove the rule": {stack: preventSelfApproval,
			changes: []change{{"alice", `{"spec":{"apply":"Automatic"}}`, ""}, {"ed", suspend, ""},
				{"alice", `{"spec":{"preventSelfApproval":false}}`, ""}}},
		"a user with verb update can require more approvals": {
			stack: func(s *v1alpha1.Stack) { s.Spec.Apply = v1alpha1.ApplyAutomatic }, changed: "ed",
			changes: []change{{"ed", `{"spec":{"requireApprovalFor":["Delete"]}}`, ""},
				{"ed", `{"spec":{"requireApprovalFor":["Delete","Replace"]}}`, ""},
				{"ed", `{"spec":{"preventSelfApproval":true}}`, ""}, {"ed", `{"spec":{"apply":"Manual"}}`, ""},
				{"ed", `{"spec":{"apply":"Never"}}`, ""}},
		},
		"fewer approvals need verb approve": {changes: []change{
			{"ed", `{"spec":{"apply":"Automatic"}}`, "verb approve on the Runs of the namespace"},
			{"ed", `{"spec":{"apply":"Automatic","preventSelfApproval":true}}`, "verb approve"},
			{"ed", `{"spec":{"apply":"Automatic","suspend":true}}`, "verb approve"},
			{"bob", `{"spec":{"apply":"Automatic"}}`, "forbidden"},
			{gitops, `{"spec":{"apply":"Automatic"}}`, "verb approve"},
		}},
		"fewer approvals after ApplyNever need verb approve": {stack: func(s *v1alpha1.Stack) {
			s.Spec.Apply = v1alpha1.ApplyNever
		}, changed: "ed", changes: []change{{"ed", `{"spec":{"apply":"Automatic"}}`, "verb approve"}, {"ed",
			`{"spec":{"apply":"Manual"}}`, ""}}},
		"fewer kinds of change with approval need verb approve": {
			stack: func(s *v1alpha1.Stack) {
				s.Spec.Apply, s.Spec.RequireApprovalFor = v1alpha1.ApplyAutomatic, []v1alpha1.ChangeKind{
					v1alpha1.ChangeDelete, v1alpha1.ChangeReplace}
			},
			changes: []change{
				{"ed", `{"spec":{"requireApprovalFor":["Delete"]}}`, "verb approve"},
				{"ed", `{"spec":{"requireApprovalFor":null}}`, "verb approve"},
				{"ed", `{"spec":{"requireApprovalFor":["Create","Update"]}}`, "verb approve"},
				{"ed", `{"spec":{"requireApprovalFor":["Replace","Create","Delete"]}}`, ""},
				{"alice", `{"spec":{"requireApprovalFor":["Create"]}}`, ""},
			},
		},
		"a user with verb approve can require fewer approvals": {
			changes: []change{{"alice", `{"spec":{"apply":"Automatic"}}`, ""}}},
		"a user without verb destroy can protect a Stack": {changed: "ed", changes: []change{
			{"ed", `{"spec":{"deletionPolicy":"Orphan"}}`, ""}, {"ed", `{"spec":{"deletionPolicy":"Protect"}}`, ""},
		}},
		"removing the protection needs verb destroy": {stack: protected, changes: []change{
			{"ed", `{"spec":{"deletionPolicy":"Destroy"}}`, "verb destroy on the Stack"},
			{"ed", `{"spec":{"deletionPolicy":null}}`, "verb destroy"}, {"ed", `{"spec":{"deletionPolicy":"Orphan"}}`,
				"verb destroy"}, {gitops, `{"spec":{"deletionPolicy":"Destroy"}}`, "verb destroy"},
			{"alice", `{"spec":{"deletionPolicy":"Orphan"}}`, ""}, {"ed", `{"spec":{"deletionPolicy":"Destroy"}}`,
				"verb destroy"}, {"alice", `{"spec":{"deletionPolicy":"Destroy"}}`, ""},
		}},
		"an owner that deletes the Stack needs verb destroy": {changed: "ed", changes: []change{
			{"ed", `{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Secret","name":"x","uid":"x"}]}}`,
				"verb destroy"},
			{"ed", `{"spec":{"deletionPolicy":"Orphan"},"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Secret","name":"x","uid":"x"}]}}`, ""},
			{"ed", `{"spec":{"deletionPolicy":"Destroy"}}`, "verb destroy"},
			{"ed", `{"metadata":{"ownerReferences":null}}`, ""},
		}},
		"a GitOps controller changes the Stack": {
			changes: []change{{gitops, suspend, ""}, {gitops, `{"metadata":{"labels":{"a":"b"}}}`, ""}},
			changed: gitops},
		"the operator sets its finalizer": {
			changes: []change{{operator, `{"metadata":{"finalizers":["cairn.dev/finalizer"]}}`, ""},
				{operator, `{"metadata":{"finalizers":null}}`, ""}}},
		"the operator cannot change the spec": {changes: []change{{operator, suspend, "verb update"},
			{operator, at(), "verb apply"}}},
	} {
		t.Run(name, func(t *testing.T) {
			stack := newStack(tt.stack)
			apiserver.Must(t, as(t, "alice").Create(t.Context(), stack))
			writes(t, stack, tt.changes)
			if got := stack.Annotations[v1alpha1.RequestedByAnnotation]; got != tt.by {
				t.Errorf("requested by %q, want %q", got, tt.by)
			}
			if tt.changed == "" {
				tt.changed = "alice"
			}
			if got := stack.Annotations[v1alpha1.ChangedByAnnotation]; got != tt.changed {
				t.Errorf("changed by %q, want %q", got, tt.changed)
			}
		})
	}
}

// The garbage collector deletes a Stack with its owners.
func TestNewStackWithAnOwnerNeedsVerbDestroy(t *testing.T) {
	settled(t)
	for name, tt := range map[string]struct {
		user   string
		policy v1alpha1.DeletionPolicy
		want   string
	}{
		"a user without the verb": {"ed", "", "ed cannot create Stack"},
		"a user without the verb, by name": {"ed", v1alpha1.DeletionDestroy,
			"requires the verb destroy on the Stack"},
		"a Stack whose deletion keeps resources": {"ed", v1alpha1.DeletionOrphan, ""},
		"a Stack whose deletion is denied":       {"ed", v1alpha1.DeletionProtect, ""},
		"a user with the verb":                   {"alice", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			stack := newStack(func(s *v1alpha1.Stack) { s.Spec.DeletionPolicy = tt.policy })
			stack.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: "x", UID: "x"}}
			err := as(t, tt.user).Create(t.Context(), stack)
			if (err == nil) != (tt.want == "") || (err != nil && !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

// In a cluster without MutatingAdmissionPolicy, users set their names themselves.
func TestUsersWithoutRecordedNames(t *testing.T) {
	settled(t)
	var bindings admissionregistrationv1.MutatingAdmissionPolicyBindingList
	apiserver.Must(t, apiserver.Kube.List(t.Context(), &bindings))
	for i := range bindings.Items {
		apiserver.Must(t, apiserver.Kube.Delete(t.Context(), &bindings.Items[i]))
	}
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		apiserver.Must(t, applyManifests(ctx, "policies"))
		apiserver.Must(t, wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, patience, true, inForce))
	})
	apiserver.Must(t, wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			stack, run, asked := newStack(nil), newRun("probe"), newStack(nil)
			asked.Name = "probe"
			return errors.Join(
				apiserver.Kube.Create(ctx, stack, client.DryRunAll),
				apiserver.Kube.Patch(ctx, run, merge(`{"spec":{"cancel":true}}`), client.DryRunAll),
				apiserver.Kube.Patch(ctx, asked, merge(asks("requested-at", "x")), client.DryRunAll),
			) == nil && stack.Annotations == nil && run.Spec.CanceledBy == "" &&
				asked.Annotations[v1alpha1.RequestedByAnnotation] == "", nil
		}))

	stack := newStack(nil)
	check(t, as(t, "alice").Create(t.Context(), newStack(func(s *v1alpha1.Stack) {
		s.Annotations = map[string]string{v1alpha1.ChangedByAnnotation: "bob"}
	})), "must be alice")
	apiserver.Must(t, as(t, "alice").Create(t.Context(), stack))
	writes(t, stack, []change{
		{"ed", `{"spec":{"suspend":true}}`, ""},
		{"ed", `{"spec":{"suspend":false},"metadata":{"annotations":{"cairn.dev/changed-by":"ed"}}}`, ""},
		{"alice", `{"spec":{"suspend":true},"metadata":{"annotations":{"cairn.dev/changed-by":"bob"}}}`,
			"must be alice"},
		{"alice", asks("changed-by", "alice"), "must be alice, the user who changes the spec"},
		{"ed", asks("changed-by", "-"), ""},
		{"alan", asks("requested-at", "1"), ""},
		{"alan", asks("requested-at", "2", "requested-by", "bob"), "the user who requests the Run is alan"},
		{"alan", asks("requested-at", "2", "requested-by", "alan"), ""},
		{"alice", asks("requested-at", "3"), "cairn.dev/requested-by is alan, but the user who requests the " +
			"Run is alice"},
	})

	four := newStack(func(s *v1alpha1.Stack) { s.Spec.PreventSelfApproval = true })
	check(t, as(t, "alice").Create(t.Context(), four),
		"spec.preventSelfApproval requires the annotation cairn.dev/changed-by: alice")
	four.Annotations = map[string]string{v1alpha1.ChangedByAnnotation: "alice"}
	apiserver.Must(t, as(t, "alice").Create(t.Context(), four))
	writes(t, four, []change{
		{"ed", `{"spec":{"suspend":true}}`, "cairn.dev/changed-by: ed"},
		{"alice", asks("changed-by", "-"), "cairn.dev/changed-by: alice"},
		{"alice", `{"spec":{"preventSelfApproval":false},"metadata":{"annotations":{"cairn.dev/changed-by":null}}}`,
			"cairn.dev/changed-by: alice"},
		{"alan", asks("requested-at", "1"), "cairn.dev/requested-by is not set, but the user who requests the Run is " +
			"alan: spec.preventSelfApproval requires the annotation"},
		{"alan", asks("requested-at", "1", "requested-by", "alan"), ""},
		{operator, `{"metadata":{"finalizers":["example.com/a"]}}`, ""},
		{operator, `{"metadata":{"finalizers":null}}`, ""},
		{"alice", `{"spec":{"preventSelfApproval":false},"metadata":{"annotations":{"cairn.dev/changed-by":"alice"}}}`,
			""},
	})
	run := newRun(name())
	apiserver.Must(t, apiserver.Kube.Create(t.Context(), run))
	writes(t, run, []change{{"cass", `{"spec":{"cancel":true}}`, ""}})
	if run.Spec.CanceledBy != "" {
		t.Errorf("canceled by %q", run.Spec.CanceledBy)
	}
}

// Deleting a Stack destroys its resources, so it takes the verb destroy; except for Cairn's and Kubernetes' own
// controllers.
func TestDeletionWithDestroyNeedsVerbDestroy(t *testing.T) {
	settled(t)
	const collector, namespaces = "system:serviceaccount:kube-system:generic-garbage-collector",
		"system:serviceaccount:kube-system:namespace-controller"
	orphan := func(s *v1alpha1.Stack) { s.Spec.DeletionPolicy = v1alpha1.DeletionOrphan }
	for title, tt := range map[string]struct {
		user  string
		stack func(*v1alpha1.Stack)
		isNew bool
		want  string
	}{
		"a user with verb delete alone cannot delete the Stack": {user: "ed", want: "ed cannot delete Stack"},
		"the error names the policy Orphan": {user: "ed",
			want: "set spec.deletionPolicy to Orphan, then delete the Stack again"},
		"a user with verbs destroy and delete deletes the Stack":     {user: "alice"},
		"a GitOps controller cannot delete the Stack":                {user: gitops, want: "verb destroy on the Stack"},
		"a Stack with the policy Orphan needs verb delete only":      {user: "ed", stack: orphan},
		"a Stack without a Run needs verb delete only":               {user: "ed", isNew: true},
		"the garbage collector deletes the Stack of a deleted owner": {user: collector},
		"the namespace controller deletes only with the namespace":   {user: namespaces, want: "verb destroy"},
	} {
		t.Run(title, func(t *testing.T) {
			stack := newStack(tt.stack)
			apiserver.Must(t, apiserver.Kube.Create(t.Context(), stack))
			if !tt.isNew {
				apiserver.Must(t, apiserver.Kube.Status().Patch(t.Context(), stack,
					merge(`{"status":{"lastRun":"net-1"}}`)))
			}
			check(t, as(t, tt.user).Delete(t.Context(), stack), tt.want)
		})
	}
	t.Run("all at once", func(t *testing.T) {
		stack := newStack(func(s *v1alpha1.Stack) { s.Labels = map[string]string{"all": "at-once"} })
		apiserver.Must(t, apiserver.Kube.Create(t.Context(), stack))
		apiserver.Must(t, apiserver.Kube.Status().Patch(t.Context(), stack, merge(`{"status":{"lastRun":"net-1"}}`)))
		check(t, as(t, "cole").DeleteAllOf(t.Context(), &v1alpha1.Stack{}, client.InNamespace("default"),
			client.MatchingLabels(stack.Labels)), "verb destroy on the Stack")
	})
	t.Run("with its namespace", func(t *testing.T) {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name()}}
		apiserver.Must(t, apiserver.Kube.Create(t.Context(), namespace))
		stack := newStack(func(s *v1alpha1.Stack) { s.Namespace = namespace.Name })
		apiserver.Must(t, apiserver.Kube.Create(t.Context(), stack))
		apiserver.Must(t, apiserver.Kube.Status().Patch(t.Context(), stack, merge(`{"status":{"lastRun":"net-1"}}`)))
		apiserver.Must(t, apiserver.Kube.Delete(t.Context(), namespace))
		apiserver.Must(t, wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true,
			func(ctx context.Context) (bool, error) {
				return as(t, namespaces).Delete(ctx, stack) == nil, nil // what it is denied at first, it tries again
			}))
	})
}

// While a Stack is being deleted whatever is asked for destroys it.
func TestRequestsOfADeletedStackNeedVerbDestroy(t *testing.T) {
	settled(t)
	stack := newStack(func(s *v1alpha1.Stack) { s.Finalizers = []string{"example.com/test"} })
	apiserver.Must(t, as(t, "alice").Create(t.Context(), stack))
	apiserver.Must(t, as(t, "alice").Delete(t.Context(), stack))
	writes(t, stack, []change{
		{"alan", asks("requested-at", "1"), "verb destroy"},
		{"pete", asks("requested-at", "1", "requested-operation", "Plan"), "verb destroy"},
		{"carol", asks("requested-at", "2026-11-20T12:00:00Z", "requested-operation", "Destroy"), ""},
		{operator, `{"metadata":{"finalizers":["example.com/test"]}}`, ""},
	})
}

// A manifest that still has the annotations of a handled request must not request it again.
func TestHandledRequestIsNotRepeated(t *testing.T) {
	settled(t)
	stack := newStack(nil)
	apiserver.Must(t, as(t, "alice").Create(t.Context(), stack))
	stack.Status.LastHandledRequest = &v1alpha1.HandledRequest{Value: "2026-11-20T12:00:00.5Z",
		Time: metav1.Date(2026, 11, 20, 12, 0, 1, 0, time.UTC)}
	apiserver.Must(t, apiserver.Kube.Status().Update(t.Context(), stack))
	writes(t, stack, []change{
		{"carol", asks("requested-at", "2026-11-20T13:00:00+01:00", "requested-operation", "Destroy"),
			"a request of 2026-11-20T12:00:00.5Z was already handled"},
		{"alan", asks("requested-at", "2026-11-20T12:00:00.500Z"), "set a later time"},
		{"alan", asks("requested-at", "1"), ""},
		{"carol", asks("requested-at", "2026-11-20T13:00:01+01:00", "requested-operation", "Destroy"), ""},
		{"carol", asks("requested-at", "-"), ""},
	})
	// One that was refused for being ahead of its time hides none.
	stack.Status.LastHandledRequest = &v1alpha1.HandledRequest{Value: "2126-11-20T12:00:00Z",
		Time: metav1.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC), Rejected: true}
	apiserver.Must(t, apiserver.Kube.Status().Update(t.Context(), stack))
	writes(t, stack, []change{
		{"carol", asks("requested-at", "2026-11-20T11:59:59Z", "requested-operation", "Destroy"),
			"a request of 2026-11-20T12:00:00Z was already handled"},
		{"carol", asks("requested-at", "2026-11-20T12:00:01Z", "requested-operation", "Destroy"), ""},
	})
}

// The log of its pod is the only copy of a state that a Run could not write.
func TestDeletionOfARunThatLostItsState(t *testing.T) {
	settled(t)
	const collector = "system:serviceaccount:kube-system:generic-garbage-collector"
	attempts := func(classes ...v1alpha1.FailureClass) (all []v1alpha1.Attempt) {
		for i, class := range classes {
			all = append(all, v1alpha1.Attempt{Number: int32(i + 1), Phase: v1alpha1.AttemptApply, Pod: "p",
				PodUID: "u", StartedAt: metav1.NowMicro(), Failure: &v1alpha1.Failure{Class: class, Message: "x"}})
		}
		return all
	}
	for title, tt := range map[string]struct {
		user     string
		attempts []v1alpha1.Attempt
		want     string
	}{
		"a user with verb delete alone cannot delete the Run": {"ed",
			attempts(v1alpha1.FailurePodLost, v1alpha1.FailureStateNotSaved),
			"restore it with cairn state recover net"},
		"another Run needs verb delete only": {"ed",
			attempts(v1alpha1.FailureStateNotSaved, v1alpha1.FailurePodLost), ""},
		"a Run without attempts needs verb delete only":    {"ed", nil, ""},
		"a user who can restore the state deletes the Run": {"rita", attempts(v1alpha1.FailureStateNotSaved), ""},
		"the operator deletes the Run":                     {operator, attempts(v1alpha1.FailureStateNotSaved), ""},
		"the garbage collector deletes the Run":            {collector, attempts(v1alpha1.FailureStateNotSaved), ""},
	} {
		t.Run(title, func(t *testing.T) {
			run := newRun(name())
			apiserver.Must(t, apiserver.Kube.Create(t.Context(), run))
			run.Status.Phase, run.Status.Attempts = v1alpha1.PhaseFailed, tt.attempts
			apiserver.Must(t, apiserver.Kube.Status().Update(t.Context(), run))
			check(t, as(t, tt.user).Delete(t.Context(), run), tt.want)
		})
	}
}

// The user who changes a Repository is named in it, as in a Stack.
func TestUsersAndRepositories(t *testing.T) {
	settled(t)
	repository := &v1alpha1.Repository{Spec: v1alpha1.RepositorySpec{URL: "https://git.example.com/infra.git"}}
	repository.Namespace, repository.Name = "default", name()
	apiserver.Must(t, as(t, "alice").Create(t.Context(), repository))
	if by := repository.Annotations[v1alpha1.ChangedByAnnotation]; by != "alice" {
		t.Errorf("changed by %q", by)
	}
	writes(t, repository, []change{
		{"ed", `{"spec":{"url":"https://other.example.com/infra.git"},"metadata":{"annotations":{"cairn.dev/changed-by":"bob"}}}`, "must be ed, the user who changes the spec"},
		{"ed", `{"metadata":{"annotations":{"cairn.dev/changed-by":"ed"}}}`,
			"must be ed, the user who changes the spec"},
		{"ed", `{"spec":{"url":"https://other.example.com/infra.git"},"metadata":{"annotations":null}}`, ""},
		{"alice", `{"metadata":{"annotations":{"cairn.dev/requested-at":"1"}}}`, ""},
		{"alice", `{"metadata":{"annotations":{"cairn.dev/changed-by":null}}}`, ""},
	})
	if by := repository.Annotations[v1alpha1.ChangedByAnnotation]; by != "ed" {
		t.Errorf("changed by %q", by)
	}
}

// Who may write a Pipeline or its Stacks does not thereby promote, and each promotion has the name of its user.
func TestUsersAndPipelines(t *testing.T) {
	settled(t)
	p := &v1alpha1.Pipeline{Spec: v1alpha1.PipelineSpec{
		Repository: v1alpha1.RepositoryRef{Name: "infra"},
		Stages: []v1alpha1.PipelineStage{
			{Name: "dev", Stacks: metav1.LabelSelector{MatchLabels: map[string]string{"env": name()}}}},
	}}
	p.Namespace, p.Name = "default", name()
	apiserver.Must(t, as(t, "pia").Create(t.Context(), p))
	promotes := func(at, by string) string {
		return fmt.Sprintf(`{"metadata":{"annotations":{"cairn.dev/requested-at":%q,"cairn.dev/requested-promotion":"dev=c1","cairn.dev/requested-by":%q}}}`, at, by)
	}
	writes(t, p, []change{
		{"pia", promotes("1", "pia"), "this requires the verb promote"},
		{"petra", promotes("1", "pia"), "must be petra, the user who promotes"},
		{"petra", promotes("1", "petra"), ""},
		{"petra", `{"metadata":{"annotations":{"cairn.dev/requested-promotion":"dev=c2"}}}`,
			"set them together with a new cairn.dev/requested-at"},
		{"pia", `{"metadata":{"annotations":{"cairn.dev/requested-at":null}}}`, "this requires the verb promote"},
		{"pia", `{"spec":{"ref":"next"}}`, "this requires the verb promote on the Pipeline, in addition to update"},
		{"petra", `{"spec":{"ref":"next"}}`, "this requires the verb update"},
		{"petra", `{"metadata":{"labels":{"a":"b"}}}`, "this requires the verb update"},
		{"pia", `{"metadata":{"labels":{"a":"b"}}}`, ""},
		{"pam", `{"spec":{"ref":"next"}}`, ""},
	})
	by := func(user, patch, want string) {
		t.Helper()
		writes(t, p, []change{{user, patch, ""}})
		if got := p.Annotations[v1alpha1.RequestedByAnnotation]; got != want {
			t.Errorf("after a request of %s, requested-by is %q", user, got)
		}
	}
	by("pam", asks("requested-at", "2", "requested-promotion", "dev=c2"), "pam") // the name is set for the user
	by("petra", asks("requested-at", "-"), "pam")
	by("pam", asks("requested-promotion", "-", "requested-by", "-"), "")
	by("petra", asks("requested-at", "3", "requested-promotion", "dev=c1"), "petra")
	writes(t, p, []change{{"pia", asks("requested-at", "-", "requested-promotion", "-", "requested-by", "-"),
		"this requires the verb promote"}})
	by("pam", asks("requested-at", "-", "requested-promotion", "-", "requested-by", "-"), "")
	stack := newStack(nil)
	apiserver.Must(t, apiserver.Kube.Create(t.Context(), stack))
	writes(t, stack, []change{{"ed", `{"metadata":{"labels":{"env":"dev"}}}`, ""}})
	stack.Status.Release = &v1alpha1.StackRelease{Pipeline: p.Name, UID: p.UID, Stage: "dev", Commit: "c1",
		Promotion: 1}
	apiserver.Must(t, apiserver.Kube.Status().Update(t.Context(), stack))
	writes(t, stack, []change{
		{"ed", `{"metadata":{"labels":{"env":"prod"}}}`, "this requires the verb promote on the Pipeline"},
		{"ed", `{"metadata":{"labels":null}}`, "this requires the verb promote on the Pipeline"},
		{"ed", `{"spec":{"suspend":true}}`, ""},
		{"root", `{"metadata":{"labels":{"env":"prod"}}}`, ""},
	})
}

// A Stack can come from a backup or another cluster, with what was asked for there.
func TestStackIsRestoredFromABackup(t *testing.T) {
	stack := newStack(func(s *v1alpha1.Stack) {
		s.Annotations = map[string]string{
			v1alpha1.ChangedByAnnotation: "bob", v1alpha1.RequestedAtAnnotation: "1",
			v1alpha1.RequestedByAnnotation: "carol", v1alpha1.RequestedOperationAnnotation: "Destroy",
		}
	})
	apiserver.Must(t, as(t, gitops).Create(t.Context(), stack))
	if got := stack.Annotations[v1alpha1.ChangedByAnnotation]; got != gitops {
		t.Errorf("changed by %q", got)
	}
}

// A controller that applies a Stack repeatedly owns its fields only, and has no conflicts with the policies.
func TestServerSideApplyOwnsOnlyItsFields(t *testing.T) {
	settled(t)
	o := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "cairn.dev/v1alpha1", "kind": "Stack", "metadata": map[string]any{"namespace": "default",
			"name": name()},
		"spec": map[string]any{"source": map[string]any{"inline": map[string]any{"main.tf": ""}},
			"preventSelfApproval": true, "suspend": false},
	}}
	apply := func() string {
		t.Helper()
		mine := o.DeepCopy()
		apiserver.Must(t, as(t, gitops).Apply(t.Context(), client.ApplyConfigurationFromUnstructured(mine),
			client.FieldOwner("kustomize-controller")))
		return mine.GetResourceVersion() + " " + mine.GetAnnotations()[v1alpha1.ChangedByAnnotation]
	}
	apply() // the second write stores the default of the status that no operator has written yet
	first := apply()
	if second := apply(); second != first || !strings.HasSuffix(first, gitops) {
		t.Errorf("applied as %q, and again, without a change, as %q", first, second)
	}
	stack := &v1alpha1.Stack{}
	stack.Namespace, stack.Name = "default", o.GetName()
	writes(t, stack, []change{{"ed", `{"spec":{"timeout":"5m"}}`, ""}, {"alan", asks("requested-at", "1"), ""}})
	if _, by, _ := strings.Cut(apply(), " "); by != "ed" {
		t.Errorf("an apply that changes nothing says that %s changed the Stack, and not ed", by)
	}
	apiserver.Must(t, unstructured.SetNestedField(o.Object, true, "spec", "suspend"))
	if _, by, _ := strings.Cut(apply(), " "); by != gitops {
		t.Errorf("changed by %s", by)
	}
	apiserver.Must(t, apiserver.Kube.Get(t.Context(), client.ObjectKeyFromObject(stack), stack))
	if stack.Annotations[v1alpha1.RequestedAtAnnotation] != "1" ||
		stack.Annotations[v1alpha1.RequestedByAnnotation] != "alan" {
		t.Errorf("what was asked for is lost: %v", stack.Annotations)
	}
}

// What the operator writes is not the policies' matter.
func TestOperatorIsNotRestrictedByPolicies(t *testing.T) {
	c := as(t, operator)
	stack := newStack(nil)
	apiserver.Must(t, as(t, "alice").Create(t.Context(), stack))
	apiserver.Must(t, c.Status().Patch(t.Context(), stack, merge(`{"status":{"lastRun":"net-1"}}`)))
	run := newRun(name())
	apiserver.Must(t, c.Create(t.Context(), run))
	apiserver.Must(t, c.Status().Patch(t.Context(), run,
		merge(`{"status":{"phase":"AwaitingApproval","plan":{"digest":"`+digestOf("a")+
			`","changes":true,"add":0,"change":0,"destroy":0,"replace":0,"import":0,"forget":0}}}`)))
	apiserver.Must(t, as(t, "bob").Patch(t.Context(), run, merge(`{"spec":{"approval":{"by":"bob","planDigest":"`+
		digestOf("a")+`"}}}`)))
	apiserver.Must(t, c.Status().Patch(t.Context(), run, merge(`{"status":{"phase":"Succeeded"}}`)))
	apiserver.Must(t, c.Delete(t.Context(), run))
}

// Each role has only the verbs of its task.
func TestRoles(t *testing.T) {
	settled(t)
	all := []string{
		"get stacks", "list stacks", "list stacksets", "list stackgrants", "list variablesets", "list stackpolicies",
		"watch runs", "get states", "list repositories", "get runs/plan", "get runs/logs",
		"patch stacks", "update stacks", "create stacks", "delete stacks", "create stacksets", "update stacksets",
		"delete stacksets", "create stackgrants", "create variablesets", "delete variablesets", "create stackpolicies",
		"delete stackpolicies", "create pipelines", "patch pipelines", "promote pipelines", "update repositories",
		"plan stacks", "apply stacks", "destroy stacks", "partial stacks",
		"patch runs", "update runs", "create runs", "delete runs", "approve runs", "reject runs", "cancel runs",
		"update states", "patch states", "pull states", "push states", "rollback states", "unlock states",
		"recover states",
		"update stacks/status", "patch stacksets/status", "patch runs/status", "update stacks/finalizers",
	}
	for role, want := range map[string]string{
		"cairn-view": "get stacks, list stacks, list stacksets, list stackgrants, list variablesets, list " +
			"stackpolicies, watch runs, get states, list repositories, get runs/plan, get runs/logs",
		"cairn-plan":    "get stacks, patch stacks, plan stacks",
		"cairn-apply":   "get stacks, patch stacks, apply stacks",
		"cairn-destroy": "get stacks, patch stacks, destroy stacks",
		"cairn-partial": "get stacks, patch stacks, partial stacks",
		"cairn-approve": "patch runs, approve runs, reject runs",
		"cairn-cancel":  "patch runs, cancel runs",
		"cairn-edit": "get stacks, patch stacks, update stacks, create stacks, delete stacks, create " +
			"stacksets, update stacksets, delete stacksets, create stackgrants, create variablesets, delete " +
			"variablesets, update repositories, delete runs",
		"cairn-promote":       "patch pipelines, promote pipelines",
		"cairn-pipelines":     "create pipelines, patch pipelines",
		"cairn-stackpolicies": "create stackpolicies, delete stackpolicies",
		"cairn-state":         "get states, pull states, push states, rollback states, unlock states, recover states",
	} {
		t.Run(role, func(t *testing.T) {
			user := "only-" + role
			apiserver.Must(t, apiserver.Kube.Create(t.Context(), &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: user},
				RoleRef:    rbacv1.RoleRef{Kind: "ClusterRole", Name: role},
				Subjects:   []rbacv1.Subject{{Kind: "User", Name: user}},
			}))
			first, _, _ := strings.Cut(want, ", ")
			apiserver.Must(t, wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true,
				func(ctx context.Context) (bool, error) {
					verb, resource, _ := strings.Cut(first, " ")
					return allowed(ctx, user, verb, resource)
				}))
			var got []string
			for _, right := range all {
				verb, resource, _ := strings.Cut(right, " ")
				if ok, err := allowed(t.Context(), user, verb, resource); err != nil {
					t.Fatal(err)
				} else if ok {
					got = append(got, right)
				}
			}
			if text := strings.Join(got, ", "); text != want {
				t.Errorf("%s may\n%s\nwant\n%s", role, text, want)
			}
		})
	}
}

// A user with the verb resume resumes the corrections of drift in their own name, and changes nothing else.
func TestUsersAndDriftPauses(t *testing.T) {
	settled(t)
	pause := &v1alpha1.DriftPause{}
	pause.Namespace, pause.Name = "default", v1alpha1.DriftPauseName
	apiserver.Must(t, apiserver.Kube.Create(t.Context(), pause))
	resume := func(by, at string) string {
		return fmt.Sprintf(`{"spec":{"resume":{"by":%q,"since":"2026-11-30T12:00:%sZ"}}}`, by, at)
	}
	writes(t, pause, []change{
		{"vera", resume("vera", "00"), "forbidden"},
		{"drew", resume("drew", "00"), "this requires the verb resume on DriftPause mass-drift"},
		{"alan", resume("bob", "00"), "spec.resume.by must be alan"},
		{"alan", resume("alan", "00"), ""},
		{"drew", `{"spec":{"resume":null}}`, "this requires the verb update"},
		{"alan", `{"spec":{"resume":null}}`, "this requires the verb update"},
		{"alan", resume("alan", "01"), ""},
	})
	if r := pause.Spec.Resume; r == nil || r.By != "alan" {
		t.Errorf("got %+v", pause.Spec)
	}
	other := &v1alpha1.DriftPause{}
	other.Namespace, other.Name = "default", "another"
	if err := apiserver.Kube.Create(t.Context(), other); err == nil ||
		!strings.Contains(err.Error(), "the name must be mass-drift") {
		t.Errorf("another name: %v", err)
	}
}
