package check

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kubeversion "k8s.io/apimachinery/pkg/version"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/userapi"
)

// gather reads the facts of the cluster. Errors are facts too, except where nothing can be read.
func gather(ctx context.Context, s *session.Session, f Facts) (Facts, error) {
	kube, err := s.Kubernetes()
	if err != nil {
		return f, err
	}
	config, err := s.Config()
	if err != nil {
		return f, err
	}
	core, err := session.CoreClient(config)
	if err != nil {
		return f, err
	}
	data, err := core.Get().AbsPath("/version").DoRaw(ctx)
	var info kubeversion.Info
	if err == nil {
		err = json.Unmarshal(data, &info)
	}
	f.Kubernetes = Read[string]{info.GitVersion, s.Explain(err)}
	if f.Kubernetes.Err != nil {
		return f, f.Kubernetes.Err
	}
	g := gatherer{ctx, s, kube}
	f.Rights.Value, f.Rights.Err = g.rights(f.Namespace, f.Kubernetes.Value)
	f.CRDs.Value, f.CRDs.Err = g.crds()
	f.Server.Value, f.Server.Err = g.server(f)
	f.Nodes.Value, f.Nodes.Err = g.nodes()
	if onVolume(f.Bucket) {
		f.StorageClasses.Value, f.StorageClasses.Err = g.storageClasses()
	} else if f.Endpoint.Value = endpointOf(f.Bucket); f.Endpoint.Value != "" {
		f.Endpoint.Err = connect(ctx, f.Endpoint.Value)
	}
	f.Webhooks.Value, f.Webhooks.Err = g.webhooks()
	return f, nil
}

type gatherer struct {
	ctx  context.Context //nolint:containedctx // one call of gather
	s    *session.Session
	kube client.Client
}

// Needed are the permissions that an installation of the chart with its defaults into a namespace needs. Kubernetes
// 1.36 and later have mutating admission policies.
func Needed(namespace string, mutating bool) []Right {
	const rbac, admission, apps = "rbac.authorization.k8s.io", "admissionregistration.k8s.io", "apps"
	all := []Right{
		{Verb: "create", Group: "apiextensions.k8s.io", Resource: "customresourcedefinitions"},
		{Verb: "create", Group: rbac, Resource: "clusterroles"},
		{Verb: "escalate", Group: rbac, Resource: "clusterroles"},
		{Verb: "create", Group: rbac, Resource: "clusterrolebindings"},
		{Verb: "create", Group: admission, Resource: "validatingadmissionpolicies"},
		{Verb: "create", Group: admission, Resource: "validatingadmissionpolicybindings"},
		{Verb: "create", Resource: "namespaces"},
		{Verb: "create", Group: apps, Resource: "deployments", Namespace: namespace},
		{Verb: "create", Group: "networking.k8s.io", Resource: "networkpolicies", Namespace: namespace},
		{Verb: "create", Group: "coordination.k8s.io", Resource: "leases", Namespace: namespace},
	}
	if mutating {
		all = append(all, Right{Verb: "create", Group: admission, Resource: "mutatingadmissionpolicies"},
			Right{Verb: "create", Group: admission, Resource: "mutatingadmissionpolicybindings"})
	}
	for _, resource := range []string{"secrets", "services", "serviceaccounts", "persistentvolumeclaims"} {
		all = append(all, Right{Verb: "create", Resource: resource, Namespace: namespace})
	}
	for _, in := range []string{namespace, metav1.NamespaceSystem, metav1.NamespacePublic} {
		all = append(all, Right{Verb: "create", Group: rbac, Resource: "roles", Namespace: in},
			Right{Verb: "create", Group: rbac, Resource: "rolebindings", Namespace: in})
	}
	return append(all, Right{Verb: "create", Resource: "configmaps", Namespace: metav1.NamespacePublic})
}

func (g gatherer) rights(namespace, kubernetes string) ([]Right, error) {
	all := Needed(namespace, mutating(kubernetes))
	for i, r := range all {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: r.Verb, Group: r.Group, Resource: r.Resource, Namespace: r.Namespace,
			},
		}}
		if err := g.kube.Create(g.ctx, review); err != nil {
			return nil, g.s.Explain(err)
		}
		all[i].Allowed = review.Status.Allowed
	}
	return all, nil
}

