package convert

import (
	"encoding/json"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// Backend is where a system kept a state.
type Backend struct {
	v1alpha1.Backend
	// Secrets are arguments whose values are secrets: they are not copied, and belong into a Secret.
	Secrets []string
}

// SetRaw adds an argument as JSON.
func (p *Backend) SetRaw(name string, raw []byte) {
	if p.Config == nil {
		p.Config = map[string]apiextensionsv1.JSON{}
	}
	p.Config[name] = apiextensionsv1.JSON{Raw: raw}
}

// Set adds an argument that is a string.
func (p *Backend) Set(name, value string) {
	raw, _ := json.Marshal(value) // a string always has a JSON form
	p.SetRaw(name, raw)
}

// Get is the argument as a string; empty where it is none.
func (p *Backend) Get(name string) string {
	var text string
	if value, ok := p.Config[name]; ok {
		_ = json.Unmarshal(value.Raw, &text) // what is no string stays empty
	}
	return text
}

// AddSecret names a Secret of arguments.
func (p *Backend) AddSecret(secret string) {
	p.ConfigFrom = append(p.ConfigFrom, v1alpha1.BackendConfig{Secret: v1alpha1.ObjectRef{Name: secret}})
}

// IsDefaultWorkspace returns true for the name of the default workspace, which engines also select for an empty name.
func IsDefaultWorkspace(name string) bool { return name == "" || name == "default" }
