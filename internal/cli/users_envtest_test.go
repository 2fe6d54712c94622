//go:build envtest

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/engine/plan"
	"cairn.dev/cairn/internal/lifecycle/approval"
	"cairn.dev/cairn/internal/lifecycle/kinds/kindstest"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/test/apiserver"
)

func TestMain(m *testing.M) { apiserver.Main(m, "../../charts/cairn/files/crds") }

const (
	digest  = "sha256:1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c"
	another = "sha256:0000000000000000000000000000000000000000000000000000000000000000"
)

// cliEnv is a namespace with a server that has the plan and the log of each Run.
type cliEnv struct {
	apiserver.Env
	kubeconfig string
	server     *httptest.Server
	mux        *http.ServeMux
	// logs responds to a request for a log, and resources to one for the resources of states.
	logs, resources http.HandlerFunc
}

func newCLIEnv(t *testing.T) *cliEnv {
	d := &cliEnv{Env: apiserver.New(t), kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	c := apiserver.Config
	apiserver.Must(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"test": {Server: c.Host, CertificateAuthorityData: c.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"test": {ClientCertificateData: c.CertData,
			ClientKeyData: c.KeyData, Token: c.BearerToken}},
		Contexts: map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: "test",
			Namespace: d.Namespace}},
		CurrentContext: "test",
	}, d.kubeconfig))
	mux := http.NewServeMux()
	d.mux = mux
	mux.HandleFunc("GET /api/v1/namespaces/{ns}/runs/{run}/plan", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(plan.View{EngineVersion: "1.12.6",
			Changes: []plan.Change{{Address: "terraform_data.disk", Action: "create"}}})
	})
	mux.HandleFunc("GET /api/v1/namespaces/{ns}/runs/{run}/logs", func(w http.ResponseWriter, r *http.Request) {
		d.logs(w, r)
	})
	mux.HandleFunc("GET /api/v1/resources", func(w http.ResponseWriter, r *http.Request) { d.resources(w, r) })
	mux.HandleFunc("GET /api/v1/namespaces/{namespace}/resources", func(w http.ResponseWriter, r *http.Request) {
		d.resources(w, r)
	})
	d.server = httptest.NewTLSServer(mux)
	t.Cleanup(d.server.Close)
	return d
}

// cairn runs a command as a user; without a name as an administrator.
func (d *cliEnv) cairn(ctx context.Context, as string, args ...string) (out, errOut string, code int) {
	d.Helper()
	s, o, e := quiet()
	cmd := root(s)
	flags := d.flags()
	if as != "" {
		flags = append(flags, "--as="+as)
	}
	at := len(args)
	if args[0] == "__complete" { // its last word is the one to complete
		at--
	}
	cmd.SetArgs(slices.Insert(slices.Clone(args), at, flags...))
	code = session.ExitCode(e, "cairn", cmd.ExecuteContext(ctx))
	return o.String(), e.String(), code
}

// flags are those of the cluster and the server.
func (d *cliEnv) flags() []string {
	d.Helper()
	ca := filepath.Join(d.TempDir(), "ca")
	apiserver.Must(d.T, os.WriteFile(ca,
		pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: d.server.Certificate().Raw}), 0o600))
	return []string{"--kubeconfig=" + d.kubeconfig, "--server=" + d.server.URL, "--server-ca=" + ca}
}

// want runs a command and checks its exit code and its output.
func (d *cliEnv) want(code int, output, as string, args ...string) {
	d.Helper()
	out, errOut, got := d.cairn(d.Context(), as, args...)
	if got != code || !strings.Contains(out+errOut, output) {
		d.Errorf("cairn %s: exit code %d, want %d and %q; the output is:\n%s%s", strings.Join(args, " "), got, code,
			output, out, errOut)
	}
}

func (d *cliEnv) stack(name string) *v1alpha1.Stack {
	d.Helper()
	st := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: name}}
	st.Spec.Source.Inline = map[string]string{"main.tf": "# nothing"}
	apiserver.Must(d.T, apiserver.Kube.Create(d.Context(), st))
	return st
}

