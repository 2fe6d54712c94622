package requirement

import (
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

const head, other, base, alice, bob = "1f3c9a2b", "0e2b8a1b", "ba5e0000", "gitea:git.example.com:alice",
	"gitea:git.example.com:bob"

// good is a pull request of alice that bob approved, and that has all requirements.
func good(changes ...func(*Facts)) Facts {
	f := Facts{
		Required: []v1alpha1.Requirement{v1alpha1.RequirementApproved, v1alpha1.RequirementMergeable,
			v1alpha1.RequirementUndiverged},
		Head: head, Newest: head, Compared: true, Base: base, Branch: "change", Into: "main", Author: alice,
		Readiness: pulls.Readiness{
			Head: head, Base: base, State: pulls.Open, Merge: pulls.MergeAllowed, Review: pulls.ReviewSufficient,
		},
		Approvals: []Approval{{By: bob, Commit: head}},
		Stacks:    []Stack{{Namespace: "web", Name: "app"}, {Namespace: "web", Name: "net"}},
	}
	for _, change := range changes {
		change(&f)
	}
	return f
}

func TestRequirements(t *testing.T) {
	const met, missing, unknown = v1alpha1.RequirementMet, v1alpha1.RequirementMissing, v1alpha1.RequirementUnknown
	type states [3]v1alpha1.RequirementState
	for name, tt := range map[string]struct {
		facts Facts
		want  states
		// text is in the first message.
		text string
	}{
		"it has all": {good(), states{met, met, met}, ""},
		"the Git provider does not respond": {good(func(f *Facts) { f.Unread = "the Git provider responded 502" }),
			states{unknown, unknown, unknown}, "cannot be read: the Git provider responded 502"},
		"nothing is known": {good(func(f *Facts) { f.Readiness, f.Approvals = pulls.Readiness{}, nil }),
			states{unknown, unknown, unknown}, "another head than 1f3c9a2b"},
		"it is closed": {good(func(f *Facts) { f.Ended = true }), states{missing, missing, missing},
			"is not open"},
		"its base has it": {good(func(f *Facts) {
			f.Ended, f.Merged, f.Unread = true, true, "502"
		}), states{met, met, met}, ""},
		"a user has pushed": {good(func(f *Facts) { f.Newest = other }), states{missing, missing, missing},
			"not the newest one of the pull request: comment /cairn apply"},
		"no head is known": {good(func(f *Facts) { f.Newest = "" }), states{missing, missing, missing},
			"not the newest one"},
		"of another head": {good(func(f *Facts) { f.Readiness.Head = other }), states{unknown, unknown, unknown},
			"another head"},
		"a draft": {good(func(f *Facts) { f.Readiness.Draft = true }), states{missing, missing, missing},
			"is a draft"},
		"a merged one": {good(func(f *Facts) { f.Readiness.State = pulls.Merged }), states{missing, missing, missing},
			"is not open"},

		"without a review": {good(func(f *Facts) { f.Approvals = nil }), states{missing, met, met},
			"another user than " + alice},
		"a review of another head, ambient-code #763": {good(func(f *Facts) { f.Approvals[0].Commit = other }),
			states{missing, met, met}, "no review approves head 1f3c9a2b"},
		"a review of a head that is not known": {good(func(f *Facts) {
			f.Approvals[0].Commit = ""
		}), states{missing, met, met}, "no review"},
		"a review by its author": {good(func(f *Facts) {
			f.Approvals[0].By = strings.ToUpper(alice)
		}), states{missing, met, met}, "no review"},
		"a review by a login that cannot be one": {good(func(f *Facts) { f.Approvals[0].By = "" }),
			states{missing, met, met}, "no review"},
		"a review by the author, and another one": {good(func(f *Facts) {
			f.Approvals = append([]Approval{{By: alice, Commit: head}}, f.Approvals...)
		}), states{met, met, met}, ""},
		"its author is not known": {good(func(f *Facts) { f.Author = "" }), states{missing, met, met},
			"not known who opened"},
		"more reviews are required": {good(func(f *Facts) {
			f.Readiness.Review = pulls.ReviewRequired
		}), states{missing, met, met}, "more reviews"},
		"a review requests changes": {good(func(f *Facts) {
			f.Readiness.Review = pulls.ChangesRequested
		}), states{missing, met, met}, "requests changes"},
		"whether more are required is not known": {good(func(f *Facts) { f.Readiness.Review = "" }),
			states{unknown, met, met}, "does not report"},

		"it would not be merged": {good(func(f *Facts) {
			f.Readiness.Merge, f.Readiness.Blockers = pulls.MergeBlocked, []string{
				"the required status test is no success"}
		}), states{met, missing, met}, "(the required status test is no success): a user who can push to change"},
		"a status of Cairn is required, atlantis #2436": {good(func(f *Facts) {
			f.Readiness.Merge, f.Readiness.OwnBlocks = pulls.MergeBlocked, true
		}),
			states{met, missing, met}, "a status of Cairn that is no success before the apply"},
		"it is not decided": {good(func(f *Facts) { f.Readiness.Merge = pulls.MergeUnknown }),
			states{met, unknown, met}, "has not decided"},
		"without a decision": {good(func(f *Facts) { f.Readiness.Merge = "" }), states{met, unknown, met},
			"has not decided"},

		"the base has a newer commit for a Stack": {good(func(f *Facts) {
			f.Stacks[1].Diverged = true
		}), states{met, met, missing}, "the code of web/net: a user who"},
		"the code is not compared": {good(func(f *Facts) { f.Compared = false }), states{met, met, unknown},
			"has not compared"},
		"no Stack is compared": {good(func(f *Facts) { f.Stacks = nil }), states{met, met, unknown},
			"has not compared"},
		"the base is not fetched": {good(func(f *Facts) { f.Readiness.Base = other }), states{met, met, unknown},
			"has not fetched it yet"},
		"the base is not known": {good(func(f *Facts) { f.Readiness.Base = "" }), states{met, met, unknown},
			"has not fetched it yet"},
		"no base is known": {good(func(f *Facts) { f.Readiness.Base, f.Base = "", "" }), states{met, met, unknown},
			"has not fetched it yet"},
	} {
		var got states
		text := ""
		for i, r := range Evaluate(tt.facts) {
			got[i] = r.State
			if text == "" {
				text = r.Message
			}
			if (r.State == met) != (r.Message == "") {
				t.Errorf("%s: %s is %s: %q", name, r.Type, r.State, r.Message)
			}
		}
		if got != tt.want || !strings.Contains(text, tt.text) {
			t.Errorf("%s: %v %q, want %v %q", name, got, text, tt.want, tt.text)
		}
	}
	if all := Evaluate(Facts{}); len(all) > 0 {
		t.Errorf("without requirements: %+v", all)
	}
	newer := good(func(f *Facts) { f.Required = []v1alpha1.Requirement{"Newer"} })
	if all := Evaluate(newer); len(all) != 1 || all[0].State != missing {
		t.Errorf("one of a newer version: %+v", all)
	}
}

// A command is rejected for what is known to be missing, and a Stack that has not diverged is not kept back by one that
// has.
func TestMissing(t *testing.T) {
	diverged := good(func(f *Facts) { f.Stacks[1].Diverged = true })
	for name, tt := range map[string]struct {
		facts       Facts
		stack, want string
	}{
		"all is met":               {good(), "net", ""},
		"another one has diverged": {diverged, "app", ""},
		"it has diverged":          {diverged, "net", "Undiverged is missing: main has newer commits"},
		"nothing is known":         {good(func(f *Facts) { f.Unread = "502" }), "net", ""},
		"one of two is not known": {good(func(f *Facts) {
			f.Approvals, f.Readiness.Merge = nil, ""
		}), "net", "Approved is missing: no review"},
	} {
		got := Missing(Evaluate(tt.facts), "web", tt.stack)
		if (got == "") != (tt.want == "") || !strings.HasPrefix(got, tt.want) || strings.Contains(got, "unknown") {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
