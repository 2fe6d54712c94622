//go:build envtest

package run

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/run/dispatch"
	"cairn.dev/cairn/internal/controller/run/podspec"
	"cairn.dev/cairn/internal/controller/run/runtest"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/apiserver"
)

// buildsAn makes the Run one that runs in an image which is built.
func (r *testEnv) useBuild() {
	r.Helper()
	doc := inputs.Document{Source: "sha256:code",
		Build: inputs.NewBuild(&v1alpha1.Build{Image: "registry.example.com/a"})}
	doc.Build.Source = "sha256:context"
	r.setInputs(doc)
	r.stack.Spec.Runner.Build = &v1alpha1.Build{Image: "registry.example.com/a"}
	apiserver.Must(r.T, r.Env.Client.Update(r.Context(), r.stack))
	r.Seen(r.stack)
	r.Pods = settings
	r.Pods.Builds = podspec.BuildSettings{Allowed: true, Images: map[v1alpha1.Builder]string{"Buildah": "buildah:1"}}
}

// sendReport sends the last report of the current attempt.
func (r *testEnv) sendReport(done runnerapi.Done) {
	r.Helper()
	reports := dispatch.Reports{Client: r.Env.Client, Live: r.Env.Live}
	a := runinfo.Current(&r.run.Status)
	apiserver.Must(r.T, reports.Report(r.Context(), client.ObjectKeyFromObject(r.run), a.PodUID, a.Number,
		runnerapi.Report{Done: &done}))
	r.Seen(r.run)
}

func TestPlanRunsInTheBuiltImage(t *testing.T) {
	r := newTestEnv(t)
	r.useBuild()
	r.reconcile()
	r.expectAttempts("Build")
	if c := r.run.Status.Conditions[0]; c.Reason != v1alpha1.ReasonBuilding ||
		r.run.Status.Phase != v1alpha1.PhasePlanning {
		t.Errorf("%s %+v", r.run.Status.Phase, c)
	}
	if pods := r.pods(); len(pods) != 1 || pods[0].Name != "net-2-build-1" ||
		pods[0].Spec.Containers[0].Image != "buildah:1" {
		t.Fatalf("%+v", pods)
	}
	r.sendReport(runnerapi.Done{Image: runtest.ImageDigest})
	r.reconcile()
	r.expectAttempts("Build", "Plan")
	var image string
	for _, pod := range r.pods() {
		if pod.Name == "net-2-plan-2" {
			image = pod.Spec.Containers[0].Image
		}
	}
	if image != "registry.example.com/a@"+runtest.ImageDigest || r.run.Status.Image.Digest != runtest.ImageDigest ||
		r.run.Status.Image.Run != "net-2" {
		t.Errorf("it plans in %q: %+v", image, r.run.Status.Image)
	}
}

func TestKnownImageIsNotBuiltAgain(t *testing.T) {
	r := newTestEnv(t)
	r.useBuild()
	doc, err := r.Inputs.Get(r.Context(), r.run.Spec.InputsDigest)
	apiserver.Must(t, err)
	key, err := doc.Build.Key()
	apiserver.Must(t, err)
	r.stack.Status.Image = runtest.Built(key)
	apiserver.Must(t, r.Env.Client.Status().Update(t.Context(), r.stack))
	r.Seen(r.stack)
	r.reconcile()
	r.expectAttempts("Plan")
	if got := r.pods()[0].Spec.Containers[0].Image; got != "registry.example.com/a@"+runtest.ImageDigest {
		t.Error(got)
	}
}

