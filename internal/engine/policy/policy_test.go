package policy

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/runnerapi"
)

var plan = `{"format_version":"1.2","text":"` + strings.Repeat("a", 100_000) + `","resource_changes":[
	{"address":"terraform_data.a","type":"terraform_data","name":"a","change":{"actions":["create"],"before":null,"after":{"size":3,"big":12345678901234567890,"ratio":1.5}}},
	{"address":"terraform_data.b","type":"terraform_data","name":"b","change":{"actions":["delete"],"before":{"size":9},"after":null}}]}`

// check evaluates policies, given as names and texts, with the plan.
func check(t *testing.T, modules ...string) runnerapi.PolicyResult {
	t.Helper()
	v, err := compile(t, modules...).Check(t.Context(), []byte(plan), func(string) {})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func compile(t testing.TB, modules ...string) *Set {
	t.Helper()
	set, err := Compile(listed(modules))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func listed(modules []string) []Module {
	var all []Module
	for i := 0; i+1 < len(modules); i += 2 {
		all = append(all, Module{Name: modules[i], Text: modules[i+1]})
	}
	return all
}

// lines formats findings as action, policy and message.
func lines(v runnerapi.PolicyResult) []string {
	var all []string
	for _, f := range v.Findings {
		all = append(all, f.Action+" "+f.Policy+": "+f.Message)
	}
	return all
}

func TestConftestRules(t *testing.T) {
	for _, test := range []struct {
		name, module string
		want         []string
	}{
		{"texts", `deny contains msg if { some r in input.resource_changes; msg := sprintf("%s is there", [r.address]) }`, []string{
			"Deny c/a.rego: terraform_data.a is there", "Deny c/a.rego: terraform_data.b is there",
		}},
		{"objects with msg", `violation contains {"msg": "no", "details": {"a": 1}}`, []string{"Deny c/a.rego: no"}},
		{"a warning", `warn contains "think"`, []string{"Warn c/a.rego: think"}},
		{"a requirement of approval", `require_approval contains "ask"`, []string{"RequireApproval c/a.rego: ask"}},
		{"requirements that are true, or have an ending", "require_approval if true\nrequire_approval_cost contains " +
			"{\"msg\": \"dear\"}", []string{
			"RequireApproval c/a.rego: dear", "RequireApproval c/a.rego: require_approval",
		}},
		{"requirements between denials and warnings", "warn contains \"a\"\nrequire_approval contains \"b\"\ndeny " +
			"contains \"c\"", []string{
			"Deny c/a.rego: c", "RequireApproval c/a.rego: b", "Warn c/a.rego: a",
		}},
		{"names with an ending", "deny_tags contains \"a\"\nwarn_a_2 contains \"b\"\nviolation_x contains \"c\"",
			[]string{
				"Deny c/a.rego: a", "Deny c/a.rego: c", "Warn c/a.rego: b",
			}},
		{"names that only begin so", "denyall contains \"a\"\nwarning contains \"b\"\nrequire_approvals contains " +
			"\"c\"\nrequire contains \"d\"\ndeny contains \"c\" if false", nil},
		{"no finding", `deny contains "x" if input.nothing`, nil},
		{"import rego.v1", "import rego.v1\ndeny contains \"x\" if true", []string{"Deny c/a.rego: x"}},
		{"a rule that is true", `deny if count(input.resource_changes) == 2`, []string{"Deny c/a.rego: deny"}},
		{"a rule that is false", "default deny := false", nil},
		{"a rule that is a text", `deny := "x"`, []string{"Deny c/a.rego: x"}},
		{"a rule with else", "deny := \"x\" if false else := \"y\"", []string{"Deny c/a.rego: y"}},
		{"a list", `deny := ["x", {"msg": "y"}]`, []string{"Deny c/a.rego: x", "Deny c/a.rego: y"}},
		{"an object of messages", `deny["x"] := true`, []string{"Deny c/a.rego: x"}},
		{"rules below a name", `deny.tags contains "x"`, []string{"Deny c/a.rego: x"}},
		{"objects without msg", `deny contains {"a": 1}`, []string{`Deny c/a.rego: {"a":1}`}},
		{"a msg that is not a text", `deny contains {"msg": ["a"]}`, []string{`Deny c/a.rego: ["a"]`}},
		{"no message", `deny contains ""`, []string{"Deny c/a.rego: it returns no message"}},
		{"rules that use each other", "deny contains \"x\"\nwarn contains msg if { some msg in deny }", []string{
			"Deny c/a.rego: x", "Warn c/a.rego: x",
		}},
		{"numbers keep their digits", `deny contains sprintf("%v", [input.resource_changes[0].change.after.big])`,
			[]string{
				"Deny c/a.rego: 12345678901234567890",
			}},
		{"rules that contradict each other", "deny := \"a\" if true\ndeny := \"b\" if true", []string{
			"Deny c/a.rego: it cannot be evaluated: rule data.main.deny produced conflicting values:\n  \"a\" at " +
				"c/a.rego:2\n  \"b\" at c/a.rego:3",
		}},
		{"characters for terminals", `deny contains "a\u001b[31m\u202eb\u0000c"`,
			[]string{"Deny c/a.rego: a [31m b c"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := check(t, "c/a.rego", "package main\n"+test.module)
			if diff := cmp.Diff(test.want, lines(v)); diff != "" {
				t.Error(diff)
			}
			if v.Checked != 1 {
				t.Errorf("%d were checked", v.Checked)
			}
		})
	}
}

func TestModulesOfAConfigMapShareData(t *testing.T) {
	v := check(t,
		"c/a.rego", "package main\nimport data.lib.size\ndeny contains \"too large\" if count(size.large) > 0",
		"c/lib.rego", "package lib.size\nlarge contains r.name if { some r in input.resource_changes; "+
			"r.change.before.size > 5 }",
		"c/sub.rego", "package main.sub\nwarn contains \"below main\"",
		"c/more.rego", "package main\ndeny contains \"another module, the same rule\"",
		"c/aside.rego", "package other\ndeny contains \"not in main\"",
	)
	want := []string{
		"Deny c/a.rego: too large", "Deny c/more.rego: another module, the same rule", "Warn c/sub.rego: below main",
	}
	if diff := cmp.Diff(want, lines(v)); diff != "" || v.Checked != 3 {
		t.Error(diff, v.Checked)
	}
}

// TestModulesOfAnotherConfigMapAreIsolated checks that a module of a tenant cannot change the result of a required one.
func TestModulesOfAnotherConfigMapAreIsolated(t *testing.T) {
	required := "package main\nallowed contains \"b\"\ndeny contains r.name if { some r in input.resource_changes; " +
		"not r.name in allowed }"
	v := check(t, "cairn-system/rules/a.rego", required, "rules/a.rego",
		"package main\nallowed contains \"a\"\ndeny contains \"x\" if false")
	if diff := cmp.Diff([]string{"Deny cairn-system/rules/a.rego: a"}, lines(v)); diff != "" {
		t.Error(diff)
	}
}

func TestValidations(t *testing.T) {
	for _, test := range []struct {
		name, text string
		want       []string
	}{
		{"true", `[{expression: "plan.resource_changes.size() == 2"}]`, nil},
		{"false", `[{expression: "plan.resource_changes.all(r, r.name != 'a')", message: no a}]`,
			[]string{"Deny v.yaml: no a"}},
		{"a warning", `[{expression: "false", message: think, action: Warn}]`, []string{"Warn v.yaml: think"}},
		{"input is the plan too", `[{expression: "input.resource_changes == plan.resource_changes"}]`, nil},
		{"without a message", `[{expression: "1 > 2"}]`, []string{"Deny v.yaml: not true: 1 > 2"}},
		{"a message expression",
			`[{expression: "false", message: other, messageExpression: "plan.resource_changes.map(r, r.name).join(', ')"}]`,
			[]string{"Deny v.yaml: a, b"}},
		{"a message expression that fails",
			`[{expression: "false", message: other, messageExpression: "plan.nothing.text"}]`,
			[]string{"Deny v.yaml: other"}},
		{"a requirement of approval", `[{expression: "false", message: ask, action: RequireApproval}]`,
			[]string{"RequireApproval v.yaml: ask"}},
		{"an expression that fails denies, also where it would require an approval",
			`[{expression: "plan.nothing == 1", action: RequireApproval}]`,
			[]string{"Deny v.yaml: it cannot be evaluated: no such key: nothing"}},
		{"an expression that fails denies, also where it would warn",
			`[{expression: "plan.nothing == 1", action: Warn}]`,
			[]string{"Deny v.yaml: it cannot be evaluated: no such key: nothing"}},
		{"an expression that is no bool", `[{expression: "plan.resource_changes"}]`,
			[]string{"Deny v.yaml: it cannot be evaluated: plan.resource_changes is not true or false but " +
				"a list(dyn)"}},
		{"numbers", `[{expression: "plan.resource_changes[0].change.after.size < 4 && plan.resource_changes[0].change.after.ratio == 1.5"}]`, nil},
		{"null and absent", `[{expression: "plan.resource_changes[0].change.before == null && !has(plan.errored)"}]`,
			nil},
		{"optional members", `[{expression: "plan.?a.?b.orValue('x') == 'x'"}]`, nil},
		{"texts", `[{expression: "'A,b'.lowerAscii().split(',') == ['a', 'b'] && 'abc'.substring(1) == 'bc'"}]`, nil},
		{"functions that return texts",
			`[{expression: "'aXbX'.replace('X', '--') == 'a--b--' && 'aa'.replace('a', 'b', 1) == 'ba' && ['a', 'b'].join() == 'ab'"}]`, nil},
		{"a search", `[{expression: "plan.text.matches('^a+$') && !plan.text.matches('b')"}]`, nil},
		{"comparisons", `[{expression: "plan.resource_changes != [] && 1 in [1.0, 'a'] && 'text' in plan && !('b' in ['a']) && {'a': [1]} == {'a': [1]} && plan.text != null"}]`, nil},
		{"an expression that does not end",
			`[{expression: "plan.resource_changes.all(a, [1,2,3,4,5,6,7,8,9,10].all(b, [1,2,3,4,5,6,7,8,9,10].all(c, [1,2,3,4,5,6,7,8,9,10].all(d, [1,2,3,4,5,6,7,8,9,10].all(e, [1,2,3,4,5,6,7,8,9,10].all(f, [1,2,3,4,5,6,7,8,9,10].all(g, [1,2,3,4,5,6,7,8,9,10].all(h, [1,2,3,4,5,6,7,8,9,10].all(i, i > 0)))))))))"}]`,
			[]string{"Deny v.yaml: it cannot be evaluated: operation " + "cancel" + "led: actual cost limit exceeded"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			v := check(t, "v.yaml", "validations: "+test.text)
			if diff := cmp.Diff(test.want, lines(v)); diff != "" || v.Checked != 1 {
				t.Error(diff, v.Checked)
			}
		})
	}
}

func TestPolicyErrorsNameTheModuleAndLine(t *testing.T) {
	for _, test := range []struct{ name, module, text, want string }{
		{"a syntax error in Rego", "c/a.rego", "package main\n\ndeny contains msg if {", "policy c/a.rego, line 3: "},
		{"old Rego", "c/a.rego", "package main\n\ndeny[msg] { msg := \"x\" }",
			"policy c/a.rego, line 3: this is the syntax of Rego before version 1: write `deny contains msg if"},
		{"empty", "c/a.rego", "", "policy c/a.rego: empty module"},
		{"no rule that Cairn evaluates", "c/a.rego", "package terraform\ndeny contains \"x\"",
			"no rule deny, violation, require_approval or warn in package main"},
		{"another package with that prefix", "c/a.rego", "package mainframe\ndeny contains \"x\"", "no rule deny"},
		{"a function", "c/a.rego", "package main\ndeny(x) := x", "policy c/a.rego, line 2: deny is a function"},
		{"the network", "c/a.rego", "package main\ndeny contains \"x\" if http.send({})",
			"policy c/a.rego, line 2: the function http.send is not available to policies"},
		{"the environment", "c/a.rego", "package main\ndeny contains \"x\" if opa.runtime().env.HOME",
			"the function opa.runtime is not available"},
		{"DNS", "c/a.rego", "package main\ndeny contains \"x\" if net.lookup_ip_addr(\"x\")",
			"the function net.lookup_ip_addr is not available"},
		{"the clock", "c/a.rego", "package main\ndeny contains \"x\" if time.now_ns() > 1",
			"the function time.now_ns is not available"},
		{"random numbers", "c/a.rego", "package main\ndeny contains \"x\" if rand.intn(\"a\", 2) > 1",
			"the function rand.intn is not available"},
		{"a name that is not available", "c/a.rego", "package main\ndeny contains \"x\" if foo > 1",
			"var foo is unsafe"},
		{"a function that is not available", "c/a.rego", "package main\ndeny contains \"x\" if foo(1)",
			"undefined function"},
		{"a function whose result can be large", "c/a.rego",
			"package main\ndeny contains \"x\" if json.marshal_with_options(1, {})",
			"the function json.marshal_with_options is not available"},
		{"keys of any length", "c/a.rego", "package main\ndeny contains \"x\" if io.jwt.verify_rs256(\"\", \"\")",
			"the function io.jwt.verify_rs256 is not available"},
		{"sets", "v.yaml", "validations: [{expression: \"sets.contains([1], [1])\"}]",
			"undeclared reference to 'sets'"},
		{"a syntax error in YAML", "v.yaml", "validations: [", "policy v.yaml: "},
		{"no validation", "v.yaml", "", "it has 0 validations"},
		{"a field that is not available", "v.yaml", "validations: [{expresion: \"true\"}]", "expresion"},
		{"two documents", "v.yaml", "validations: [{expression: \"true\"}]\n---\nvalidations: []",
			"more than one document"},
		{"no expression", "v.yaml", "validations:\n- {message: x}", "policy v.yaml, line 2: expression: it is empty"},
		{"a syntax error in CEL", "v.yaml", "validations:\n- {expression: \"true\"}\n- {expression: \"a b\"}",
			"policy v.yaml, line 3: expression: "},
		{"a name that CEL does not have", "v.yaml", "validations: [{expression: object.x}]",
			"undeclared reference to 'object'"},
		{"a number", "v.yaml", "validations: [{expression: \"1\"}]", "it is a int and has to be a bool"},
		{"an action", "v.yaml", "validations: [{expression: \"true\", action: Audit}]",
			`action "Audit": it is Deny, RequireApproval or Warn`},
		{"a format that is too wide", "v.yaml", "validations: [{expression: \"'%.1000000000f'.format([1.0]) == 'b'\"}]",
			"precision"},
		{"another file", "c/README.md", "# Rules", "policy c/README.md: the name of a policy ends in"},
		{"a long file", "c/a.rego", strings.Repeat("#", largest+1), "longer than 256 KiB"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Compile([]Module{{test.module, test.text}})
			var invalid *Invalid
			if !errors.As(err, &invalid) || !strings.Contains(err.Error(), test.want) || invalid.Module != test.module {
				t.Errorf("%v", err)
			}
			if err != nil && len(err.Error()) > 3*longest {
				t.Errorf("%d bytes", len(err.Error()))
			}
		})
	}
	if _, err := Compile([]Module{{"a.yaml", "validations: [{expression: \"true\"}]"}, {"a.yaml", ""}}); err == nil {
		t.Error("two policies of the same name")
	}
}

func TestFindingsAreSortedAndBounded(t *testing.T) {
	v := check(t,
		"b.rego", "package main\ndeny contains sprintf(\"%04d %s\", [i, \"é\"]) if some i in numbers.range(1, 300)",
		"a.yaml", "validations: [{expression: \"false\", action: Warn, message: w}, {expression: \"false\", action: "+
			"RequireApproval, message: r}, {expression: \"false\", message: d}]",
		"c.rego", "package main\nwarn contains concat(\"\", [\"é\" | some i in numbers.range(1, 2000)])",
	)
	more, all := []int{v.MoreDenied, v.MoreRequired, v.MoreWarned}, []int{v.Denied(), v.ApprovalRequired(), v.Warned()}
	if len(v.Findings) != mostFindings || !slices.Equal(more, []int{101, 1, 2}) ||
		!slices.Equal(all, []int{301, 1, 2}) || v.Checked != 5 {
		t.Errorf("%d findings, %d more, %d in all, %d checked", len(v.Findings), more, all, v.Checked)
	}
	if diff := cmp.Diff([]string{"Deny a.yaml: d", "Deny b.rego: 0001 é", "Deny b.rego: 0002 é"},
		lines(v)[:3]); diff != "" {
		t.Error(diff)
	}
	long := check(t, "c.rego", "package main\nwarn contains concat(\"\", [\"é\" | some i in numbers.range(1, 2000)])").
		Findings
	if len(long) != 1 || len(long[0].Message) > longest || !strings.HasSuffix(long[0].Message, "é…") {
		t.Errorf("%q", long)
	}
}

func TestCheckWithoutPolicies(t *testing.T) {
	v := check(t)
	if diff := cmp.Diff(runnerapi.PolicyResult{}, v); diff != "" {
		t.Error(diff)
	}
}

func TestInvalidPlanIsAnError(t *testing.T) {
	set := compile(t, "v.yaml", "validations: [{expression: \"true\"}]")
	for _, text := range []string{"", "null", "[]", "{", "x"} {
		if v, err := set.Check(t.Context(), []byte(text), func(string) {}); err == nil {
			t.Errorf("%q: %+v", text, v)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if v, err := set.Check(ctx, []byte(plan), func(string) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("%+v, %v", v, err)
	}
}

// longText is a text of 2 MB that is created in few steps.
const longText = "t := concat(\"\", [\"0123456789\" | some i in numbers.range(1, 400)])\ns := concat(\"\", [t | some " +
	"i in numbers.range(1, 500)])\n"

// TestPanicOfAPolicyDenies checks that a panic neither stops the server nor allows the plan.
func TestPanicOfAPolicyDenies(t *testing.T) {
	findings, err := guarded(t.Context(), "c/a.rego", func() ([]runnerapi.Finding, error) { panic("nil map") })
	if err != nil || len(findings) != 1 || findings[0].Action != runnerapi.Deny ||
		!strings.Contains(findings[0].Message, "nil map") {
		t.Errorf("%+v, %v", findings, err)
	}
}

// TestPathologicalPoliciesAreStopped checks policies that use up the memory or end the process otherwise, or that one
// might expect to. TestUninterruptiblePolicyIsKilled checks what only takes too long.
func TestPathologicalPoliciesAreStopped(t *testing.T) {
	for name, module := range map[string]string{
		"lists that double": "l0 := [1, 2, 3, 4, 5, 6, 7, 8]\n" + doubling(40) +
			"deny contains \"x\" if count(l40) > 1",
		"texts that multiply":              longText + "deny contains \"x\" if count(replace(s, \"\", s)) > 1",
		"as many findings as there can be": "deny contains x if some x in numbers.range(1, 100000000000)",
		"JSON of lists that are the same": "l0 := [\"a\"]\n" + pairing("l", 40) +
			`deny contains "x" if json.marshal(l40) == ""`,
		"a list in a list": "l := numbers.range(1, 300000)\ndeny contains \"x\" if object.subset(l, l)",
	} {
		stops(t, name, "c/a.rego", "package main\n"+module)
	}
	for name, expression := range map[string]string{
		"texts that multiply in CEL": "plan.text.replace('', plan.text).replace('', plan.text) == ''",
		"an expression with many states": "plan.text.replace('', plan.text).matches('(" +
			strings.Repeat("(a|b|.*c){1,100}", 50) + ")d')",
	} {
		stops(t, name, "c/a.yaml", "validations:\n- expression: \""+expression+"\"")
	}
}

// stops checks that a policy is stopped, or denies: it must not be left out.
func stops(t *testing.T, name, file, text string) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		a := apart(time.Second, asAnswerer)
		a.data = 256 << 20
		v, err := evaluateApart(t, a, file, text, "c/v.yaml", "validations: [{expression: \"true\"}]")
		expectNoChildren(t)
		if !errors.Is(err, ErrTooMuch) && !errors.Is(err, ErrCutOff) && v.Denied() == 0 {
			t.Errorf("%+v, %v", v, err)
		}
	})
}

