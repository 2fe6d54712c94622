//go:build envtest

package pipeline

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/egress/egresstest"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/lifecycle/promotion"
	"cairn.dev/cairn/test/apiserver"
	"cairn.dev/cairn/test/gitserver"
)

func TestMain(m *testing.M) { apiserver.Main(m, "../../../charts/cairn/files/crds") }

// env is the reconciler of Pipelines on a real API server and a real git server. A Pipeline has the automatic stages
// dev and staging and the manual one production, each with a Stack that has its name and reads the folder of its name.
type env struct {
	apiserver.Env
	*Reconciler
	remote  *gitserver.Repo
	repo    *v1alpha1.Repository
	mirrors *repository.Mirrors
	p       *v1alpha1.Pipeline
	stacks  map[string]*v1alpha1.Stack
	clock   time.Time
}

func newEnv(t *testing.T) *env {
	t.Helper()
	index := apiserver.Index{Of: &v1alpha1.Stack{}, Field: repository.StackIndex, Values: repository.IndexStack}
	e := &env{
		Env: apiserver.New(t, index), stacks: map[string]*v1alpha1.Stack{}, clock: time.Now().Truncate(time.Second),
	}
	repos := gitserver.New(t)
	http, err := gitserver.ServeHTTP(repos, true)
	apiserver.Must(t, err)
	t.Cleanup(func() { _ = http.Close() })
	e.remote, err = repos.Init("infra")
	apiserver.Must(t, err)
	e.Make(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "ca"}, Data: map[string][]byte{"ca.crt": http.CA}})
	e.repo = &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "infra"}, Spec: v1alpha1.RepositorySpec{
		URL: http.URL + e.remote.Path(), Credentials: &v1alpha1.SecretSource{Secret: v1alpha1.ObjectRef{Name: "ca"}},
	}}
	e.Make(e.repo)
	e.fetches()
	e.Reconciler = &Reconciler{
		Client: e.Env.Client, Codes: code.NewCodes(e.mirrors), Events: events.NewFakeRecorder(1000),
		Clock: func() time.Time { return e.clock },
	}
	e.p = &v1alpha1.Pipeline{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}
	e.p.Spec.Repository.Name = e.repo.Name
	for _, stage := range []string{"dev", "staging", "production"} {
		labels := map[string]string{"env": stage}
		spec := v1alpha1.PipelineStage{Name: stage, Stacks: metav1.LabelSelector{MatchLabels: labels}}
		if stage != "production" {
			spec.Promote = v1alpha1.PromoteAutomatic
		}
		e.p.Spec.Stages = append(e.p.Spec.Stages, spec)
		stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: stage, Labels: labels}}
		stack.Spec.Source.Git = &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: e.repo.Name}, Path: stage}
		e.Make(stack)
		e.stacks[stage] = stack
	}
	e.Make(e.p)
	return e
}

// fetches starts what fetches the Repository.
func (e *env) fetches() {
	e.Helper()
	mirrors, over := repository.NewMirrors(e.TempDir()), make(chan error, 1)
	mirrors.Egress = egresstest.Loopback()
	ctx, cancel := context.WithCancel(context.Background())
	go func() { over <- mirrors.Start(ctx) }()
	e.Cleanup(func() {
		cancel()
		if err := <-over; err != nil {
			e.Errorf("the mirrors ended with %v", err)
		}
	})
	e.mirrors = mirrors
}

// push commits the content of the folders of stages, and fetches it.
func (e *env) push(content string, stages ...string) string {
	e.Helper()
	change := gitserver.Change{Message: content, Files: map[string]string{}}
	for _, stage := range stages {
		change.Files[stage+"/main.tf"] = "# " + content
	}
	commit, err := e.remote.Commit(change)
	apiserver.Must(e.T, err)
	e.repo.Annotations = map[string]string{v1alpha1.RequestedAtAnnotation: time.Now().String()}
	apiserver.Must(e.T, e.Env.Client.Update(e.Context(), e.repo))
	r := &repository.Reconciler{
		Client: e.Env.Client, Live: e.Env.Live, Mirrors: e.mirrors, Events: events.NewFakeRecorder(100),
	}
	for i := range 2 {
		e.Seen(e.repo)
		_, err := r.Reconcile(e.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(e.repo)})
		apiserver.Must(e.T, err)
		if i == 0 {
			select {
			case <-e.mirrors.Ended():
			case <-time.After(2 * time.Minute):
				e.Fatal("the fetch does not end")
			}
		}
	}
	e.Seen(e.repo)
	return commit
}

