package engine

import (
	"encoding/json"
	"io/fs"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclwrite"

	"cairn.dev/cairn/internal/engine/hclparse"
)

// EncryptionVariable is the environment variable that completes the encryption block of the code (OpenTofu).
const EncryptionVariable = "TF_ENCRYPTION"

// Encryption is how OpenTofu encrypts the state.
type Encryption struct {
	// Method that the next state is encrypted with, as in method.aes_gcm.new; nil without an encryption block.
	Method hcl.Traversal
	// Fallback: the state may be encrypted in another way, or in clear, until the engine writes it next.
	Fallback bool
}

// Clear reports whether the engine writes states in clear.
func (e Encryption) Clear() bool {
	return len(e.Method) < 2 || e.Method[1].(hcl.TraverseAttr).Name == "unencrypted"
}

// FindEncryption returns the encryption of the state of a root module, given the value of EncryptionVariable. Code that
// cannot be read is the engine's to report.
func FindEncryption(root fs.FS, variable string) (Encryption, error) {
	_, code, err := codeFiles(root)
	if err != nil {
		return Encryption{}, err
	}
	var found Encryption
	for _, override := range []bool{false, true} {
		for _, name := range code {
			if IsOverride(name) != override {
				continue
			}
			text, err := readCode(root, name)
			if err != nil {
				return Encryption{}, err
			}
			if b := block(name, text, "encryption"); b != nil {
				found.merge(b.Body)
			}
		}
	}
	if body, _ := hclparse.ParseAny([]byte(variable), EncryptionVariable, isJSON(variable)); body != nil {
		found.merge(body)
	}
	return found, nil
}

// isJSON reports whether a value of EncryptionVariable is JSON.
func isJSON(variable string) bool { return strings.HasPrefix(strings.TrimSpace(variable), "{") }

// merge takes what the body of an encryption block sets, as engines merge them.
func (e *Encryption) merge(body hcl.Body) {
	content, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "state"}}})
	for _, state := range content.Blocks {
		inner, _, _ := state.Body.PartialContent(&hcl.BodySchema{
			Attributes: []hcl.AttributeSchema{{Name: "method"}}, Blocks: []hcl.BlockHeaderSchema{{Type: "fallback"}},
		})
		if method := inner.Attributes["method"]; method != nil {
			e.Method = traversalOf(method.Expr)
		}
		e.Fallback = e.Fallback || len(inner.Blocks) > 0
	}
}

// traversalOf returns the reference that an expression is; nil when it is none of names alone.
func traversalOf(expr hcl.Expression) hcl.Traversal {
	traversal, diags := hcl.AbsTraversalForExpr(expr)
	if diags.HasErrors() {
		return nil
	}
	for _, step := range traversal[1:] {
		if _, ok := step.(hcl.TraverseAttr); !ok {
			return nil
		}
	}
	return traversal
}

// WithoutFallback returns a value of EncryptionVariable with which the engine reads only states that are encrypted with
// Method: the fallback becomes that method. ok is false when the given value cannot be changed.
func (e Encryption) WithoutFallback(variable string) (changed string, ok bool) {
	if len(e.Method) == 0 {
		return "", false
	}
	if isJSON(variable) {
		return e.withoutFallbackJSON(variable)
	}
	file, diags := hclwrite.ParseConfig([]byte(variable), EncryptionVariable, hcl.InitialPos)
	if diags.HasErrors() {
		return "", false
	}
	state := file.Body().FirstMatchingBlock("state", nil)
	if state == nil {
		state = file.Body().AppendNewBlock("state", nil)
	}
	for _, b := range state.Body().Blocks() {
		state.Body().RemoveBlock(b)
	}
	state.Body().SetAttributeTraversal("method", e.Method) // engines accept no state block without it
	state.Body().AppendNewBlock("fallback", nil).Body().SetAttributeTraversal("method", e.Method)
	return string(file.Bytes()), true
}

func (e Encryption) withoutFallbackJSON(variable string) (changed string, ok bool) {
	var all map[string]any
	if json.Unmarshal([]byte(variable), &all) != nil {
		return "", false
	}
	state, ok := all["state"].(map[string]any)
	if all["state"] != nil && !ok { // a list
		return "", false
	}
	if state == nil {
		state = map[string]any{}
	}
	names := []string{e.Method.RootName()}
	for _, step := range e.Method[1:] {
		names = append(names, step.(hcl.TraverseAttr).Name)
	}
	state["method"] = strings.Join(names, ".")
	state["fallback"] = map[string]any{"method": state["method"]}
	all["state"] = state
	data, err := json.Marshal(all)
	return string(data), err == nil
}