// pairing returns lists that each contain the list before twice.
func pairing(name string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%s%d := [%[1]s%[3]d, %[1]s%[3]d]\n", name, i+1, i)
	}
	return b.String()
}

func doubling(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "l%d := array.concat(l%d, l%d)\n", i+1, i, i)
	}
	return b.String()
}

// TestPolicyThatNestsTooDeepIsStopped checks a text for which the compiler, which cannot be interrupted, calls itself
// often.
func TestPolicyThatNestsTooDeepIsStopped(t *testing.T) {
	text := "x := " + strings.Repeat("[", 40_000) + strings.Repeat("]", 40_000)
	err := apart(time.Minute, asAnswerer).Compile(t.Context(), listed([]string{"c/a.rego", "package main\n" + text}))
	if err != nil && !errors.As(err, new(*Invalid)) && !errors.Is(err, ErrTooMuch) {
		t.Error(err)
	}
	expectNoChildren(t)
}

func TestPolicyCannotAccessTheNetwork(t *testing.T) {
	called := make(chan string, 10)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		called <- r.URL.Path
	}))
	defer server.Close()
	for _, body := range []string{
		`http.send({"method": "GET", "url": "%s"})`,
		`json.match_schema({}, {"$ref": "%s/schema"})`,
		`json.verify_schema({"$ref": "%s/schema"})[0]`,
		`graphql.schema_is_valid("%s")`,
	} {
		set, err := Compile([]Module{{"a.rego", "package main\ndeny contains \"x\" if " +
			fmt.Sprintf(body, server.URL)}})
		if err == nil {
			_, _ = set.Check(t.Context(), []byte(plan), func(string) {})
			t.Errorf("%s compiles", body)
		}
	}
	select {
	case path := <-called:
		t.Errorf("%s was called", path)
	default:
	}
}

