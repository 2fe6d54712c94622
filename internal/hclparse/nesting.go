package hclparse

import (
	"encoding/json"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// maxNesting is how deep code may nest. HCL's parser recurses for each level, with about 10 KiB of stack: a file of
// 100,000 open parentheses would crash the process.
const maxNesting = 1000

// nesting returns how deep a parser would recurse in a file, at most, or more than maxNesting if it must not be parsed.
func nesting(text []byte, isJSON bool) int {
	if isJSON {
		if !json.Valid(text) { // this also rejects more than 10,000 levels, which HCL's parser for JSON can parse
			return maxNesting + 1
		}
		return 0
	}
	tokens, _ := hclsyntax.LexConfig(text, "", hcl.InitialPos)
	var levels []level
	here, deep, most, last := level{lines: true}, 0, 0, hclsyntax.TokenNil
	for _, token := range tokens {
		switch token.Type {
		case hclsyntax.TokenOParen, hclsyntax.TokenOBrack, hclsyntax.TokenOBrace, hclsyntax.TokenOQuote,
			hclsyntax.TokenOHeredoc, hclsyntax.TokenTemplateInterp:
			levels = append(levels, here)
			here = level{lines: token.Type == hclsyntax.TokenOBrace}
			deep++
		case hclsyntax.TokenTemplateControl:
			// Both a level of its own until it closes, and one for what it begins: %{if a}%{if b} is two deep.
			here.operators++
			levels = append(levels, here)
			here = level{}
			deep += 2
		case hclsyntax.TokenCParen, hclsyntax.TokenCBrack, hclsyntax.TokenCBrace, hclsyntax.TokenCQuote,
			hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
			if len(levels) > 0 {
				deep -= here.operators + 1
				here, levels = levels[len(levels)-1], levels[:len(levels)-1]
			}
			if token.Type == hclsyntax.TokenCBrack && last == hclsyntax.TokenStar { // what follows a[*] is within it
				here.operators++
				deep++
			}
		case hclsyntax.TokenQuestion, hclsyntax.TokenBang, hclsyntax.TokenMinus, hclsyntax.TokenStar:
			// a ? b : c ? d : e, - - a and a.*.* nest to the right, without a bracket.
			here.operators++
			deep++
		case hclsyntax.TokenIdent:
			if string(token.Bytes) == "for" {
				here.lines = false
			}
		case hclsyntax.TokenNewline, hclsyntax.TokenComma:
			if here.lines || token.Type == hclsyntax.TokenComma {
				deep -= here.operators
				here.operators = 0
			}
		}
		most, last = max(most, deep), token.Type
	}
	return most
}

// level is what is between two brackets.
type level struct {
	// operators that nest since the last expression began.
	operators int
	// lines: an expression ends with its line.
	lines bool
}
