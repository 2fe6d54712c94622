package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/cli/state"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/hclparse"
	"cairn.dev/cairn/internal/lifecycle/variableset"
)

// variables writes the Stack's variables to files, and returns their paths in the order of the runner: first the files,
// then the variables. The user must set the values that they may not read with --var-file.
func (l *localPlan) variables(ctx context.Context, own, args []string) ([]string, error) {
	if err := os.Mkdir(l.values(), 0o700); err != nil {
		return nil, err
	}
	v := &localValues{
		localPlan: l, objects: map[string]map[string][]byte{}, states: map[string]map[string]engine.Output{},
	}
	for i, file := range l.stack.Spec.VariableFiles {
		if err := v.file(ctx, i, file); err != nil {
			return nil, err
		}
	}
	overridden, err := overriddenNames(own, args)
	if err != nil {
		return nil, err
	}
	values := map[string]json.RawMessage{}
	var missing []string
	for _, variable := range l.stack.Spec.Variables {
		value, err := v.value(ctx, variable)
		var unread *unreadable
		switch {
		case errors.As(err, &unread) && overridden[variable.Name]:
		case errors.As(err, &unread):
			missing = append(missing, fmt.Sprintf("variable %s: %s", variable.Name, unread.reason))
		case err != nil:
			return nil, fmt.Errorf("variable %s: %w", variable.Name, err)
		default:
			values[variable.Name] = value
		}
	}
	if len(own) == 0 { // otherwise the user's files are expected to have the values of unreadable files
		missing = append(v.missing, missing...)
	} else if len(v.missing) > 0 {
		l.Note("Not read, and expected in your --var-file: %s.", strings.Join(v.missing, "; "))
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("some values of the Stack cannot be read:\n  %s\nset them with --var-file",
			strings.Join(missing, "\n  "))
	}
	if len(values) > 0 {
		data, err := json.Marshal(values)
		if err != nil {
			return nil, err
		}
		if err := v.write("variables.tfvars.json", data); err != nil {
			return nil, err
		}
	}
	if len(l.stack.Spec.Env)+len(l.stack.Spec.EnvFrom) > 0 {
		l.Note("The Stack's env is ignored: the engine gets your environment.")
	}
	return v.paths, nil
}

// withVariableSets returns the Stack with the values of the VariableSets that select it, as the operator plans it.
func withVariableSets(ctx context.Context, s *session.Session, stack *v1alpha1.Stack) (*v1alpha1.Stack, error) {
	var sets v1alpha1.VariableSetList
	err := s.List(ctx, &sets, client.InNamespace(stack.Namespace))
	switch {
	case apierrors.IsNotFound(err) || apimeta.IsNoMatchError(err): // Cairn in the cluster is older than this command
		return stack, nil
	case err != nil:
		return nil, fmt.Errorf("read the VariableSets of Stack %s: %w", stack.Name, err)
	}
	return variableset.Apply(stack, sets.Items)
}

// unreadable is the error of a value that the user cannot read.
type unreadable struct{ reason string }

func (u *unreadable) Error() string { return u.reason }

// localValues reads the values of a Stack's variables, each object once.
type localValues struct {
	*localPlan
	// objects has the data of Secrets and ConfigMaps, states the outputs of other Stacks.
	objects map[string]map[string][]byte
	states  map[string]map[string]engine.Output
	// paths of the written files; missing describes the values that could not be read.
	paths, missing []string
}

// write writes a file for the engine, which detects the format from the suffix of the name.
func (v *localValues) write(name string, data []byte) error {
	at := filepath.Join(v.values(), fmt.Sprintf("%03d-%s", len(v.paths), name))
	v.paths = append(v.paths, at)
	return os.WriteFile(at, data, 0o600)
}

// file writes a variable file of the Stack: the files in an object, or one of the code.
func (v *localValues) file(ctx context.Context, number int, from v1alpha1.VariableFile) error {
	var (
		data map[string][]byte
		err  error
	)
	switch {
	case from.Path != "":
		at, err := v.codeFile(from.Path)
		if err != nil {
			return err
		}
		v.paths = append(v.paths, at)
		return nil
	case from.Secret != nil:
		data, err = v.object(ctx, &corev1.Secret{}, from.Secret.Name)
	default:
		data, err = v.object(ctx, &corev1.ConfigMap{}, from.ConfigMap.Name)
	}
	var unread *unreadable
	if errors.As(err, &unread) {
		v.missing = append(v.missing, fmt.Sprintf("variable file %d: %s", number+1, unread.reason))
		return nil
	}
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(data)) {
		if strings.HasSuffix(key, ".tfvars") || strings.HasSuffix(key, ".tfvars.json") {
			if err := v.write(filepath.Base(key), data[key]); err != nil {
				return err
			}
		}
	}
	return nil
}

