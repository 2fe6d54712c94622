// Package hclparse parses untrusted HCL and its JSON form: no text can crash the process.
package hclparse

import (
	"errors"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
)

// ErrNesting is the error of a text that nests too deep to be parsed, or that is not JSON.
var ErrNesting = errors.New("it nests too deep, or is not JSON")

// Parse returns what can be read of a text, which may be nil, and what is wrong with it. The name is for messages.
func Parse(text []byte, name string, isJSON bool) (hcl.Body, error) {
	if nesting(text, isJSON) > maxNesting {
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
