// Package render lists what a StackSet generates: the Stacks of its template for the items of its generators. It is
// pure: the spec and the names of the files of one commit in, with what Terragrunt units depend on, and Stacks out.
package render

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	strictjson "sigs.k8s.io/json"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stackset/decision"
	"cairn.dev/cairn/internal/controller/stackset/generate"
	"cairn.dev/cairn/internal/controller/stackset/schema"
	"cairn.dev/cairn/internal/controller/stackset/template"
)

// mostStacks is the default of spec.maxStacks.
const mostStacks = 1000

// Renderer renders the Stacks of one generation of a StackSet. It keeps what it rendered last, so that a commit that
// adds one directory renders one Stack. It is not safe for concurrent use.
type Renderer struct {
	generators []generate.Generator
	template   *template.Template
	most       int
	// namespace of the set, and others in which its Stacks may be.
	namespace string
	others    []string
	last      map[string]decision.Rendered
	// Rendered counts the items that were rendered so far.
	Rendered int
}

// New compiles the generators and the template of a StackSet.
func New(set *v1alpha1.StackSet) (*Renderer, *decision.Problem) {
	r := &Renderer{most: mostStacks, namespace: set.Namespace, others: set.Spec.Namespaces}
	for i, m := range set.Spec.Moved {
		if decision.Locate(set, m.From).Namespace != decision.Locate(set, m.To).Namespace {
			return nil, invalid(fmt.Errorf("moved[%d]: Stack %s cannot continue as %s: a State stays in its namespace",
				i, m.From, m.To))
		}
	}
	if set.Spec.MaxStacks != nil {
		r.most = int(*set.Spec.MaxStacks)
	}
	for i, g := range set.Spec.Generators {
		generator, err := generatorOf(g)
		if err != nil {
			return nil, invalid(fmt.Errorf("generators[%d].%w", i, err))
		}
		r.generators = append(r.generators, generator)
	}
	text, err := json.Marshal(set.Spec.Template)
	if err == nil {
		r.template, err = template.Compile(text, generate.Written(r.generators))
	}
	if err != nil {
		return nil, failed(err)
	}
	return r, nil
}

func invalid(err error) *decision.Problem {
	return &decision.Problem{Reason: v1alpha1.ReasonGeneratorsInvalid, Message: "spec." + err.Error()}
}

func failed(err error) *decision.Problem {
	message := err.Error()
	if _, ok := errors.AsType[*template.Error](err); ok {
		message = "spec." + message
	}
	return &decision.Problem{Reason: v1alpha1.ReasonRenderingFailed, Message: message}
}

// mostNamed is how many more items with errors a message names: their owners correct them in one commit.
const mostNamed = 5

// failedFor is the problem of several items: the error of one, and which others have one too.
func failedFor(first error, others []string) *decision.Problem {
	problem := failed(first)
	if len(others) == 0 {
		return problem
	}
	named := slices.Compact(slices.Clone(others))
	more := ""
	if len(named) > mostNamed {
		named, more = named[:mostNamed], fmt.Sprintf(", and %d more", len(named)-mostNamed)
	}
	problem.Message += fmt.Sprintf("; %d more of its Stacks have an error: %s%s", len(others),
		strings.Join(named, ", "), more)
	return problem
}

func generatorOf(g v1alpha1.StackSetGenerator) (generate.Generator, error) {
	var all generate.Generator
	if t := g.Terragrunt; t != nil {
		all.Directories = &generate.Directories{Include: t.Include, Exclude: t.Exclude, Units: true}
		return all, nil
	}
	if len(g.Matrix) == 0 {
		return itemsOf(g.StackSetItems)
	}
	for i, items := range g.Matrix {
		one, err := itemsOf(items)
		if err != nil {
			return all, fmt.Errorf("matrix[%d].%w", i, err)
		}
		all.Matrix = append(all.Matrix, one)
	}
	return all, nil
}

