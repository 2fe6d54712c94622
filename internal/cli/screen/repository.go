package screen

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

// Limits of lists in the description of a Repository.
const (
	maxRefs   = 20
	maxStacks = 20
)

// Repository prints the description of a Repository, with those of the Stacks that read from it and its events.
func Repository(w io.Writer, r *v1alpha1.Repository, stacks []v1alpha1.Stack, events []corev1.Event, s Style) error {
	p := newPage(w, s)
	p.ready("Repository", r, r.Status.Conditions)
	p.row("URL", Clean(r.Spec.URL))
	p.row("Ref", cmp.Or(Clean(r.Spec.Ref), "the default branch"))
	if r.Spec.Interval != nil {
		p.row("Interval", r.Spec.Interval.Duration.String())
	}
	if r.Spec.Credentials != nil {
		p.row("Credentials", "Secret "+r.Spec.Credentials.Secret.Name)
	}
	if f := r.Status.LastFetch; f != nil {
		p.row("Last change", fmt.Sprintf("%s ago, fetched in %s", s.age(f.FinishedAt.Time), f.Duration.Duration))
	}
	p.row("Age", s.age(r.CreationTimestamp.Time))
	if len(r.Status.Refs) > 0 {
		p.title("Revisions")
	}
	for _, ref := range r.Status.Refs[:min(len(r.Status.Refs), maxRefs)] {
		p.row("  "+Clean(ref.Name), cmp.Or(Clean(ref.Revision), "does not exist"))
	}
	p.more("  ", len(r.Status.Refs)-maxRefs)
	repositoryStacks(p, r, stacks)
	Description{Events: events}.events(p)
	p.text("")
	p.row(s.paint(bold, "What to do next"), s.Command()+" fetch "+r.Name+" fetches now")
	return p.end()
}

// repositoryStacks prints the Stacks that read from a Repository: those that are not ready first.
func repositoryStacks(p *page, r *v1alpha1.Repository, stacks []v1alpha1.Stack) {
	var own []*v1alpha1.Stack
	for i := range stacks {
		if key, ok := stacks[i].RepositoryKey(); ok && key == client.ObjectKeyFromObject(r) {
			own = append(own, &stacks[i])
		}
	}
	slices.SortStableFunc(own, func(a, b *v1alpha1.Stack) int {
		isReady := func(st *v1alpha1.Stack) int { return strings.Compare(string(Ready(st).Status), "True") }
		return cmp.Or(cmp.Compare(isReady(a), isReady(b)), cmp.Compare(a.Namespace, b.Namespace),
			cmp.Compare(a.Name, b.Name))
	})
	p.title("Stacks: %d", len(own))
	for _, st := range own[:min(len(own), maxStacks)] {
		ready := Ready(st)
		p.row("  "+st.Namespace+"/"+st.Name, cmp.Or(ready.Reason, "New"), cmp.Or(st.Spec.Source.Git.Path, "."))
	}
	p.more("  ", len(own)-maxStacks)
}