func TestConcurrentChecks(t *testing.T) {
	set := compile(t, "c/a.rego", "package main\ndeny contains r.name if some r in input.resource_changes", "c/v.yaml",
		"validations: [{expression: \"plan.a == 1\"}]")
	want, err := set.Check(t.Context(), []byte(plan), func(string) {})
	if err != nil || want.Denied() != 3 {
		t.Fatal(want, err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got, err := set.Check(t.Context(), []byte(plan), func(string) {}); err != nil || !cmp.Equal(want, got) {
				t.Error(got, err)
			}
		})
	}
	all.Wait()
}

func FuzzCompile(f *testing.F) {
	f.Add("a.rego", "package main\ndeny contains msg if { some r in input.resource_changes; msg := r.address }")
	f.Add("a.rego", "package main\ndeny[msg] { msg := \"x\" }")
	f.Add("a.rego", "package main.x\nimport rego.v1\nwarn_a contains {\"msg\": x} if some x in [1 | true] else := 3")
	f.Add("a.yaml", "validations:\n- {expression: \"plan.all(a, a == 1)\", messageExpression: \"'a' + 'b'\", "+
		"action: Warn}")
	f.Add("a.yaml", "a: &a [x, x]\nb: [*a, *a]")
	f.Fuzz(func(t *testing.T, name, text string) {
		if strings.Count(text, "|") > 8 {
			t.Skip("only an Apart ends the compiler, whose time doubles with each comprehension in another")
		}
		set, err := Compile([]Module{{name, text}})
		var invalid *Invalid
		switch {
		case err != nil && !errors.As(err, &invalid):
			t.Fatalf("%T %v", err, err)
		case err == nil:
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := set.Check(ctx, []byte(plan), func(string) {}); err != nil &&
				!errors.Is(err, context.DeadlineExceeded) {
				t.Fatal(err)
			}
		}
	})
}
