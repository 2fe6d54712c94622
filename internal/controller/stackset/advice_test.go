package stackset

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"cairn.dev/cairn/internal/controller/apierror"
	"cairn.dev/cairn/internal/controller/stackset/decision"
)

// TestAdviceForAStackThatIsGone checks that the advice for a rejected write names what changes the Stack: the template
// for one that is generated, and not for one that is deleted, for example with the deletionPolicy Protect.
func TestAdviceForAStackThatIsGone(t *testing.T) {
	invalid := apierrors.NewInvalid(schema.GroupKind{Group: "cairn.dev", Kind: "Stack"}, "net", nil)
	for action, want := range map[decision.Action]string{
		decision.Create: "correct spec.template", decision.Change: "correct spec.template",
		decision.Suspend: "correct the Stack itself", decision.Delete: "correct the Stack itself",
		decision.Release: "correct the Stack itself",
	} {
		if got := advice(action, invalid, apierror.Of(invalid)); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %q, want %q", action, got, want)
		}
	}
}
