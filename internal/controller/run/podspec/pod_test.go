package podspec

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/run/decision"
	"cairn.dev/cairn/internal/controller/run/runtest"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

var everything = runtest.Everything

// podSnapshot is a Stack and its Run, as the API server has them.
func podSnapshot() decision.Snapshot {
	return decision.Snapshot{Stack: runtest.Stack(), Run: runtest.Run(runtest.Committed)}
}

var settings = Settings{
	ServerURL: "https://server:8443", CABundle: func() []byte { return []byte("PEM") },
	RunnerImage: "cairn:1", RunnerCommand: "/usr/local/bin/cairn-runner", EngineImage: "cairn-tools:1",
}

func TestBuildPod(t *testing.T) {
	for name, operation := range map[string]v1alpha1.Operation{"pod-apply": v1alpha1.OperationApply,
		"pod-destroy": v1alpha1.OperationDestroy} {
		t.Run(name, func(t *testing.T) {
			w := podSnapshot()
			w.Run.Spec.Operation = operation
			runtest.Golden(t, name, BuildPod(w.Run, w.Stack, everything, v1alpha1.AttemptPlan, 1, settings))
		})
	}
}

// Names of any length that the API server takes give names and labels that it takes.
func TestLongNames(t *testing.T) {
	for _, length := range []int{1, 62, 63, 64, 200} {
		w := podSnapshot()
		w.Stack.Name = strings.Repeat("n", length-1) + "x"
		w.Run.Name = runinfo.Name(w.Stack.Name, 12345)
		w.Run.ObjectMeta.UID = "uid"
		pod := BuildPod(w.Run, w.Stack, inputs.Document{}, v1alpha1.AttemptApply, 100, settings)
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

// Pods of the default image start without an init container that copies the runner. All others have one.
func TestDefaultImageNeedsNoCopyOfTheRunner(t *testing.T) {
	set := Settings{CABundle: func() []byte { return nil }, EngineImage: "tools:1", RunnerImage: "cairn:1",
		EngineHasRunner: true}
	template := &apiextensionsv1.JSON{Raw: []byte(`{"metadata": {"labels": {"a": "b"}}}`)}
	for name, test := range map[string]struct {
		doc    inputs.Document
		copies bool
	}{
		"a Stack that names no image":     {inputs.Document{}, false},
		"a Stack with an image":           {inputs.Document{Image: "other:1"}, true},
		"a Stack with a pod template too": {inputs.Document{Template: template}, true},
	} {
		pod, err := New(&v1alpha1.Run{}, &v1alpha1.Stack{}, test.doc, v1alpha1.AttemptPlan, 1, set)
		if err != nil {
			t.Fatal(err)
		}
		mounted := slices.ContainsFunc(pod.Spec.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool {
			return m.MountPath == runinfo.DirBin
		})
		has := slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == binVolume })
		if copies := len(pod.Spec.InitContainers) > 0; copies != test.copies || mounted != test.copies ||
			has != test.copies {
			t.Errorf("%s: copied %v, mounted %v, a volume %v; want %v", name, copies, mounted, has, test.copies)
		}
	}
}

// Images of providers are for pods that run an engine, and a template cannot put others in their place.
func TestProviderImagesAreMounted(t *testing.T) {
	set := Settings{CABundle: func() []byte { return nil }, EngineImage: "tools:1", RunnerImage: "cairn:1",
		ProviderImages: []string{"aws:5", "google:6"}}
	w := podSnapshot()
	for phase, want := range map[v1alpha1.AttemptPhase][]string{
		v1alpha1.AttemptPlan:  {"/cairn/inputs/providers/00=aws:5", "/cairn/inputs/providers/01=google:6"},
		v1alpha1.AttemptApply: {"/cairn/inputs/providers/00=aws:5", "/cairn/inputs/providers/01=google:6"},
		v1alpha1.AttemptBuild: nil,
	} {
		pod := BuildPod(w.Run, w.Stack, inputs.Document{}, phase, 1, set)
		images := map[string]string{}
		for _, v := range pod.Spec.Volumes {
			if v.Image != nil {
				images[v.Name] = v.Image.Reference
			}
		}
		var got []string
		for _, m := range pod.Spec.Containers[0].VolumeMounts {
			if image, ok := images[m.Name]; ok && m.ReadOnly {
				got = append(got, m.MountPath+"="+image)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", phase, diff)
		}
	}
	for _, template := range []string{
		`{"spec": {"volumes": [{"name": "inputs-providers-0", "image": {"reference": "evil:1"}}]}}`,
		`{"spec": {"volumes": [{"name": "mine", "image": {"reference": "evil:1"}}], "containers": [{"name": "engine", "volumeMounts": [{"name": "mine", "mountPath": "/cairn/inputs/providers/02"}]}]}}`,
	} {
		doc := inputs.Document{Template: &apiextensionsv1.JSON{Raw: []byte(template)}}
		if _, err := New(w.Run, w.Stack, doc, v1alpha1.AttemptPlan, 1, set); err == nil {
			t.Errorf("accepted: %s", template)
		}
	}
}

// An apply runs in the image of its plan with the runner of this version. No other attempt does.
func TestApplyRunsInTheImageOfItsPlan(t *testing.T) {
	const image = "tools:1@" + runtest.ImageDigest
	set := Settings{CABundle: func() []byte { return nil }, EngineImage: "tools:2", RunnerImage: "cairn:2",
		EngineHasRunner: true, EnginePullPolicy: "Never"}
	for phase, want := range map[v1alpha1.AttemptPhase]string{v1alpha1.AttemptApply: image,
		v1alpha1.AttemptPlan: "tools:2"} {
		w := podSnapshot()
		w.Run.Status.Plan = &v1alpha1.Plan{Image: image}
		pod, err := New(w.Run, w.Stack, inputs.Document{}, phase, 2, set)
		if err != nil {
			t.Fatal(err)
		}
		engine := pod.Spec.Containers[0]
		if copies := len(pod.Spec.InitContainers) == 1; engine.Image != want || engine.ImagePullPolicy != "Never" ||
			copies != (phase == v1alpha1.AttemptApply) {
			t.Errorf("%s: %s, %s, copies the runner: %v", phase, engine.Image, engine.ImagePullPolicy, copies)
		}
	}
}
