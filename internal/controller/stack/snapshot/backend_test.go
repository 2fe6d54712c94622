package snapshot

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stack/decision"
)

func TestErrorsOfABackend(t *testing.T) {
	text := func(s string) apiextensionsv1.JSON { return apiextensionsv1.JSON{Raw: []byte(`"` + s + `"`)} }
	elsewhere := &v1alpha1.State{
		Status: v1alpha1.StateStatus{Version: 3, Backend: &v1alpha1.StateBackend{Type: "s3", Version: 3, Serial: 9}}}
	for name, test := range map[string]struct {
		spec  v1alpha1.StackSpec
		state *v1alpha1.State
		want  string
	}{
		"Cairn's": {v1alpha1.StackSpec{},
			&v1alpha1.State{Status: v1alpha1.StateStatus{Version: 3}}, ""},
		"all required arguments": {
			v1alpha1.StackSpec{
				Backend: &v1alpha1.Backend{Type: "gcs", Config: map[string]apiextensionsv1.JSON{"bucket": text("b")}}},
			elsewhere, ""},
		"a missing argument": {v1alpha1.StackSpec{Backend: &v1alpha1.Backend{Type: "gcs"}}, nil,
			"BackendInvalid spec.backend: backend gcs needs config.bucket"},
		"an argument that a Secret may contain": {
			v1alpha1.StackSpec{Backend: &v1alpha1.Backend{Type: "gcs", ConfigFrom: []v1alpha1.BackendConfig{{}}}}, nil,
			""},
		"an environment variable instead": {v1alpha1.StackSpec{Backend: &v1alpha1.Backend{Type: "http"},
			Env: []corev1.EnvVar{{Name: "TF_HTTP_ADDRESS"}}}, nil, ""},
		"a secret in plain text": {v1alpha1.StackSpec{
			Backend: &v1alpha1.Backend{Type: "pg", Config: map[string]apiextensionsv1.JSON{"conn_str": text("x")}}},
			nil,
			"BackendInvalid spec.backend: config.conn_str is a secret"},
		"the backend of the code": {v1alpha1.StackSpec{Backend: &v1alpha1.Backend{FromCode: true}}, nil, ""},
		"the backend of the code, and one for code without it": {v1alpha1.StackSpec{Backend: &v1alpha1.Backend{
			FromCode: true, Type: "gcs", Config: map[string]apiextensionsv1.JSON{"bucket": text("b")}}}, nil, ""},
		"the backend of the code, and one with a missing argument": {v1alpha1.StackSpec{
			Backend: &v1alpha1.Backend{FromCode: true, Type: "gcs"}}, nil,
			"BackendInvalid spec.backend: backend gcs needs config.bucket"},
		"the backend of the code, and one for Terragrunt": {v1alpha1.StackSpec{Engine: v1alpha1.Engine{
			Name: v1alpha1.EngineTerragrunt},
			Backend: &v1alpha1.Backend{FromCode: true, Type: "gcs",
				Config: map[string]apiextensionsv1.JSON{"bucket": text("b")}}}, nil,
			"BackendInvalid spec.backend: type beside fromCode does not work with Terragrunt"},
		"no backend, and the state is in one": {v1alpha1.StackSpec{}, elsewhere,
			"BackendMigrationRequired the state is in backend s3 (serial 9 when it was last seen), and " +
				"spec.backend is gone"},
	} {
		got := ""
		stack := &v1alpha1.Stack{Spec: test.spec}
		p := checkBackend(&decision.Snapshot{Stack: stack, Effective: stack, State: test.state})
		if p == nil {
			p = checkBackendOf(test.spec.Backend, test.spec.Engine.Name)
		}
		if p != nil {
			got = p.Reason + " " + p.Message
		}
		if !strings.HasPrefix(got, test.want) || (test.want == "") != (got == "") {
			t.Errorf("%s: %q", name, got)
		}
	}
	refs := references(&v1alpha1.Stack{Spec: v1alpha1.StackSpec{
		Backend: &v1alpha1.Backend{Type: "s3",
			ConfigFrom: []v1alpha1.BackendConfig{{Secret: v1alpha1.ObjectRef{Name: "keys"}}}},
	}})
	if len(refs) != 1 || refs[0] != (Reference{Kind: "Secret", Name: "keys", Why: "spec.backend.configFrom[0]"}) {
		t.Errorf("%+v", refs)
	}
}
