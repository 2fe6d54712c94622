package session

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/kinds"
)

// StackOrRun returns the Stack with a name and its active or else last Run, or the Run with that name and its Stack. A
// Stack takes precedence over a Run of the same name; stack/NAME and run/NAME select one. The Run is nil for a Stack
// that never had one. The Stack is nil if it was deleted, or if the user may not read it.
func (s *Session) StackOrRun(ctx context.Context, arg string) (*v1alpha1.Stack, *v1alpha1.Run, error) {
	ns, err := s.Namespace()
	if err != nil {
		return nil, nil, err
	}
	kind, name := SplitKind(arg)
	if kind != "" && kind != "stack" && kind != "run" {
		return nil, nil, s.errOther(kind, arg)
	}
	var forbidden error
	if kind != "run" {
		stack := &v1alpha1.Stack{}
		err := s.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, stack)
		switch {
		case err == nil:
			run, err := s.runOf(ctx, stack)
			return stack, run, err
		case IgnoreUnreadable(err) != nil || kind == "stack":
			return nil, nil, s.NotFound(ctx, err, ns, name, kind)
		case apierrors.IsForbidden(err): // the name may be that of a Run, for which permissions differ
			forbidden = err
		}
	}
	run := &v1alpha1.Run{}
	if err := s.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, run); err != nil {
		if forbidden != nil && IgnoreUnreadable(err) == nil {
			err = forbidden // without a readable Run of that name, report the Stack
		}
		return nil, nil, s.NotFound(ctx, err, ns, name, kind)
	}
	stack, err := s.StackOf(ctx, run)
	return stack, run, err
}

// StackOf returns the Stack of a Run; nil if the user may not read it, if it is gone, and if another one has its name.
func (s *Session) StackOf(ctx context.Context, run *v1alpha1.Run) (*v1alpha1.Stack, error) {
	stack := &v1alpha1.Stack{}
	err := s.Get(ctx, client.ObjectKey{Namespace: run.Namespace, Name: run.Spec.Stack.Name}, stack)
	if err != nil || !metav1.IsControlledBy(run, stack) {
		return nil, IgnoreUnreadable(err)
	}
	return stack, nil
}

// Stack returns the Stack with a name.
func (s *Session) Stack(ctx context.Context, arg string) (*v1alpha1.Stack, error) {
	ns, err := s.Namespace()
	if err != nil {
		return nil, err
	}
	kind, name := SplitKind(arg)
	switch kind {
	case "", "stack":
	case "run":
		return nil, fmt.Errorf("%s is a Run: use the name of a Stack", arg)
	default:
		return nil, s.errOther(kind, arg)
	}
	stack := &v1alpha1.Stack{}
	if err := s.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, stack); err != nil {
		return nil, s.NotFound(ctx, err, ns, name, "stack")
	}
	return stack, nil
}

// errOther returns the error of an object that is neither a Stack nor a Run.
func (s *Session) errOther(kind, arg string) error {
	k, _ := kinds.Named(kind)
	switch k {
	case kinds.Kind(kinds.PullRequests):
		return fmt.Errorf("%s is a PullRequest: `%s describe %s` lists its Stacks and Runs", arg, s.Command(), arg)
	case kinds.Kind(kinds.StackSets):
		return fmt.Errorf("%s is a StackSet: `%s get stacks --stackset %s` lists its Stacks", arg, s.Command(), arg)
	}
	return fmt.Errorf("%s is a %s: use the name of a Stack or Run; `%s get %s` shows it", arg, k.Named().Kind,
		s.Command(), arg)
}

// StackSet returns the StackSet with a name.
func (s *Session) StackSet(ctx context.Context, arg string) (*v1alpha1.StackSet, error) {
	ns, err := s.Namespace()
	if err != nil {
		return nil, err
	}
	_, name := SplitKind(arg)
	set := &v1alpha1.StackSet{}
	err = s.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, set)
	if err != nil {
		return nil, s.NotFound(ctx, err, ns, name, "stackset")
	}
	return set, nil
}

