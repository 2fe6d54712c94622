package policy

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/leaks"
)

// The first argument of the test's own program, which selects what it runs.
const (
	asAnswerer  = "evaluate-policies" // what cairn is then
	asServer    = "a-server"          // asks a policy that never answers
	asVerbose   = "verbose"           // writes more than the server reads
	asFailing   = "a-failing-one"     // ends without a word
	asSleeping  = "sleeping"          // does nothing, as on an overloaded machine
	asReporting = "reporting"         // reports what it inherited
)

func TestMain(m *testing.M) {
	as := ""
	if len(os.Args) > 1 {
		as = os.Args[1]
	}
	switch as {
	case asAnswerer:
		if err := Answer(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case asServer:
		_, _ = apart(time.Minute, asAnswerer).Evaluate(context.Background(), listed([]string{"c/a.rego", endless}),
			[]byte(plan))
	case asVerbose:
		for {
			if _, err := fmt.Printf("{\"asks\":%q}\n", strings.Repeat("x", 1<<10)); err != nil {
				os.Exit(1)
			}
		}
	case asFailing:
		os.Exit(7)
	case asSleeping:
		time.Sleep(time.Hour)
	case asReporting:
		reportProcess()
	default:
		leaks.Main(m)
	}
}

// apart returns an Apart that runs the test's own program, with a timeout of the evaluation.
func apart(ask time.Duration, as string) *Apart {
	a, err := NewApart(as)
	if err != nil {
		panic(err)
	}
	a.ask, a.start, a.compile = ask, 2*time.Minute, 2*time.Minute // enough on any machine
	return a
}

// Policies with a step that takes years and cannot be interrupted: lists that contain the same list twice use little
// memory, but iterate 2^40 members. A search compares each position, without a fast path for text that is not ASCII.
var (
	endless = "package main\n" + twice("l", 40) + twice("m", 40) + `deny contains x if x := l40 == m40`
	formats = "validations:\n- expression: \"" + paired(40, "'%%s'.format([l%d])") + " == 'x'\""
	indexes = "validations:\n- expression: \"" + strings.Repeat("[", 3) + "plan.text.replace('a', 'é')" +
		strings.Repeat("].map(t, t + t)[0]", 3) + ".indexOf((plan.text + plan.text).replace('a', 'é') + 'y') == 1\""
)

// uncompilable has such lists, which the compiler compares since it infers the types of all their members.
var uncompilable = "package main\nl0 := [1]\nm0 := [1]\n" + pairing("l", 40) + pairing("m", 40) +
	`deny contains "x" if l40 == m40`

// twice returns lists that each contain the list before twice. The compiler cannot infer their length.
func twice(name string, n int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s0 := 1\n", name)
	for i := range n {
		fmt.Fprintf(&b, "%s%d := [%[1]s%[3]d | some _ in [1, 2]]\n", name, i+1, i)
	}
	return b.String()
}

// paired returns a CEL expression about l<n>, a list that contains the same list twice, n times.
func paired(n int, about string) string {
	text := fmt.Sprintf(about, n)
	for i := n; i > 0; i-- {
		text = fmt.Sprintf("[[l%d, l%d]].map(l%d, %s)[0]", i-1, i-1, i, text)
	}
	return fmt.Sprintf("[1].map(l0, %s)[0]", text)
}

// expectNoChildren checks that this process has no child, not even one that ended.
func expectNoChildren(t *testing.T) {
	t.Helper()
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
		t.Errorf("process %d remains: %v", pid, err)
	}
}

func evaluateApart(t *testing.T, a *Apart, modules ...string) (runnerapi.PolicyResult, error) {
	t.Helper()
	return a.Evaluate(t.Context(), listed(modules), []byte(plan))
}

// evaluateAgain retries as the server does if the process ends for a reason that the machine may cause: at its memory
// limit a process may get no thread, which does not depend on the policy.
func evaluateAgain(t *testing.T, a *Apart, modules ...string) (runnerapi.PolicyResult, error) {
	t.Helper()
	for attempts := 1; ; attempts++ {
		if v, err := evaluateApart(t, a, modules...); !errors.Is(err, ErrCutOff) || attempts == 5 {
			return v, err
		}
	}
}

