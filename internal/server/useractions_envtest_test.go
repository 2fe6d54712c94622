//go:build envtest

package server_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
	"cairn.dev/cairn/test/apiserver"
)

const planDigest = "sha256:1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c"

// judgedLabel is on namespaces in which the chart's policies for users apply.
const judgedLabel = "cairn.dev/judged"

var judge sync.Once

// judged applies the chart's policies for users to the namespace of the env. The first such env installs them.
func (e *env) judged() {
	e.Helper()
	judge.Do(e.installPolicies)
	label := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"metadata":{"labels":{%q:"true"}}}`, judgedLabel))
	must(e.T, apiserver.Kube.Patch(e.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.namespace}},
		label))
	probe := e.waitingRun("probe-1")
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		patch := client.RawPatch(types.MergePatchType,
			fmt.Appendf(nil, `{"spec":{"approval":{"by":"nobody","planDigest":%q}}}`, planDigest))
		err := apiserver.Kube.Patch(e.Context(), probe.DeepCopy(), patch, client.DryRunAll)
		if apierrors.IsInvalid(err) && strings.Contains(err.Error(), "spec.approval.by is nobody") {
			return
		}
		if time.Now().After(end) {
			e.Fatalf("the policies never held: %v", err)
		}
	}
}

func (e *env) installPolicies() {
	f, err := os.Open("../../charts/cairn/files/policies/users.yaml")
	must(e.T, err)
	defer f.Close()
	for in := yaml.NewYAMLOrJSONDecoder(f, 4096); ; {
		o := &unstructured.Unstructured{}
		if err := in.Decode(o); err == io.EOF { //nolint:errorlint // the decoder gives io.EOF itself
			return
		} else if err != nil {
			e.Fatal(err)
		}
		if o.GetKind() == "ValidatingAdmissionPolicyBinding" {
			must(e.T, unstructured.SetNestedField(o.Object, "true", "spec", "matchResources", "namespaceSelector",
				"matchLabels", judgedLabel))
		}
		must(e.T, apiserver.Kube.Create(e.Context(), o))
	}
}

// waitingRun is a Run whose plan waits for an approval.
func (e *env) waitingRun(name string) *v1alpha1.Run {
	e.Helper()
	run := e.newRun(e.stack, name)
	run.Status.Phase = v1alpha1.PhaseAwaitingApproval
	run.Status.Plan = &v1alpha1.Plan{Digest: planDigest, Changes: true}
	must(e.T, apiserver.Kube.Status().Update(e.Context(), run))
	return run
}

func (b *browser) actions(path string) map[string]bool {
	b.Helper()
	var access userapi.Access
	must(b.T, json.Unmarshal([]byte(b.want(200, "", "GET", path+"/access", nil).body), &access))
	return access.Actions
}

// retries publishes what a retry of the Stack requests, as the operator does.
func (e *env) retries(what *v1alpha1.StackRetry) {
	e.Helper()
	must(e.T, apiserver.Kube.Get(e.Context(), client.ObjectKeyFromObject(e.stack), e.stack))
	e.stack.Status.Retry = what
	must(e.T, apiserver.Kube.Status().Update(e.Context(), e.stack))
}

// Each action takes what a role has to allow for it, and no other.
func TestUserActionsNeedARole(t *testing.T) {
	e := newEnv(t)
	p := e.serveSite()
	ns := "/api/v1/namespaces/" + e.namespace
	must(t, apiserver.Kube.Create(t.Context(), &v1alpha1.Repository{
		ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: "net"},
		Spec:       v1alpha1.RepositorySpec{URL: "https://git.example.com/net.git"},
	}))
	e.promotes("net")
	e.retries(&v1alpha1.StackRetry{Operation: v1alpha1.OperationApply, Run: "net-1"})
	approval, rejection := userapi.Approval{PlanDigest: planDigest}, userapi.Rejection{Message: "not on a Friday",
		PlanDigest: planDigest}
	type deed struct {
		resource, action string
		verbs            []string
		sent             any
		says             string
	}
	deeds := []deed{
		{"runs", "approve", []string{"patch", "approve"}, approval, `"approval":{"planDigest":"` + planDigest +
			`","by":"USER"}`},
		{"runs", "reject", []string{"patch", "reject"}, rejection, `"rejection":{"planDigest":"` + planDigest +
			`","by":"USER","reason":"not on a Friday"}`},
		{"runs", "cancel", []string{"patch", "cancel"}, nil, `"cancel":true,"canceledBy":"USER"`},
		{"stacks", "plan", []string{"patch", "plan"}, nil,
			`"cairn.dev/requested-by":"USER","cairn.dev/requested-operation":"Plan"`},
		{"stacks", "apply", []string{"patch", "apply"}, nil,
			`"cairn.dev/requested-by":"USER","cairn.dev/requested-operation":"Apply"`},
		{"stacks", "destroy", []string{"patch", "destroy"}, nil,
			`"cairn.dev/requested-by":"USER","cairn.dev/requested-operation":"Destroy"`},
		{"stacks", "retry", []string{"patch", "apply"}, nil,
			`"cairn.dev/requested-by":"USER","cairn.dev/requested-operation":"Apply"`},
		{"stacks", "suspend", []string{"patch", "update"}, nil, `"suspend":true`},
		{"stacks", "resume", []string{"patch", "update"}, nil, `"cairn.dev/changed-by":"USER"`},
		{"repositories", "fetch", []string{"patch"}, nil, `"cairn.dev/requested-at":"`},
		{"pipelines", "promote", []string{"patch", "promote"}, userapi.Promotion{Stage: "dev", Release: "c1"},
			`"cairn.dev/requested-by":"USER","cairn.dev/requested-promotion":"dev=c1"`},
	}
	e.judged()
	runs := map[string]string{"approve": "net-2", "reject": "net-3", "cancel": "net-4"}
	for _, name := range runs {
		e.waitingRun(name)
	}
	at := func(d deed) string {
		name := "net"
		if d.resource == "runs" {
			name = runs[d.action]
		}
		return ns + "/" + d.resource + "/" + name
	}
	for _, has := range deeds {
		t.Run(has.action, func(t *testing.T) {
			user, who := e.account("who-" + has.action)
			b := p.browser().signIn(who)
			e.allow(user, may("get", "*"))
			p.eventually(func() bool { return b.do("GET", at(has)+"/access", nil).StatusCode == 200 })
			// Neither with one of the verbs.
			for i, verb := range has.verbs {
				if len(has.verbs) == 1 {
					break
				}
				other, shows := e.account(fmt.Sprintf("half-%s-%d", has.action, i))
				e.allow(other, may("get", "*"), may(verb, has.resource))
				half := p.browser().signIn(shows)
				p.eventually(func() bool { return half.do("GET", at(has)+"/access", nil).StatusCode == 200 })
				half.want(403, other, "POST", at(has)+"/"+has.action, has.sent)
				if half.actions(at(has))[has.action] {
					t.Errorf("with %s alone %s is said to be allowed", verb, has.action)
				}
			}
			b.want(403, user+" may not", "POST", at(has)+"/"+has.action, has.sent)
			if p.log.line("audit: not done", "by="+user, "namespace="+e.namespace, "method=Token", "may not") == "" {
				t.Error("who was refused is not in the audit")
			}
			for name, allowed := range b.actions(at(has)) {
				if allowed {
					t.Errorf("%s is said to be allowed", name)
				}
			}
			for _, verb := range has.verbs {
				e.allow(user, may(verb, has.resource))
			}
			p.eventually(func() bool { return b.actions(at(has))[has.action] })
			for name, allowed := range b.actions(at(has)) {
				if same := slices.Equal(deeds[slices.IndexFunc(deeds, func(d deed) bool {
					return d.resource == has.resource && d.action == name
				})].verbs, has.verbs); allowed != same {
					t.Errorf("%s: %v", name, allowed)
				}
			}
			says := strings.ReplaceAll(has.says, "USER", user)
			b.want(200, says, "POST", at(has)+"/"+has.action, has.sent)
			if p.log.line("audit: done", "by="+user, "action=", "from=127.0.0.1") == "" {
				t.Error("who did it is not in the audit")
			}
		})
	}
}

