package engine

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"cairn.dev/cairn/internal/engine/hclparse"
)

// LockedProvider is what a lock file pins of a provider.
type LockedProvider struct {
	Version string
	// Hashes are checksums with their schemes: "zh:" of an archive, "h1:" of the files in it.
	Hashes []string
}

// LockedProviders returns the providers of a lock file by their addresses. What cannot be read is left out: the
// engine reports it.
func LockedProviders(text []byte) map[string]LockedProvider {
	body, _ := hclparse.ParseAny(text, LockFile, false)
	if body == nil {
		return nil
	}
	header := hcl.BlockHeaderSchema{Type: "provider", LabelNames: []string{"address"}}
	content, _, _ := body.PartialContent(&hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{header}})
	locked := map[string]LockedProvider{}
	for _, block := range content.Blocks {
		attributes, _ := block.Body.JustAttributes()
		var p LockedProvider
		for _, version := range literals(attributes["version"]) {
			p.Version = version
		}
		p.Hashes = literals(attributes["hashes"])
		locked[block.Labels[0]] = p
	}
	return locked
}

// literals returns the strings of an attribute, which may be nil: one, or those of a list.
func literals(a *hcl.Attribute) []string {
	if a == nil {
		return nil
	}
	value, diags := a.Expr.Value(nil)
	if diags.HasErrors() || !value.IsWhollyKnown() || value.IsNull() {
		return nil
	}
	if value.Type() == cty.String {
		return []string{value.AsString()}
	}
	if !value.CanIterateElements() {
		return nil
	}
	var found []string
	for _, element := range value.AsValueSlice() {
		if element.Type() == cty.String && !element.IsNull() {
			found = append(found, element.AsString())
		}
	}
	return found
}
