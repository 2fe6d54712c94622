package dev

import (
	"context"
	"fmt"
	"io/fs"
	"path/filepath"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/examples"
)

// pushed is the Stack of the repository that the user can push to.
var pushed = types.NamespacedName{Namespace: "default", Name: "web"}

// serveCode serves the repository until ctx is done.
func (d *demo) serveCode(ctx context.Context) error {
	code, err := fs.Sub(examples.Infra, "infra")
	if err != nil {
		return err
	}
	d.code, err = newRepository(ctx, filepath.Join(filepath.Dir(d.c.kubeconfig), "git"), "infra", code)
	return err
}

// createWeb creates the Stack of the repository, and waits until its plan waits for an approval.
func (d *demo) createWeb(ctx context.Context) error {
	d.show.headline("Apply the code in " + d.code.dir + ": a Repository and a Stack, whose plans wait for an approval")
	objects := []*unstructured.Unstructured{
		{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret", "metadata": named("infra-git"),
			"stringData": map[string]any{"username": repositoryUser, "password": d.code.password},
		}},
		{Object: map[string]any{
			"apiVersion": v1alpha1.GroupVersion.String(), "kind": "Repository", "metadata": named("infra"),
			"spec": map[string]any{
				"url": d.code.url, "ref": "main", "interval": "2s", "credentials": map[string]any{"secret": map[string]any{"name": "infra-git"}},
			},
		}},
	}
	stack, err := decode(examples.InfraStack)
	if err != nil {
		return err
	}
	if err := apply(ctx, d.c, append(objects, stack...)); err != nil {
		return err
	}
	_, err = d.untilPlanned(ctx, "")
	return err
}

func named(name string) map[string]any {
	return map[string]any{"namespace": pushed.Namespace, "name": name}
}

// push pushes a commit, as the user would, and waits until its plan waits for an approval.
func (d *demo) push(ctx context.Context) error {
	before := &v1alpha1.Stack{}
	if err := d.c.Get(ctx, pushed, before); err != nil {
		return err
	}
	main, err := fs.ReadFile(examples.Infra, "infra/web/main.tf")
	if err != nil {
		return err
	}
	if err := d.code.push(ctx, "web/main.tf", string(main)+"# changed\n", "Change it"); err != nil {
		return err
	}
	_, err = d.untilPlanned(ctx, before.Status.CurrentRun)
	return err
}

// untilPlanned follows the Runs until the Stack web is Ready or waits for the approval of another Run than other.
func (d *demo) untilPlanned(ctx context.Context, other string) (*v1alpha1.Stack, error) {
	stack := &v1alpha1.Stack{}
	return stack, d.show.follow(ctx, d.c, func() (bool, error) {
		if err := d.c.Get(ctx, pushed, stack); err != nil {
			return false, err
		}
		if c := apimeta.FindStatusCondition(stack.Status.Conditions, v1alpha1.ConditionStalled); c != nil && c.Status == "True" {
			return false, fmt.Errorf("stack %s: %s: %s", pushed.Name, c.Reason, c.Message)
		}
		ready := apimeta.FindStatusCondition(stack.Status.Conditions, v1alpha1.ConditionReady)
		if ready == nil {
			return false, nil
		}
		return ready.Status == "True" || ready.Reason == v1alpha1.ReasonAwaitingApproval && stack.Status.CurrentRun != other, nil
	})
}
