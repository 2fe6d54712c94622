package main

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
)

// textsOf calls visit for the constant texts of a file. Constants that are added are one text, also beside what is not
// constant.
func textsOf(info *types.Info, file *ast.File, visit func(at token.Pos, text string)) {
	value := func(e ast.Expr) (string, bool) {
		v := info.Types[e].Value
		if v == nil || v.Kind() != constant.String {
			return "", false
		}
		return constant.StringVal(v), true
	}
	var inspect func(ast.Node) bool
	inspect = func(n ast.Node) bool {
		e, ok := n.(ast.Expr)
		if !ok {
			_, imports := n.(*ast.ImportSpec)
			return !imports
		}
		if text, ok := value(e); ok {
			visit(e.Pos(), text)
			return false
		}
		sum, ok := e.(*ast.BinaryExpr)
		if !ok || sum.Op != token.ADD {
			return true
		}
		text, at := "", token.NoPos
		flush := func() {
			if text != "" {
				visit(at, text)
			}
			text, at = "", token.NoPos
		}
		for _, operand := range operands(sum) {
			if part, ok := value(operand); ok {
				if text += part; at == token.NoPos {
					at = operand.Pos()
				}
				continue
			}
			flush()
			ast.Inspect(operand, inspect)
		}
		flush()
		return false
	}
	ast.Inspect(file, inspect)
}

// operands returns what is added in an expression, from left to right.
func operands(e ast.Expr) []ast.Expr {
	sum, ok := e.(*ast.BinaryExpr)
	if !ok || sum.Op != token.ADD {
		return []ast.Expr{e}
	}
	return append(operands(sum.X), operands(sum.Y)...)
}
