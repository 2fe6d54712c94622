package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

// fields changes each field of each type from a valid value to others, and back. An odd value has to be rejected, or a
// condition has to report it; no process ends or loops; and with the valid value everything is as before.
var fields = suite{name: "fields", points: fieldPoints}

const (
	// still is how long nothing may be written until an object is at rest.
	still = 700 * time.Millisecond
	// mostWrites limits the writes per change of a field until the object is at rest.
	mostWrites = 80
	// waitsForAnother is the reason of a Stack that waits for another one, as long as it does.
	waitsForAnother = "DependencyNotReady"
)

func fieldPoints(baseline) []point {
	all, err := fieldsOf()
	if err != nil {
		return []point{{name: "none", fault: "none", try: func(context.Context, *lane) (bool, error) {
			return true, err
		}}}
	}
	var points []point
	for _, f := range all {
		c, ok := carrierOf(f)
		if !ok {
			continue // TestEachFieldIsCovered requires a reason
		}
		points = append(points, point{name: f.String(), fault: "each field of a " + f.kind,
			try: func(ctx context.Context, l *lane) (bool, error) {
				return true, l.field(ctx, f, c)
			}})
	}
	return points
}

// carrierOf returns the carrier in which a field is tried.
func carrierOf(f field) (carrier, bool) {
	for _, c := range carriers {
		if c.kind != f.kind {
			continue
		}
		var spec any
		if yaml.Unmarshal([]byte(c.spec), &spec) != nil {
			return c, false
		}
		if _, ok := at(map[string]any{"spec": spec}, f.path); ok {
			return c, true
		}
	}
	return carrier{}, false
}

// field tries all values of a field.
func (l *lane) field(ctx context.Context, f field, c carrier) error {
	if err := l.given(ctx); err != nil {
		return fmt.Errorf("what Stacks refer to: %w", err)
	}
	o, valid, err := l.carry(ctx, f, c)
	if err != nil {
		return err
	}
	before, err := l.settled(ctx, o)
	if err != nil {
		return fmt.Errorf("with the valid value: %w", err)
	}
	starts := l.starts()
	var wrong []error
	counts := map[string]int{}
	for _, v := range valuesOf(f, valid) {
		became, err := l.value(ctx, f, c, o, v, before)
		counts[became]++
		if err != nil {
			wrong = append(wrong, fmt.Errorf("%s: %w", v.name, err))
		}
		if now := l.starts(); now != starts {
			wrong = append(wrong, fmt.Errorf("%s: one of Cairn's processes ended", v.name))
			starts = now
		}
	}
	tally.add(f, counts)
	return errors.Join(append(wrong, l.panics(), l.let(ctx, o))...)
}

// carry creates an object for a field, and returns the valid value of the field.
func (l *lane) carry(ctx context.Context, f field, c carrier) (*unstructured.Unstructured, any, error) {
	name := "f" + strings.ToLower(nameOf(f))
	git, err := gitServer()
	if err != nil {
		return nil, nil, err
	}
	text := strings.NewReplacer("OWN", name, "SPACE", l.space, "GIT", git).Replace(c.spec)
	spec := map[string]any{}
	if err := yaml.Unmarshal([]byte(text), &spec); err != nil {
		return nil, nil, err
	}
	o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "cairn.dev/v1alpha1", "kind": f.kind,
		"spec": spec}}
	o.SetNamespace(l.space)
	o.SetName(name)
	valid, _ := at(o.Object, f.path)
	switch f.kind {
	case "Run":
		return o, valid, l.waitingRun(ctx, o)
	case "Stack":
		defaults(spec)
	}
	return o, valid, l.Create(ctx, o)
}

// defaults configures a Stack to apply automatically, and to fail and end fast.
func defaults(spec map[string]any) {
	for name, value := range map[string]any{
		"apply": "Automatic", "deletionPolicy": "Orphan",
		"retry": map[string]any{"limit": int64(0), "backoff": "100ms"}, "runner": map[string]any{"idleTimeout": "1s"},
	} {
		if _, ok := spec[name]; !ok {
			spec[name] = value
		}
	}
}