// run creates a Run in a phase, with a plan of one change. It belongs to its Stack, if that exists.
func (d *cliEnv) run(name string, phase v1alpha1.RunPhase, change ...func(*v1alpha1.RunSpec)) *v1alpha1.Run {
	d.Helper()
	r := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: name}, Spec: v1alpha1.RunSpec{
		Stack: v1alpha1.ObjectRef{Name: "net"}, Operation: v1alpha1.OperationApply, InputsDigest: another,
		Cause: v1alpha1.Cause{Type: v1alpha1.CauseSpec, Message: "the Stack is new", By: "alice"},
	}}
	for _, c := range change {
		c(&r.Spec)
	}
	st := &v1alpha1.Stack{}
	err := apiserver.Kube.Get(context.WithoutCancel(d.Context()),
		client.ObjectKey{Namespace: d.Namespace, Name: r.Spec.Stack.Name}, st)
	if apiserver.Must(d.T, client.IgnoreNotFound(err)); err == nil {
		r.OwnerReferences = []metav1.OwnerReference{
			*metav1.NewControllerRef(st, v1alpha1.GroupVersion.WithKind("Stack"))}
	}
	apiserver.Must(d.T, apiserver.Kube.Create(context.WithoutCancel(d.Context()), r))
	d.turn(r, phase, "1 to add")
	return r
}

// turn updates the status of a Run, also while the test ends.
func (d *cliEnv) turn(r *v1alpha1.Run, phase v1alpha1.RunPhase, message string) {
	d.Helper()
	status := metav1.ConditionUnknown
	r.Status.Phase = phase
	r.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Status: status, Reason: string(phase),
		Message: message, LastTransitionTime: metav1.Now()}}
	r.Status.Plan = &v1alpha1.Plan{Digest: digest, Changes: true, Add: 1,
		Resources: []v1alpha1.ResourceChange{{Address: "terraform_data.disk", Action: "create"}}}
	apiserver.Must(d.T, apiserver.Kube.Status().Update(context.WithoutCancel(d.Context()), r))
}

// operator handles each request for a Run of a Stack, and advances Runs when they change.
func (d *cliEnv) operator(st *v1alpha1.Stack, next func(*v1alpha1.Run) v1alpha1.RunPhase) {
	d.Helper()
	stacks, err := apiserver.Kube.Watch(d.Context(), &v1alpha1.StackList{}, client.InNamespace(d.Namespace))
	apiserver.Must(d.T, err)
	runs, err := apiserver.Kube.Watch(d.Context(), &v1alpha1.RunList{}, client.InNamespace(d.Namespace))
	apiserver.Must(d.T, err)
	done := make(chan struct{})
	d.Cleanup(func() { stacks.Stop(); runs.Stop(); <-done })
	go func() {
		defer close(done)
		n := 0
		for {
			select {
			case e, ok := <-stacks.ResultChan():
				if !ok {
					return
				}
				st, ok := e.Object.(*v1alpha1.Stack)
				asked := ""
				if ok {
					asked = st.Annotations[v1alpha1.RequestedAtAnnotation]
				}
				if asked == "" || runinfo.Settled(st.Status.LastHandledRequest, asked) {
					continue
				}
				n++
				// As the operator does, the status names the Run before it exists.
				st.Status.LastHandledRequest = runinfo.Handled(nil, asked, false, time.Now())
				st.Status.CurrentRun, st.Status.LastRun = fmt.Sprintf("%s-%d", st.Name, n), fmt.Sprintf("%s-%d",
					st.Name, n)
				if apiserver.Kube.Status().Update(d.Context(), st) == nil {
					d.run(st.Status.CurrentRun, v1alpha1.PhasePlanning, func(r *v1alpha1.RunSpec) {
						r.Operation = v1alpha1.Operation(st.Annotations[v1alpha1.RequestedOperationAnnotation])
						r.Cause = v1alpha1.Cause{Type: v1alpha1.CauseManual, Message: "asked for"}
					})
				}
			case e, ok := <-runs.ResultChan():
				if !ok {
					return
				}
				if r, ok := e.Object.(*v1alpha1.Run); ok && r.Status.Phase != "" && !r.Status.Phase.Finished() {
					if phase := next(r); phase == v1alpha1.PhaseSucceeded {
						d.turn(r, phase, "1 added")
					} else if phase != r.Status.Phase {
						d.turn(r, phase, "1 to add")
					}
				}
			}
		}
	}()
}

