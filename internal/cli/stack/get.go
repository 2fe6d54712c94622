package stack

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/lifecycle/kinds"
)

// getOptions are the flags of get.
type getOptions struct {
	everywhere, watch bool
	selector, format  string
	// stackSet is the StackSet of the Stacks.
	stackSet string
	// types are those of resources in the states.
	types []string
}

func getCommand(s *session.Session) *cobra.Command {
	var g getOptions
	var resources, others []string
	for _, k := range kinds.All {
		resources = append(resources, k.Named().Resource())
		others = append(others, k.Named().Plural)
	}
	cmd := &cobra.Command{
		Use:   "get [" + strings.Join(resources, "|") + "|resources] [NAME...]",
		Short: "Show Stacks, or " + strings.Join(others[1:], ", ") + " or resources, in a table",
		Long: `Shows objects in a table; Stacks by default. On a terminal each object is one line: its message is cut to the
width of the terminal, and ends with … there. It is whole with -o wide, with -o yaml, in a pipe or a file, and in the
output of cairn describe.

With resources, it shows the addresses and types of the resources in the current states of the Stacks that are named,
or of all, which needs the verb pull on states. They are from an index, so that no state is read, and no values of them.`,
		Example: s.Examples(`
			cairn get
			cairn get -A -o wide
			cairn get runs -w
			cairn get pr
			cairn get stack net -o yaml
			cairn get stacks -l team=data -o name
			cairn get stacks --stackset platform
			cairn get stacks -A --stackset platform/teams
			cairn get stacksets
			cairn get variablesets -o wide
			cairn get resources -A --type aws_s3_bucket`),
		ValidArgsFunction: s.Complete(completeGet),
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && slices.Contains(inventoryNames, strings.ToLower(args[0])) {
				return getResources(cmd.Context(), s, args[1:], g)
			}
			if len(g.types) > 0 {
				return errors.New("--type is of resources: use it with get resources")
			}
			kind, names := parseGet(args)
			if g.stackSet != "" && kind != kinds.Kind(kinds.Stacks) {
				return errors.New("--stackset is of Stacks: use it with get stacks")
			}
			err := get(cmd.Context(), s, kind, names, g)
			if len(names) == len(args) { // without a kind
				err = withKinds(s, err, names)
			}
			return err
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&g.everywhere, "all-namespaces", "A", false, "in all namespaces")
	f.BoolVarP(&g.watch, "watch", "w", false, "continue, and show each change")
	f.StringVarP(&g.selector, "selector", "l", "", "only those with these labels, for example team=data,env!=dev")
	f.StringVar(&g.stackSet, "stackset", "", "only the Stacks of this StackSet, or of NAMESPACE/NAME")
	_ = cmd.RegisterFlagCompletionFunc("stackset", s.Complete(completeStackSets)) // the flag is in the line before
	f.StringSliceVar(&g.types, "type", nil, "only resources of this type; repeat it for several types")
	session.AddFormatFlag(cmd, &g.format, session.FormatWide, session.FormatName)
	return cmd
}

// withKinds adds kinds that the user may mean to the error of a name that is not found.
func withKinds(s *session.Session, err error, names []string) error {
	if len(names) == 0 || !apierrors.IsNotFound(err) {
		return err
	}
	near := session.Similar(strings.ToLower(names[0]), kindWords())
	if len(near) == 0 {
		return err
	}
	return session.Explained(err, "%v; for another kind, use `%s get %s`", err, s.Command(), near[0])
}

// kindWords are the words for kinds that completion offers.
func kindWords() (words []string) {
	for _, k := range kinds.All {
		words = append(words, k.Named().Resource())
	}
	return append(words, inventoryNames[0])
}

// parseGet splits the arguments of get into a kind, by default Stacks, and names.
func parseGet(args []string) (kind kinds.Kind, names []string) {
	kind = kinds.All[0]
	if len(args) > 0 {
		before, _, _ := strings.Cut(args[0], "/") // stack/net, as kubectl prints names
		if k, ok := kinds.Named(before); ok {
			kind = k
			if before == args[0] {
				args = args[1:]
			}
		}
	}
	for _, arg := range args {
		if before, name, found := strings.Cut(arg, "/"); found &&
			slices.Contains(kind.Named().Words(), strings.ToLower(before)) {
			arg = name
		}
		names = append(names, arg)
	}
	return kind, names
}