// nameOf derives a name from a field's path.
func nameOf(f field) string {
	name := strings.NewReplacer("spec.", "", "[]", "", "{}", "", ".", "-").Replace(f.path)
	return name[max(0, len(name)-40):]
}

// value sets a field to another value, and back to the valid one. became summarizes the result in a word.
func (l *lane) value(ctx context.Context, f field, c carrier, o *unstructured.Unstructured, v fieldValue,
	before stand) (became string, err error) {
	wrote := l.wrote()
	taken := func(all []reason) bool {
		return slices.ContainsFunc(all, func(r reason) bool { return r.of(f, v.name) })
	}
	var only []client.UpdateOption
	if taken(elsewhere) {
		only = append(only, client.DryRunAll)
	}
	changed, err := l.change(ctx, o, func(o map[string]any) { lay(o, f, c); put(o, f.path, v.value) }, only...)
	if apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsForbidden(err) ||
		apierrors.IsRequestEntityTooLargeError(err) || tooLarge(err) {
		if !names(f, v, err.Error()) {
			return "refused", fmt.Errorf("it is refused by a message that does not say what: %w", err)
		}
		return "refused", nil
	}
	if err != nil {
		return "", err
	}
	if taken(elsewhere) {
		return "only asked", nil
	}
	if !changed {
		return "kept", nil
	}
	after, err := l.settled(ctx, o)
	switch {
	case err != nil:
	case f.kind == "Run" && !taken(final):
		err = errors.New("it is accepted, but it is immutable in a Run")
	case after.ready && v.odd && !names(f, v, after.message) && !taken(harmless):
		err = fmt.Errorf("it is taken, and the object is Ready: %s", after)
	case !after.ready && !after.same(before) && !names(f, v, after.reason+" "+after.message) && !taken(harmless):
		err = fmt.Errorf("it is taken, and the object does not say what is wrong: %s", after)
	case !after.ready && after.same(before) && v.odd && !taken(harmless):
		err = fmt.Errorf("it is taken, and the object says what it said before: %s", after)
	}
	if after.ready {
		became = "ready"
	} else {
		became = "said"
	}
	if n := l.wrote() - wrote; n > mostWrites {
		err = errors.Join(err, fmt.Errorf("I9: %d writes", n))
	}
	if taken(final) {
		return became, err
	}
	if _, back := l.change(ctx, o, func(o map[string]any) {
		o["spec"] = runtime.DeepCopyJSON(before.spec)
	}); back != nil {
		return became, errors.Join(err, fmt.Errorf("the valid value again: %w", back))
	}
	again, back := l.settled(ctx, o)
	if back == nil && !again.same(before) {
		back = fmt.Errorf("before: %s; after it: %s", before, again)
	}
	if back != nil {
		err = errors.Join(err, fmt.Errorf("the valid value again: %w", back))
	}
	return became, err
}

// lay copies what an object lacks beside and above a field, such as an approval, from the carrier.
func lay(o map[string]any, f field, c carrier) {
	if _, ok := at(o, f.path); ok {
		return
	}
	first := strings.FieldsFunc(f.path, func(c rune) bool { return strings.ContainsRune(".[]{}", c) })[1]
	var spec map[string]any
	if in, ok := o["spec"].(map[string]any); ok && in[first] == nil && yaml.Unmarshal([]byte(c.spec), &spec) == nil {
		in[first] = spec[first]
	}
}

// tooLarge is an error of etcd.
func tooLarge(err error) bool {
	return err != nil && strings.Contains(err.Error(), "request is too large")
}

// change changes an object, and reports whether that led to another one.
func (l *lane) change(ctx context.Context, o *unstructured.Unstructured, f func(map[string]any),
	only ...client.UpdateOption) (changed bool, err error) {
	for {
		if err := l.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return false, err
		}
		generation := o.GetGeneration()
		f(o.Object)
		err := l.Update(ctx, o, append(only, client.FieldValidation("Strict"))...)
		if !apierrors.IsConflict(err) {
			return err == nil && o.GetGeneration() != generation, err
		}
	}
}