// waitsThenApplies is a Run that waits for its approval.
func waitsThenApplies(r *v1alpha1.Run) v1alpha1.RunPhase {
	switch {
	case r.Spec.Cancel:
		return v1alpha1.PhaseCanceled
	case r.Spec.Approval != nil:
		return v1alpha1.PhaseSucceeded
	}
	return v1alpha1.PhaseAwaitingApproval
}

func TestApprovals(t *testing.T) {
	d := newCLIEnv(t)
	st := d.stack("net")
	d.want(1, "has no Runs yet", "", "approve", "net")
	r := d.run("net-1", v1alpha1.PhasePlanning)
	st.Status.CurrentRun, st.Status.LastRun = r.Name, r.Name
	apiserver.Must(t, apiserver.Kube.Status().Update(t.Context(), st))
	d.want(1, "no plan waits for an approval", "", "approve", "net")
	d.want(1, "no plan waits for an approval", "", "reject", "net-1")
	d.turn(r, v1alpha1.PhaseAwaitingApproval, "1 to add")
	d.want(1, "cairn: the Run net-1 is not approved: it has another plan than the one with this digest: its plan is "+
		"now 1 to add; `cairn diff net-1` shows it\n", "", "approve", "net", "--digest", another)
	d.want(1, "at least 40 digits are needed", "", "approve", "net", "--digest", digest[:19])
	for _, flags := range [][]string{nil, {"--show"}} {
		d.want(1, "its plan is 1 to add; after you read it, use `cairn approve net-1 --digest "+
			"1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c`, or --yes", "",
			append([]string{"approve", "net"}, flags...)...)
		d.want(1, "use `cairn reject net-1 --digest 1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c1f3c`", "", "reject", "net")
	}
	d.want(2, "Run net-1 waits for an approval: cairn approve net-1 --digest "+approval.Short(digest), "",
		"diff", "net")
	d.want(1, "you do not have permission", "bob", "approve", "net", "--yes")
	d.want(0, "Run net-1 is approved by ", "", "approve", "net", "--digest", approval.Short(digest))
	apiserver.Must(t, apiserver.Kube.Get(t.Context(), client.ObjectKeyFromObject(r), r))
	s, _, _ := quiet()
	s.Kubeconfig.ExplicitPath = d.kubeconfig
	who, err := s.User(t.Context())
	apiserver.Must(t, err)
	if a := r.Spec.Approval; a == nil || a.PlanDigest != digest || a.By != who {
		t.Errorf("approval %v, want %s by %s", a, digest, who)
	}
	d.want(1, "is approved already", "", "approve", "net")
}

