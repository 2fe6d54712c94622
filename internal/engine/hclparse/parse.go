// Package hclparse parses untrusted HCL and its JSON form: no text can crash the process, or take more memory than the
// limits of this package allow.
package hclparse

import (
	"context"
	"errors"
	"fmt"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	hcljson "github.com/hashicorp/hcl/v2/json"
	"golang.org/x/sync/semaphore"

	"cairn.dev/cairn/internal/base/jsonsize"
)

const (
	// MaxBytes is the most bytes of a text that Parse reads: four times the largest file of ten large public
	// repositories, which is modules/connectivity/locals.tf of Azure/terraform-azurerm-caf-enterprise-scale with
	// 129,716 bytes.
	MaxBytes = 512 << 10
	// MaxTokens is the most tokens of a text in HCL, and the most values of a text in JSON. The largest files of those
	// repositories have a token for 4 to 8 bytes, and at most 17,134 tokens. So MaxBytes of the densest have 129,000. A
	// text with a token for each byte or two has no purpose other than to use memory: a token takes 104 bytes while the
	// text is parsed, and up to 200 as a part of the result.
	MaxTokens = 150_000
	// maxCopied is how many bytes HCL's parser may copy to join the lines of texts: it copies all lines before for each
	// further one. A heredoc of 10,000 lines with 200 KB takes that much.
	maxCopied = 1 << 30
	// small is the size of a text that cannot reach MaxTokens or maxCopied, so that it needs no lexer before the
	// parser's own.
	small = 32 << 10
)

// ErrNesting is the error of a text that nests too deep to be parsed, or that is not JSON.
var ErrNesting = errors.New("it nests too deep, or is not JSON")

// ErrTooLarge is the kind of the error of a text with more than MaxBytes or MaxTokens.
var ErrTooLarge = errors.New("too large")

// tooLarge describes by how much a text is too large.
type tooLarge struct{ message string }

func (e *tooLarge) Error() string { return e.message }
func (e *tooLarge) Unwrap() error { return ErrTooLarge }

// Parse returns the valid parts of a text, which may be nil, and the errors in it. The name is for messages.
func Parse(text []byte, name string, isJSON bool) (hcl.Body, error) {
	if len(text) > MaxBytes {
		return nil, &tooLarge{fmt.Sprintf("it has %d bytes, and the limit is %d", len(text), MaxBytes)}
	}
	if isJSON && jsonsize.HasMoreValues(text, MaxTokens) {
		return nil, &tooLarge{fmt.Sprintf("it has more than %d values, which is the limit", MaxTokens)}
	}
	if !isJSON {
		if err := check(text, hclsyntax.LexConfig); err != nil {
			return nil, err
		}
	}
	return parse(text, name, isJSON)
}

// ParseTemplate returns the expression of a template, with the limits of Parse.
func ParseTemplate(text []byte) (hclsyntax.Expression, error) {
	if len(text) > MaxBytes {
		return nil, &tooLarge{fmt.Sprintf("it has %d bytes, and the limit is %d", len(text), MaxBytes)}
	}
	if err := check(text, hclsyntax.LexTemplate); err != nil {
		return nil, err
	}
	expr, diags := hclsyntax.ParseTemplate(text, "", hcl.InitialPos)
	if diags.HasErrors() {
		return nil, diags
	}
	return expr, nil
}

// check returns the error of a text in HCL that is not parsed. lex returns its tokens.
func check(text []byte, lex func([]byte, string, hcl.Pos) (hclsyntax.Tokens, hcl.Diagnostics)) error {
	if len(text) <= small && mayNest(text) <= maxNesting {
		return nil
	}
	tokens, _ := lex(text, "", hcl.InitialPos)
	switch {
	case len(tokens) > MaxTokens:
		return &tooLarge{fmt.Sprintf("it has %d tokens, and the limit is %d", len(tokens), MaxTokens)}
	case copied(tokens) > maxCopied:
		return &tooLarge{"it has a text with more lines or escapes than can be parsed"}
	case nesting(tokens) > maxNesting:
		return ErrNesting
	}
	return nil
}

// ParseAny is Parse without the limits on memory, for a program that runs on behalf of the author of the text: the
// runner and the command line.
func ParseAny(text []byte, name string, isJSON bool) (hcl.Body, error) {
	if !isJSON && mayNest(text) > maxNesting {
		tokens, _ := hclsyntax.LexConfig(text, "", hcl.InitialPos)
		if nesting(tokens) > maxNesting {
			return nil, ErrNesting
		}
	}
	return parse(text, name, isJSON)
}

func parse(text []byte, name string, isJSON bool) (hcl.Body, error) {
	var file *hcl.File
	var diags hcl.Diagnostics
	if isJSON {
		if !validJSON(text) {
			return nil, ErrNesting
		}
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

const (
	// weight is the most bytes of memory for each byte of a text, which test/attacks measures.
	weight = 256
	// memory is how many bytes all texts that are parsed at the same time may take: one of MaxBytes, or many small
	// ones.
	memory = MaxBytes * weight
)

var left = semaphore.NewWeighted(memory)

// Acquire waits until there is memory to parse a text of that many bytes, in all of this process. The caller calls
// release when it no longer uses the result of Parse.
func Acquire(ctx context.Context, bytes int) (release func(), err error) {
	n := min(int64(bytes)*weight, memory)
	if err := left.Acquire(ctx, n); err != nil {
		return nil, err
	}
	return func() { left.Release(n) }, nil
}
