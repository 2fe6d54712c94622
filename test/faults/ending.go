package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/cloud"
)

// env returns an environment variable.
func env(name, value string) corev1.EnvVar { return corev1.EnvVar{Name: name, Value: value} }

// An ending is the state of all objects after a step of a story. It does not depend on what happened before.
type ending struct {
	// Stack is the reason of Ready; Outputs are those of the Stack, its Secret and its ConfigMap.
	Stack   string
	Outputs []string
	// Runs are all of the Stack, oldest first: operation, cause, phase. Without their numbers: a Stack that is
	// recreated before all Runs of its predecessor are known to be deleted continues their numbers.
	Runs []string
	// State has the values of each resource in the state, and Lock is its lock.
	State []string
	Lock  string
	// Cloud has each resource, and how often one of its name was created and changed.
	Cloud []string
	// Left are the objects of the namespace, once the Stack is deleted.
	Left []string
}

// ending returns the ending, and an error if the secret is in clear text anywhere (I7).
func (l *lane) ending(ctx context.Context) (e ending, err error) {
	err = until(ctx, patience, func(ctx context.Context) error { e, err = l.observe(ctx); return err })
	if err == nil {
		err = l.hidden(ctx)
	}
	if c := l.cloud.Load(); err == nil && len(c.Twice()) > 0 {
		err = fmt.Errorf("I3: made more than once: %q: %s", c.Twice(), c.History())
	}
	return e, err
}

func (l *lane) observe(ctx context.Context) (ending, error) {
	var e ending
	key := client.ObjectKey{Namespace: l.space, Name: "net"}
	stack, state := &v1alpha1.Stack{}, &v1alpha1.State{}
	if err := l.Get(ctx, key, stack); client.IgnoreNotFound(err) != nil {
		return e, err
	}
	if err := l.Get(ctx, key, state); client.IgnoreNotFound(err) != nil {
		return e, err
	}
	if c := apimeta.FindStatusCondition(stack.Status.Conditions, "Ready"); c != nil {
		e.Stack = c.Reason
	}
	e.Outputs = []string{"status " + outputs(stack.Status.Outputs)}
	secret, configMap := &corev1.Secret{}, &corev1.ConfigMap{}
	name := client.ObjectKey{Namespace: l.space, Name: "net-outputs"}
	if err := l.Get(ctx, name, secret); client.IgnoreNotFound(err) != nil {
		return e, err
	}
	if err := l.Get(ctx, name, configMap); client.IgnoreNotFound(err) != nil {
		return e, err
	}
	e.Outputs = append(e.Outputs, fmt.Sprintf("Secret %s", secret.Data), fmt.Sprintf("ConfigMap %s", configMap.Data))

	var runs v1alpha1.RunList
	if err := l.List(ctx, &runs, client.InNamespace(l.space)); err != nil {
		return e, err
	}
	slices.SortFunc(runs.Items, func(a, b v1alpha1.Run) int {
		return a.CreationTimestamp.Compare(b.CreationTimestamp.Time)
	})
	for _, r := range runs.Items {
		e.Runs = append(e.Runs, fmt.Sprintf("%s %s %s", r.Spec.Operation, r.Spec.Cause.Type, r.Status.Phase))
	}
	if state.Status.Lock != nil {
		e.Lock = state.Status.Lock.Run
	}
	var err error
	if e.State, err = l.resources(ctx, state); err != nil {
		return e, err
	}
	c := l.cloud.Load()
	for _, t := range c.Resources() {
		e.Cloud = append(e.Cloud, fmt.Sprintf("%s %v, made %d, changed %d", t.Name, t.Attributes, c.Made(t.Name),
			c.Count(cloud.Update, t.Name)))
	}
	if stack.UID == "" {
		e.Left, err = l.left(ctx)
	}
	return e, err
}

// resources returns those of the latest version of a state.
func (l *lane) resources(ctx context.Context, state *v1alpha1.State) ([]string, error) {
	if len(state.Status.Versions) == 0 {
		return nil, nil
	}
	v := state.Status.Versions[len(state.Status.Versions)-1]
	if v.Storage == v1alpha1.StateStorageBucket {
		return nil, nil // encrypted: its values are in the outputs, and in the next plan
	}
	var packed []byte
	for chunk := range v.Chunks {
		secret := &corev1.Secret{}
		name := fmt.Sprintf("%s-state-v%d-%s-%d", state.Name, v.Version, v.SHA256[len("sha256:"):][:12], chunk)
		if err := l.Get(ctx, client.ObjectKey{Namespace: l.space, Name: name}, secret); err != nil {
			return nil, err
		}
		packed = append(packed, secret.Data["chunk"]...)
	}
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	var content struct {
		Resources []struct {
			Type, Name string
			Instances  []struct {
				Attributes struct {
					ID         string
					Attributes map[string]string
				}
			}
		}
	}
	if err := json.NewDecoder(io.LimitReader(r, 1<<20)).Decode(&content); err != nil {
		return nil, err
	}
	var all []string
	for _, r := range content.Resources {
		for _, i := range r.Instances {
			all = append(all, fmt.Sprintf("%s.%s %s %v", r.Type, r.Name, i.Attributes.ID, i.Attributes.Attributes))
		}
	}
	return all, nil
}

// left returns the objects in the namespace that belong to the Stack.
func (l *lane) left(ctx context.Context) ([]string, error) {
	var left []string
	for kind, list := range map[string]client.ObjectList{
		"Run": &v1alpha1.RunList{}, "State": &v1alpha1.StateList{}, "Pod": &corev1.PodList{},
		"Secret": &corev1.SecretList{}, "ConfigMap": &corev1.ConfigMapList{},
	} {
		if err := l.List(ctx, list, client.InNamespace(l.space)); err != nil {
			return nil, err
		}
		_ = apimeta.EachListItem(list, func(o runtime.Object) error { // the function returns no error
			name := o.(client.Object).GetName()
			if name != "kube-root-ca.crt" && name != "password" {
				left = append(left, kind+" "+name)
			}
			return nil
		})
	}
	slices.Sort(left)
	return left, nil
}

// hidden checks that the secret is in no object except Secrets (I7).
func (l *lane) hidden(ctx context.Context) error {
	for _, list := range []client.ObjectList{
		&v1alpha1.StackList{}, &v1alpha1.RunList{}, &v1alpha1.StateList{}, &corev1.PodList{}, &corev1.ConfigMapList{},
		&corev1.EventList{},
	} {
		if err := until(ctx, patience, func(ctx context.Context) error {
			return l.List(ctx, list, client.InNamespace(l.space))
		}); err != nil {
			return err
		}
		if data, err := json.Marshal(list); err != nil || bytes.Contains(data, []byte(canary)) {
			return fmt.Errorf("I7: the secret is in a %T %w", list, err)
		}
	}
	return nil
}