// Repository returns the Repository with a name.
func (s *Session) Repository(ctx context.Context, arg string) (*v1alpha1.Repository, error) {
	ns, err := s.Namespace()
	if err != nil {
		return nil, err
	}
	kind, name := SplitKind(arg)
	if kind != "" && kind != "repository" {
		return nil, fmt.Errorf("%s is no Repository: use the name of one; `%s get repositories` lists them", arg,
			s.Command())
	}
	r := &v1alpha1.Repository{}
	err = s.Get(ctx, client.ObjectKey{Namespace: ns, Name: name}, r)
	if err != nil {
		return nil, s.NotFound(ctx, err, ns, name, "repository")
	}
	return r, nil
}

// PullRequest returns the PullRequest with a name, or with a number that only one Repository of the namespace has:
// infra-12 or 12, also as pr/12.
func (s *Session) PullRequest(ctx context.Context, arg string) (*v1alpha1.PullRequest, error) {
	ns, err := s.Namespace()
	if err != nil {
		return nil, err
	}
	list := &v1alpha1.PullRequestList{}
	if err := s.List(ctx, list, client.InNamespace(ns)); err != nil {
		return nil, err
	}
	_, name := SplitKind(arg)
	var found []string
	var numbered *v1alpha1.PullRequest
	for i, p := range list.Items {
		if p.Name == name {
			return &list.Items[i], nil
		}
		if strconv.FormatInt(p.Spec.Number, 10) == name {
			numbered, found = &list.Items[i], append(found, p.Name)
		}
	}
	switch len(found) {
	case 0:
		return nil, fmt.Errorf("there is no open PullRequest %s in namespace %s: `%s get pr -A` lists those of "+
			"all namespaces",
			name, ns, s.Command())
	case 1:
		return numbered, nil
	}
	return nil, fmt.Errorf("several Repositories have a pull request %s: use one of %s", name,
		strings.Join(found, ", "))
}

// runOf returns the active or else the last Run of a Stack; nil if it has none.
func (s *Session) runOf(ctx context.Context, stack *v1alpha1.Stack) (*v1alpha1.Run, error) {
	for _, name := range []string{stack.Status.CurrentRun, stack.Status.LastRun} {
		if name == "" {
			continue
		}
		run := &v1alpha1.Run{}
		err := s.Get(ctx, client.ObjectKey{Namespace: stack.Namespace, Name: name}, run)
		if err == nil && metav1.IsControlledBy(run, stack) {
			return run, nil
		}
		if client.IgnoreNotFound(err) != nil { // its name is reserved before it is created
			return nil, err
		}
	}
	return nil, nil
}

// SplitKind splits stack/net, run/net-7 or pr/12, as kubectl prints names, with or without the group.
func SplitKind(arg string) (kind, name string) {
	before, name, found := strings.Cut(arg, "/")
	if !found {
		return "", arg
	}
	word, _, _ := strings.Cut(before, ".")
	if k, known := kinds.Named(word); known {
		return k.Named().Singular(), name
	}
	return "", arg
}

// Get reads an object. The error is explained, and keeps its reason.
func (s *Session) Get(ctx context.Context, key client.ObjectKey, o client.Object) error {
	c, err := s.Kubernetes()
	if err != nil {
		return err
	}
	return s.Explain(c.Get(ctx, key, o))
}

// List reads the objects of a kind. The error is explained, and keeps its reason.
func (s *Session) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c, err := s.Kubernetes()
	if err != nil {
		return err
	}
	return s.Explain(c.List(ctx, list, opts...))
}

// Names returns the names of the objects of some kinds in a namespace.
func (s *Session) Names(ctx context.Context, ns string, kinds ...client.ObjectList) ([]string, error) {
	var names []string
	for _, list := range kinds {
		if err := s.List(ctx, list, client.InNamespace(ns)); err != nil {
			return nil, err
		}
		_ = apimeta.EachListItem(list, func(o runtime.Object) error { // fails only for what is no list
			names = append(names, o.(client.Object).GetName())
			return nil
		})
	}
	slices.Sort(names)
	return names, nil
}

// commandOwner owns the fields that commands write.
const commandOwner = client.FieldOwner("cairn-cli")

// Patch writes some fields of an object.
func (s *Session) Patch(ctx context.Context, o client.Object, fields client.Patch) error {
	c, err := s.Kubernetes()
	if err != nil {
		return err
	}
	return s.Explain(c.Patch(ctx, o, fields, commandOwner))
}