// TestApprovalsByTheRuleOfTheStack checks a Stack that has spec.preventSelfApproval only since its Run was created: the
// user who caused the Run cannot approve it, and such an approval does not keep another user from approving.
func TestApprovalsByTheRuleOfTheStack(t *testing.T) {
	d := newCLIEnv(t)
	d.stack("net")
	s, _, _ := quiet()
	s.Kubeconfig.ExplicitPath = d.kubeconfig
	who, err := s.User(t.Context())
	apiserver.Must(t, err)
	r := d.run("net-1", v1alpha1.PhaseAwaitingApproval, func(r *v1alpha1.RunSpec) { r.Cause.By = who })
	decides := func(state v1alpha1.ApprovalState) {
		r.Status.Approval = &v1alpha1.RunApproval{State: state, PreventSelfApproval: true, ExcludedUsers: []string{who}}
		apiserver.Must(t, apiserver.Kube.Status().Update(t.Context(), r))
	}
	decides(v1alpha1.ApprovalPending)
	d.want(1, "requires the approval of another user (spec.preventSelfApproval)", "", "approve", "net-1", "--yes")

	r.Spec.Approval = &v1alpha1.Approval{PlanDigest: digest, By: who}
	apiserver.Must(t, apiserver.Kube.Update(t.Context(), r))
	d.allow("ann", "runs", "get", "patch", "approve")
	d.until(func() bool {
		_, e, _ := d.cairn(t.Context(), "ann", "approve", "run/net-1", "--yes")
		return strings.Contains(e, "is approved already, by "+who) // until the operator has seen it
	})
	decides(v1alpha1.ApprovalSelfApproval)
	d.want(0, "Run net-1 is approved by ann", "ann", "approve", "run/net-1", "--yes")
}

func TestApplyWithoutAnApprovalStops(t *testing.T) {
	d := newCLIEnv(t)
	d.operator(d.stack("net"), waitsThenApplies)
	d.want(2, "terraform_data.disk", "", "apply", "net")
	d.want(2, "`cairn approve net-2 --digest "+approval.Short(digest)+"` approves this plan", "", "apply", "net")
	d.want(0, "Run net-3 succeeded: 1 added", "", "apply", "net", "--yes")
	d.want(1, "--yes", "", "destroy", "net")
	d.want(0, "Run net-4 succeeded", "", "destroy", "net", "--yes")
	d.want(1, "there is nothing to retry: the last apply or destroy of Stack net neither failed", "", "retry", "net")
	st := &v1alpha1.Stack{}
	apiserver.Must(t, apiserver.Kube.Get(t.Context(), client.ObjectKey{Namespace: d.Namespace, Name: "net"}, st))
	st.Status.Retry = &v1alpha1.StackRetry{Operation: v1alpha1.OperationDestroy, Run: "net-5"}
	apiserver.Must(t, apiserver.Kube.Status().Update(t.Context(), st))
	d.want(1, "this destroys all resources of Stack net: confirm with --yes", "", "retry", "net")
	d.want(1, "there is nothing to cancel: Run net-4 is Succeeded already", "", "cancel", "net-4")
	d.want(0, "Run net-2", "", "cancel", "net-2", "--wait")
	d.want(0, "suspended", "", "suspend", "net")
	d.want(1, "cairn resume net", "", "plan", "net")
}

// TestDestroyShowsTheStacksThatItWaitsFor checks also that a user who cannot list Stacks sees none.
func TestDestroyShowsTheStacksThatItWaitsFor(t *testing.T) {
	d := newCLIEnv(t)
	d.stack("net")
	for name, on := range map[string]string{"cluster": "net", "app": "cluster", "dns": "other"} {
		st := d.stack(name)
		st.Spec.DependsOn = []v1alpha1.Dependency{{Name: on}}
		apiserver.Must(t, apiserver.Kube.Update(t.Context(), st))
	}
	d.want(1, "\n  1. app\n  2. cluster\n", "", "destroy", "net")
	d.allow("eve", "stacks", "get")
	var errOut string
	d.until(func() bool {
		_, errOut, _ = d.cairn(t.Context(), "eve", "destroy", "net")
		return strings.Contains(errOut, "confirm with --yes")
	})
	if strings.Contains(errOut, "cluster") {
		t.Errorf("a user who cannot list Stacks sees %q", errOut)
	}
}