// get shows the objects of a kind and, with --watch, their changes.
func get(ctx context.Context, s *session.Session, kind kinds.Kind, names []string, g getOptions) error {
	ns, err := s.Namespace()
	if err != nil {
		return err
	}
	selector, err := labels.Parse(g.selector)
	if err != nil {
		return fmt.Errorf("-l %s: %w", g.selector, err)
	}
	var set types.NamespacedName
	if g.stackSet != "" {
		_, name := session.SplitKind(g.stackSet)
		if before, after, found := strings.Cut(name, "/"); found {
			set, name = types.NamespacedName{Namespace: before, Name: after}, after
		}
		of, err := labels.NewRequirement(v1alpha1.StackSetLabel, selection.Equals, []string{name})
		if err != nil {
			return fmt.Errorf("--stackset %s: %w", g.stackSet, err)
		}
		selector = selector.Add(*of)
		if !g.everywhere && set.Namespace == "" { // no Stacks of a StackSet of this name in another namespace
			here, err := labels.NewRequirement(v1alpha1.StackSetNamespaceLabel, selection.DoesNotExist, nil)
			if err != nil {
				return err
			}
			selector = selector.Add(*here)
		}
	}
	switch {
	case g.everywhere && len(names) > 0:
		return errors.New("names are of one namespace: use either -A or names")
	case g.watch && g.format != "" && g.format != session.FormatWide:
		return fmt.Errorf("-w shows a table, not %s", g.format)
	case g.everywhere:
		ns = ""
	}
	list := kind.NewList()
	options := client.ListOptions{Namespace: ns, LabelSelector: selector}
	if err := s.List(ctx, list, &options); err != nil {
		return err
	}
	keepOfSet(list, set)
	if err := keepNamed(ctx, s, list, names, ns, kind); err != nil {
		return err
	}
	if g.format != "" && g.format != session.FormatWide {
		return printList(s, g.format, list, len(names) == 1)
	}
	if apimeta.LenList(list) == 0 && !g.watch {
		fmt.Fprintf(s.ErrOut, "There are no %s%s.\n", kind.Named().Plural, g.scope(ns))
		return nil
	}
	printTable := s.TablePrinter(g.format == session.FormatWide, g.everywhere)
	show := func(list client.ObjectList) error {
		if keepOfSet(list, set) && apimeta.LenList(list) == 0 {
			return nil
		}
		table, err := screen.Table(kind, list, s.Style())
		if err != nil {
			return err
		}
		return printTable(table)
	}
	if err := show(list); err != nil || !g.watch {
		return err
	}
	return showChanges(ctx, s, kind, list, options, names, show)
}

// scope describes what a list was limited to, after the plural of its kind.
func (g getOptions) scope(ns string) (text string) {
	if g.selector != "" {
		text = " with the labels " + g.selector
	}
	if g.stackSet != "" {
		text += " of StackSet " + g.stackSet
	}
	switch {
	case g.everywhere:
		return text + " in any namespace"
	case g.stackSet != "":
		return text + " in namespace " + ns + "; -A shows those in other namespaces"
	}
	return text + " in namespace " + ns
}

// showChanges shows each change until it is interrupted.
func showChanges(
	ctx context.Context, s *session.Session, kind kinds.Kind, list client.ObjectList, o client.ListOptions,
	names []string,
	show func(client.ObjectList) error,
) error {
	c, err := s.Kubernetes()
	if err != nil {
		return err
	}
	for {
		o.Raw = &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}
		events, err := c.Watch(ctx, kind.NewList(), &o)
		if err != nil && !session.IsTransient(err) {
			if ctx.Err() != nil {
				return nil // Ctrl-C ends it
			}
			return s.Explain(err)
		}
		if err == nil {
			err = eachChange(ctx, events, names, kind, show)
			events.Stop()
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && !session.IsTransient(err) {
			return s.Explain(err)
		}
		if err := sleep(ctx, retryInterval); err != nil {
			return nil // Ctrl-C ends it
		}
		o.Raw = nil
		if err := c.List(ctx, list, &o); err != nil {
			if !session.IsTransient(err) {
				return s.Explain(err)
			}
			continue
		}
		if err := keepNamed(ctx, s, list, names, o.Namespace, kind); err != nil {
			return err
		}
		if err := show(list); err != nil {
			return err
		}
	}
}

