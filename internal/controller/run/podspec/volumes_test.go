package podspec

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/runnerapi"
)

// A destroy has them too, because it has no other way to the state.
func TestBackendIsInTheOrderAndItsSecretsInThePod(t *testing.T) {
	doc := inputs.Document{Backend: &v1alpha1.Backend{
		Type: "s3", Create: true, Config: map[string]apiextensionsv1.JSON{"bucket": {Raw: []byte(`"b"`)}},
		ConfigFrom: []v1alpha1.BackendConfig{{Secret: v1alpha1.ObjectRef{Name: "one"}},
			{Secret: v1alpha1.ObjectRef{Name: "two"}}},
	}}
	for _, operation := range []v1alpha1.Operation{v1alpha1.OperationApply, v1alpha1.OperationDestroy} {
		p := VolumesOf(&v1alpha1.Run{Spec: v1alpha1.RunSpec{Operation: operation}}, doc)
		var order runnerapi.Order
		p.AddTo(&order)
		want := &runnerapi.Backend{
			Type: "s3", Create: true, Config: map[string]json.RawMessage{"bucket": json.RawMessage(`"b"`)},
			ConfigDirs: []string{"backend/00", "backend/01"},
		}
		if diff := cmp.Diff(want, order.Backend) + cmp.Diff(want.ConfigDirs, order.SecretDirs); diff != "" {
			t.Errorf("%s: %s", operation, diff)
		}
		volumes, mounts := p.mount("/inputs")
		if len(volumes) != 2 || volumes[0].Secret.SecretName != "one" || volumes[1].Secret.SecretName != "two" ||
			mounts[1].MountPath != "/inputs/backend/01" || !mounts[1].ReadOnly {
			t.Errorf("%s: %+v %+v", operation, volumes, mounts)
		}
	}
}
