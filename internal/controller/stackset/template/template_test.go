package template

import (
	"strings"
	"testing"
)

func TestRender(t *testing.T) {
	params := map[string]any{"env": "prod", "name": "net", "big": int64(9007199254740993), "list": []any{"a", int64(1)},
		"on": true}
	for name, tt := range map[string]struct{ template, want, wrong string }{
		"text and expressions": {`{"name": "${params.env}-${params.name}"}`,
			`{"name":"prod-net"}`, ""},
		"one expression keeps its type": {
			`{"n": "${params.env == 'prod' ? 3 : 1}", "b": "${params.on}", "l": "${params.list}"}`,
			`{"b":true,"l":["a",1],"n":3}`, ""},
		"no digit of a number is lost": {`{"n": "${params.big}", "m": 9007199254740993}`,
			`{"m":9007199254740993,"n":9007199254740993}`, ""},
		"numbers and booleans in a text": {`{"t": "${params.big} is ${params.on}"}`,
			`{"t":"9007199254740993 is true"}`, ""},
		"braces and quotes in an expression": {`{"t": "${{'a': '}'}['a']}"}`, `{"t":"}"}`, ""},
		"an escaped expression": {`{"t": "$${HOME} and ${directory}"}`,
			`{"t":"${HOME} and envs/prod/net"}`, ""},
		"the directory": {`{"path": "${directory}"}`, `{"path":"envs/prod/net"}`, ""},
		"a value without expressions": {`{"a": [1, true, null, "x", ""]}`,
			`{"a":[1,true,null,"x",""]}`, ""},
		"an object for a whole field": {`{"labels": "${{'env': params.env}}"}`,
			`{"labels":{"env":"prod"}}`, ""},
		"an unknown param": {`{"a": [{"b": "${params.gone}"}]}`, "",
			"template.a[0].b: ${params.gone}: no such key: gone (directory envs/prod/net) with params " +
				"big=9007199254740993, env=prod"},
		"an unknown variable": {`{"a": "${param.env}"}`, "",
			"template.a: ${param.env}: column 1: undeclared reference to 'param'"},
		"two errors are one line": {`{"a": "${params.env = 'a'}"}`, "",
			"column 12: Syntax error: token recognition error at: '= '; column 14: Syntax error: extraneous " +
				"input ''a''"},
		"an error in the second line": {`{"a": "${params.env +\n x}"}`, "",
			"line 2, column 2: undeclared reference to 'x'"},
		"an expression that is not closed": {`{"a": "${params.env"}`, "", "template.a: the ${ has no }"},
		"an empty expression":              {`{"a": "${ }"}`, "", "it is empty"},
		"a list in a text": {`{"a": "x${params.list}"}`, "",
			"it is a list, which cannot be a part of a text"},
		"an expression in the name of a field": {`{"${params.env}": 1}`, "",
			"the name of a field cannot have an expression"},
		"an expression that costs too much": {
			`{"a": "${[1,2,3,4,5,6,7,8,9,10].map(a,[1,2,3,4,5,6,7,8,9,10].map(b,[1,2,3,4,5,6,7,8,9,10].map(c,[1,2,3,4,5,6,7,8,9,10].map(d,[1,2,3,4,5,6,7,8,9,10].map(e,1)))))}"}`, "", "cost limit exceeded"},
		"what is no JSON": {`{`, "", "invalid character"},
		"a template that is nested deeper than allowed": {strings.Repeat("[", 60) + strings.Repeat("]", 60), "",
			"more than 50 levels"},
	} {
		t.Run(name, func(t *testing.T) {
			// In a field that is not guarded: see guard_test.go.
			const before, after = `{"spec":{"variables":[{"value":`, `}]}}`
			got, err := func() ([]byte, error) {
				compiled, err := Compile([]byte(before+tt.template+after), nil)
				if err != nil {
					return nil, err
				}
				return compiled.Render(t.Context(), "envs/prod/net", params)
			}()
			wrong := strings.Replace(tt.wrong, "template.", "template.spec.variables[0].value.", 1)
			switch {
			case wrong == "" && (err != nil || string(got) != before+tt.want+after):
				t.Errorf("%s, %v, want %s", got, err, tt.want)
			case wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong)):
				t.Errorf("%s, %v, want the error %q", got, err, wrong)
			}
		})
	}
}

func BenchmarkRender(b *testing.B) {
	compiled, err := Compile([]byte(
		`{"metadata": {"name": "${params.env}-${params.name}"}, "spec": {"source": {"git": {"path": "${directory}"}}, "apply": "${params.env == 'prod' ? 'Manual' : 'Automatic'}"}}`), nil)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := compiled.Render(b.Context(), "envs/prod/net",
			map[string]any{"env": "prod", "name": "net"}); err != nil {
			b.Fatal(err)
		}
	}
}