func itemsOf(items v1alpha1.StackSetItems) (g generate.Generator, err error) {
	if d := items.Directories; d != nil {
		g.Directories = &generate.Directories{Include: d.Include, Exclude: d.Exclude, Marker: d.Marker,
			SettingsFile: d.SettingsFile}
	}
	for i, entry := range items.List {
		params := map[string]any{}
		if err := utiljson.Unmarshal(entry.Raw, &params); err != nil { // integers stay integers
			return g, fmt.Errorf("list[%d]: %w", i, err)
		}
		g.List = append(g.List, params)
	}
	return g, nil
}

// Stacks returns what the StackSet generates for the paths of all files of a commit, of which it reads the settings
// files that it has not read yet. An error is that of ctx, or of reading a file.
func (r *Renderer) Stacks(ctx context.Context, files []string, contents Contents) ([]decision.Rendered,
	*decision.Problem, error) {
	items, err := generate.Items(ctx, r.generators, files, contents, r.most)
	if unread, ok := errors.AsType[*generate.ReadError](err); ok {
		return nil, nil, unread
	}
	if err != nil {
		return nil, invalid(err), nil
	}
	all, next := make([]decision.Rendered, 0, len(items)), make(map[string]decision.Rendered, len(items))
	size := 0
	var first error
	var others []string // more directories with errors
	for _, item := range items {
		params, err := json.Marshal(item.Params)
		if err != nil {
			return nil, invalid(err), nil
		}
		key := item.Directory + "\x00" + string(params)
		if item.SettingsFile != "" {
			key += "\x00" + contents.ID(item.SettingsFile)
		}
		one, known := r.last[key]
		if !known {
			if err := ctx.Err(); err != nil {
				return nil, nil, err
			}
			if one, err = r.render(ctx, item, contents); err != nil {
				if unread, ok := errors.AsType[*readError](err); ok {
					return nil, nil, unread
				}
				if first == nil {
					first = err
				} else {
					others = append(others, cmp.Or(item.Directory, string(params)))
				}
				continue
			}
			r.Rendered++
		}
		if item.SettingsFile != "" {
			if size += len(one.JSON); size > mostSettings {
				return nil, invalid(
					fmt.Errorf("generators: the Stacks with settings files have more than %d bytes in all",
						mostSettings)), nil
			}
		}
		next[key] = one
		all = append(all, one)
	}
	r.last = next
	if first != nil {
		return nil, failedFor(first, others), nil
	}
	if err := r.depend(all, items); err != nil {
		return nil, failed(err), nil
	}
	return all, nil, nil
}

// depend adds the Stacks of the units that each Terragrunt unit depends on to spec.dependsOn. all are the Stacks of
// items. One in another namespace needs a StackGrant there, as each dependency across namespaces does.
func (r *Renderer) depend(all []decision.Rendered, items []generate.Item) error {
	of := map[string][]*decision.Rendered{}
	for i, item := range items {
		of[item.Directory] = append(of[item.Directory], &all[i])
	}
	for i, item := range items {
		all[i].Elsewhere = item.Elsewhere
		if len(item.DependsOn) == 0 {
			continue
		}
		object, err := Object(all[i].JSON)
		if err != nil {
			return err
		}
		entries, _, err := unstructured.NestedSlice(object, "spec", "dependsOn")
		if err != nil {
			return err
		}
		own := cmp.Or(all[i].Namespace, r.namespace)
		namespaces := map[string]string{} // by the name, which an entry has alone
		for _, entry := range entries {
			if fields, ok := entry.(map[string]any); ok {
				name, _ := fields["name"].(string)
				namespace, _ := fields["namespace"].(string)
				namespaces[name] = cmp.Or(namespace, own)
			}
		}
		for _, dir := range item.DependsOn {
			for _, on := range of[dir] {
				namespace := cmp.Or(on.Namespace, r.namespace)
				switch known, ok := namespaces[on.Name]; {
				case !ok && namespace == own:
					entries = append(entries, map[string]any{"name": on.Name})
				case !ok:
					entries = append(entries, map[string]any{"name": on.Name, "namespace": namespace})
				case known != namespace:
					return &template.Error{Field: "spec.dependsOn", Directory: item.Directory, Reason: fmt.Sprintf(
						"Stacks %s of the namespaces %s and %s cannot both be in it: give one another name", on.Name,
						known, namespace)}
				}
				namespaces[on.Name] = namespace
			}
		}
		if err := unstructured.SetNestedSlice(object, entries, "spec", "dependsOn"); err != nil {
			return err
		}
		if all[i].JSON, err = json.Marshal(object); err != nil {
			return err
		}
		all[i].Digest = decision.DigestOf(all[i].JSON)
	}
	return nil
}

