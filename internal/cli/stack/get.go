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
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
)

// A listed kind is one that get shows.
type listed struct {
	// plural is how people write it.
	plural string
	// names that it is called by, the one to show first.
	names []string
	list  func() client.ObjectList
	table func(client.ObjectList, screen.Style) *metav1.Table
	// one makes a list of one object that a watch brought.
	one func(runtime.Object) client.ObjectList
}

var listedKinds = []listed{
	{
		"Stacks", []string{"stacks", "stack"},
		func() client.ObjectList { return &v1alpha1.StackList{} },
		func(l client.ObjectList, s screen.Style) *metav1.Table {
			return screen.Stacks(l.(*v1alpha1.StackList).Items, s)
		},
		func(o runtime.Object) client.ObjectList {
			return &v1alpha1.StackList{Items: []v1alpha1.Stack{*o.(*v1alpha1.Stack)}}
		},
	},
	{
		"Runs", []string{"runs", "run"},
		func() client.ObjectList { return &v1alpha1.RunList{} },
		func(l client.ObjectList, s screen.Style) *metav1.Table {
			return screen.Runs(l.(*v1alpha1.RunList).Items, s)
		},
		func(o runtime.Object) client.ObjectList {
			return &v1alpha1.RunList{Items: []v1alpha1.Run{*o.(*v1alpha1.Run)}}
		},
	},
	{
		"States", []string{"states", "state"},
		func() client.ObjectList { return &v1alpha1.StateList{} },
		func(l client.ObjectList, s screen.Style) *metav1.Table {
			return screen.States(l.(*v1alpha1.StateList).Items, s)
		},
		func(o runtime.Object) client.ObjectList {
			return &v1alpha1.StateList{Items: []v1alpha1.State{*o.(*v1alpha1.State)}}
		},
	},
	{
		"Repositories", []string{"repositories", "repository", "repos", "repo"},
		func() client.ObjectList { return &v1alpha1.RepositoryList{} },
		func(l client.ObjectList, s screen.Style) *metav1.Table {
			return screen.Repositories(l.(*v1alpha1.RepositoryList).Items, s)
		},
		func(o runtime.Object) client.ObjectList {
			return &v1alpha1.RepositoryList{Items: []v1alpha1.Repository{*o.(*v1alpha1.Repository)}}
		},
	},
}

// listedKind is the kind of that name.
func listedKind(name string) (listed, bool) {
	for _, k := range listedKinds {
		if slices.Contains(k.names, strings.ToLower(name)) {
			return k, true
		}
	}
	return listed{}, false
}

// getting are the flags of get.
type getting struct {
	everywhere, watch bool
	selector, format  string
}

func getCommand(s *session.Session) *cobra.Command {
	var g getting
	cmd := &cobra.Command{
		Use:   "get [stacks|runs|states|repositories] [NAME...]",
		Short: "Show Stacks, or Runs, States or Repositories, in a table",
		Example: s.Examples(`
			cairn get
			cairn get -A -o wide
			cairn get runs -w
			cairn get stack net -o yaml
			cairn get stacks -l team=data -o name`),
		ValidArgsFunction: s.Complete(completeListed),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := session.CheckFormat(g.format, session.FormatJSON, session.FormatYAML, session.FormatWide, session.FormatName); err != nil {
				return err
			}
			kind := listedKinds[0]
			if len(args) > 0 {
				if k, ok := listedKind(args[0]); ok {
					kind, args = k, args[1:]
				} else if k, ok := listedKind(strings.SplitN(args[0], "/", 2)[0]); ok {
					kind = k
				}
			}
			for i, arg := range args { // stack/net, as kubectl writes it
				if before, name, found := strings.Cut(arg, "/"); found && slices.Contains(kind.names, strings.ToLower(before)) {
					args[i] = name
				}
			}
			return show(cmd.Context(), s, kind, args, g)
		},
	}
	f := cmd.Flags()
	f.BoolVarP(&g.everywhere, "all-namespaces", "A", false, "in all namespaces")
	f.BoolVarP(&g.watch, "watch", "w", false, "go on, and show each change")
	f.StringVarP(&g.selector, "selector", "l", "", "only those with these labels, as in team=data,env!=dev")
	f.StringVarP(&g.format, "output", "o", "", "json, yaml, wide or name")
	return cmd
}

