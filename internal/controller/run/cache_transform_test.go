package run

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// whole is a Run with all that there can be in it.
func whole(phase v1alpha1.RunPhase) *v1alpha1.Run {
	at, code := metav1.NewMicroTime(time.Unix(1000, 0)), int32(0)
	step := func(name string, state v1alpha1.StepState) v1alpha1.Step {
		return v1alpha1.Step{Name: name, State: state, StartedAt: &at, FinishedAt: &at, ExitCode: &code,
			Message: name + " says"}
	}
	return &v1alpha1.Run{
		ObjectMeta: metav1.ObjectMeta{Name: "net-1", Labels: map[string]string{runinfo.LabelStack: "net"},
			Annotations: map[string]string{"a": "b"}},
		Status: v1alpha1.RunStatus{
			Phase:      phase,
			Conditions: []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Reason: "Applied", Message: "1 to add"}},
			Plan: &v1alpha1.Plan{
				Digest: "sha256:1", Changes: true, Add: 1,
				Resources: []v1alpha1.ResourceChange{{Address: "a.b", Action: "create"}},
				Outputs:   []v1alpha1.OutputChange{{Name: "vpc", Action: "create"}},
				Untracked: []v1alpha1.UntrackedResource{{Address: "c.d", Reason: "no import"}},
				Policy: &v1alpha1.PolicyResult{Checked: 2, Warned: 1,
					Findings: []v1alpha1.PolicyFinding{{Message: "tag it"}}},
			},
			Attempts: []v1alpha1.Attempt{
				{Number: 1, Phase: v1alpha1.AttemptPlan, Pod: "net-1-plan-1", PodUID: "u", StartedAt: at,
					FinishedAt: &at, Steps: []v1alpha1.Step{step("init", v1alpha1.StepSucceeded),
						step("plan", v1alpha1.StepSucceeded)}},
				{Number: 2, Phase: v1alpha1.AttemptApply, Pod: "net-1-plan-1", PodUID: "u", StartedAt: at,
					FinishedAt: &at, Failure: &v1alpha1.Failure{Class: v1alpha1.FailureTransient},
					Steps: []v1alpha1.Step{
						step("apply", v1alpha1.StepSkipped), step("outputs", v1alpha1.StepFailed),
					}},
			},
		},
	}
}

// Fields dropped from an unfinished Run would be deleted from the API server with the next write of its status.
func TestLeanKeepsAnUnfinishedRunComplete(t *testing.T) {
	for _, phase := range []v1alpha1.RunPhase{"", v1alpha1.PhaseQueued, v1alpha1.PhasePlanning,
		v1alpha1.PhaseAwaitingApproval, v1alpha1.PhaseApplying, v1alpha1.PhaseShell} {
		got := whole(phase)
		TrimRun(got)
		if diff := cmp.Diff(whole(phase), got); diff != "" {
			t.Errorf("%s: %s", phase, diff)
		}
	}
}

func TestLean(t *testing.T) {
	want := whole(v1alpha1.PhaseFailed)
	want.Labels, want.Annotations, want.Status.Plan.Resources, want.Status.Plan.Policy.Findings = nil, nil, nil, nil
	want.Status.Plan.Outputs = nil
	want.Status.Attempts[0].Steps = nil
	want.Status.Attempts[1].Steps = []v1alpha1.Step{
		{Name: "apply", State: v1alpha1.StepSkipped, Message: "apply says"},
		{Name: "outputs", State: v1alpha1.StepFailed, Message: "outputs says"},
	}
	got := whole(v1alpha1.PhaseFailed)
	for range 2 { // a cache may do it twice
		TrimRun(got)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
	ofPull := whole(v1alpha1.PhaseFailed)
	ofPull.Spec.PullRequest = &v1alpha1.RunPullRequest{}
	if TrimRun(ofPull); len(ofPull.Status.Plan.Outputs) != 1 {
		t.Error("a pull request does not show what depends on the outputs of a plan that failed")
	}
	// What is decided on is as before.
	full := whole(v1alpha1.PhaseFailed)
	if runinfo.Began(got) != runinfo.Began(full) ||
		runinfo.Summary(got.Status.Plan) != runinfo.Summary(full.Status.Plan) ||
		runinfo.Orphans(got.Status.Plan) != runinfo.Orphans(full.Status.Plan) {
		t.Errorf("%v %s %s", runinfo.Began(got), runinfo.Summary(got.Status.Plan), runinfo.Orphans(got.Status.Plan))
	}
}

// An apply that was not skipped may have changed resources, so the cache has to keep that it began.
func TestLeanKeepsThatAnApplyBegan(t *testing.T) {
	for _, state := range []v1alpha1.StepState{v1alpha1.StepSkipped, v1alpha1.StepSucceeded, v1alpha1.StepFailed,
		v1alpha1.StepWaiting} {
		r := whole(v1alpha1.PhaseFailed)
		r.Status.Attempts[1].Steps[0].State = state
		want := runinfo.Began(r)
		if TrimRun(r); runinfo.Began(r) != want {
			t.Errorf("%s: began is %v, and was %v", state, runinfo.Began(r), want)
		}
	}
}

func TestLeanPod(t *testing.T) {
	limits := corev1.ResourceList{corev1.ResourceMemory: resource.MustParse("1Gi")}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "net-1-plan-1", UID: "u",
			OwnerReferences: []metav1.OwnerReference{{Kind: "Run"}}},
		Spec: corev1.PodSpec{
			NodeName: "node-1", Volumes: []corev1.Volume{{Name: "work"}},
			ReadinessGates: []corev1.PodReadinessGate{{ConditionType: "x"}},
			Containers: []corev1.Container{{
				Name: runinfo.ShellContainer, Image: "tools", Command: []string{"cairn-runner"},
				Env:          []corev1.EnvVar{{Name: "CAIRN_SERVER_CA_PEM", Value: "long"}},
				Resources:    corev1.ResourceRequirements{Limits: limits, Requests: limits},
				VolumeMounts: []corev1.VolumeMount{{Name: "work"}},
			}},
		},
		Status: corev1.PodStatus{Phase: corev1.PodRunning},
	}
	want := pod.DeepCopy()
	want.Spec = corev1.PodSpec{NodeName: "node-1", ReadinessGates: pod.Spec.ReadinessGates,
		Containers: []corev1.Container{
			{Name: runinfo.ShellContainer, Image: "tools", Resources: corev1.ResourceRequirements{Limits: limits}},
		}}
	TrimPod(pod)
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Error(diff)
	}
}
