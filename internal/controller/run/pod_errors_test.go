package run

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/internal/controller/run/decision"
	"cairn.dev/cairn/internal/controller/run/runtest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"cairn.dev/cairn/api/v1alpha1"
)

func snapshot() decision.Snapshot {
	return decision.Snapshot{Now: runtest.Now, Stack: runtest.Stack(), Run: runtest.Run()}
}

func forbidden(why string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "net-7-plan-1", errors.New(why))
}

// rejectedFixture is a pod as Cairn creates it, as far as advice names it.
func rejectedFixture() *corev1.Pod {
	quantity := resource.MustParse
	return &corev1.Pod{Spec: corev1.PodSpec{
		InitContainers: []corev1.Container{{Name: "runner", Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: quantity("10m"), corev1.ResourceMemory: quantity("32Mi")},
		}}},
		Containers: []corev1.Container{{Name: "engine", Resources: corev1.ResourceRequirements{
			Limits: corev1.ResourceList{corev1.ResourceMemory: quantity("1Gi")},
		}}},
	}}
}

// The messages are copied from API servers.
func TestRejected(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		says string
	}{
		"a quota": {
			forbidden("exceeded quota: few, requested: pods=1, used: pods=5, limited: pods=5"),
			`the pod cannot be created: pods "net-7-plan-1" is forbidden: exceeded quota: few, requested: pods=1, used: pods=5, limited: pods=5; it waits until others of the namespace have ended, or the ResourceQuota allows more`,
		},
		"a quota of what the pod does not say": {
			forbidden("failed quota: few: must specify limits.memory for: engine,runner"),
			"; the ResourceQuota asks for it: set the resources of " +
				"container runner (requests cpu 10m, memory 32Mi) in spec.runner.template, of container engine " +
				"(limits memory 1Gi) in spec.runner.resources",
		},
		"a LimitRange that the init container violates": {
			forbidden("minimum cpu usage per Container is 100m, but request is 10m"),
			"; the LimitRange asks for it: set the resources of container runner (requests cpu 10m",
		},
		"a LimitRange with a ratio": {
			forbidden("memory max limit to request ratio per Container is 2, but provided ratio is 4.000000"),
			"; the LimitRange asks for it: set the resources of",
		},
		"a default limit below the init container's request": {
			apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "net-7-plan-1", field.ErrorList{field.Invalid(
				field.NewPath("spec", "initContainers").Index(0).Child("resources", "requests"), "10m",
				"must be less than or equal to cpu limit of 5m")}),
			"is below what is asked for: set the resources of container runner (requests cpu 10m, memory 32Mi) in " +
				"spec.runner.template",
		},
		"a default limit below the engine's request": {
			apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "net-7-plan-1", field.ErrorList{field.Invalid(
				field.NewPath("spec", "containers").Index(0).Child("resources", "requests"), "1",
				"must be less than or equal to cpu limit of 5m")}),
			"is below what is asked for: set the resources of container engine (limits memory 1Gi) in " +
				"spec.runner.resources",
		},
		"an account": {
			forbidden(`error looking up service account infra/runner: serviceaccount "runner" not found`),
			"; create that ServiceAccount, or set spec.runner.serviceAccountName",
		},
		"Pod Security": {
			forbidden(`violates PodSecurity "restricted:latest": hostPath volumes (volume "v")`),
			"; change spec.runner.template, or what the namespace enforces",
		},
		"a class": {
			forbidden("no PriorityClass with name urgent was found"), "; create that PriorityClass",
		},
		"Cairn itself": {
			apierrors.NewForbidden(schema.GroupResource{Resource: "pods"}, "",
				errors.New(`User "system:serviceaccount:cairn-system:cairn" cannot create resource "pods" in API group "" in the namespace "infra"`)),
			"; Cairn has no permission to create pods in this namespace",
		},
		"a policy": {
			forbidden("ValidatingAdmissionPolicy 'images' with binding 'images' denied request: only our registry"),
			"; that policy has to allow it",
		},
		"a webhook, whatever code it gives": {
			&apierrors.StatusError{ErrStatus: metav1.Status{Status: "Failure", Code: 400, Reason: "BadRequest",
				Message: `admission webhook "a.b" denied the request: no`}}, "; that webhook has to allow it",
		},
		"a webhook that is away": {
			apierrors.NewInternalError(
				errors.New(`failed calling webhook "a.b": failed to call webhook: Post "https://a.b.svc:443/": no endpoints available`)), "; that webhook has to answer again",
		},
		"a name that is taken": {
			fmt.Errorf("pod net-7-plan-1: %w", errNameTaken), "pod net-7-plan-1: it exists and is not of this Run",
		},
	} {
		t.Run(name, func(t *testing.T) {
			if !IsRejection(tt.err) {
				t.Fatal("it is not a rejection")
			}
			s, d := rejectedPod(snapshot(), v1alpha1.RunStatus{}, rejectedFixture(), tt.err)
			if !strings.HasPrefix(d.Message, "the pod cannot be created: ") || !strings.Contains(d.Message, tt.says) ||
				s.Phase != v1alpha1.PhaseQueued || d.Reason != v1alpha1.ReasonPodCreateFailed {
				t.Errorf("%s %+v", s.Phase, d)
			}
		})
	}
	for name, err := range map[string]error{
		"a server that is away":        apierrors.NewServiceUnavailable("away"),
		"a server that has too much":   apierrors.NewTooManyRequests("later", 1),
		"an error that is none of its": errors.New("connection refused"),
		"a server that fails":          apierrors.NewInternalError(errors.New("etcd")),
	} {
		if IsRejection(err) {
			t.Errorf("%s is a rejection", name)
		}
	}
}

