package stackset

import (
	"context"
	"fmt"
	"math"
	"strings"

	"k8s.io/apimachinery/pkg/util/intstr"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/controller/stackset/decision"
	"cairn.dev/cairn/internal/controller/stackset/render"
)

// change is what a StackSet would do with a Stack.
type change struct {
	Action    decision.Action `json:"action"`
	Stack     string          `json:"stack"`
	Directory string          `json:"directory,omitempty"`
	// Fields of the Stack that would be set to the value of the template.
	Fields []string `json:"fields,omitempty"`
}

// diff shows what the StackSet would do in the cluster. The error is ErrChanges if that is anything.
func diff(ctx context.Context, s *session.Session, set *v1alpha1.StackSet, rendered []decision.Rendered,
	format string) error {
	if set.Namespace == "" {
		ns, err := s.Namespace()
		if err != nil {
			return err
		}
		set.Namespace = ns
	}
	stacks, grants, err := stacksIn(ctx, s, set)
	if err != nil {
		return err
	}
	changes, message, err := compare(set, rendered, stacks, grants)
	if err != nil {
		return err
	}
	if format != "" {
		err = s.PrintValue(format, changes)
	} else if len(changes) > 0 {
		rows := make([][]any, len(changes))
		for i, c := range changes {
			fields := strings.Join(c.Fields, ", ")
			if fields == "" {
				fields = "-"
			}
			rows[i] = []any{string(c.Action), c.Stack, c.Directory, fields}
		}
		err = s.PrintTable(screen.Rows(rows, "Action", "Stack", "Directory", "Fields"), false, false)
	}
	if err != nil {
		return err
	}
	s.Note("StackSet %s in namespace %s: %s.", set.Name, set.Namespace, screen.Clean(message))
	if len(changes) > 0 {
		return session.ErrChanges
	}
	return nil
}

// compare returns all changes of Stacks, and the message of the operator about them. An error is why the operator would
// write nothing.
func compare(
	set *v1alpha1.StackSet, rendered []decision.Rendered, stacks []v1alpha1.Stack, grants v1alpha1.StackGrantList,
) ([]change, string, error) {
	w := decision.Snapshot{Set: set.DeepCopy(), Rendered: rendered, Stacks: stacks, Grants: grants}
	w.Same = func(r *decision.Rendered, stack *v1alpha1.Stack) bool {
		fields, err := render.Differences(r.JSON, stack, set.Spec.Ignore)
		return err == nil && len(fields) == 0
	}
	w.Set.Spec.Mode = v1alpha1.StackSetPreview
	summary := decision.Decide(w)
	if summary.Reason != v1alpha1.ReasonPreviewed {
		return nil, "", fmt.Errorf("StackSet %s: %s: %s", set.Name, summary.Reason, screen.Clean(summary.Message))
	}
	// Mode Preview names only the first Stacks. This is what it would write in the end, without limits.
	w.Set.Spec.Mode, w.Set.Spec.MaxDeletions = v1alpha1.StackSetCreate, new(intstr.FromString("100%"))
	w.Set.Spec.Rollout = &v1alpha1.StackSetRollout{MaxConcurrent: new(int32(math.MaxInt32)),
		PauseAfterFailures: new(int32(math.MaxInt32))}
	changes := []change{}
	for _, write := range decision.Decide(w).Writes {
		c := change{Action: write.Action, Stack: write.Name}
		switch write.Action {
		case decision.Create, decision.Change:
			c.Directory = write.Rendered.Directory
		case decision.Suspend:
		default:
			continue // a deletion that a user confirmed is of no template
		}
		if write.Action == decision.Change && write.Stack != nil {
			var err error
			if c.Fields, err = render.Differences(write.Rendered.JSON, write.Stack, set.Spec.Ignore); err != nil {
				return nil, "", err
			}
		}
		changes = append(changes, c)
	}
	return changes, summary.Message, nil
}
