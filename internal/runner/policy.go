package runner

import (
	"context"
	"fmt"

	"cairn.dev/cairn/internal/store"
)

// policy is the class of a plan that a policy denies.
const policy = store.FailurePolicyDenied

// deniedError is why a policy denies the plan.
type deniedError struct{ why string }

func (e *deniedError) Error() string { return e.why }

// checkPolicy asks the policies about the plan and shows what they say. Their verdict counts as the store keeps it,
// whatever is told from here.
func (a *attempt) checkPolicy(ctx context.Context) (result, error) {
	if a.tooLarge {
		return result{}, &deniedError{"the plan is too large to be checked by policies"}
	}
	verdict, err := a.client.CheckPolicy(ctx, a.planned.Digest)
	if err != nil {
		return result{}, fmt.Errorf("ask the policies: %w", err)
	}
	var first string
	for _, f := range verdict.Findings {
		said := a.clean(f.Policy + ": " + f.Message)
		fmt.Fprintf(a.text, "%-4s  %s\n", f.Action, said)
		if first == "" && f.Action == store.Deny {
			first = said
		}
	}
	if more := verdict.More(); more > 0 {
		fmt.Fprintf(a.text, "and %d more\n", more)
	}
	denied := verdict.Denied()
	switch {
	case denied > 1:
		return result{}, &deniedError{fmt.Sprintf("%s (and %d more)", first, denied-1)}
	case denied == 1:
		return result{}, &deniedError{first}
	}
	message := fmt.Sprintf("%d checked", verdict.Checked)
	if verdict.ApprovalRequired() > 0 {
		message += ", approval required"
	}
	switch warned := verdict.Warned(); warned {
	case 0:
	case 1:
		message += ", 1 warning"
	default:
		message += fmt.Sprintf(", %d warnings", warned)
	}
	return result{message: message}, nil
}
