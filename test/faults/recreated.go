package main

import (
	"context"
	"fmt"
	"strings"
	"syscall"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

// whileStopped changes objects while Cairn is stopped, and starts it anew.
func (l *lane) whileStopped(ctx context.Context, change func(context.Context) error) error {
	for _, c := range l.cairns() {
		if err := c.signal(syscall.SIGSTOP); err != nil {
			return err
		}
	}
	err := change(ctx)
	for _, c := range l.cairns() {
		c.kill()
	}
	for _, c := range l.cairns() {
		if err == nil {
			err = c.ready(ctx)
		}
	}
	return err
}

// restoreObjects creates the Stack, its State and the Secrets of its versions again, as a backup tool does: without
// status, UID and owners. Runs are left out, as docs/how-to/restore.md says.
func (l *lane) restoreObjects(ctx context.Context) error {
	secrets := &corev1.SecretList{}
	if err := l.List(ctx, secrets, client.InNamespace(l.space)); err != nil {
		return err
	}
	meta := metav1.ObjectMeta{Namespace: l.space, Name: "net"}
	lost := []client.Object{&v1alpha1.Stack{ObjectMeta: meta}, &v1alpha1.State{ObjectMeta: meta}}
	for i := range secrets.Items {
		if strings.HasPrefix(secrets.Items[i].Name, "net-state-") {
			lost = append(lost, &secrets.Items[i])
		}
	}
	for _, o := range lost {
		if err := l.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		if err := l.remove(ctx, o); err != nil {
			return err
		}
	}
	for _, o := range lost {
		o.SetUID("")
		o.SetResourceVersion("")
		o.SetOwnerReferences(nil)
		o.SetManagedFields(nil)
		switch o := o.(type) {
		case *v1alpha1.Stack:
			o.Status = v1alpha1.StackStatus{}
		case *v1alpha1.State:
			o.Status = v1alpha1.StateStatus{}
		}
		if err := l.Create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// dropStack deletes the Stack alone, bypassing its finalizer. Its Runs exist until the garbage collector finds them, and the
// step of the user creates another Stack of the name.
func (l *lane) dropStack(ctx context.Context) error {
	return l.remove(ctx, &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: l.space, Name: "net"}})
}

// remove deletes an object without its finalizers, and leaves o as it was.
func (l *lane) remove(ctx context.Context, o client.Object) error {
	gone := o.DeepCopyObject().(client.Object)
	free := client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`))
	if err := l.Patch(ctx, gone, free); err != nil {
		return err
	}
	if err := l.Delete(ctx, gone); client.IgnoreNotFound(err) != nil {
		return err
	}
	return until(ctx, patience, func(ctx context.Context) error {
		if err := l.Get(ctx, client.ObjectKeyFromObject(o), gone); !apierrors.IsNotFound(err) {
			return fmt.Errorf("%s is still there: %w", o.GetName(), err)
		}
		return nil
	})
}