// codeFile returns the path of a variable file of the code. For code from git it is relative to the root of the
// repository, which the Stack's path locates, and otherwise to the directory of the code.
func (v *localValues) codeFile(name string) (string, error) {
	root := v.code.From
	if git := v.stack.Spec.Source.Git; git != nil {
		below := path.Clean("/" + git.Path)
		var found bool
		if root, found = strings.CutSuffix(filepath.ToSlash(root), strings.TrimSuffix(below, "/")); !found {
			root = v.code.Base // a directory of another name: --root must be the root of the repository
		}
	}
	at := filepath.Join(filepath.FromSlash(root), filepath.FromSlash(name))
	if _, err := os.Stat(at); err != nil {
		return "", fmt.Errorf(
			"variable file %s of the Stack's code is not found at %s: set the root of the repository "+
				"with --root",
			name, at)
	}
	return at, nil
}

// value returns the value of a variable, as JSON.
func (v *localValues) value(ctx context.Context, variable v1alpha1.Variable) (json.RawMessage, error) {
	from := variable.ValueFrom
	switch {
	case variable.Value != nil:
		return variable.Value.Raw, nil
	case from == nil:
		return nil, errors.New("it has no value")
	case from.Stack != nil:
		return v.output(ctx, from.Stack)
	case from.Secret != nil:
		return v.key(ctx, &corev1.Secret{}, from.Secret)
	case from.ConfigMap != nil:
		return v.key(ctx, &corev1.ConfigMap{}, from.ConfigMap)
	}
	return nil, errors.New("this version of cairn does not support the source of its value: install a newer one")
}

// key returns the value of a key of an object, as a JSON string.
func (v *localValues) key(ctx context.Context, o client.Object, ref *v1alpha1.KeyRef) (json.RawMessage, error) {
	data, err := v.object(ctx, o, ref.Name)
	if err != nil {
		return nil, err
	}
	value, ok := data[ref.Key]
	if !ok {
		return nil, &unreadable{fmt.Sprintf("there is no key %s in %s %s", ref.Key, kindOf(o), ref.Name)}
	}
	return json.Marshal(string(value))
}

func kindOf(o client.Object) string {
	if _, secret := o.(*corev1.Secret); secret {
		return "Secret"
	}
	return "ConfigMap"
}

// object returns the data of a Secret or a ConfigMap.
func (v *localValues) object(ctx context.Context, o client.Object, name string) (map[string][]byte, error) {
	id := kindOf(o) + " " + name
	if data, ok := v.objects[id]; ok {
		return data, nil
	}
	switch err := v.Get(ctx, client.ObjectKey{Namespace: v.stack.Namespace, Name: name}, o); {
	case apierrors.IsNotFound(err):
		return nil, &unreadable{id + " does not exist"}
	case apierrors.IsForbidden(err):
		return nil, &unreadable{"you may not read " + id}
	case err != nil:
		return nil, err
	}
	data := map[string][]byte{}
	switch o := o.(type) {
	case *corev1.Secret:
		maps.Copy(data, o.Data)
	case *corev1.ConfigMap:
		maps.Copy(data, o.BinaryData)
		for key, text := range o.Data {
			data[key] = []byte(text)
		}
	}
	v.objects[id] = data
	return data, nil
}

// output returns an output of another Stack, from its state or, if the user may not read that, from its status, which
// has outputs that are not sensitive.
func (v *localValues) output(ctx context.Context, ref *v1alpha1.OutputRef) (json.RawMessage, error) {
	name := v.stack.NameOf(ref.Key())
	outputs, ok := v.states[name]
	if !ok {
		data, err := state.Pull(ctx, v.Session, v.stack.KeyOf(name), 0)
		if ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			return v.outputInStatus(ctx, ref, err)
		}
		state, err := engine.ParseState(data)
		if err != nil {
			return nil, fmt.Errorf("stack %s: %w", name, err)
		}
		outputs = state.Outputs
		v.states[name] = outputs
	}
	output, ok := outputs[ref.Output]
	if !ok {
		return nil, &unreadable{fmt.Sprintf("Stack %s has no output %s", name, ref.Output)}
	}
	return output.Value, nil
}

func (v *localValues) outputInStatus(
	ctx context.Context, ref *v1alpha1.OutputRef, cause error,
) (json.RawMessage, error) {
	name, stack := v.stack.NameOf(ref.Key()), &v1alpha1.Stack{}
	if err := v.Session.Get(ctx, v.stack.KeyOf(name), stack); err != nil {
		return nil, &unreadable{err.Error()}
	}
	if output, ok := stack.Status.Outputs[ref.Output]; ok {
		return output.Raw, nil
	}
	return nil, &unreadable{fmt.Sprintf("output %s of Stack %s: %v", ref.Output, name, cause)}
}

// overriddenNames returns the variables that the user sets: in files, and with -var among the engine's arguments.
func overriddenNames(files, args []string) (map[string]bool, error) {
	names := map[string]bool{}
	for i, arg := range args {
		flag, value, inline := strings.Cut(arg, "=")
		switch {
		case !strings.HasPrefix(arg, "-") || strings.TrimLeft(flag, "-") != "var":
		case inline:
			name, _, _ := strings.Cut(value, "=")
			names[name] = true
		case i+1 < len(args):
			name, _, _ := strings.Cut(args[i+1], "=")
			names[name] = true
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		body, _ := hclparse.ParseAny(text, file, strings.HasSuffix(file, ".json"))
		if body == nil {
			continue // the engine reports the error
		}
		attributes, _ := body.JustAttributes()
		for name := range attributes {
			names[name] = true
		}
	}
	return names, nil
}
