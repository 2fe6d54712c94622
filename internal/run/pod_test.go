package run

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/inputs"
)

var update = flag.Bool("update", false, "write the golden files anew")

// everything an inputs document can refer to.
var everything = inputs.Document{
	Source:             "sha256:code",
	Engine:             v1alpha1.Engine{Name: v1alpha1.EngineOpenTofu, Version: "~> 1.12"},
	ServiceAccountName: "net-runner",
	Resources: v1alpha1.Resources{Requests: map[corev1.ResourceName]v1alpha1.Amount{
		corev1.ResourceCPU: {IntOrString: intstr.FromInt32(2)}, corev1.ResourceMemory: {IntOrString: intstr.FromString("1.5Gi")},
	}},
	Variables: []v1alpha1.Variable{
		{Name: "servers", Value: &apiextensionsv1.JSON{Raw: []byte("3")}},
		{Name: "password", ValueFrom: &v1alpha1.ValueFrom{Secret: &v1alpha1.KeyRef{Name: "db", Key: "password"}}},
		{Name: "vpc_id", ValueFrom: &v1alpha1.ValueFrom{Stack: &v1alpha1.OutputRef{Name: "vpc", Output: "id"}}},
		{Name: "zone", ValueFrom: &v1alpha1.ValueFrom{ConfigMap: &v1alpha1.KeyRef{Name: "site", Key: "zone"}}},
	},
	VariableFiles: []v1alpha1.VariableFile{
		{Secret: &v1alpha1.ObjectRef{Name: "net-tfvars"}},
		{Path: "envs/./prod.tfvars"},
		{ConfigMap: &v1alpha1.ObjectRef{Name: "common"}},
	},
	ModuleCredentials: []v1alpha1.ModuleCredentials{
		{Host: "git.example.com", Secret: v1alpha1.ObjectRef{Name: "forge"}},
		{Host: "localhost:8443", Secret: v1alpha1.ObjectRef{Name: "other"}},
	},
	Env: []corev1.EnvVar{
		{Name: "AWS_REGION", Value: "eu-west-1"},
		{Name: "AWS_SECRET_ACCESS_KEY", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "aws"}, Key: "key"}}},
	},
	EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "more"}}}},
	Hooks: []inputs.Hook{
		{Step: "init", When: v1alpha1.HookBefore, Script: "echo about to init in $PWD"},
		{Step: "plan", When: v1alpha1.HookAfter, Script: "#!/bin/sh\nexit 1\n", OnFailure: v1alpha1.HookContinue},
	},
	Policies: []inputs.Policy{{Name: "rules", Files: map[string]string{"tags.rego": "package main"}}},
}

func podWorld() World {
	w := world()
	w.Run.Namespace, w.Run.UID, w.Run.Spec.Stack.Name = "infra", "run-uid", "net"
	w.Run.Spec.Revision = "main@sha1:1f3c"
	w.Run.Spec.Cause = v1alpha1.Cause{Type: v1alpha1.CauseCommit, Message: "1f3c Widen the subnet", By: "alice"}
	return w
}

var settings = PodSettings{
	StoreURL: "https://store:8443", CABundle: func() []byte { return []byte("PEM") },
	RunnerImage: "cairn:1", RunnerCommand: "/usr/local/bin/cairn-runner", EngineImage: "cairn-tools:1",
}

func TestBuildPod(t *testing.T) {
	for name, operation := range map[string]v1alpha1.Operation{"pod-apply": v1alpha1.OperationApply, "pod-destroy": v1alpha1.OperationDestroy} {
		t.Run(name, func(t *testing.T) {
			w := podWorld()
			w.Run.Spec.Operation = operation
			golden(t, name, buildPod(w.Run, w.Stack, everything, v1alpha1.AttemptPlan, 1, settings))
		})
	}
}

func TestOrderOf(t *testing.T) {
	for name, operation := range map[string]v1alpha1.Operation{"order-apply": v1alpha1.OperationApply, "order-destroy": v1alpha1.OperationDestroy} {
		t.Run(name, func(t *testing.T) {
			w := podWorld()
			planned(&w)
			w.Run.Spec.Operation = operation
			deleting(&w)
			golden(t, name, orderOf(w.Run, w.Stack, everything))
		})
	}
}

func golden(t *testing.T, name string, v any) {
	t.Helper()
	got, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".yaml")
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is another one (run with -update if that is meant):\n%s", path, diff)
	}
}

// Names of any length that the API server takes give names and labels that it takes.
func TestLongNames(t *testing.T) {
	for _, length := range []int{1, 62, 63, 64, 200} {
		w := podWorld()
		w.Stack.Name = strings.Repeat("n", length-1) + "x"
		w.Run.Name = Name(w.Stack.Name, 12345)
		w.Run.ObjectMeta.UID = "uid"
		pod := buildPod(w.Run, w.Stack, inputs.Document{}, v1alpha1.AttemptApply, 100, settings)
		if len(pod.Name) > 253 {
			t.Errorf("a Stack's name of %d characters gives a pod's name of %d", length, len(pod.Name))
		}
		for _, value := range pod.Labels {
			if len(value) > 63 {
				t.Errorf("a Stack's name of %d characters gives a label of %d", length, len(value))
			}
		}
		if Number(w.Run.Name) != 12345 {
			t.Errorf("%s has the number %d", w.Run.Name, Number(w.Run.Name))
		}
	}
	if LabelValue(strings.Repeat("a", 64)) == LabelValue(strings.Repeat("a", 65)) {
		t.Error("two long names share a label")
	}
}

func TestObservePod(t *testing.T) {
	waiting := func(reason string) *corev1.Pod {
		return &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending, ContainerStatuses: []corev1.ContainerStatus{
			{Name: "engine", State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: "why"}}},
		}}}
	}
	for name, tt := range map[string]struct {
		pod  *corev1.Pod
		gone bool
		want Pod
	}{
		"not known":              {want: Pod{State: PodUnknown}},
		"known to be gone":       {gone: true, want: Pod{State: PodGone, Message: "the pod was deleted"}},
		"starting":               {pod: waiting("ContainerCreating"), want: Pod{State: PodPending}},
		"without its image":      {pod: waiting("ImagePullBackOff"), want: Pod{State: PodPending, Message: "ImagePullBackOff: why"}},
		"without a value":        {pod: waiting("CreateContainerConfigError"), want: Pod{State: PodPending, Message: "CreateContainerConfigError: why", Broken: true}},
		"running":                {pod: &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodRunning}}, want: Pod{State: PodRunning}},
		"on a node that is away": {pod: &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodUnknown}}, want: Pod{State: PodUnknown}},
		"evicted":                {pod: &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "The node was low on memory."}}, want: Pod{State: PodEnded, Message: "the pod ended: Evicted The node was low on memory."}},
		"killed": {pod: &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodFailed, ContainerStatuses: []corev1.ContainerStatus{
			{Name: "engine", State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}},
		}}}, want: Pod{State: PodEnded, Message: "the pod's container engine ended with exit code 137 (OOMKilled)"}},
		"not scheduled": {pod: &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: "Unschedulable", Message: "0/3 nodes are available"},
		}}}, want: Pod{State: PodPending, Message: "Unschedulable: 0/3 nodes are available"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, observePod(tt.pod, tt.gone)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