func TestProcessReturnsTheSameResult(t *testing.T) {
	a := apart(time.Minute, asAnswerer)
	modules := []string{
		"c/a.rego", "package main\ndeny contains r.name if some r in input.resource_changes\nwarn contains " +
			"\"é\\u0000\\n\"",
		"c/v.yaml", "validations: [{expression: \"plan.a == 1\"}, {expression: \"plan.format_version == '1.3'\", " +
			"message: m}]",
	}
	got, err := evaluateApart(t, a, modules...)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(check(t, modules...), got); diff != "" || got.Denied() != 4 {
		t.Error(diff, got)
	}
	if v, err := evaluateApart(t, a); err != nil || v.Checked != 0 {
		t.Error(v, err)
	}
	_, err = evaluateApart(t, a, "c/a.rego", "package main\ndeny contains msg if {")
	var invalid *Invalid
	if !errors.As(err, &invalid) || invalid.Module != "c/a.rego" || invalid.Line == 0 {
		t.Errorf("%#v", err)
	}
	if _, err := a.Evaluate(t.Context(), listed(modules), []byte("[]")); err == nil ||
		!strings.Contains(err.Error(), "the plan is not a JSON object") {
		t.Error(err)
	}
}

func TestUninterruptiblePolicyIsKilled(t *testing.T) {
	for name, modules := range map[string][]string{
		"equality of lists in Rego": {"c/b.rego", endless},
		"format in CEL":             {"c/b.yaml", formats},
		"indexOf in CEL":            {"c/b.yaml", indexes},
	} {
		t.Run(name, func(t *testing.T) {
			before := []string{"c/a.rego", "package main\nwarn contains \"fine\"", "c/a.yaml",
				"validations: [{expression: \"true\"}]"}
			for ask := 300 * time.Millisecond; ; ask *= 2 {
				v, err := evaluateApart(t, apart(ask, asAnswerer), append(before, modules...)...)
				expectNoChildren(t)
				switch {
				case errors.Is(err, errTime) && strings.HasPrefix(err.Error(), "c/a.") && ask < time.Minute:
					continue // the machine is too busy to reach the tested policy in that time
				case !errors.Is(err, errTime) || !strings.HasPrefix(err.Error(), modules[0]+": "):
					t.Errorf("%+v, %v", v, err)
				}
				return
			}
		})
	}
}

func TestPolicyThatCompilesTooLongIsKilled(t *testing.T) {
	a := apart(time.Minute, asAnswerer)
	a.start = 500 * time.Millisecond
	if v, err := evaluateApart(t, a, "c/a.rego", uncompilable); !errors.Is(err, errStart) ||
		!errors.Is(err, ErrCutOff) {
		t.Errorf("%+v, %v", v, err)
	}
	expectNoChildren(t)
	for a.compile = a.start; ; a.compile *= 2 {
		err := a.Compile(t.Context(), listed([]string{"c/a.rego", uncompilable}))
		expectNoChildren(t)
		if errors.Is(err, ErrCutOff) && a.compile < time.Minute {
			continue // the machine is too busy to run the process for long enough in that time
		}
		if !errors.Is(err, ErrTooMuch) {
			t.Error(err)
		}
		return
	}
}

// TestCompilationWithoutCPUTimeIsTransient checks a process that gets no CPU time. A policy that cannot be compiled is
// cached as invalid, so this has to be another error.
func TestCompilationWithoutCPUTimeIsTransient(t *testing.T) {
	a := apart(time.Minute, asSleeping)
	a.compile = time.Second
	if err := a.Compile(t.Context(), listed([]string{"c/a.yaml", "validations: [{expression: \"true\"}]"})); errors.Is(
		err, ErrTooMuch) || !errors.Is(err, ErrCutOff) {
		t.Error(err)
	}
	expectNoChildren(t)
}