// TestApplyApprovesOnlyTheRequestedRun checks also with --yes.
func TestApplyApprovesOnlyTheRequestedRun(t *testing.T) {
	d := newCLIEnv(t)
	st := d.stack("net")
	stacks, err := apiserver.Kube.Watch(t.Context(), &v1alpha1.StackList{}, client.InNamespace(d.Namespace))
	apiserver.Must(t, err)
	done := make(chan struct{})
	d.Cleanup(func() { stacks.Stop(); <-done })
	go func() { // the requested Run is superseded already
		defer close(done)
		for e := range stacks.ResultChan() {
			now, ok := e.Object.(*v1alpha1.Stack)
			if !ok || now.Annotations[v1alpha1.RequestedAtAnnotation] == "" || now.Status.LastHandledRequest != nil {
				continue
			}
			d.run("net-2", v1alpha1.PhaseAwaitingApproval)
			now.Status.LastHandledRequest = runinfo.Handled(nil, now.Annotations[v1alpha1.RequestedAtAnnotation], false,
				time.Now())
			now.Status.CurrentRun, now.Status.LastRun = "net-2", "net-2"
			// the command may be done sooner
			apiserver.Must(t, apiserver.Kube.Status().Update(context.WithoutCancel(d.Context()), now))
		}
	}()
	d.want(1, "is not the requested one, and is not followed: Run net-2", "", "apply", st.Name, "--yes")
	r := &v1alpha1.Run{}
	apiserver.Must(t, apiserver.Kube.Get(t.Context(), client.ObjectKey{Namespace: d.Namespace, Name: "net-2"}, r))
	if r.Spec.Approval != nil {
		t.Errorf("%v", r.Spec.Approval)
	}
}

// TestCommandsAreAboutRunsOfTheStack checks a Run that an earlier Stack of the same name left: it is not listed, and a
// Run that is requested is not mistaken for it while the operator finds out that its name is taken.
func TestCommandsAreAboutRunsOfTheStack(t *testing.T) {
	d := newCLIEnv(t)
	d.run("net-1", v1alpha1.PhaseFailed)
	st := d.stack("net")
	d.want(0, "the Stack net has no Runs yet", "", "history", "net")

	stacks, err := apiserver.Kube.Watch(t.Context(), &v1alpha1.StackList{}, client.InNamespace(d.Namespace))
	apiserver.Must(t, err)
	done := make(chan struct{})
	d.Cleanup(func() { stacks.Stop(); <-done })
	go func() {
		defer close(done)
		ctx := context.WithoutCancel(d.Context())
		for e := range stacks.ResultChan() {
			now, ok := e.Object.(*v1alpha1.Stack)
			if !ok || now.Annotations[v1alpha1.RequestedAtAnnotation] == "" || now.Status.LastRun == "net-2" {
				continue
			}
			next := "net-1"
			if now.Status.LastRun == next {
				next = "net-2"
				d.run(next, v1alpha1.PhaseSucceeded, func(r *v1alpha1.RunSpec) { r.Cause.Type = v1alpha1.CauseManual })
			}
			now.Status.LastHandledRequest = runinfo.Handled(nil, now.Annotations[v1alpha1.RequestedAtAnnotation], false,
				time.Now())
			now.Status.CurrentRun, now.Status.LastRun = next, next
			apiserver.Must(t, apiserver.Kube.Status().Update(ctx, now))
		}
	}()
	d.want(0, "net-2", "", "apply", st.Name, "--yes")
}