func (g gatherer) crds() ([]CRD, error) {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{
		Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinitionList",
	})
	if err := g.s.List(g.ctx, list); err != nil {
		return nil, err
	}
	var all []CRD
	for _, o := range list.Items {
		all = append(all, CRD{
			Name: o.Name, Version: o.Labels["app.kubernetes.io/version"],
			Release:   o.Annotations["meta.helm.sh/release-name"],
			Namespace: o.Annotations["meta.helm.sh/release-namespace"],
		})
	}
	return all, nil
}

// server returns the published address, unless it is that of the release itself.
func (g gatherer) server(f Facts) (string, error) {
	m := &corev1.ConfigMap{}
	err := g.s.Get(g.ctx, client.ObjectKey{Namespace: userapi.PublicNamespace, Name: userapi.PublicName}, m)
	if apierrors.IsNotFound(err) {
		return "", nil
	}
	if m.Annotations["meta.helm.sh/release-name"] == f.Release &&
		m.Annotations["meta.helm.sh/release-namespace"] == f.Namespace {
		return "", err
	}
	return m.Data[userapi.PublicURL], err
}

func (g gatherer) nodes() ([]Node, error) {
	list := &corev1.NodeList{}
	if err := g.s.List(g.ctx, list); err != nil {
		return nil, err
	}
	var all []Node
	for _, n := range list.Items {
		node := Node{System: n.Status.NodeInfo.OperatingSystem, Architecture: n.Status.NodeInfo.Architecture}
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady {
				node.Usable = c.Status == corev1.ConditionTrue && !n.Spec.Unschedulable
			}
		}
		all = append(all, node)
	}
	return all, nil
}

func (g gatherer) storageClasses() ([]StorageClass, error) {
	list := &storagev1.StorageClassList{}
	if err := g.s.List(g.ctx, list); err != nil {
		return nil, err
	}
	var all []StorageClass
	for _, c := range list.Items {
		all = append(all, StorageClass{
			Name: c.Name, Default: c.Annotations["storageclass.kubernetes.io/is-default-class"] == "true",
			Manual: c.Provisioner == "kubernetes.io/no-provisioner",
		})
	}
	return all, nil
}

// connect connects to an endpoint and closes the connection.
func connect(ctx context.Context, endpoint string) error {
	d := net.Dialer{Timeout: 5 * time.Second}
	conn, err := d.DialContext(ctx, "tcp", endpoint)
	if err != nil {
		return err
	}
	return conn.Close()
}

func (g gatherer) webhooks() ([]Webhook, error) {
	var all []Webhook
	validating := &admissionv1.ValidatingWebhookConfigurationList{}
	if err := g.s.List(g.ctx, validating); err != nil {
		return nil, err
	}
	mutating := &admissionv1.MutatingWebhookConfigurationList{}
	if err := g.s.List(g.ctx, mutating); err != nil {
		return nil, err
	}
	add := func(name string, policy *admissionv1.FailurePolicyType, rules []admissionv1.RuleWithOperations,
		to admissionv1.WebhookClientConfig) error {
		if policy != nil && *policy == admissionv1.Ignore || !concerns(rules) {
			return nil
		}
		w := Webhook{Name: name}
		if to.Service != nil {
			var err error
			w.Service = to.Service.Namespace + "/" + to.Service.Name
			if w.Ready, err = g.ready(to.Service.Namespace, to.Service.Name); err != nil {
				return err
			}
		}
		all = append(all, w)
		return nil
	}
	for _, c := range validating.Items {
		for _, w := range c.Webhooks {
			if err := add(w.Name, w.FailurePolicy, w.Rules, w.ClientConfig); err != nil {
				return nil, err
			}
		}
	}
	for _, c := range mutating.Items {
		for _, w := range c.Webhooks {
			if err := add(w.Name, w.FailurePolicy, w.Rules, w.ClientConfig); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// ready returns whether a pod of a Service is ready.
func (g gatherer) ready(namespace, name string) (bool, error) {
	list := &discoveryv1.EndpointSliceList{}
	err := g.s.List(g.ctx, list, client.InNamespace(namespace),
		client.MatchingLabels{discoveryv1.LabelServiceName: name})
	if err != nil {
		return false, fmt.Errorf("endpoints of Service %s/%s: %w", namespace, name, err)
	}
	for _, slice := range list.Items {
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready { // nil means true
				return true, nil
			}
		}
	}
	return false, nil
}
