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
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/state"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/hclparse"
)

// variables writes the Stack's variables to files, and gives their paths in the order in which the engine is to read them:
// as in a runner the files first, then the variables. What this person may not read has to come from files of their own.
func (l *localPlan) variables(ctx context.Context, own, args []string) ([]string, error) {
	if err := os.Mkdir(l.values(), 0o700); err != nil {
		return nil, err
	}
	v := &localValues{localPlan: l, objects: map[string]map[string][]byte{}, states: map[string]map[string]engine.Output{}}
	for i, file := range l.stack.Spec.VariableFiles {
		if err := v.file(ctx, i, file); err != nil {
			return nil, err
		}
	}
	given, err := givenNames(own, args)
	if err != nil {
		return nil, err
	}
	values := map[string]json.RawMessage{}
	var missing []string
	for _, variable := range l.stack.Spec.Variables {
		value, err := v.value(ctx, variable)
		var unread *unreadable
		switch {
		case errors.As(err, &unread) && given[variable.Name]:
		case errors.As(err, &unread):
			missing = append(missing, fmt.Sprintf("variable %s: %s", variable.Name, unread.why))
		case err != nil:
			return nil, fmt.Errorf("variable %s: %w", variable.Name, err)
		default:
			values[variable.Name] = value
		}
	}
	if len(own) == 0 { // or what those files had is taken to be in these
		missing = append(v.missing, missing...)
	} else if len(v.missing) > 0 {
		l.Note("Left to your --var-file: %s.", strings.Join(v.missing, "; "))
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("some of the Stack's values cannot be read:\n  %s\ngive values of your own with --var-file", strings.Join(missing, "\n  "))
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
		l.Note("The Stack's env is not used, but your environment.")
	}
	return v.paths, nil
}

// unreadable says that a value is somewhere where this person cannot read it.
type unreadable struct{ why string }

func (u *unreadable) Error() string { return u.why }

// localValues reads what a Stack's variables are made of, each object once.
type localValues struct {
	*localPlan
	// objects are what Secrets and ConfigMaps hold, states the outputs of other Stacks.
	objects map[string]map[string][]byte
	states  map[string]map[string]engine.Output
	// paths of the files that were written; missing is what could not be read.
	paths, missing []string
}

// write writes a file for the engine, which tells what it is by how its name ends.
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
		v.missing = append(v.missing, fmt.Sprintf("variable file %d: %s", number+1, unread.why))
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

// codeFile finds a variable file of the code: in git its path is from the repository's root, which is above the folder by
// as much as the Stack says, and otherwise it is beside the code.
func (v *localValues) codeFile(name string) (string, error) {
	root := v.code.From
	if git := v.stack.Spec.Source.Git; git != nil {
		below := path.Clean("/" + git.Path)
		var found bool
		if root, found = strings.CutSuffix(filepath.ToSlash(root), strings.TrimSuffix(below, "/")); !found {
			root = v.code.Base // a folder of another name: then what is copied has to begin at the root
		}
	}
	at := filepath.Join(filepath.FromSlash(root), filepath.FromSlash(name))
	if _, err := os.Stat(at); err != nil {
		return "", fmt.Errorf("variable file %s of the Stack's code is not at %s: --root says where the repository begins", name, at)
	}
	return at, nil
}

// value is that of a variable, as JSON.
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
	return nil, errors.New("this cairn does not know where its value is from: take a newer one")
}

// key is what an object has under a key, as a JSON string.
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

// object is what a Secret or a ConfigMap holds, read as this person.
func (v *localValues) object(ctx context.Context, o client.Object, name string) (map[string][]byte, error) {
	id := kindOf(o) + " " + name
	if data, ok := v.objects[id]; ok {
		return data, nil
	}
	c, err := v.Kubernetes()
	if err != nil {
		return nil, err
	}
	err = c.Get(ctx, client.ObjectKey{Namespace: v.stack.Namespace, Name: name}, o)
	switch {
	case apierrors.IsNotFound(err):
		return nil, &unreadable{id + " is not there"}
	case apierrors.IsForbidden(err):
		return nil, &unreadable{"you may not read " + id}
	case err != nil:
		return nil, v.Explain(err)
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

// output is that of another Stack: from its state or, if this person may not pull that, from its status, which has those
// that are not sensitive.
func (v *localValues) output(ctx context.Context, ref *v1alpha1.OutputRef) (json.RawMessage, error) {
	outputs, ok := v.states[ref.Name]
	if !ok {
		data, err := state.Pull(ctx, v.Session, client.ObjectKey{Namespace: v.stack.Namespace, Name: ref.Name}, 0)
		if ctx.Err() != nil {
			return nil, err
		}
		if err != nil {
			return v.outputInStatus(ctx, ref, err)
		}
		state, err := engine.ParseState(data)
		if err != nil {
			return nil, fmt.Errorf("stack %s: %w", ref.Name, err)
		}
		outputs = state.Outputs
		v.states[ref.Name] = outputs
	}
	output, ok := outputs[ref.Output]
	if !ok {
		return nil, &unreadable{fmt.Sprintf("Stack %s has no output %s", ref.Name, ref.Output)}
	}
	return output.Value, nil
}

func (v *localValues) outputInStatus(ctx context.Context, ref *v1alpha1.OutputRef, refused error) (json.RawMessage, error) {
	stack, err := v.Session.Stack(ctx, ref.Name)
	if err != nil {
		return nil, &unreadable{err.Error()}
	}
	if output, ok := stack.Status.Outputs[ref.Output]; ok {
		return output.Raw, nil
	}
	return nil, &unreadable{fmt.Sprintf("output %s of Stack %s: %v", ref.Output, ref.Name, refused)}
}

// givenNames are the variables that a person gives values to: in files, and with -var among the engine's arguments.
func givenNames(files, args []string) (map[string]bool, error) {
	given := map[string]bool{}
	for i, arg := range args {
		flag, value, inline := strings.Cut(arg, "=")
		switch {
		case !strings.HasPrefix(arg, "-") || strings.TrimLeft(flag, "-") != "var":
		case inline:
			name, _, _ := strings.Cut(value, "=")
			given[name] = true
		case i+1 < len(args):
			name, _, _ := strings.Cut(args[i+1], "=")
			given[name] = true
		}
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		body, _ := hclparse.Parse(text, file, strings.HasSuffix(file, ".json"))
		if body == nil {
			continue // the engine says better what is wrong with it
		}
		attributes, _ := body.JustAttributes()
		for name := range attributes {
			given[name] = true
		}
	}
	return given, nil
}
