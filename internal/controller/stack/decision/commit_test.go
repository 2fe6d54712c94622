package decision

import (
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

// TestChooseCommit checks which claim decides the code of a Stack, and that none is replaced by the branch where what
// it claims is not known.
func TestChooseCommit(t *testing.T) {
	const commit = "1f3c000000000000000000000000000000000000"
	hold := &v1alpha1.StackHold{Number: 12}
	release := &v1alpha1.StackRelease{Pipeline: "shop", Stage: "production", Commit: commit}
	awaited := &v1alpha1.StackRelease{Pipeline: "shop", Stage: "production"}
	unknown := &Problem{Reason: v1alpha1.ReasonPipelineConflict, Message: "2 stages select the Stack"}
	for name, c := range map[string]struct {
		claims Claims
		want   CommitChoice // without Problem
		reason string
		says   string
	}{
		"no claim":       {},
		"a pull request": {claims: Claims{Hold: hold}, want: CommitChoice{Hold: hold}},
		"a release":      {claims: Claims{Release: release}, want: CommitChoice{Commit: commit}},
		"a stage without a release": {Claims{Release: awaited}, CommitChoice{},
			v1alpha1.ReasonAwaitingRelease, "has no release yet"},
		"a pull request of a stage's Stack": {Claims{Hold: hold, Release: release}, CommitChoice{},
			v1alpha1.ReasonPipelineConflict, "pull request 12 holds"},
		"a pull request before a release": {Claims{Hold: hold, Release: awaited}, CommitChoice{},
			v1alpha1.ReasonPipelineConflict, "pull request 12 holds"},
		"no known release": {Claims{ReleaseProblem: unknown}, CommitChoice{},
			v1alpha1.ReasonPipelineConflict, "2 stages"},
		"a pull request and no known release": {Claims{Hold: hold, ReleaseProblem: unknown}, CommitChoice{},
			v1alpha1.ReasonPipelineConflict, "2 stages"},
	} {
		got := ChooseCommit(c.claims)
		var reason, says string
		if p := got.Problem; p != nil {
			reason, says = p.Reason, p.Message
		}
		if isSource := c.reason == "" && c.want == (CommitChoice{}); got.IsSource() != isSource {
			t.Errorf("%s: IsSource is %t", name, got.IsSource())
		}
		if got.Problem = nil; got != c.want || reason != c.reason || !strings.Contains(says, c.says) {
			t.Errorf("%s: %+v %s %q", name, got, reason, says)
		}
	}
}