func TestProcessCompiles(t *testing.T) {
	a := apart(time.Minute, asAnswerer)
	if err := a.Compile(t.Context(), listed([]string{"c/a.rego", endless, "c/v.yaml", formats})); err != nil {
		t.Error(err)
	}
	var invalid *Invalid
	if err := a.Compile(t.Context(), listed([]string{"c/v.yaml", formats + "'"})); !errors.As(err, &invalid) ||
		invalid.Module != "c/v.yaml" {
		t.Errorf("%#v", err)
	}
}

func TestNumberOfProcessesIsLimited(t *testing.T) {
	a := apart(time.Minute, asAnswerer)
	modules := listed([]string{"c/v.yaml", "validations: [{expression: \"true\"}]"})
	compile := func(ctx context.Context) error { return a.Compile(ctx, modules) }
	ask := func(ctx context.Context) error {
		_, err := a.Evaluate(ctx, modules, []byte(plan))
		return err
	}
	for _, one := range []struct {
		turns     chan struct{}
		do, other func(context.Context) error
	}{{a.asking, ask, compile}, {a.compiling, compile, ask}} {
		for range cap(one.turns) {
			one.turns <- struct{}{}
		}
		hasty, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		program := a.program
		a.program = "/nowhere/cairn" // not started
		if err := one.do(hasty); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		cancel()
		a.program = program
		if err := one.other(t.Context()); err != nil {
			t.Error(err)
		}
		<-one.turns
		for range 2 { // each releases its slot
			if err := one.do(t.Context()); err != nil {
				t.Error(err)
			}
		}
	}
}

// TestPolicyThatUsesTooMuchMemoryIsKilled checks memory that grows in one step.
func TestPolicyThatUsesTooMuchMemoryIsKilled(t *testing.T) {
	a := apart(10*time.Minute, asAnswerer)
	a.data = 192 << 20
	v, err := evaluateAgain(t, a, "c/a.rego", "package main\nl0 := [1, 2, 3, 4, 5, 6, 7, 8]\n"+doubling(40)+
		`deny contains "x" if count(l40) > 1`)
	if !errors.Is(err, ErrTooMuch) || err.Error() != "c/a.rego: "+errMemory.Error() {
		t.Errorf("%+v, %v", v, err)
	}
	expectNoChildren(t)
}

// TestPolicyThatOverflowsTheStackEndsItsProcess checks a stack overflow, which Go cannot recover from.
func TestPolicyThatOverflowsTheStackEndsItsProcess(t *testing.T) {
	v, err := evaluateAgain(t, apart(10*time.Minute, asAnswerer), "c/a.rego", "package main\n"+
		twice("l", 24)+twice("m", 24)+`deny contains "x" if l24 == m24`)
	if !errors.Is(err, ErrTooMuch) || !strings.HasPrefix(err.Error(), "c/a.rego: ") {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestEvaluationStopsWhenTheContextIsCanceled(t *testing.T) {
	gone := errors.New("the runner closed the connection")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(200*time.Millisecond, func() { cancel(gone) })
	if v, err := apart(time.Minute, asAnswerer).Evaluate(ctx, listed([]string{"c/a.rego", endless}),
		[]byte(plan)); !errors.Is(err, gone) || errors.Is(err, ErrCutOff) {
		t.Errorf("%+v, %v", v, err)
	}
	expectNoChildren(t)
}

// TestFailureOfTheProcessIsTransient checks processes that fail: the result is neither cached nor a denial.
func TestFailureOfTheProcessIsTransient(t *testing.T) {
	missing := apart(time.Minute, asAnswerer)
	missing.program = "/nowhere/cairn"
	for want, a := range map[string]*Apart{
		"no such file":   missing,
		"exit status 7":  apart(time.Minute, asFailing),
		"unexpected EOF": apart(time.Minute, asVerbose),
	} {
		v, err := evaluateApart(t, a, "c/a.yaml", "validations: [{expression: \"true\"}]")
		if !errors.Is(err, ErrCutOff) || !strings.Contains(err.Error(), want) || len(err.Error()) > 2<<10 {
			t.Errorf("%+v, %v", v, err)
		}
		expectNoChildren(t)
	}
}
