package closure

import (
	"errors"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"cairn.dev/cairn/internal/engine/hclparse"
)

// code is the part of one file of code that closures need.
type code struct {
	calls []call
	// required are its required_version, compatible the opentofu = in its language { compatible_with {} }: constraints.
	required, compatible []string
	paths                paths
	// size is the number of bytes of the file.
	size int
}

// expressionWeight is how many bytes of memory a byte of code takes as a parsed expression.
const expressionWeight = 64

// weight is how much memory a cached code takes.
func (c code) weight() int {
	bytes := textsWeight(c.required) + textsWeight(c.compatible) + c.paths.weight*expressionWeight + len(
		c.paths.exprs)*pathWeight
	for _, call := range c.calls {
		bytes += callWeight + len(call.name) + len(call.source)
	}
	return bytes
}

// call is a module block's source.
type call struct {
	name string
	line int
	// source is a local path, which begins with ./ or ../. It is "" when only a running engine can evaluate it.
	source string
	// remote is true for the address of a module that is not in the repository.
	remote bool
}

var (
	codeSchema = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{
		{Type: "module", LabelNames: []string{"name"}}, {Type: "terraform"}, {Type: "language"},
	}}
	moduleSchema     = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "source"}}}
	terraformSchema  = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "required_version"}}}
	languageSchema   = &hcl.BodySchema{Blocks: []hcl.BlockHeaderSchema{{Type: "compatible_with"}}}
	compatibleSchema = &hcl.BodySchema{Attributes: []hcl.AttributeSchema{{Name: "opentofu"}}}
)

// longestExpression is the most bytes of an expression that is evaluated: the recursion of the evaluation is as deep as
// the expression is long.
const longestExpression = 4096

// readCode reads a file of code. Of a file with errors it reads the valid parts: the engine reports the errors. Its own
// error is a hclparse.ErrTooLarge.
func readCode(text []byte, json bool) (code, error) {
	c := code{size: len(text)}
	body, err := parse(text, json)
	if body == nil {
		return c, err
	}
	c.paths = readPaths(body, text, json)
	content, _, _ := body.PartialContent(codeSchema)
	for _, block := range content.Blocks {
		switch block.Type {
		case "module":
			if attribute := attribute(block.Body, moduleSchema); attribute != nil {
				source, known := literal(attribute.Expr, json)
				source = strings.ReplaceAll(source, `\`, "/")
				remote := known && !isLocal(source) || !known && isRemote(attribute.Expr)
				c.calls = append(c.calls, call{
					name: block.Labels[0], line: attribute.Range.Start.Line, source: source, remote: remote,
				})
			}
		case "terraform":
			c.required = append(c.required, constraint(attribute(block.Body, terraformSchema), json)...)
		case "language":
			inner, _, _ := block.Body.PartialContent(languageSchema)
			for _, with := range inner.Blocks {
				c.compatible = append(c.compatible, constraint(attribute(with.Body, compatibleSchema), json)...)
			}
		}
	}
	return c, nil
}

// parse returns the valid parts of a file, or nil. Its error is a hclparse.ErrTooLarge.
func parse(text []byte, json bool) (hcl.Body, error) {
	body, err := hclparse.Parse(text, "", json)
	if errors.Is(err, hclparse.ErrTooLarge) {
		return nil, err
	}
	return body, nil
}

// attribute returns the one attribute of a schema, or nil.
func attribute(body hcl.Body, schema *hcl.BodySchema) *hcl.Attribute {
	content, _, _ := body.PartialContent(schema)
	return content.Attributes[schema.Attributes[0].Name]
}

// literal returns the text of an expression without variables or functions. known is false if it has some. The text
// of an expression of another type is "".
func literal(expr hcl.Expression, json bool) (text string, known bool) {
	if r := expr.Range(); r.End.Byte-r.Start.Byte > longestExpression {
		return "", false
	}
	value, diags := expr.Value(nil)
	switch {
	case diags.HasErrors():
		return "", false
	case value.IsNull() || !value.IsKnown() || value.Type() != cty.String:
		return "", true
	}
	text = value.AsString()
	if json && (strings.Contains(text, "${") || strings.Contains(text, "%{")) {
		return "", false // in JSON, every string is a template
	}
	return text, true
}

// isRemote reports whether an expression with variables begins with a text that no local source begins with, such as
// "git::https://...".
func isRemote(expr hcl.Expression) bool {
	template, ok := expr.(*hclsyntax.TemplateExpr)
	if !ok || len(template.Parts) == 0 {
		return false
	}
	first, ok := template.Parts[0].(*hclsyntax.LiteralValueExpr)
	if !ok || first.Val.IsNull() || first.Val.Type() != cty.String {
		return false
	}
	text := first.Val.AsString()
	return text != "" && !strings.HasPrefix(text, ".") && !strings.HasPrefix(text, "/")
}

// constraint returns an attribute's literal, if it is a version constraint.
func constraint(a *hcl.Attribute, json bool) []string {
	if a == nil {
		return nil
	}
	text, _ := literal(a.Expr, json)
	if !isConstraint(text) {
		return nil
	}
	return []string{text}
}

func isLocal(source string) bool {
	return strings.HasPrefix(source, "./") || strings.HasPrefix(source, "../")
}