func TestInterruptDoesNotCancelTheRun(t *testing.T) {
	d := newCLIEnv(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	d.operator(d.stack("net"), func(r *v1alpha1.Run) v1alpha1.RunPhase {
		interrupt()
		return r.Status.Phase
	})
	_, errOut, code := d.cairn(ctx, "", "apply", "net", "--yes")
	if code != session.ExitInterrupted || !strings.Contains(errOut, "continues") && !strings.Contains(errOut,
		"the request stays") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
	r := &v1alpha1.Run{}
	apiserver.Must(t, apiserver.Kube.Get(t.Context(), client.ObjectKey{Namespace: d.Namespace, Name: "net-1"}, r))
	if r.Spec.Cancel || r.Spec.Approval != nil {
		t.Errorf("%v", r.Spec)
	}
}

func TestNames(t *testing.T) {
	d := newCLIEnv(t)
	d.want(1, "it has no Stacks", "", "why", "absent")
	d.want(0, "There are no Stacks in namespace "+d.Namespace, "", "get")
	d.stack("net")
	own := d.stack("only-in-" + d.Namespace).Name // other tests have a Stack net too
	d.want(1, "there is no Stack and no Run "+own+" in namespace default: namespace "+d.Namespace+" has one; add -n "+
		d.Namespace, "", "why", own, "-n", "default")
	d.want(0, "Stack net in "+d.Namespace, "", "why", "net", "-n", d.Namespace)
	d.want(1, "did you mean net?", "", "why", "nett")
	d.want(1, "did you mean net?", "", "get", "stacks", "nett")
	d.want(0, "stack.cairn.dev/net", "", "get", "stack/net", "-o", "name")
	d.want(0, "kind: Stack", "", "get", "net", "-o", "yaml")
	d.want(0, `"kind": "List"`, "", "get", "-o", "json")
	d.want(0, "Stack net in "+d.Namespace, "", "why", "net")
	d.want(1, "cannot get resource", "bob", "why", "net")
	d.want(0, "\nresources\nnet\n", "", "__complete", "get", "")
}

// TestRegisteredKindIsShown checks that get shows and completes a kind once it is registered, without other code.
func TestRegisteredKindIsShown(t *testing.T) {
	kindstest.Register(t)
	d := newCLIEnv(t)
	apiserver.Must(t, apiserver.Kube.Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: "settings"}, Data: map[string]string{"a": "b"},
	}))
	d.want(0, "settings   1      ", "", "get", "cm")
	d.want(0, "kind: ConfigMap", "", "get", "configmap/settings", "-o", "yaml")
	d.want(1, "there is no ConfigMap other", "", "get", "configmaps", "other")
	d.want(0, "\nconfigmaps\nresources\n", "", "__complete", "get", "")
	d.want(0, "settings\n", "", "__complete", "get", "configmaps", "")
	d.want(0, "driftpauses|pipelines|configmaps|resources]", "", "get", "--help")
	d.want(1, "configmap/settings is a ConfigMap: use the name of a Stack or Run", "", "why", "configmap/settings")
}

// TestReadOnlyUser checks that a user can read all objects, and gets an error with the missing verb for other commands.
func TestReadOnlyUser(t *testing.T) {
	d := newCLIEnv(t)
	d.stack("net")
	d.allow("eve", "stacks", "get", "list", "watch")
	d.allow("eve", "runs", "get", "list", "watch")
	for _, kind := range []string{"stacks", "runs"} {
		d.until(func() bool { _, _, code := d.cairn(t.Context(), "eve", "get", kind); return code == 0 })
	}
	d.want(0, "Stack net in", "eve", "why", "net") // events and the State are left out
	d.want(1, `cannot patch resource "stacks"`, "eve", "suspend", "net")
	d.want(1, `cannot patch resource "stacks"`, "eve", "apply", "net")
}

// TestEachCommandNeedsOnlyItsRole checks that cairn-approve has no permission on Stacks, and that neither it nor
// cairn-apply has watch.
func TestEachCommandNeedsOnlyItsRole(t *testing.T) {
	d := newCLIEnv(t)
	d.operator(d.stack("net"), waitsThenApplies)
	d.allow("ann", "runs", "get", "patch", "approve", "reject")
	d.allow("abe", "stacks", "get", "patch", "apply")
	d.run("net-100", v1alpha1.PhaseAwaitingApproval)
	d.until(func() bool { _, _, code := d.cairn(t.Context(), "abe", "outputs", "net"); return code == 0 })
	d.until(func() bool {
		_, e, _ := d.cairn(t.Context(), "ann", "approve", "net-100", "--digest", another)
		return strings.Contains(e, "it has another plan")
	})
	d.want(1, `cannot get resource "stacks"`, "ann", "approve", "net")
	d.want(0, "Run net-100 is approved by ann", "ann", "approve", "run/net-100", "--wait", "--yes")
	d.want(1, "Run net-1 was created for the request and continues, but cannot be followed: you do not have permission",
		"abe", "apply", "net")
	d.until(func() bool { // it continues
		r := &v1alpha1.Run{}
		err := apiserver.Kube.Get(t.Context(), client.ObjectKey{Namespace: d.Namespace, Name: "net-1"}, r)
		return err == nil && r.Status.Phase == v1alpha1.PhaseAwaitingApproval
	})
}

