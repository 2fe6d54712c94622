package stackset

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/controller/stackset/decision"
	"cairn.dev/cairn/internal/controller/stackset/render"
)

// previewOptions are the flags of preview.
type previewOptions struct {
	name, dir, format string
	diff              bool
}

func previewCommand(s *session.Session) *cobra.Command {
	var o previewOptions
	cmd := &cobra.Command{
		Use:   "preview FILE",
		Short: "Show the Stacks that the StackSet in a file generates from a checkout; nothing is written",
		Long: `Renders the StackSet in a YAML file as the operator does, and shows the Stacks that it generates. It reads the
files of the Git working tree that contains the current directory, or DIR: tracked files as they are there, and new files
that git does not ignore. spec.repository, spec.ref and spec.mode are not considered. It needs no cluster, and writes
nothing. FILE is - for standard input.

It fails if the template cannot be rendered for a directory, if several directories have the same name, and if the API
server would reject the StackSet or one of the Stacks by their schema: the message has the directory, the field and the
value. Admission policies, webhooks and quotas of a cluster are not checked. It also lists the directories that probably contain a root module and have no Stack: they have code, no
module of the repository calls them, they are in no directory such as modules or examples, and no exclude matches them.

With --diff it compares the Stacks with those in the cluster, and shows which ones the StackSet would create, change and
suspend, and the fields that it would change. This needs list on stacks.

Exit codes: 0 success, 1 failed, 2 there are changes (only with --diff).`,
		Example: s.Examples(`
			cairn preview platform.yaml
			cairn preview platform.yaml --dir ../infra -o yaml
			cairn preview platform.yaml --diff`),
		Args: s.MaxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return preview(cmd.Context(), s, args[0], o)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return []string{"yaml", "yml", "json"}, cobra.ShellCompDirectiveFilterFileExt
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.dir, "dir", ".", "directory in the Git working tree that the directories are listed of")
	f.StringVar(&o.name, "name", "", "name of the StackSet, if FILE has several")
	_ = cmd.MarkFlagDirname("dir") // the flag is in the lines before
	f.BoolVar(&o.diff, "diff", false, "compare with the Stacks in the cluster")
	session.AddFormatFlag(cmd, &o.format)
	return cmd
}

func preview(ctx context.Context, s *session.Session, file string, o previewOptions) error {
	set, err := readSet(ctx, s, file, o.name)
	if err != nil {
		return err
	}
	var code checkout
	if set.Spec.Repository != nil {
		if code, err = readCheckout(ctx, o.dir); err != nil {
			return err
		}
	}
	rendered, err := renderSet(ctx, set, code)
	if err != nil {
		return fmt.Errorf("StackSet %s: %w", set.Name, err)
	}
	if o.diff {
		return diff(ctx, s, set, rendered, o.format)
	}
	if o.format != "" {
		return printStacks(s, set, rendered, o.format)
	}
	if len(rendered) > 0 {
		if err := s.PrintTable(tableOf(set, rendered), false, false); err != nil {
			return err
		}
	}
	s.Note("StackSet %s generates %s.", set.Name, shorten.Count(len(rendered), "Stack"))
	used := map[string]bool{}
	for _, r := range rendered {
		used[r.Directory] = true
	}
	if units := elsewhere(rendered); len(units) > 0 {
		s.Note("Terragrunt units that others depend on, and that have no Stack of this StackSet (%d), so that it "+
			"sets no order: %s.", len(units), firstOf(units))
	}
	if none := code.forgotten(ctx, set, used); len(none) > 0 {
		s.Note("Directories that probably contain a root module, and have no Stack (%d): %s.", len(none), firstOf(none))
	}
	return nil
}

// elsewhere returns the Terragrunt units that Stacks depend on and that have none.
func elsewhere(rendered []decision.Rendered) []string {
	units := map[string]bool{}
	for _, r := range rendered {
		for _, unit := range r.Elsewhere {
			units[cmp.Or(unit, ".")] = true
		}
	}
	return slices.Sorted(maps.Keys(units))
}

// firstOf lists some of the directories.
func firstOf(directories []string) string {
	return screen.Clean(shorten.List(directories, 10))
}

// renderSet returns the Stacks that a StackSet generates for the files of a working tree.
func renderSet(ctx context.Context, set *v1alpha1.StackSet, code checkout) ([]decision.Rendered, error) {
	renderer, problem := render.New(set)
	if problem != nil {
		return nil, problemError(problem)
	}
	rendered, problem, err := renderer.Stacks(ctx, code.files, code)
	if err != nil {
		return nil, err
	}
	if problem != nil {
		return nil, problemError(problem)
	}
	return rendered, collisions(set, rendered)
}

func problemError(p *decision.Problem) error {
	return fmt.Errorf("%s: %s", p.Reason, screen.Clean(p.Message))
}

// collisions returns an error with all names that several items have.
func collisions(set *v1alpha1.StackSet, rendered []decision.Rendered) error {
	directories := map[string][]string{}
	for _, r := range rendered {
		key := decision.Key(set, r.Namespace, r.Name)
		directories[key] = append(directories[key], itemOf(r))
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(directories)) {
		if all := directories[name]; len(all) > 1 {
			lines = append(lines, fmt.Sprintf("\n  %s: %s", name, firstOf(all)))
		}
	}
	if lines == nil {
		return nil
	}
	return fmt.Errorf("%s: include in template.metadata.name what differs between these items:%s",
		v1alpha1.ReasonNamesCollide,
		strings.Join(lines, ""))
}

// itemOf describes the item of a Stack.
func itemOf(r decision.Rendered) string {
	if r.Directory == "" {
		return paramsOf(r)
	}
	return r.Directory
}

// paramsOf formats the params of an item.
func paramsOf(r decision.Rendered) string {
	var params []string
	for _, name := range slices.Sorted(maps.Keys(r.Params)) {
		params = append(params, fmt.Sprintf("%s=%v", name, r.Params[name]))
	}
	if params == nil {
		return "-"
	}
	return strings.Join(params, " ")
}

func tableOf(set *v1alpha1.StackSet, rendered []decision.Rendered) *metav1.Table {
	rows := make([][]any, len(rendered))
	for i, r := range rendered {
		directory := r.Directory
		if directory == "" {
			directory = "-"
		}
		rows[i] = []any{decision.Key(set, r.Namespace, r.Name), directory, paramsOf(r)}
	}
	return screen.Rows(rows, "Stack", "Directory", "Params")
}

// printStacks prints the Stacks as a list of objects.
func printStacks(s *session.Session, set *v1alpha1.StackSet, rendered []decision.Rendered, format string) error {
	all := &corev1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: []runtime.RawExtension{}}
	for _, r := range rendered {
		object, err := render.Object(r.JSON)
		if err != nil {
			return err
		}
		stack := &unstructured.Unstructured{Object: object}
		stack.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("Stack"))
		stack.SetNamespace(cmp.Or(r.Namespace, set.Namespace))
		labels := map[string]string{v1alpha1.StackSetLabel: set.Name}
		if r.Namespace != "" {
			labels[v1alpha1.StackSetNamespaceLabel] = set.Namespace
		}
		maps.Copy(labels, stack.GetLabels())
		stack.SetLabels(labels)
		all.Items = append(all.Items, runtime.RawExtension{Object: stack})
	}
	return s.PrintObject(format, all)
}
