package run

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/run/runinfo"
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
		w.Run.Name = runinfo.Name(w.Stack.Name, 12345)
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
		if runinfo.Number(w.Run.Name) != 12345 {
			t.Errorf("%s has the number %d", w.Run.Name, runinfo.Number(w.Run.Name))
		}
	}
	if runinfo.LabelValue(strings.Repeat("a", 64)) == runinfo.LabelValue(strings.Repeat("a", 65)) {
		t.Error("two long names share a label")
	}
}

// TestTheRunnerIsInTheDefaultImage: its pods start without a copy, and so the kubelet's second; no others do.
func TestTheRunnerIsInTheDefaultImage(t *testing.T) {
	set := PodSettings{CABundle: func() []byte { return nil }, EngineImage: "tools:1", RunnerImage: "cairn:1", EngineHasRunner: true}
	template := &apiextensionsv1.JSON{Raw: []byte(`{"metadata": {"labels": {"a": "b"}}}`)}
	for name, test := range map[string]struct {
		doc    inputs.Document
		copies bool
	}{
		"a Stack that names no image":     {inputs.Document{}, false},
		"a Stack with an image":           {inputs.Document{Image: "other:1"}, true},
		"a Stack with a pod template too": {inputs.Document{Template: template}, true},
	} {
		pod, err := makePod(&v1alpha1.Run{}, &v1alpha1.Stack{}, test.doc, v1alpha1.AttemptPlan, 1, set)
		if err != nil {
			t.Fatal(err)
		}
		mounted := slices.ContainsFunc(pod.Spec.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == dirBin })
		has := slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == binVolume })
		if copies := len(pod.Spec.InitContainers) > 0; copies != test.copies || mounted != test.copies || has != test.copies {
			t.Errorf("%s: copied %v, mounted %v, a volume %v; want %v", name, copies, mounted, has, test.copies)
		}
	}
}