// render renders the Stack of an item. An error is a *template.Error, a *readError, or one of a settings file.
func (r *Renderer) render(ctx context.Context, item generate.Item, contents Contents) (decision.Rendered, error) {
	data, err := r.template.Render(ctx, item.Directory, item.Params)
	if err == nil && item.SettingsFile != "" {
		data, err = withSettings(ctx, data, item.SettingsFile, contents)
	}
	if err != nil {
		return decision.Rendered{}, err
	}
	stack, err := decode(ctx, data)
	if err != nil && item.SettingsFile != "" {
		err = r.blame(ctx, item, err)
	}
	namespace := ""
	if err == nil {
		namespace, err = r.namespaceOf(stack)
	}
	if err != nil {
		if e, ok := errors.AsType[*template.Error](err); ok {
			e.Directory, e.Params = item.Directory, item.Params
		}
		return decision.Rendered{}, err
	}
	return decision.Rendered{
		Name: stack.Name, Namespace: namespace, Labels: stack.Labels, Directory: item.Directory, Params: item.Params,
		JSON: data, Digest: decision.DigestOf(data),
	}, nil
}

// blame returns the error of a Stack as one of the settings file of its directory, if the template alone has none.
func (r *Renderer) blame(ctx context.Context, item generate.Item, of error) error {
	wrong, ok := errors.AsType[*template.Error](of)
	if !ok {
		return of
	}
	alone, err := r.template.Render(ctx, item.Directory, item.Params)
	if err == nil {
		_, err = decode(ctx, alone)
	}
	if err != nil {
		return of
	}
	return fmt.Errorf("%s: %s: %s", item.SettingsFile, wrong.Field, wrong.Reason)
}

// namespaceOf is the namespace of a rendered Stack, empty for that of the set. Users who push to the repository choose
// captures, and so among spec.namespaces, but no other one.
func (r *Renderer) namespaceOf(stack *v1alpha1.Stack) (string, error) {
	switch {
	case stack.Namespace == "", stack.Namespace == r.namespace:
		return "", nil
	case slices.Contains(r.others, stack.Namespace):
		return stack.Namespace, nil
	}
	return "", &template.Error{
		Field: "metadata.namespace", Reason: fmt.Sprintf("spec.namespaces does not have %q", stack.Namespace),
	}
}

// decode reads a rendered Stack, and checks what the API server would reject or drop.
func decode(ctx context.Context, data []byte) (*v1alpha1.Stack, error) {
	stack := &v1alpha1.Stack{}
	if strict, err := strictjson.UnmarshalStrict(data, stack); err != nil || len(strict) > 0 {
		return nil, &template.Error{Field: "spec", Reason: wrongField(data, err, strict)}
	}
	object, err := Object(data)
	if err != nil {
		return nil, err
	}
	if err := checkKeys("spec", object["spec"]); err != nil {
		return nil, &template.Error{Field: "spec", Reason: err.Error()}
	}
	for _, metadata := range []struct {
		field  string
		values map[string]string
	}{{"metadata.labels", stack.Labels}, {"metadata.annotations", stack.Annotations}} {
		for _, name := range slices.Sorted(maps.Keys(metadata.values)) {
			if strings.HasPrefix(name, "cairn.dev/") || name == corev1.LastAppliedConfigAnnotation {
				return nil, &template.Error{Field: metadata.field + "." + name, Reason: "a StackSet cannot set it"}
			}
		}
	}
	faults, err := schema.Stack(ctx, object)
	if err != nil {
		return nil, err
	}
	if len(faults) > 0 {
		return nil, &template.Error{Field: faults[0].Field, Reason: faults[0].Text()}
	}
	return stack, nil
}