// promotes creates a Pipeline that has a release, which its stage dev does not have.
func (e *env) promotes(name string) {
	e.Helper()
	p := &v1alpha1.Pipeline{ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: name}}
	p.Spec.Repository.Name = "net"
	p.Spec.Stages = []v1alpha1.PipelineStage{{
		Name: "dev", Stacks: metav1.LabelSelector{MatchLabels: map[string]string{"env": "dev"}},
	}}
	must(e.T, apiserver.Kube.Create(e.Context(), p))
	p.Status.ObservedGeneration = p.Generation
	p.Status.Releases = []v1alpha1.Release{{Commit: "c1", CreatedAt: metav1.Now()}}
	must(e.T, apiserver.Kube.Status().Update(e.Context(), p))
}

// What is asked for makes sense, or it is said why not.
func TestInvalidActionsAreRejected(t *testing.T) {
	e := newEnv(t)
	p := e.serveSite()
	user, who := e.account("alice")
	e.allow(user, mayAll)
	p.authorized(p.as(who))
	b := p.browser().signIn(who)
	ns := "/api/v1/namespaces/" + e.namespace
	run := e.waitingRun("net-1")
	b.want(400, "set planDigest to that of the plan that you read", "POST", ns+"/runs/net-1/approve",
		userapi.Approval{})
	b.want(400, "set planDigest to that of the plan that you read", "POST", ns+"/runs/net-1/reject",
		userapi.Rejection{Message: "no"})
	b.want(409, "another plan now", "POST", ns+"/runs/net-1/approve",
		userapi.Approval{PlanDigest: strings.Replace(planDigest, "1", "2", 1)})
	b.want(409, "another plan now", "POST", ns+"/runs/net-1/reject",
		userapi.Rejection{PlanDigest: strings.Replace(planDigest, "1", "2", 1)})
	b.sends.Set("Content-Type", "text/plain")
	b.want(415, "JSON", "POST", ns+"/runs/net-1/approve", userapi.Approval{PlanDigest: planDigest})
	b.sends.Del("Content-Type")
	b.want(404, "there is no Run nothing", "POST", ns+"/runs/nothing/cancel", nil)
	b.want(404, "nothing", "POST", ns+"/repositories/nothing/fetch", nil)
	run.Status.Phase = v1alpha1.PhaseSucceeded
	must(t, apiserver.Kube.Status().Update(t.Context(), run))
	b.want(409, "no plan waits", "POST", ns+"/runs/net-1/approve", userapi.Approval{PlanDigest: planDigest})
	b.want(409, "is Succeeded already", "POST", ns+"/runs/net-1/cancel", nil)
	b.want(409, "there is nothing to retry", "POST", ns+"/stacks/net/retry", nil)
	e.promotes("net")
	b.want(409, "nothing is promoted: Pipeline net has no release", "POST", ns+"/pipelines/net/promote",
		userapi.Promotion{Stage: "dev", Release: "c2"})
	e.retries(&v1alpha1.StackRetry{Operation: v1alpha1.OperationDestroy, Run: "net-2"})
	for _, read := range []string{"", "?operation=Apply"} {
		b.want(409, "is now of operation Destroy and not", "POST", ns+"/stacks/net/retry"+read, nil)
	}
	b.want(200, `"cairn.dev/requested-operation":"Destroy"`, "POST", ns+"/stacks/net/retry?operation=Destroy", nil)
	b.want(200, `"suspended":true`, "POST", ns+"/stacks/net/suspend", nil)
	b.want(200, `"suspended":true`, "POST", ns+"/stacks/net/suspend", nil)
	b.want(409, "is suspended", "POST", ns+"/stacks/net/apply", nil)
	b.want(200, `"suspended":false`, "POST", ns+"/stacks/net/resume", nil)
	if !b.actions(ns + "/stacks/net")["retry"] {
		t.Error("a retry is not allowed")
	}

	// Who is known by a certificate has kept its key.
	admin := *b
	admin.http = &http.Client{Transport: p.transport(shown{certificate: adminCertificate(t)})}
	admin.want(501, "has not its key", "POST", ns+"/stacks/net/plan", nil)
}

