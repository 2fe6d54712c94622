//go:build envtest

package cairn

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/test/apiserver"
)

const alustanCRD = "CustomResourceDefinition  terraforms.alustan.io"

// The chart has the CRD of alustan for clusters without it. It is installed only on request, and kept at
// uninstallation.
func TestCRDOfAlustanIsOptional(t *testing.T) {
	for name, test := range map[string]struct {
		set         string
		there, kept bool
	}{
		"by default it is not installed": {"log.level=info", false, false},
		"nor with metacontroller alone":  {"metacontroller.enabled=true", false, false},
		"asked for it is installed, and stays": {"metacontroller.enabled=true,metacontroller.crds.install=true",
			true, true},
		"it goes with Cairn only where one says": {
			"metacontroller.enabled=true,metacontroller.crds.install=true,metacontroller.crds.keep=false", true, false},
		"without metacontroller there is no use": {"metacontroller.crds.install=true", false, false},
		"Cairn's own kinds are another question": {
			"metacontroller.enabled=true,metacontroller.crds.install=true,crds.install=false", true, true},
	} {
		got := parse(t, render(t, "--set="+test.set))[alustanCRD]
		kept := got != nil && got.GetAnnotations()["helm.sh/resource-policy"] == "keep"
		if (got != nil) != test.there || kept != test.kept {
			t.Errorf("%s: there %v, kept %v", name, got != nil, kept)
		}
	}
}

// The API server accepts objects of alustan unchanged.
func TestObjectsOfAlustanAreAccepted(t *testing.T) {
	c := connect(t)
	crd := &apiextensionsv1.CustomResourceDefinition{}
	apiserver.Must(t, yaml.Unmarshal([]byte(read(t, "files/alustan/terraforms.yaml")), crd))
	options := envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{crd}}
	_, err := envtest.InstallCRDs(apiserver.Config, options)
	apiserver.Must(t, err)
	t.Cleanup(func() { apiserver.Must(t, envtest.UninstallCRDs(apiserver.Config, options)) })
	files, err := filepath.Glob("../../migrate/testdata/alustan/*.yaml")
	apiserver.Must(t, err)
	taken := 0
	for _, file := range files {
		if strings.HasSuffix(file, ".golden.yaml") {
			continue
		}
		for _, o := range parse(t, read(t, file)) {
			if o.GetKind() != "Terraform" {
				continue
			}
			text, err := o.MarshalJSON()
			apiserver.Must(t, errors.Join(err, o.UnmarshalJSON(text))) // for integers, as the API server has them
			o.SetNamespace("default")
			unstructured.RemoveNestedField(o.Object, "status")
			want := o.DeepCopy().Object["spec"]
			if err := c.Create(t.Context(), o, client.DryRunAll, client.FieldValidation("Strict")); err != nil {
				t.Errorf("%s %s: %v", file, o.GetName(), err)
				continue
			}
			if diff := cmp.Diff(want, o.Object["spec"]); diff != "" {
				t.Errorf("%s %s lost fields:\n%s", file, o.GetName(), diff)
			}
			taken++
		}
	}
	if taken < 5 {
		t.Errorf("%d objects", taken)
	}
}