func TestRejectedPodIsRetriedWithBackoff(t *testing.T) {
	for waited, want := range map[time.Duration]time.Duration{0: minRetry, 20 * time.Second: minRetry,
		2 * time.Minute: 30 * time.Second, time.Hour: maxRetry} {
		w := snapshot()
		w.Now = w.Now.Add(waited)
		w.Run.CreationTimestamp = metav1.NewTime(runtest.Now)
		if got := retryAfter(w); got != want {
			t.Errorf("after %s it is retried in %s", waited, got)
		}
		w.Run.CreationTimestamp = metav1.Time{}
		runtest.Planned(w.Run)
		if got := retryAfter(w); got != want {
			t.Errorf("%s after its plan it is retried in %s", waited, got)
		}
	}
}

// A webhook may answer with another text each time. Each write of it would start another attempt to create the pod at
// once.
func TestChangingWebhookMessageIsWrittenOnce(t *testing.T) {
	says := func(s v1alpha1.RunStatus, format string, args ...any) v1alpha1.RunStatus {
		s, _ = rejectedPod(snapshot(), *s.DeepCopy(), nil, apierrors.NewInternalError(fmt.Errorf(format, args...)))
		return s
	}
	reset := `failed calling webhook "a.b": Post "https://a.b.svc:443/": read tcp 10.0.0.7:%d->10.0.0.8:443: read: connection reset by peer`
	first := says(v1alpha1.RunStatus{}, reset, 41234)
	if again := says(first, reset, 50001); !equality.Semantic.DeepEqual(first, again) {
		t.Errorf("it said %q, and says %q", first.Conditions[0].Message, again.Conditions[0].Message)
	}
	if other := says(first, `admission webhook "a.b" denied the request: no`); !strings.Contains(
		other.Conditions[0].Message, "request: no") {
		t.Errorf("of another reason it says %q", other.Conditions[0].Message)
	}
	few := forbidden("exceeded quota: few, requested: pods=1, used: pods=5, limited: pods=5")
	s, _ := rejectedPod(snapshot(), v1alpha1.RunStatus{}, nil, few)
	s, _ = rejectedPod(snapshot(), s, nil,
		forbidden("exceeded quota: few, requested: pods=1, used: pods=9, limited: pods=9"))
	if !strings.Contains(s.Conditions[0].Message, "limited: pods=9") {
		t.Errorf("of a quota it says %q", s.Conditions[0].Message)
	}
}

func TestRejectedBuildReportsWhatItNeeds(t *testing.T) {
	err := explainBuildRejection(errors.New(`pods "a" is forbidden: violates PodSecurity "restricted:latest": x`))
	if !strings.Contains(err.Error(), `fits Pod Security "baseline"`) {
		t.Error(err)
	}
	if other := errors.New("exceeded quota"); !errors.Is(explainBuildRejection(other), other) ||
		explainBuildRejection(other).Error() != other.Error() {
		t.Error("any refusal is said to be of Pod Security")
	}
}