// show shows what there is of a kind and, if it is to watch, what becomes of it.
func show(ctx context.Context, s *session.Session, kind listed, names []string, g getting) error {
	c, err := s.Kubernetes()
	if err != nil {
		return err
	}
	ns, err := s.Namespace()
	if err != nil {
		return err
	}
	selector, err := labels.Parse(g.selector)
	switch {
	case err != nil:
		return fmt.Errorf("-l %s: %w", g.selector, err)
	case g.everywhere && len(names) > 0:
		return errors.New("names are of one namespace: leave out -A, or the names")
	case g.watch && g.format != "" && g.format != session.FormatWide:
		return fmt.Errorf("-w shows a table, not %s", g.format)
	case g.everywhere:
		ns = ""
	}
	list := kind.list()
	options := client.ListOptions{Namespace: ns, LabelSelector: selector}
	if err := c.List(ctx, list, &options); err != nil {
		return s.Explain(err)
	}
	if err := listNamed(ctx, s, list, names, ns, kind); err != nil {
		return err
	}
	if g.format != "" && g.format != session.FormatWide {
		return printList(s, g.format, list, len(names) == 1)
	}
	if apimeta.LenList(list) == 0 && !g.watch {
		where := "in namespace " + ns
		if g.everywhere {
			where = "anywhere"
		}
		fmt.Fprintf(s.ErrOut, "There are no %s %s.\n", kind.plural, where)
		return nil
	}
	// One printer and one writer for all: they remember the widths.
	printer := printers.NewTablePrinter(printers.PrintOptions{Wide: g.format == session.FormatWide, WithNamespace: g.everywhere})
	out := printers.GetNewTabWriter(s.Out)
	show := func(list client.ObjectList) error {
		if err := printer.PrintObj(kind.table(list, s.Style()), out); err != nil {
			return err
		}
		return out.Flush()
	}
	if err := show(list); err != nil || !g.watch {
		return err
	}
	return showChanges(ctx, s, kind, list, options, names, show)
}

// getChanges shows each change until it is interrupted.
func showChanges(ctx context.Context, s *session.Session, kind listed, list client.ObjectList, o client.ListOptions, names []string, show func(client.ObjectList) error) error {
	c, err := s.Kubernetes()
	if err != nil {
		return err
	}
	for {
		o.Raw = &metav1.ListOptions{ResourceVersion: list.GetResourceVersion()}
		events, err := c.Watch(ctx, kind.list(), &o)
		if err != nil && !session.IsTransient(err) {
			if ctx.Err() != nil {
				return nil // Ctrl-C is how it ends
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
		if err := pause(ctx); err != nil {
			return nil // Ctrl-C is how it ends
		}
		o.Raw = nil
		if err := c.List(ctx, list, &o); err != nil {
			if !session.IsTransient(err) {
				return s.Explain(err)
			}
			continue
		}
		if err := listNamed(ctx, s, list, names, o.Namespace, kind); err != nil {
			return err
		}
		if err := show(list); err != nil {
			return err
		}
	}
}

// eachChange shows what a watch brings, until it ends.
func eachChange(ctx context.Context, events watch.Interface, names []string, kind listed, show func(client.ObjectList) error) error {
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
			if err := show(kind.one(e.Object)); err != nil {
				return err
			}
		}
	}
}

// listNamed keeps the objects of those names, in that order; all when there are no names.
func listNamed(ctx context.Context, s *session.Session, list client.ObjectList, names []string, ns string, kind listed) error {
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
			singular := kind.names[1]
			missing := apierrors.NewNotFound(v1alpha1.GroupVersion.WithResource(kind.names[0]).GroupResource(), name)
			if singular == "stack" || singular == "run" {
				return s.NotFound(ctx, missing, ns, name, singular)
			}
			return session.Explained(missing, "there is no %s %s in namespace %s: `%s get %s` shows those that are there", singular, name, ns, s.Program, kind.names[0])
		}
		kept = append(kept, objects[i])
	}
	return apimeta.SetList(list, kept)
}

// printList prints objects as kubectl does: a list, or the one that was named.
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

// completeListed is for get: kinds, and then names.
func completeListed(ctx context.Context, s *session.Session, args []string) ([]string, error) {
	var words []string
	kind := listedKinds[0]
	if len(args) == 0 {
		for _, k := range listedKinds {
			words = append(words, k.names[0])
		}
	} else if k, ok := listedKind(args[0]); ok {
		kind = k
	}
	c, err := s.Kubernetes()
	if err != nil {
		return words, err
	}
	ns, err := s.Namespace()
	if err != nil {
		return words, err
	}
	list := kind.list()
	if err := c.List(ctx, list, client.InNamespace(ns)); err != nil {
		return words, err
	}
	return words, apimeta.EachListItem(list, func(o runtime.Object) error {
		words = append(words, o.(client.Object).GetName())
		return nil
	})
}