// The rule of the Run is checked by Kubernetes. The Stack may have it only since the Run was created: an approval that
// does not count is rejected then, too.
func TestUserCannotApproveTheirOwnRun(t *testing.T) {
	for name, status := range map[string]int{"by the rule of the Run": 422, "by the rule of its Stack": 409} {
		t.Run(name, func(t *testing.T) {
			e := newEnv(t)
			p := e.serveSite()
			alice, shows := e.account("alice")
			bob, others := e.account("bob")
			for _, user := range []string{alice, bob} {
				e.allow(user, mayAll)
			}
			p.authorized(p.as(shows))
			p.authorized(p.as(others))
			run := &v1alpha1.Run{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: e.namespace, Name: "net-1",
					OwnerReferences: []metav1.OwnerReference{
						*metav1.NewControllerRef(e.stack, v1alpha1.GroupVersion.WithKind("Stack"))},
				},
				Spec: v1alpha1.RunSpec{
					Stack: v1alpha1.ObjectRef{Name: "net"}, Operation: v1alpha1.OperationApply, InputsDigest: e.inputs,
					Cause: v1alpha1.Cause{Type: v1alpha1.CauseManual, By: alice}, PreventSelfApproval: status == 422,
				},
			}
			must(t, apiserver.Kube.Create(t.Context(), run))
			run.Status.Phase, run.Status.Plan = v1alpha1.PhaseAwaitingApproval, &v1alpha1.Plan{Digest: planDigest,
				Changes: true}
			run.Status.Approval = &v1alpha1.RunApproval{State: v1alpha1.ApprovalPending, PreventSelfApproval: true}
			must(t, apiserver.Kube.Status().Update(t.Context(), run))
			e.judged()
			at := "/api/v1/namespaces/" + e.namespace + "/runs/net-1"
			approve := at + "/approve"
			p.browser().signIn(shows).want(200, `"denied":{"approve":"Run net-1 was caused by `, "GET", at+"/access",
				nil)
			if body := p.browser().signIn(others).want(200, "", "GET", at+"/access", nil).body; strings.Contains(body,
				"denied") {
				t.Errorf("another user gets %s", body)
			}
			p.browser().signIn(shows).want(status, "requires the approval of another user", "POST", approve,
				userapi.Approval{PlanDigest: planDigest})
			p.browser().signIn(others).want(200, `"by":"`+bob+`"`, "POST", approve,
				userapi.Approval{PlanDigest: planDigest})
		})
	}
}

