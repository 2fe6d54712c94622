package screen

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"cairn.dev/cairn/api/v1alpha1"
)

// Deletions returns a table of Stacks that a user can confirm to delete.
func Deletions(stacks []*v1alpha1.Stack) *metav1.Table {
	return table(stacks, func(s **v1alpha1.Stack) []any {
		directory := "-"
		if git := (*s).Spec.Source.Git; git != nil {
			directory = cmp.Or(git.Path, ".")
		}
		name := (*s).Name
		if set, _ := (*s).StackSetKey(); set.Namespace != (*s).Namespace {
			name = (*s).Namespace + "/" + name
		}
		return []any{name, directory, (*s).Status.Resources.String(), string((*s).Spec.DeletionPolicy)}
	}, func(s **v1alpha1.Stack) runtime.Object { return *s }, "Name", "Directory", "Resources", "Deletion policy")
}

// StackSet prints the description of a StackSet, with its events.
func StackSet(w io.Writer, set *v1alpha1.StackSet, events []corev1.Event, s Style) error {
	p := newPage(w, s)
	p.ready("StackSet", set, set.Status.Conditions)
	p.row("Mode", string(set.Spec.Mode))
	p.row("Prune", string(set.Spec.Prune))
	if r := set.Spec.Repository; r != nil {
		p.row("Repository", r.Name)
	}
	p.row("Revision", Clean(set.Status.Revision))
	p.row("Age", s.age(set.CreationTimestamp.Time))
	status := set.Status
	p.row("Stacks", fmt.Sprintf("%d generated: %d applied, %d changing (%d failed), %d outdated; %d gone",
		status.Generated, status.Applied, status.Changing, status.Failed, status.Outdated, status.Gone))
	if len(status.Groups) > 0 {
		p.title("Groups of the rollout")
		for _, g := range status.Groups {
			p.row("  "+Clean(g.Name), fmt.Sprintf("%d of %d applied, %d failed", g.Applied, g.Generated, g.Failed))
		}
	}
	if preview := status.Preview; preview != nil {
		p.title("Mode Create would do")
		p.row("  create", strings.Join(preview.Create, ", "))
		p.row("  change", strings.Join(preview.Change, ", "))
		p.row("  suspend", strings.Join(preview.Suspend, ", "))
	}
	if deletions := status.Deletions; deletions != nil {
		p.title("Wait for a confirmation that they are deleted")
		for _, name := range deletions.Names {
			p.text("  %s", name)
		}
		p.more("  ", int(deletions.Count)-len(deletions.Names))
	}
	Description{Events: events}.events(p)
	p.text("")
	p.row(s.paint(bold, "What to do next"), strings.Join(stackSetHints(set, s), "; "))
	return p.end()
}

// stackSetHints returns the commands to use now, each with its purpose.
func stackSetHints(set *v1alpha1.StackSet, s Style) (hints []string) {
	if d := set.Status.Deletions; d != nil {
		hints = append(hints, s.Command()+" confirm-deletions "+set.Name+" shows all of them, and asks")
	}
	if set.Spec.Mode == v1alpha1.StackSetPreview {
		hints = append(hints, "set spec.mode to Create to have the Stacks written")
	}
	return append(hints, s.StacksOf(set)+" shows the Stacks")
}

// StacksOf returns the command that shows the Stacks of a StackSet, also those in other namespaces.
func (s Style) StacksOf(set *v1alpha1.StackSet) string {
	everywhere := ""
	if len(set.Spec.Namespaces) > 0 {
		everywhere = " -A"
	}
	return s.Command() + " get stacks" + everywhere + " --stackset " + set.Name
}
