// Package hcltext parses HCL and its JSON form of people who may mean harm: nothing that they write ends the process.
package hcltext

import (
	"errors"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
)

// ErrNesting is a text that nests too deep to be parsed or, in JSON, is none.
var ErrNesting = errors.New("it nests too deep, or is not JSON")

// Parse gives what can be read of a text, which may be nil, and what is wrong with it. The name is for messages.
func Parse(text []byte, name string, isJSON bool) (hcl.Body, error) {
	if nesting(text, isJSON) > deepest {
		return nil, ErrNesting
	}
	var file *hcl.File
	var diags hcl.Diagnostics
	if isJSON {
		file, diags = hcljson.Parse(text, name)
	} else {
		file, diags = hclsyntax.ParseConfig(text, name, hcl.InitialPos)
	}
	if file == nil {
		return nil, diags
	}
	if diags.HasErrors() {
		return file.Body, diags
	}
	return file.Body, nil
}
