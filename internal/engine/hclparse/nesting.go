package hclparse

import (
	"encoding/json"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// maxNesting is how deep code may nest. HCL's parser recurses for each level, with about 10 KiB of stack: a file of
// 100,000 open parentheses would crash the process.
const maxNesting = 1000

// validJSON reports whether a text is JSON that a parser may recurse into: encoding/json rejects more than 10,000
// levels, which HCL's parser for JSON can parse.
func validJSON(text []byte) bool { return json.Valid(text) }

// mayNest returns how deep a text could nest at most, without reading it: a text with few characters that begin a level
// needs no lexer before the parser's own.
func mayNest(text []byte) int {
	most := 0
	for _, c := range text {
		switch c {
		case '(', '[', '{', '"', '<', '%', '?', '!', '-', '*':
			most++
		}
	}
	return most
}

// nesting returns how deep the parser would recurse in a file, at most.
func nesting(tokens hclsyntax.Tokens) int {
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

// copied returns how many bytes the parser copies to join texts: the lexer has a token for each line and escape.
func copied(tokens hclsyntax.Tokens) int {
	all, text := 0, 0
	for _, token := range tokens {
		if token.Type != hclsyntax.TokenStringLit && token.Type != hclsyntax.TokenQuotedLit {
			text = 0
			continue
		}
		text += len(token.Bytes)
		all += text
	}
	return all
}
