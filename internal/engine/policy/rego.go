package policy

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/topdown"

	"cairn.dev/cairn/internal/runnerapi"
)

// The names of conftest, what denies and what warns, and one more: what requires an approval.
var (
	denies   = regexp.MustCompile(`^(deny|violation)(_[A-Za-z0-9]+)*$`)
	requires = regexp.MustCompile(`^require_approval(_[A-Za-z0-9]+)*$`)
	warns    = regexp.MustCompile(`^warn(_[A-Za-z0-9]+)*$`)
)

// rule is the rules of one name of a module, ready to be asked.
type rule struct {
	module, name, action string
	query                rego.PreparedEvalQuery
}

// away are the builtin functions that policies do not have, beside those that are not the same each time: they need a
// clock or the certificates of the machine, or allocate much for little without a check whether they are to stop, or
// are at keys of any length.
var away = []string{
	"crypto.x509.parse_and_verify_certificates", "crypto.x509.parse_and_verify_certificates_with_options",
	"bits.lsh", "strings.render_template", "graphql.parse", "graphql.parse_and_verify", "graphql.parse_query",
	"graphql.parse_schema", "graphql.is_valid", "graphql.schema_is_valid",
	"json.match_schema", "json.verify_schema", "graph.reachable_paths", "regex.globs_match", "regex.template_match",
	"json.marshal_with_options", "yaml.marshal", "net.cidr_contains_matches", "rego.parse_module",
	"providers.aws.sign_req",
	"crypto.parse_private_keys", "crypto.x509.parse_certificate_request", "crypto.x509.parse_keypair",
	"crypto.x509.parse_rsa_private_key",
	"io.jwt.verify_ps256", "io.jwt.verify_ps384", "io.jwt.verify_ps512", "io.jwt.verify_rs256", "io.jwt.verify_rs384",
	"io.jwt.verify_rs512",
}

// capabilities are what policies can do.
func capabilities() *ast.Capabilities {
	c := ast.CapabilitiesForThisVersion()
	c.Builtins = slices.DeleteFunc(c.Builtins, func(b *ast.Builtin) bool {
		return b.Nondeterministic || slices.Contains(away, b.Name)
	})
	c.AllowNet = []string{} // nothing, while nil is everything
	return c
}

// readRules reads the modules of one ConfigMap. The rules that are asked are copies, each under a name that no other
// module has: so it is known which module has which finding, and each is evaluated alone.
func readRules(modules []Module) (rules []rule, checked int32, err error) {
	can := capabilities()
	parsed := map[string]*ast.Module{}
	var asked []*rule
	refs := map[*rule]ast.Ref{}
	for _, m := range modules {
		module, err := parseModule(m, can)
		if err != nil {
			return nil, 0, err
		}
		parsed[m.Name] = module
		of, err := copies(m.Name, module, refs)
		if err != nil {
			return nil, 0, err
		}
		if len(of) > 0 {
			checked++
		}
		asked = append(asked, of...)
	}
	if len(asked) == 0 {
		return nil, 0, &Invalid{Module: modules[0].Name, Message: "no rule deny, violation, require_approval or warn " +
			"in package main: it would never have a finding"}
	}
	compiler := ast.NewCompiler().WithCapabilities(can)
	if compiler.Compile(parsed); compiler.Failed() {
		return nil, 0, invalid(modules[0].Name, compiler.Errors)
	}
	for _, r := range asked {
		r.query, err = rego.New(
			rego.Compiler(compiler), rego.Capabilities(can),
			rego.ParsedQuery(ast.NewBody(ast.NewExpr(ast.NewTerm(refs[r])))),
		).PrepareForEval(context.Background())
		if err != nil {
			return nil, 0, invalid(r.module, err)
		}
		rules = append(rules, *r)
	}
	return rules, checked, nil
}

func parseModule(m Module, can *ast.Capabilities) (*ast.Module, error) {
	options := ast.ParserOptions{RegoVersion: ast.RegoV1, Capabilities: can}
	module, err := ast.ParseModuleWithOpts(m.Name, m.Text, options)
	if err != nil {
		e := invalid(m.Name, err)
		options.RegoVersion = ast.RegoV0
		if _, err := ast.ParseModuleWithOpts(m.Name, m.Text, options); err == nil {
			e.Message = "this is the syntax of Rego before version 1: write `deny contains msg if { ... }` for " +
				"`deny[msg] { ... }`, or let `opa fmt --v0-v1 --write` do it (" + e.Message + ")"
		}
		return nil, e
	}
	if module == nil {
		return nil, &Invalid{Module: m.Name, Message: "it is empty"}
	}
	return module, nil
}

