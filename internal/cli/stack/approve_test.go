package stack

import (
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestQuestionListsWhatIsDestroyed(t *testing.T) {
	run := &v1alpha1.Run{}
	run.Status.Plan = &v1alpha1.Plan{Destroy: 1,
		Resources: []v1alpha1.ResourceChange{{Address: "a.disk", Action: "delete"}}}
	for answer, want := range map[string]bool{"yes\n": true, "no\n": false} {
		s, _, errOut := quietStack()
		s.TTY, s.In = true, strings.NewReader(answer)
		got, err := askToApprove(t.Context(), s, run, "Approve?", "yes")
		if err != nil || got != want {
			t.Errorf("the answer %q: %v, %v", answer, got, err)
		}
		list, question := strings.Index(errOut.String(), "a.disk"), strings.Index(errOut.String(), "Approve?")
		if list < 0 || question < list {
			t.Errorf("the question does not follow the list: %s", errOut)
		}
	}
}

// TestDecisionAboutAPlan checks when a decision is about the plan that waits now.
func TestDecisionAboutAPlan(t *testing.T) {
	digest := "sha256:" + strings.Repeat("1", 64)
	for name, tt := range map[string]struct {
		d        reviewed
		terminal bool
		answer   string
		asks, ok bool
	}{
		"the digest of the plan":     {d: reviewed{digest: digest}, ok: true},
		"its short form":             {d: reviewed{digest: strings.Repeat("1", 40)}, ok: true},
		"the digest of another plan": {d: reviewed{digest: "sha256:" + strings.Repeat("2", 64)}},
		"that, and --yes":            {d: reviewed{digest: strings.Repeat("2", 64), yes: true}},
		"--yes":                      {d: reviewed{yes: true}, ok: true},
		"no flag and no terminal":    {},
		"a terminal":                 {terminal: true, answer: "yes\n", asks: true, ok: true},
		"a terminal, and no":         {terminal: true, answer: "y\n", asks: true},
		"a terminal that ends":       {terminal: true, asks: true},
		"a terminal, and a digest":   {d: reviewed{digest: digest}, terminal: true, ok: true},
		"a terminal, and another plan's": {d: reviewed{digest: strings.Repeat("2", 64)}, terminal: true,
			answer: "yes\n"},
		"a terminal, and too short a digest ": {d: reviewed{digest: strings.Repeat("1", 12)}, terminal: true,
			answer: "yes\n"},
	} {
		t.Run(name, func(t *testing.T) {
			run := &v1alpha1.Run{}
			run.Name, run.Status.Plan = "net-1", &v1alpha1.Plan{Digest: digest, Changes: true, Destroy: 1}
			s, _, errOut := quietStack()
			s.TTY, s.In = tt.terminal, strings.NewReader(tt.answer)
			err := tt.d.confirm(t.Context(), s, run, "approve")
			if (err == nil) != tt.ok || strings.Contains(errOut.String(), "Approve this plan?") != tt.asks {
				t.Errorf("%v, after %q", err, errOut)
			}
		})
	}
}