// reconcile reconciles the Pipeline until nothing is written, and returns how often it was.
func (e *env) reconcile() (writes int) {
	e.Helper()
	for range 20 {
		e.Seen(e.p)
		before := e.p.ResourceVersion
		_, err := e.Reconcile(e.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(e.p)})
		apiserver.Must(e.T, err)
		if e.Seen(e.p); e.p.ResourceVersion == before {
			return writes
		}
		writes++
	}
	e.Fatal("the status is written without end")
	return writes
}

// reports writes the status of a Stack, as its controller does: the release that it has, and what came of it.
func (e *env) reports(stage string, change func(*v1alpha1.StackStatus)) {
	e.Helper()
	stack := e.stacks[stage]
	e.Seen(stack)
	has, err := promotion.Of(stack, []v1alpha1.Pipeline{*e.p})
	apiserver.Must(e.T, err)
	s := &stack.Status
	s.ObservedGeneration, s.Release, s.InputsDigest = stack.Generation, has, digestOf(has.Commit)
	change(s)
	apiserver.Must(e.T, e.Env.Client.Status().Update(e.Context(), stack))
	e.Seen(stack)
	e.reconcile()
}

// digestOf is an inputs digest of a commit.
func digestOf(commit string) string { return "sha256:" + strings.Repeat("0", 24) + commit }

// applies has the Stack of a stage apply its release.
func (e *env) applies(stage string) {
	e.Helper()
	e.reports(stage, func(s *v1alpha1.StackStatus) {
		s.AppliedInputsDigest = s.InputsDigest
		s.Conditions = []metav1.Condition{ready(metav1.ConditionTrue, v1alpha1.ReasonApplied)}
	})
}

func ready(status metav1.ConditionStatus, reason string) metav1.Condition {
	return metav1.Condition{
		Type: v1alpha1.ConditionReady, Status: status, Reason: reason, LastTransitionTime: metav1.Now(),
	}
}

// promotes requests a promotion, as cairn promote does.
func (e *env) promotes(stage, commit string) {
	e.Helper()
	e.clock = e.clock.Add(time.Minute)
	e.Seen(e.p)
	e.p.Annotations = map[string]string{
		v1alpha1.RequestedAtAnnotation: e.clock.Format(time.RFC3339Nano), v1alpha1.RequestedByAnnotation: "alice",
		v1alpha1.RequestedPromotionAnnotation: stage + "=" + commit,
	}
	apiserver.Must(e.T, e.Env.Client.Update(e.Context(), e.p))
	e.reconcile()
}