// copies adds to a module, if it is main or below it, copies of the rules that are asked, and returns the queries for
// them.
func copies(name string, module *ast.Module, refs map[*rule]ast.Ref) ([]*rule, error) {
	if p := module.Package.Path; len(p) < 2 || !p[1].Equal(ast.StringTerm("main")) {
		return nil, nil
	}
	byName := map[string]*rule{}
	var asked []*rule
	for _, original := range module.Rules {
		word := ruleName(original.Head)
		action := ""
		switch {
		case denies.MatchString(word):
			action = runnerapi.Deny
		case requires.MatchString(word):
			action = runnerapi.RequireApproval
		case warns.MatchString(word):
			action = runnerapi.Warn
		default:
			continue
		}
		if len(original.Head.Args) > 0 {
			return nil, &Invalid{Module: name, Line: original.Location.Row, Message: word +
				" is a function, and would never be asked"}
		}
		r := byName[word]
		own := ownName(word, name)
		if r == nil {
			r = &rule{module: name, name: word, action: action}
			byName[word] = r
			asked = append(asked, r)
			refs[r] = module.Package.Path.Append(ast.StringTerm(own))
		}
		module.Rules = append(module.Rules, renamed(original, own))
	}
	return asked, nil
}

// ownName is one that no module can have, because of its blanks.
func ownName(rule, module string) string { return fmt.Sprintf("cairn %s of %s", rule, module) }

func ruleName(head *ast.Head) string {
	if ref := head.Ref(); len(ref) > 0 {
		if v, ok := ref[0].Value.(ast.Var); ok {
			return string(v)
		}
	}
	return ""
}

func renamed(original *ast.Rule, name string) *ast.Rule {
	r := original.Copy()
	for branch := r; branch != nil; branch = branch.Else {
		ref := branch.Head.Ref().Copy()
		ref[0] = ast.VarTerm(name)
		branch.Head.SetRef(ref)
	}
	return r
}

// invalid converts an error of OPA to one for users.
func invalid(module string, err error) *Invalid {
	e := &Invalid{Module: module, Message: err.Error()}
	var all ast.Errors
	var one *ast.Error
	switch {
	case errors.As(err, &all) && len(all) > 0:
		one = all[0]
	case errors.As(err, &one):
	default:
		e.Message = cut(e.Message)
		return e
	}
	e.Message = one.Message
	if one.Location != nil {
		e.Line = one.Location.Row
		if one.Location.File != "" {
			e.Module = one.Location.File
		}
	}
	if name, ok := strings.CutPrefix(e.Message, "undefined function "); ok && isBuiltin(name) {
		e.Message = fmt.Sprintf("the function %s is not available to policies: its result is not the same each time, "+
			"or takes too much", name)
	}
	e.Message = cut(e.Message)
	return e
}

func isBuiltin(name string) bool {
	return slices.ContainsFunc(ast.CapabilitiesForThisVersion().Builtins, func(b *ast.Builtin) bool {
		return b.Name == name
	})
}

// ask returns the findings of a rule.
func (r rule) ask(ctx context.Context, input ast.Value) ([]runnerapi.Finding, error) {
	results, err := r.query.Eval(ctx, rego.EvalParsedInput(input))
	var stopped *topdown.Error
	switch {
	case err != nil && context.Cause(ctx) != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &stopped):
		return nil, errors.New(strings.ReplaceAll(stopped.Message, fmt.Sprintf("[%q]", ownName(r.name, r.module)),
			"."+r.name))
	case err != nil:
		return nil, err
	}
	var said []string
	for _, result := range results {
		for _, e := range result.Expressions {
			said = append(said, messages(e.Value, r.name)...)
		}
	}
	var findings []runnerapi.Finding
	for _, message := range said {
		findings = append(findings, runnerapi.Finding{Policy: r.module, Action: r.action, Message: message})
	}
	return findings, nil
}