// A stand is the status of an object at rest.
type stand struct {
	ready           bool
	reason, message string
	spec            map[string]any
}

func (r stand) String() string { return fmt.Sprintf("ready %v, %s: %s", r.ready, r.reason, r.message) }

func (r stand) same(other stand) bool { return r.ready == other.ready && r.reason == other.reason }

// settled waits until an object is at rest.
func (l *lane) settled(ctx context.Context, o *unstructured.Unstructured) (r stand, err error) {
	err = until(ctx, patience, func(ctx context.Context) error {
		now := &unstructured.Unstructured{}
		now.SetGroupVersionKind(o.GroupVersionKind())
		if err := l.Get(ctx, client.ObjectKeyFromObject(o), now); err != nil {
			return err
		}
		observed, found, _ := unstructured.NestedInt64(now.Object, "status", "observedGeneration")
		r = stand{spec: now.Object["spec"].(map[string]any)}
		conditions, _, _ := unstructured.NestedSlice(now.Object, "status", "conditions")
		status := ""
		for _, each := range conditions {
			c, _ := each.(map[string]any)
			if c["type"] == "Ready" || c["type"] == "Succeeded" {
				status, _ = c["status"].(string)
				r.ready = status == "True"
				r.reason, _ = c["reason"].(string)
				r.message, _ = c["message"].(string)
			}
		}
		switch waits := now.GetKind() == "Run"; {
		case status == "" || status == "Unknown" && !waits && r.reason != waitsForAnother:
			return fmt.Errorf("no status and no error: %s", r)
		case found && observed != now.GetGeneration():
			return fmt.Errorf("generation %d is not observed: %s", now.GetGeneration(), r)
		}
		return l.rested(still)
	})
	return r, err
}

// names reports whether a message has the field, or its value.
func names(f field, v fieldValue, message string) bool {
	message = strings.ToLower(message)
	parts := strings.FieldsFunc(f.path, func(c rune) bool { return strings.ContainsRune(".[]{}", c) })
	for _, part := range parts[1:] {
		if strings.Contains(message, strings.ToLower(part)) {
			return true
		}
	}
	text, ok := v.value.(string)
	return ok && len(text) > 2 && strings.Contains(message, strings.ToLower(text[:min(len(text), 40)])) ||
		tooLarge(errors.New(message))
}

// wrote returns the number of writes of Cairn.
func (l *lane) wrote() (n int) {
	for _, c := range l.cairns() {
		n += len(c.Writes())
	}
	return n
}

// starts returns how often Cairn's processes were started.
func (l *lane) starts() (n int) {
	for _, c := range l.cairns() {
		n += c.began()
	}
	return n
}

// panics reports whether one of Cairn's processes panicked.
func (l *lane) panics() error {
	for _, c := range l.cairns() {
		data, err := os.ReadFile(c.log)
		if err != nil {
			return err
		}
		if i := strings.Index(string(data), "panic"); i >= 0 {
			return fmt.Errorf("%s panicked: %s", c.Actor, data[i:min(len(data), i+300)])
		}
	}
	return nil
}

// let deletes an object, and waits until it is deleted, with any last value.
func (l *lane) let(ctx context.Context, o *unstructured.Unstructured) error {
	if o.GetKind() == "Run" {
		stack := &unstructured.Unstructured{}
		stack.SetAPIVersion("cairn.dev/v1alpha1")
		stack.SetKind("Stack")
		stack.SetNamespace(o.GetNamespace())
		stack.SetName(strings.TrimSuffix(o.GetName(), "-1"))
		o = stack
	}
	if err := l.Delete(ctx, o); client.IgnoreNotFound(err) != nil {
		return err
	}
	return until(ctx, patience, func(ctx context.Context) error {
		err := l.Get(ctx, client.ObjectKeyFromObject(o), o)
		if err == nil {
			conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
			text, _ := json.Marshal(conditions)
			return fmt.Errorf("it does not go: %s", text)
		}
		return client.IgnoreNotFound(err)
	})
}
