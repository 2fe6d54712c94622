package comment

import (
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// AutomaticMerge is the merge of a pull request after it is applied.
type AutomaticMerge struct {
	Method v1alpha1.MergeMethod
	State  v1alpha1.AutomaticMergeState
	// Message is why it waits or failed, and what to do; empty for nothing. It can have text of the Git provider.
	Message string `json:",omitempty"`
	// Again is when Cairn requests the merge again; nil if it does not.
	Again *metav1.Time `json:",omitempty"`
}

// text describes the merge. That of a request is the same before and after it is accepted, so that the comment is
// written once.
func (m AutomaticMerge) text() string {
	method := " (" + span(strings.ToLower(string(m.Method))) + ")"
	switch m.State {
	case v1alpha1.AutomaticMergeMerging, v1alpha1.AutomaticMergeAccepted:
		return "All is applied: Cairn merges this head" + method + "."
	case v1alpha1.AutomaticMergeFailed:
		next := "Cairn does not request it again for this head. After a correction, merge at the Git provider, or " +
			"comment `/cairn apply` again."
		if m.Again != nil {
			next = "Cairn requests it again at " + timeOf(m.Again) + "."
		}
		return "**The automatic merge" + method + " failed**: " + cell(m.Message) + ". " + next
	}
	return "Cairn merges this head" + method + " once all is applied. It waits: " + cell(m.Message) + "."
}
