package attacks

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/run/podspec"
)

// rejectsTemplate fails when a pod of a template is created, as that of an engine or of an image build, and when the
// error does not contain a text.
func rejectsTemplate(t *testing.T, template, because string) {
	t.Helper()
	doc := inputs.Document{
		Template: &apiextensionsv1.JSON{Raw: []byte(template)},
		Build:    &inputs.Build{Spec: v1alpha1.Build{Builder: v1alpha1.BuilderKaniko}},
	}
	set := podspec.Settings{CABundle: func() []byte { return nil }}
	set.Builds.Allowed, set.Builds.Images = true, podspec.BuilderImages
	for _, phase := range []v1alpha1.AttemptPhase{v1alpha1.AttemptPlan, v1alpha1.AttemptBuild} {
		_, err := podspec.New(&v1alpha1.Run{}, &v1alpha1.Stack{}, doc, phase, 1, set)
		var invalid *podspec.InvalidError
		if !errors.As(err, &invalid) || !strings.Contains(err.Error(), because) {
			t.Errorf("%s of attempt %s: got %v, want an error with %q", template, phase, err, because)
		}
	}
}

// A user who can create Stacks, and no pods, evicts the pods of others.
func TestTemplateWithASystemPriorityIsRejected(t *testing.T) {
	for _, class := range []string{"system-node-critical", "system-cluster-critical"} {
		rejectsTemplate(t, fmt.Sprintf(`{"spec":{"priorityClassName":%q}}`, class),
			class+" is for components of the cluster")
	}
}

// A user who can create Stacks, and no pods, has other systems change the pod: attach it to a network, mount a folder
// of the node, give it another identity, or take part in the traffic of others.
func TestTemplateWithMetadataOfOtherSystemsIsRejected(t *testing.T) {
	for key, value := range map[string]string{
		"k8s.v1.cni.cncf.io/networks":        "kube-system/management",
		"v1.multus-cni.io/default-network":   "kube-system/management",
		"cni.projectcalico.org/ipAddrs":      `["10.0.0.1"]`,
		"kubernetes.io/egress-bandwidth":     "10P",
		"ovn.kubernetes.io/logical_switch":   "management",
		"sidecar.istio.io/userVolume":        `[{"name":"v","hostPath":{"path":"/"}}]`,
		"inject.istio.io/templates":          "privileged",
		"config.linkerd.io/proxy-image":      "registry.example.com/mine",
		"vault.hashicorp.com/agent-image":    "registry.example.com/mine",
		"iam.amazonaws.com/role":             "admin",
		"scheduler.alpha.kubernetes.io/node": "control-plane-1",
	} {
		for _, kind := range []string{"annotations", "labels"} {
			rejectsTemplate(t, fmt.Sprintf(`{"metadata":{%q:{%q:%q}}}`, kind, key, value), "metadata."+kind+"["+key+
				"] is not allowed in this installation")
		}
	}
}

// A sidecar starts before the runner. If it sees the files of the runner's process, it sends the first request with the
// token of the runner, which is then bound to the sidecar. No installation allows that.
func TestTemplateThatSharesTheNamespacesOfTheRunnerIsRejected(t *testing.T) {
	thief := `"initContainers":[{"name":"thief","image":"busybox","restartPolicy":"Always",` +
		`"command":["sh","-c","while ! cat /proc/[0-9]*/root/cairn/token/token; do :; done"]}]`
	for field, value := range map[string]string{
		"shareProcessNamespace": "true", "hostPID": "true", "hostIPC": "true",
		"ephemeralContainers": `[{"name":"thief","image":"busybox","targetContainerName":"engine"}]`,
	} {
		for _, unrestricted := range []bool{false, true} {
			doc := inputs.Document{
				Template: &apiextensionsv1.JSON{Raw: fmt.Appendf(nil, `{"spec":{%q:%s,%s}}`, field, value, thief)}}
			set := podspec.Settings{CABundle: func() []byte { return nil }, AllowUnrestricted: unrestricted}
			_, err := podspec.New(&v1alpha1.Run{}, &v1alpha1.Stack{}, doc, v1alpha1.AttemptPlan, 1, set)
			var invalid *podspec.InvalidError
			if want := "spec." + field + " is Cairn's own"; !errors.As(err, &invalid) ||
				!strings.Contains(err.Error(), want) {
				t.Errorf("unrestricted %t: got %v, want an error with %q", unrestricted, err, want)
			}
		}
	}
}

// A user who can create Stacks, and no pods, takes all devices of the nodes.
func TestTemplateWithDevicesIsRejected(t *testing.T) {
	for _, spec := range []string{
		`{"resourceClaims":[{"name":"gpu","resourceClaimTemplateName":"gpu"}]}`,
		`{"containers":[{"name":"engine","resources":{"claims":[{"name":"gpu"}]}}]}`,
	} {
		doc := inputs.Document{Template: &apiextensionsv1.JSON{Raw: fmt.Appendf(nil, `{"spec":%s}`, spec)}}
		if err := podspec.CheckTemplate(doc); err == nil ||
			!strings.Contains(err.Error(), "spec.runner.template: spec.") {
			t.Errorf("%s: got %v", spec, err)
		}
	}
}
