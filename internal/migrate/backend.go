package migrate

import (
	"encoding/json"
	"fmt"
	"regexp"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/hclparse"
)

// place is where a system kept a state.
type place struct {
	v1alpha1.Backend
	// Secrets are arguments whose values are secrets: they are not copied, and belong into a Secret.
	Secrets []string
}

// secretArgument is the name of an argument that has, or may have, a secret for its value.
var secretArgument = regexp.MustCompile(`(?i)(secret(_key)?$|secret_key|password|token|private_key|client_key|sas_|access_key|credentials$|conn_str|encryption_key|customer_key|http_auth|client_certificate$)`)

// readBackend reads a backend block, with or without the terraform block around it. An error says what is wrong, without values.
func readBackend(text string) (*place, error) {
	body, err := hclparse.Parse([]byte(text), "backend", false)
	if err != nil {
		return nil, fmt.Errorf("it is not HCL that can be read")
	}
	root, ok := body.(*hclsyntax.Body)
	if !ok {
		return nil, fmt.Errorf("it is not HCL that can be read")
	}
	found, err := backendBlocks(root)
	if err != nil {
		return nil, err
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d backend blocks are in it, and one is wanted", len(found))
	}
	return readArguments(found[0])
}

// backendBlocks are those of a body and of its terraform blocks. A cloud block keeps the state where no backend can.
func backendBlocks(body *hclsyntax.Body) ([]*hclsyntax.Block, error) {
	var found []*hclsyntax.Block
	for _, b := range body.Blocks {
		switch {
		case b.Type == "backend" && len(b.Labels) == 1:
			found = append(found, b)
		case b.Type == "cloud":
			return nil, fmt.Errorf("a cloud block runs the engine elsewhere")
		case b.Type == "terraform":
			in, err := backendBlocks(b.Body)
			if err != nil {
				return nil, err
			}
			found = append(found, in...)
		}
	}
	return found, nil
}

func readArguments(block *hclsyntax.Block) (*place, error) {
	p := &place{Backend: v1alpha1.Backend{Type: block.Labels[0]}}
	switch p.Type {
	case "local":
		return nil, fmt.Errorf("a local state is gone with its pod")
	case "remote", "cloud":
		return nil, fmt.Errorf("backend %s runs the engine elsewhere", p.Type)
	}
	for _, name := range sortedKeys(block.Body.Attributes) {
		if secretArgument.MatchString(name) {
			p.Secrets = append(p.Secrets, name)
			continue
		}
		value, diags := plainValue(block.Body.Attributes[name].Expr)
		if diags.HasErrors() {
			return nil, fmt.Errorf("the value of %s is no plain value", name)
		}
		if err := p.put(name, value); err != nil {
			return nil, err
		}
	}
	for _, b := range block.Body.Blocks {
		if secretArgument.MatchString(b.Type) {
			p.Secrets = append(p.Secrets, b.Type)
			continue
		}
		value, err := blockValue(b.Body)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Type, err)
		}
		if err := p.put(b.Type, value); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// blockValue is a block as a value: what a backend takes as a block in its own is an argument in a file of arguments.
func blockValue(body *hclsyntax.Body) (cty.Value, error) {
	if len(body.Blocks) > 0 {
		return cty.NilVal, fmt.Errorf("a block in a block cannot be taken along")
	}
	values := map[string]cty.Value{}
	for name, attribute := range body.Attributes {
		if secretArgument.MatchString(name) {
			return cty.NilVal, fmt.Errorf("the secret %s in it cannot be taken along", name)
		}
		var diags hcl.Diagnostics
		if values[name], diags = plainValue(attribute.Expr); diags.HasErrors() {
			return cty.NilVal, fmt.Errorf("the value of %s is no plain value", name)
		}
	}
	return cty.ObjectVal(values), nil
}

// put adds an argument.
func (p *place) put(name string, value cty.Value) error {
	if !value.IsWhollyKnown() {
		return fmt.Errorf("the value of %s is no plain value", name)
	}
	raw, err := ctyjson.Marshal(value, value.Type())
	if err != nil {
		return fmt.Errorf("the value of %s is no plain value", name)
	}
	p.raw(name, raw)
	return nil
}

func (p *place) raw(name string, raw []byte) {
	if p.Config == nil {
		p.Config = map[string]apiextensionsv1.JSON{}
	}
	p.Config[name] = apiextensionsv1.JSON{Raw: raw}
}

// text adds an argument that is a string.
func (p *place) text(name, value string) {
	raw, _ := json.Marshal(value) // a string always has a JSON form
	p.raw(name, raw)
}

// say is the argument as a string; empty where it is none.
func (p *place) say(name string) string {
	var text string
	if value, ok := p.Config[name]; ok {
		_ = json.Unmarshal(value.Raw, &text) // what is no string stays empty
	}
	return text
}

// configFrom names a Secret of arguments.
func (p *place) configFrom(secret string) {
	p.ConfigFrom = append(p.ConfigFrom, v1alpha1.BackendConfig{Secret: v1alpha1.ObjectRef{Name: secret}})
}

// longestExpression is how many bytes of an expression are looked at: what looks at one calls itself for each of its levels.
const longestExpression = 16 << 10

// plainValue is what an expression means without variables and functions.
func plainValue(e hcl.Expression) (cty.Value, hcl.Diagnostics) {
	if r := e.Range(); r.End.Byte-r.Start.Byte > longestExpression {
		return cty.NilVal, hcl.Diagnostics{{Severity: hcl.DiagError, Summary: "it is too long"}}
	}
	return e.Value(nil)
}
