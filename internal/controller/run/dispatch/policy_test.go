package dispatch

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
)

var (
	planOne = &runnerapi.Plan{Digest: "sha256:one", Changes: true, Add: 1}
	denied  = runnerapi.PolicyResult{Checked: 2,
		Findings: []runnerapi.Finding{{Policy: "rules/a.rego", Action: runnerapi.Deny, Message: "no owner"},
			{Policy: "rules/b.rego", Action: runnerapi.Deny, Message: "no name"},
			{Policy: "rules/b.rego", Action: runnerapi.Warn, Message: "dear"}}}
	warned   = runnerapi.PolicyResult{Checked: 1, Findings: denied.Findings[2:]}
	required = runnerapi.PolicyResult{Checked: 2, MoreRequired: 1,
		Findings: []runnerapi.Finding{{Policy: "rules/a.rego", Action: runnerapi.RequireApproval, Message: "dear"}}}
	policyIs = func(message string) *runnerapi.Failure {
		return &runnerapi.Failure{Class: "PolicyDenied", Message: message}
	}
)

// Only the verdict counts that the server stores for the reported plan.
func TestPolicyResultsOfTheRunnerAreIgnored(t *testing.T) {
	kept := func(verdicts map[string]runnerapi.PolicyResult) PolicyEvaluation {
		return func(_ context.Context, _ *v1alpha1.Run, digest string) (*runnerapi.PolicyResult, bool, error) {
			if v, ok := verdicts[digest]; ok {
				return &v, true, nil
			}
			return nil, true, nil
		}
	}
	one := func(v runnerapi.PolicyResult) PolicyEvaluation {
		return kept(map[string]runnerapi.PolicyResult{"sha256:one": v})
	}
	for name, tt := range map[string]struct {
		verdict PolicyEvaluation
		done    runnerapi.Done
		// failure is its class and message; policy the counts of what is folded in.
		failure, policy string
		unread          bool // there is no plan to read
	}{
		"no policies": {verdict: noPolicies, done: runnerapi.Done{Plan: planOne}},
		"allowed": {verdict: one(runnerapi.PolicyResult{Checked: 3}), done: runnerapi.Done{Plan: planOne},
			policy: "3 0 0 0"},
		"warned": {verdict: one(warned), done: runnerapi.Done{Plan: planOne}, policy: "1 0 0 1"},
		"an approval is required, and the runner reports success": {verdict: one(required),
			done: runnerapi.Done{Plan: planOne}, policy: "2 0 2 0"},
		"denied, as the runner says": {
			verdict: one(denied), done: runnerapi.Done{Plan: planOne, Failure: policyIs("no")},
			failure: "PolicyDenied rules/a.rego: no owner (and 1 more)", policy: "2 2 0 1",
		},
		"denied, and the runner reports success": {
			verdict: one(denied), done: runnerapi.Done{Plan: planOne},
			failure: "PolicyDenied rules/a.rego: no owner (and 1 more)", policy: "2 2 0 1",
		},
		"never asked": {verdict: kept(nil), done: runnerapi.Done{Plan: planOne},
			failure: "Transient the policies did not receive this plan"},
		"asked about another plan, which is allowed": {
			verdict: kept(map[string]runnerapi.PolicyResult{"sha256:other": {Checked: 1}}),
			done:    runnerapi.Done{Plan: planOne},
			failure: "Transient the policies did not receive this plan",
		},
		"never asked, for a reason": {
			verdict: kept(nil),
			done:    runnerapi.Done{Plan: planOne, Failure: policyIs("the plan is too large to be checked")},
			failure: "PolicyDenied the plan is too large to be checked",
		},
		"a plan without changes": {verdict: kept(nil),
			done: runnerapi.Done{Plan: &runnerapi.Plan{Digest: "sha256:one"}}},
		"another failure": {
			verdict: one(denied),
			done: runnerapi.Done{Plan: planOne, Failure: &runnerapi.Failure{Class: "ConfigurationError",
				Message: "a hook failed"}},
			failure: "ConfigurationError a hook failed", unread: true,
		},
		"neither a plan nor a failure": {verdict: kept(nil), failure: "Transient the runner reported neither a plan " +
			"nor a failure", unread: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := snapshot(planning)
			applyReport(&w.Run.Status, runnerapi.Report{Done: &tt.done}, now)
			if err := (Reports{Policies: tt.verdict}).applyPolicies(t.Context(), w.Run, &tt.done); err != nil {
				t.Fatal(err)
			}
			failure, policy, plan := "", "", w.Run.Status.Plan
			if f := runinfo.Current(&w.Run.Status).Failure; f != nil {
				failure = string(f.Class) + " " + f.Message
			}
			if plan != nil && plan.Policy != nil {
				policy = fmt.Sprint(plan.Policy.Checked, plan.Policy.Denied, plan.Policy.ApprovalRequired,
					plan.Policy.Warned)
			}
			if failure != tt.failure || policy != tt.policy || (plan == nil) != tt.unread {
				t.Errorf("failure %q, want %q; policy %q, want %q; plan %v", failure, tt.failure, policy,
					tt.policy, plan)
			}
		})
	}
}

func TestApplyIsNotEvaluatedAgain(t *testing.T) {
	w := snapshot(applying)
	done := &runnerapi.Done{Plan: planOne}
	applyReport(&w.Run.Status, runnerapi.Report{Done: done}, now)
	before := w.Run.DeepCopy()
	reports := Reports{Policies: func(context.Context, *v1alpha1.Run, string) (*runnerapi.PolicyResult, bool, error) {
		t.Error("the policies were asked")
		return &denied, true, nil
	}}
	if err := reports.applyPolicies(t.Context(), w.Run, done); err != nil || !cmp.Equal(before, w.Run) {
		t.Errorf("got %v", err)
	}
}

// A report whose verdict cannot be read is not written: the runner sends it again.
func TestUnreadableVerdictRejectsTheReport(t *testing.T) {
	w, away := snapshot(planning), errors.New("the bucket is away")
	done := &runnerapi.Done{Plan: planOne}
	applyReport(&w.Run.Status, runnerapi.Report{Done: done}, now)
	reports := Reports{Policies: func(context.Context, *v1alpha1.Run, string) (*runnerapi.PolicyResult, bool, error) {
		return nil, true, away
	}}
	if err := reports.applyPolicies(t.Context(), w.Run, done); !errors.Is(err, away) {
		t.Errorf("got %v", err)
	}
}

func TestVerdictFitsIntoARun(t *testing.T) {
	v := runnerapi.PolicyResult{Checked: 1}
	for range 200 {
		v.Findings = append(v.Findings, runnerapi.Finding{Policy: strings.Repeat("p", 10_000), Action: runnerapi.Deny,
			Message: strings.Repeat("ä", 10_000)})
	}
	got := policyOf(v)
	if len(got.Findings) != maxFindings || got.Denied != 200 || len(got.Findings[0].Policy) > 600 ||
		len(got.Findings[0].Message) > 1024 {
		t.Errorf("%d findings, %d denied: %.100v", len(got.Findings), got.Denied, got.Findings[0])
	}
	if text := denial(v); len(text) > 1100 {
		t.Errorf("the failure's message has %d bytes", len(text))
	}
}