// A namespace whose Pod Security level rejects a builder makes the Run wait, with a message that names what is needed.
func TestBuildWaitsInARestrictedNamespace(t *testing.T) {
	r := newTestEnv(t)
	r.useBuild()
	enforces := func(level, reason string) {
		t.Helper()
		namespace := &corev1.Namespace{}
		apiserver.Must(t, r.Env.Live.Get(t.Context(), client.ObjectKey{Name: r.Namespace}, namespace))
		namespace.Labels["pod-security.kubernetes.io/enforce"] = level
		apiserver.Must(t, r.Env.Client.Update(t.Context(), namespace))
		probe, err := podspec.New(r.run, r.stack, runtest.ToBuild(), v1alpha1.AttemptBuild, 99, r.Pods)
		apiserver.Must(t, err)
		apiserver.Must(t, wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 2*time.Minute, true,
			func(ctx context.Context) (bool, error) {
				// the admission reads it a moment later
				err := apiserver.Kube.Create(ctx, probe.DeepCopy(), client.DryRunAll)
				return apierrors.IsForbidden(err) == (reason == v1alpha1.ReasonPodCreateFailed), ignoreForbidden(err)
			}))
		r.reconcile()
		if c := r.run.Status.Conditions[0]; c.Reason != reason ||
			(reason == v1alpha1.ReasonPodCreateFailed && !strings.Contains(c.Message, `fits Pod Security "baseline"`)) {
			t.Fatalf("%+v", c)
		}
	}
	enforces("restricted", v1alpha1.ReasonPodCreateFailed)
	r.expectAttempts()
	enforces("baseline", v1alpha1.ReasonBuilding)
	r.expectAttempts("Build")
}

// An installation in which builds were disabled ends the Run.
func TestBuildFailsWhenBuildsAreDisabled(t *testing.T) {
	r := newTestEnv(t)
	r.useBuild()
	r.Pods.Builds.Allowed = false
	r.reconcile()
	if c := r.run.Status.Conditions[0]; r.run.Status.Phase != v1alpha1.PhaseFailed ||
		!strings.Contains(c.Message, "this installation builds no images") {
		t.Fatalf("%s %+v", r.run.Status.Phase, c)
	}
}

// The retry of a lost build is another build, because no image exists yet for any other attempt.
func TestLostBuildIsRetriedImmediately(t *testing.T) {
	r := newTestEnv(t)
	r.useBuild()
	r.stack.Spec.Retry.Backoff.Duration = 0
	apiserver.Must(t, r.Env.Client.Update(t.Context(), r.stack))
	r.Seen(r.stack)
	r.reconcile()
	r.expectAttempts("Build")
	apiserver.Must(t, r.Env.Client.Delete(t.Context(), &r.pods()[0], client.GracePeriodSeconds(0)))
	r.reconcile()
	r.expectAttempts("Build PodLost", "Build")
}

// unread is a bucket that cannot be read.
type unread struct{ memory }

func (unread) Get(context.Context, string, int64) ([]byte, error) {
	return nil, errors.New("connection refused")
}

// A running attempt is tracked also while the bucket cannot be read.
func TestBuildIsTrackedWhileTheBucketIsUnavailable(t *testing.T) {
	r := newTestEnv(t)
	r.useBuild()
	r.reconcile()
	r.expectAttempts("Build")
	r.Inputs = inputs.NewStore(unread{})
	apiserver.Must(t, r.Env.Client.Delete(t.Context(), &r.pods()[0], client.GracePeriodSeconds(0)))
	r.reconcile()
	r.expectAttempts("Build PodLost")
}

// The resources were applied in a built image, and the Stack was recreated since: neither its status nor its spec has
// an image.
func TestDestroyBuildsAnImageThatIsNotRecorded(t *testing.T) {
	r := newTestEnv(t)
	r.useBuild()
	r.stack.Spec.Runner.Build = nil
	apiserver.Must(t, r.Env.Client.Update(t.Context(), r.stack))
	r.Seen(r.stack)
	run := r.run.DeepCopy()
	run.Spec.Operation = v1alpha1.OperationDestroy
	if key, err := r.imageKey(t.Context(), run, r.stack); err != nil || key == "" {
		t.Errorf("the image is %q (%v), and the pod could never be created", key, err)
	}
}
