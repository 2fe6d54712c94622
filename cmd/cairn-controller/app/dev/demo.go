package dev

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/examples"
	"cairn.dev/cairn/web"
)

func demoCommand() *cobra.Command {
	var (
		o    = options{level: slog.LevelWarn}
		once bool
	)
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Start Cairn on this machine and run an example",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			o.log = textLogger(o.level)
			out := cmd.OutOrStdout()
			fmt.Fprintln(out, "Starting a Kubernetes API server, a simulated kubelet and Cairn on this machine ...")
			started := time.Now()
			return withCluster(cmd.Context(), o, func(ctx context.Context, c *cluster) error {
				fmt.Fprintf(out, "Ready after %.1f s.\n", time.Since(started).Seconds())
				d := demo{c: c, show: newTimeline(out), out: out}
				if once {
					return d.all(ctx)
				}
				return d.stay(ctx)
			})
		},
	}
	f := cmd.Flags()
	f.BoolVar(&once, "once", false, "create, change and delete the example, then exit")
	o.addFlags(f)
	return cmd
}

// A demo creates, changes and deletes the example.
type demo struct {
	c    *cluster
	show *timeline
	out  io.Writer
}

var fleet = types.NamespacedName{Namespace: "default", Name: "fleet"}

// all creates, changes and deletes the example.
func (d demo) all(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	if err := d.create(ctx); err != nil {
		return err
	}
	d.show.headline("Change servers to 5 in Secret fleet-tfvars")
	if err := d.change(ctx); err != nil {
		return err
	}
	d.show.headline("Delete Stack fleet")
	if err := d.remove(ctx); err != nil {
		return err
	}
	d.show.durations()
	return nil
}

// stay creates the example and waits for Ctrl-C.
func (d demo) stay(ctx context.Context) error {
	if err := d.create(ctx); err != nil {
		return err
	}
	link := ""
	if web.Built() {
		var err error
		if link, err = d.c.link(); err != nil {
			return err
		}
	}
	fmt.Fprintf(d.out, `
%sIn another terminal:
  export KUBECONFIG=%s PATH=%s:$PATH
  cairn get
  cairn describe fleet
  kubectl get secret fleet-outputs -o yaml
Try next:
  kubectl patch secret fleet-tfvars -p '{"stringData":{"terraform.tfvars":"servers = 5\npassword = \"battery staple\""}}'
  kubectl describe stack fleet
  kubectl delete stack fleet
Ctrl-C stops everything.
`, link, d.c.kubeconfig, d.c.path())
	err := d.show.follow(ctx, d.c, func() (bool, error) { return false, nil })
	if ctx.Err() != nil {
		return nil // Ctrl-C ends it
	}
	return err
}

func (d demo) create(ctx context.Context) error {
	d.show.headline("Apply the example: a ConfigMap with code, a Secret with variables, a Stack")
	objects, err := decode(examples.ConfigMap)
	if err != nil {
		return err
	}
	if err := apply(ctx, d.c, objects); err != nil {
		return err
	}
	stack, err := d.untilReady(ctx, "")
	if err != nil {
		return err
	}
	d.show.outputs(stack)
	return nil
}

func (d demo) change(ctx context.Context) error {
	before := &v1alpha1.Stack{}
	if err := d.c.Get(ctx, fleet, before); err != nil {
		return err
	}
	secret := &corev1.Secret{}
	if err := d.c.Get(ctx, types.NamespacedName{Namespace: fleet.Namespace, Name: "fleet-tfvars"}, secret); err != nil {
		return err
	}
	const key = "terraform.tfvars"
	secret.Data[key] = bytes.ReplaceAll(secret.Data[key], []byte("servers  = 3"), []byte("servers  = 5"))
	if err := d.c.Update(ctx, secret); err != nil {
		return err
	}
	stack, err := d.untilReady(ctx, before.Status.AppliedInputsDigest)
	if err != nil {
		return err
	}
	d.show.outputs(stack)
	return nil
}

func (d demo) remove(ctx context.Context) error {
	stack := &v1alpha1.Stack{}
	stack.Namespace, stack.Name = fleet.Namespace, fleet.Name
	if err := d.c.Delete(ctx, stack); err != nil {
		return err
	}
	return d.show.follow(ctx, d.c, func() (bool, error) {
		err := d.c.Get(ctx, fleet, &v1alpha1.Stack{})
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	})
}

// untilReady follows the Runs until the Stack is Ready and its applied inputs digest differs from other.
func (d demo) untilReady(ctx context.Context, other string) (*v1alpha1.Stack, error) {
	stack := &v1alpha1.Stack{}
	return stack, d.show.follow(ctx, d.c, func() (bool, error) {
		if err := d.c.Get(ctx, fleet, stack); err != nil {
			return false, err
		}
		for _, c := range stack.Status.Conditions {
			if c.Type == v1alpha1.ConditionStalled {
				return false, fmt.Errorf("stack %s: %s: %s", fleet.Name, c.Reason, c.Message)
			}
			if c.Type == v1alpha1.ConditionReady && c.Status == "True" && stack.Status.AppliedInputsDigest != other {
				return true, nil
			}
		}
		return false, nil
	})
}