func TestEventsOfAnObject(t *testing.T) {
	e := newEnv(t)
	p := e.serveSite()
	user, who := e.account("alice")
	b := p.browser().signIn(who)
	path := "/api/v1/namespaces/" + e.namespace + "/stacks/net/events"
	at := time.Now().Truncate(time.Second)
	for i, reason := range []string{"Older", "Newer"} {
		event := &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Namespace: e.namespace, Name: strings.ToLower(reason)},
			InvolvedObject: corev1.ObjectReference{Kind: "Stack", Namespace: e.namespace, Name: "net", UID: e.stack.UID,
				APIVersion: v1alpha1.GroupVersion.String()},
			Type: "Warning", Reason: reason, Message: "it is " + reason, Count: 3,
			FirstTimestamp: metav1.NewTime(at.Add(-time.Hour)),
			LastTimestamp:  metav1.NewTime(at.Add(time.Duration(i) * time.Minute)),
		}
		must(t, apiserver.Kube.Create(t.Context(), event))
	}
	other := &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: e.namespace, Name: "other"},
		InvolvedObject: corev1.ObjectReference{Kind: "Stack", Namespace: e.namespace, Name: "net", UID: "another"},
		Reason:         "Other",
	}
	must(t, apiserver.Kube.Create(t.Context(), other))
	b.want(403, "may not get stacks", "GET", path, nil)
	e.allow(user, may("get", "stacks"))
	p.eventually(func() bool { return b.do("GET", path, nil).StatusCode == 200 })
	var got userapi.Events
	must(t, json.Unmarshal([]byte(b.want(200, "", "GET", path, nil).body), &got))
	if len(got.Items) != 2 || got.Items[0].Reason != "Newer" || got.Items[1].Reason != "Older" {
		t.Fatalf("%+v", got)
	}
	want := userapi.Event{Type: "Warning", Reason: "Newer", Message: "it is Newer", Count: 3,
		First: at.Add(-time.Hour).UTC(), Last: at.Add(time.Minute).UTC()}
	if got.Items[0].First.UTC() != want.First || got.Items[0].Last.UTC() != want.Last || got.Items[0].Count != 3 ||
		got.Items[0].Message != want.Message {
		t.Errorf("%+v", got.Items[0])
	}
	b.want(404, "there is no Stack nothing", "GET", strings.Replace(path, "net/", "nothing/", 1), nil)
}