// expect compares the releases and states of the stages with "dev one Complete, ...", and the reason. The names are of
// commits, by the map.
func (e *env) expect(names map[string]string, want, reason string) {
	e.Helper()
	var got []string
	for _, s := range e.p.Status.Stages {
		got = append(got, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", s.Name, names[s.Release], s.State)), " "))
	}
	if diff := cmp.Diff(want, strings.Join(got, ", ")); diff != "" {
		e.Fatalf("stages: %s", diff)
	}
	if is := e.p.Status.Conditions[0]; is.Reason != reason {
		e.Fatalf("the reason is %s (%s), want %s", is.Reason, is.Message, reason)
	}
}

// TestCommitPassesTheStages follows commits through the stages on a real API server and a real git server: a first
// release, a manual stage, a failure, and a rollback. Without a change, nothing is written.
func TestCommitPassesTheStages(t *testing.T) {
	e, names := newEnv(t), map[string]string{}
	e.reconcile()
	e.expect(names, "", v1alpha1.ReasonRepositoryNotReady)

	one := e.push("one", "dev", "staging", "production")
	names[one] = "one"
	e.reconcile()
	e.expect(names, "dev one Progressing, staging Waiting, production Waiting", v1alpha1.ReasonPromoting)
	e.applies("dev")
	e.expect(names, "dev one Complete, staging one Progressing, production Waiting", v1alpha1.ReasonPromoting)
	e.applies("staging")
	e.expect(names, "dev one Complete, staging one Complete, production Waiting", v1alpha1.ReasonAwaitingPromotion)
	e.clock = e.clock.Add(time.Hour)
	if n := e.reconcile(); n != 0 {
		t.Errorf("nothing changed, and the status is written %d times", n)
	}

	e.promotes("production", one)
	e.applies("production")
	e.expect(names, "dev one Complete, staging one Complete, production one Complete", v1alpha1.ReasonPromoted)
	if in := e.p.Status.Releases[0].In("production"); in.PromotedBy != "alice" || in.CompletedAt == nil {
		t.Errorf("production had it by %+v", in)
	}

	// A commit that changes no Stack is no release.
	e.push("a page", "docs")
	if n := e.reconcile(); n != 0 {
		t.Errorf("a commit without code of a Stack writes the status %d times", n)
	}

	// A release that does not change the Stack of dev is complete there at once, and a failure stops it in staging.
	two := e.push("two", "staging", "production")
	names[two] = "two"
	e.reconcile()
	e.expect(names, "dev two Complete, staging two Progressing, production one Complete", v1alpha1.ReasonPromoting)
	e.reports("staging", func(s *v1alpha1.StackStatus) {
		s.Conditions = []metav1.Condition{ready(metav1.ConditionFalse, v1alpha1.ReasonRunFailed)}
	})
	e.expect(names, "dev two Complete, staging two Failed, production one Complete", v1alpha1.ReasonStageFailed)
	e.promotes("production", two)
	if !e.p.Status.LastHandledRequest.Rejected {
		t.Error("production gets a release that staging has not completed")
	}
	e.applies("staging")
	e.expect(names, "dev two Complete, staging two Complete, production one Complete", v1alpha1.ReasonAwaitingPromotion)

	// A rollback holds the stage: the next release stays in dev.
	e.promotes("staging", one)
	e.applies("staging")
	three := e.push("three", "dev", "staging")
	names[three] = "three"
	e.reconcile()
	e.applies("dev")
	e.expect(names, "dev three Complete, staging one Complete, production one Complete", v1alpha1.ReasonPromotionHeld)
	if h := e.p.Stage("staging").Hold; h == nil || h.By != "alice" {
		t.Errorf("the hold is %+v", h)
	}
	e.promotes("staging", three)
	// Production can get the second release again, which staging completed.
	e.expect(
		names, "dev three Complete, staging three Progressing, production one Complete",
		v1alpha1.ReasonAwaitingPromotion,
	)
	if h := e.p.Stage("staging").Hold; h != nil {
		t.Errorf("the hold stays: %+v", h)
	}
}

// TestStageVerifiesDrift checks on a real API server that a stage waits for the drift check of its Stack, that drift
// stops it, and that the soak counts from the verification, also over a restart, and while another drift check is in
// progress.
func TestStageVerifiesDrift(t *testing.T) {
	e, names := newEnv(t), map[string]string{}
	e.p.Spec.Stages[0].Verify = &v1alpha1.StageVerification{Drift: &v1alpha1.DriftVerification{}}
	e.p.Spec.Stages[0].Soak = &metav1.Duration{Duration: 30 * time.Minute}
	apiserver.Must(t, e.Env.Client.Update(t.Context(), e.p))
	one := e.push("one", "dev", "staging", "production")
	names[one] = "one"
	e.reconcile()
	is := func(dev, reason string) {
		t.Helper()
		e.expect(names, "dev one "+dev+", staging Waiting, production Waiting", reason)
	}
	drift := func(found *v1alpha1.DriftStatus) {
		t.Helper()
		e.reports("dev", func(s *v1alpha1.StackStatus) {
			s.CurrentRun, s.Drift = "", found
			s.DriftChecks = &v1alpha1.DriftChecks{IntervalSource: v1alpha1.IntervalFromStack}
		})
	}
	e.applies("dev")
	is("Verifying", v1alpha1.ReasonPromoting)
	drift(&v1alpha1.DriftStatus{CheckedAt: metav1.Now()}) // of the apply
	is("Verifying", v1alpha1.ReasonPromoting)
	e.clock = e.clock.Add(time.Hour)
	e.reconcile()
	is("Verifying", v1alpha1.ReasonVerificationOverdue)
	drift(&v1alpha1.DriftStatus{CheckedAt: metav1.Now(), CheckedBy: "dev-2", Since: &metav1.Time{Time: e.clock}})
	is("Failed", v1alpha1.ReasonStageFailed)
	drift(&v1alpha1.DriftStatus{CheckedAt: metav1.Now(), CheckedBy: "dev-3"})
	is("Soaking", v1alpha1.ReasonPromoting)

	e.clock = e.clock.Add(20 * time.Minute)
	e.reports("dev", func(s *v1alpha1.StackStatus) {
		s.CurrentRun, s.ReservedRun = "dev-4", &v1alpha1.ReservedRun{
			Name: "dev-4", Operation: v1alpha1.OperationPlan, Cause: v1alpha1.CauseDrift,
		}
	})
	again := Reconciler{ // a restart
		Client: e.Env.Client, Codes: e.Codes, Events: e.Events, Clock: e.Reconciler.Clock,
	}
	result, err := again.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(e.p)})
	if err != nil || result.RequeueAfter != 10*time.Minute {
		t.Errorf("it reconciles again in %s, %v", result.RequeueAfter, err)
	}
	e.clock = e.clock.Add(10 * time.Minute)
	e.reconcile()
	e.expect(names, "dev one Complete, staging one Progressing, production Waiting", v1alpha1.ReasonPromoting)
}