// allow grants a user verbs on a resource.
func (d *cliEnv) allow(user, resource string, verbs ...string) {
	d.Helper()
	name := user + "-" + resource
	apiserver.Must(d.T, apiserver.Kube.Create(d.Context(),
		&rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: name}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"cairn.dev"}, Resources: []string{resource}, Verbs: verbs},
		}}))
	apiserver.Must(d.T, apiserver.Kube.Create(d.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	}))
}

// until waits for changes of RBAC.
func (d *cliEnv) until(done func() bool) {
	d.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			d.Fatal("it never came to be")
		}
	}
}

// TestFollowedLogIsComplete checks a server that truncates each response: no byte is missing or duplicated.
func TestFollowedLogIsComplete(t *testing.T) {
	d := newCLIEnv(t)
	d.stack("net")
	r := d.run("net-1", v1alpha1.PhaseApplying)
	log := bytes.Repeat([]byte("0123456789\n"), 10)
	answers := 0
	d.logs = func(w http.ResponseWriter, request *http.Request) {
		from, _ := strconv.Atoi(request.URL.Query().Get("offset"))
		answers++
		switch answers {
		case 1:
			http.Error(w, "not now", http.StatusServiceUnavailable)
		case 2:
			_, _ = w.Write(log[from : from+15])
			_ = http.NewResponseController(w).Flush()
			panic(http.ErrAbortHandler)
		default:
			if request.URL.Query().Get("follow") == "true" {
				_, _ = w.Write(log[from : from+20])
				d.turn(r, v1alpha1.PhaseFailed, "apply: no")
				return // as at the end of the available log
			}
			_, _ = w.Write(log[from:])
		}
	}
	out, errOut, code := d.cairn(t.Context(), "", "logs", "-f", "net-1")
	if out != string(log) {
		t.Errorf("the log is\n%s", out)
	}
	if code != session.ExitFailed || !strings.Contains(errOut, "Run net-1 failed: apply: no") ||
		!strings.Contains(errOut, "the log was interrupted") {
		t.Errorf("exit code %d: %s", code, errOut)
	}
}

// TestRejectionsOfTheAPIServer checks that the messages are short and that the type of the error is kept.
func TestRejectionsOfTheAPIServer(t *testing.T) {
	d := newCLIEnv(t)
	r := d.run("net-1", v1alpha1.PhaseSucceeded)
	s, _, _ := quiet()
	s.Kubeconfig.ExplicitPath = d.kubeconfig
	for want, spec := range map[string]map[string]any{
		"this Run is Succeeded already": {"cancel": true},
		"this Run is Succeeded and does not wait for an approval": {"approval": map[string]any{"planDigest": digest,
			"by": "me"}},
		"this Run is Succeeded and does not wait": {"rejection": map[string]any{"planDigest": digest,
			"by": "me"}},
		"a Run's operation cannot change":               {"operation": "Plan"},
		"spec.approval.planDigest in body should match": {"approval": map[string]any{"planDigest": "x", "by": "me"}},
	} {
		data, err := json.Marshal(map[string]any{"spec": spec})
		if err != nil {
			t.Fatal(err)
		}
		err = s.Patch(t.Context(), r.DeepCopy(), client.RawPatch(types.MergePatchType, data))
		var short session.Explanation
		if err == nil || !errors.As(err, &short) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q, want %q", err, want)
		}
	}
}