// eachChange shows the events of a watch until it ends.
func eachChange(
	ctx context.Context, events watch.Interface, names []string, kind kinds.Kind, show func(client.ObjectList) error,
) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case e, ok := <-events.ResultChan():
			switch {
			case !ok:
				return nil
			case e.Type == watch.Error:
				return apierrors.FromObject(e.Object)
			case e.Type == watch.Bookmark, e.Type == watch.Deleted:
				continue
			}
			if o := e.Object.(client.Object); len(names) > 0 && !slices.Contains(names, o.GetName()) {
				continue
			}
			changed := kind.NewList()
			if err := apimeta.SetList(changed, []runtime.Object{e.Object}); err != nil {
				return err
			}
			if err := show(changed); err != nil {
				return err
			}
		}
	}
}

// keepOfSet keeps the Stacks of a StackSet that is named with its namespace, and reports whether there is one: labels
// alone do not select both its Stacks in its own namespace and those in others.
func keepOfSet(list client.ObjectList, set types.NamespacedName) bool {
	stacks, ok := list.(*v1alpha1.StackList)
	if !ok || set.Namespace == "" {
		return false
	}
	stacks.Items = slices.DeleteFunc(stacks.Items, func(s v1alpha1.Stack) bool {
		of, _ := s.StackSetKey()
		return of != set
	})
	return true
}

// keepNamed keeps the objects with some names, in that order; without names, all of them.
func keepNamed(
	ctx context.Context, s *session.Session, list client.ObjectList, names []string, ns string, kind kinds.Kind,
) error {
	if len(names) == 0 {
		return nil
	}
	objects, err := apimeta.ExtractList(list)
	if err != nil {
		return err
	}
	var kept []runtime.Object
	for _, name := range names {
		i := slices.IndexFunc(objects, func(o runtime.Object) bool { return o.(client.Object).GetName() == name })
		if i < 0 {
			singular, resource := kind.Named().Singular(), kind.Named().Resource()
			missing := apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource(resource).GroupResource(), name)
			return s.NotFound(ctx, missing, ns, name, singular)
		}
		kept = append(kept, objects[i])
	}
	return apimeta.SetList(list, kept)
}

// printList prints objects as kubectl does: as a list, or the only one that the user named.
func printList(s *session.Session, format string, list client.ObjectList, one bool) error {
	objects, err := apimeta.ExtractList(list)
	if err != nil {
		return err
	}
	all := &corev1.List{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: []runtime.RawExtension{}}
	for _, o := range objects {
		if err := session.SetKind(o); err != nil {
			return err
		}
		if one || format == session.FormatName {
			if err := s.PrintObject(format, o); err != nil {
				return err
			}
			continue
		}
		all.Items = append(all.Items, runtime.RawExtension{Object: o})
	}
	if one || format == session.FormatName {
		return nil
	}
	return s.PrintObject(format, all)
}

// completeStackSets completes the name of a StackSet, or NAMESPACE/NAME of one that may write in the namespace.
func completeStackSets(ctx context.Context, s *session.Session, _ []string) ([]string, error) {
	names, err := s.CompleteNames(ctx, nil, kinds.StackSets.NewList())
	if err != nil {
		return nil, err
	}
	ns, err := s.Namespace()
	if err != nil {
		return nil, err
	}
	var all v1alpha1.StackSetList
	_ = s.List(ctx, &all) // a user may see those of one namespace only
	for _, set := range all.Items {
		if set.Namespace != ns && slices.Contains(set.Spec.Namespaces, ns) {
			names = append(names, set.Namespace+"/"+set.Name)
		}
	}
	return names, nil
}

// completeGet completes a kind, and then names.
func completeGet(ctx context.Context, s *session.Session, args []string) ([]string, error) {
	var words []string
	if len(args) == 0 {
		words = kindWords()
	}
	kind, _ := parseGet(args)
	ns, err := s.Namespace()
	if err != nil {
		return words, err
	}
	names, err := s.Names(ctx, ns, kind.NewList())
	return append(words, names...), err
}
