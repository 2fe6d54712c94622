package dev

import (
	"context"
	"fmt"
	"path/filepath"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"sigs.k8s.io/controller-runtime/pkg/client"

	chart "cairn.dev/cairn/charts/cairn"
	"cairn.dev/cairn/dev"
)

// access creates a ServiceAccount with the chart's roles for one of Cairn's processes, as in a real installation, and
// returns its kubeconfig. With the permissions of an administrator, a missing rule of the roles would not be noticed.
func access(
	ctx context.Context, c client.Client, plane *dev.ControlPlane, process, data string, namespaces []string,
) (kubeconfig string, err error) {
	a := chart.Access{Account: "cairn-" + process, Namespace: systemNamespace, Halves: []string{process},
		Watched: namespaces}
	if process == "serve" {
		a.Account, a.Halves = "cairn", []string{"operator", "server"}
	}
	granted, err := a.Objects()
	if err != nil {
		return "", err
	}
	objects := filledByCairn()
	for _, namespace := range namespaces {
		objects = append(objects, bare(corev1.SchemeGroupVersion.WithKind("Namespace"), "", namespace))
	}
	objects = append(objects, bare(corev1.SchemeGroupVersion.WithKind("ServiceAccount"), systemNamespace, a.Account))
	for _, o := range granted {
		fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			return "", err
		}
		objects = append(objects, &unstructured.Unstructured{Object: fields})
	}
	if err := apply(ctx, c, objects); err != nil {
		return "", err
	}
	if err := poll(ctx, func(ctx context.Context) (bool, error) {
		return isAllowed(ctx, c, a, granted)
	}); err != nil {
		return "", fmt.Errorf("wait for the roles of ServiceAccount %s: %w", a.Account, err)
	}
	kubeconfig = filepath.Join(data, process+".kubeconfig")
	return kubeconfig, plane.WriteAccountKubeconfig(kubeconfig, a.Namespace, a.Account)
}

// filledByCairn returns the objects that the chart creates and Cairn fills.
func filledByCairn() []*unstructured.Unstructured {
	return []*unstructured.Unstructured{
		bare(corev1.SchemeGroupVersion.WithKind("Secret"), systemNamespace, "cairn-keys"),
		bare(corev1.SchemeGroupVersion.WithKind("ConfigMap"), "kube-public", "cairn"),
		bare(schema.GroupVersionKind{Group: "coordination.k8s.io", Version: "v1", Kind: "Lease"}, systemNamespace,
			"cairn-operator"),
	}
}

func bare(kind schema.GroupVersionKind, namespace, name string) *unstructured.Unstructured {
	o := &unstructured.Unstructured{}
	o.SetGroupVersionKind(kind)
	o.SetNamespace(namespace)
	o.SetName(name)
	return o
}

// isAllowed returns whether the API server's authorizer has received all roles.
func isAllowed(ctx context.Context, c client.Client, a chart.Access, granted []client.Object) (bool, error) {
	for _, o := range granted {
		var rule rbacv1.PolicyRule
		switch role := o.(type) {
		case *rbacv1.ClusterRole:
			rule = role.Rules[0]
		case *rbacv1.Role:
			rule = role.Rules[0]
		default:
			continue
		}
		what := &authorizationv1.ResourceAttributes{
			Namespace: o.GetNamespace(), Verb: rule.Verbs[0], Group: rule.APIGroups[0], Resource: rule.Resources[0],
		}
		if len(rule.ResourceNames) > 0 {
			what.Name = rule.ResourceNames[0]
		}
		review := &authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: serviceaccount.MakeUsername(a.Namespace, a.Account), ResourceAttributes: what,
		}}
		if err := c.Create(ctx, review); err != nil || !review.Status.Allowed {
			return false, err
		}
	}
	return true, nil
}
