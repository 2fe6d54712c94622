package stack

import (
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestQuestionListsWhatIsDestroyed(t *testing.T) {
	run := &v1alpha1.Run{}
	run.Status.Plan = &v1alpha1.Plan{Destroy: 1, Resources: []v1alpha1.ResourceChange{{Address: "a.disk", Action: "delete"}}}
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
