package podspec

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/controller/run/runtest"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

var toBuild = runtest.ToBuild

func buildSettings(change ...func(*BuildSettings)) Settings {
	set := settings
	set.Builds = BuildSettings{Allowed: true, Images: map[v1alpha1.Builder]string{"Buildah": "buildah:1",
		"BuildKit": "buildkit:1", "Kaniko": "kaniko:1"}}
	for _, c := range change {
		c(&set.Builds)
	}
	return set
}

func with(b v1alpha1.Builder) func(*v1alpha1.Build) { return func(s *v1alpha1.Build) { s.Builder = b } }

func TestBuilderPods(t *testing.T) {
	for name, tt := range map[string]struct {
		doc inputs.Document
		set Settings
		fit api.Level
	}{
		"pod-buildah": {toBuild(), buildSettings(), api.LevelBaseline},
		"pod-buildkit": {toBuild(with("BuildKit"), func(b *v1alpha1.Build) {
			b.BuilderImage, b.PushSecret = "mine:1", nil
		}), buildSettings(), api.LevelBaseline},
		"pod-kaniko": {toBuild(with("Kaniko")), buildSettings(), api.LevelBaseline},
		"pod-unconfined": {toBuild(), buildSettings(func(b *BuildSettings) {
			b.Unconfined, b.UserNamespace = true, true
		}), api.LevelPrivileged},
	} {
		t.Run(name, func(t *testing.T) {
			w := podSnapshot()
			pod, err := New(w.Run, w.Stack, tt.doc, v1alpha1.AttemptBuild, 1, tt.set)
			if err != nil {
				t.Fatal(err)
			}
			runtest.Golden(t, name, pod)
			evaluator, err := security()
			if err != nil {
				t.Fatal(err)
			}
			level := api.LevelVersion{Level: tt.fit, Version: api.LatestVersion()}
			if all := policy.AggregateCheckResults(evaluator.EvaluatePod(level, &pod.ObjectMeta,
				&pod.Spec)); !all.Allowed {
				t.Errorf("it does not fit %s: %s", tt.fit, all.ForbiddenDetail())
			}
			expectNothingOfTheStack(t, pod)
		})
	}
}

// expectNothingOfTheStack: no Secret but the one to push with, no environment, no account.
func expectNothingOfTheStack(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	for _, v := range pod.Spec.Volumes {
		if v.ConfigMap != nil || (v.Secret != nil && v.Secret.SecretName != "registry-push") {
			t.Errorf("volume %s", v.Name)
		}
	}
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		for _, e := range c.Env {
			if e.ValueFrom != nil || (e.Name != "CAIRN_SERVER_CA_PEM" && e.Name != "HOME") {
				t.Errorf("env %s", e.Name)
			}
		}
		if len(c.EnvFrom) > 0 || (c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged) {
			t.Errorf("container %s: %+v", c.Name, c)
		}
	}
	if pod.Spec.ServiceAccountName != "default" || pod.Labels[runinfo.LabelRun] != "net-7" {
		t.Errorf("account %s, labels %v", pod.Spec.ServiceAccountName, pod.Labels)
	}
}

func TestInvalidBuildsAreRejected(t *testing.T) {
	for name, tt := range map[string]struct {
		set  Settings
		want string
	}{
		"builds are not allowed": {settings, "this installation builds no images (--allow-image-builds)"},
		"no image": {buildSettings(func(b *BuildSettings) { b.Images = nil }),
			"the installation names no image of Buildah"},
	} {
		w := podSnapshot()
		_, err := New(w.Run, w.Stack, toBuild(), v1alpha1.AttemptBuild, 1, tt.set)
		var unfit *InvalidError
		if !errors.As(err, &unfit) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The engine runs only in the built image, pinned by its digest.
func TestEngineRunsInTheBuiltImage(t *testing.T) {
	doc := toBuild()
	key, err := doc.Build.Key()
	if err != nil {
		t.Fatal(err)
	}
	in, err := WithImage(doc, v1alpha1.AttemptPlan, runtest.Built(key))
	if err != nil {
		t.Fatal(err)
	}
	in.Template = nil
	w := podSnapshot()
	pod, err := New(w.Run, w.Stack, in, v1alpha1.AttemptPlan, 1, settings)
	if err != nil {
		t.Fatal(err)
	}
	if got := pod.Spec.Containers[0].Image; got != "registry.example.com/acme/terraform@"+runtest.ImageDigest {
		t.Error(got)
	}
	if got := pod.Spec.ImagePullSecrets; len(got) != 1 || got[0].Name != "registry-push" {
		t.Errorf("the kubelet pulls with %v", got)
	}
	for _, v := range pod.Spec.Volumes {
		if v.Secret != nil && v.Secret.SecretName == "registry-push" {
			t.Error("the engine's pod has the credentials to push with")
		}
	}
	for name, image := range map[string]*v1alpha1.BuiltImage{"none": nil,
		"of another key": runtest.Built("sha256:other"), "not pushed": {Key: key}} {
		if _, err := WithImage(doc, v1alpha1.AttemptApply, image); err == nil {
			t.Errorf("an image %s is accepted", name)
		}
	}
	if in, err := WithImage(everything, v1alpha1.AttemptPlan, nil); err != nil || in.Image != "" {
		t.Errorf("a Run that builds none runs in %q: %v", in.Image, err)
	}
}

// What a template may not set for the engine it may not set for a build: the installation decides how confined a build
// is.
func TestTemplateGivesABuildNoMoreRights(t *testing.T) {
	doc := toBuild()
	doc.Template = template(t,
		`{metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/engine: unconfined, team: net}}}`)
	w := podSnapshot()
	_, err := New(w.Run, w.Stack, doc, v1alpha1.AttemptBuild, 1, buildSettings())
	expectUnfit(t, err, "spec.runner.template", "AppArmor")
	for name, set := range map[string]Settings{
		"more": buildSettings(), "builds that are confined by nothing": buildSettings(func(b *BuildSettings) {
			b.Unconfined = true
		}),
	} {
		set.AllowUnrestricted, set.MetadataKeys = name == "more",
			[]string{"container.apparmor.security.beta.kubernetes.io/"}
		if _, err := New(w.Run, w.Stack, doc, v1alpha1.AttemptBuild, 1, set); err != nil {
			t.Errorf("where the installation allows %s: %v", name, err)
		}
	}
}
