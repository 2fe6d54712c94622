package convert

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// theirs are the prefixes of labels and annotations with which tools find what they manage. Whatever applies the new
// objects writes its own.
var theirs = []string{
	"kubectl.kubernetes.io/", "kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/", "reconcile.fluxcd.io/",
	"meta.helm.sh/", "helm.sh/",
	"app.kubernetes.io/managed-by", "argocd.argoproj.io/", "app.kubernetes.io/instance", "crossplane.io/",
	"objectset.rio.cattle.io/",
	"fluxcd.io/", "deployment.kubernetes.io/",
}

// own are the labels or annotations that are kept. It adds a note to each that has none yet.
func (o *Object) own(what string) map[string]string {
	kept := map[string]string{}
	for _, f := range o.At("metadata", what).Fields() {
		switch {
		case f.HasNote():
		case slices.ContainsFunc(theirs, func(prefix string) bool { return strings.HasPrefix(f.Name, prefix) }):
			f.NotNeeded("it is of the tool that applied the object; what applies the new one writes its own")
		default:
			kept[f.Name] = f.Text()
			f.Became("the same")
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// metadata speaks of what is in metadata beside labels and annotations.
func (o *Object) metadata() {
	o.MarkNoted("apiVersion", "kind")
	meta := o.At("metadata")
	for _, name := range []string{"name", "namespace"} {
		o.MarkNoted(meta.At(name).Path)
	}
	for _, what := range []string{"labels", "annotations"} {
		if f := meta.At(what); f.Exists() && len(f.Fields()) == 0 {
			o.MarkNoted(f.Path)
		}
	}
	// What the API server writes into each object needs no note.
	for _, name := range []string{"creationTimestamp", "generation", "managedFields", "resourceVersion",
		"selfLink", "uid"} {
		o.MarkNoted(meta.At(name).Path)
	}
	meta.At("finalizers").NotNeeded("they are of the old controller; Cairn sets its own")
	meta.At("ownerReferences").Unsupported("the Stack has no owner: the owner of the old object has to create the " +
		"Stack, or the Stack stays when the owner is deleted")
	meta.At("generateName").NotNeeded("the Stack has the name that was generated from it")
}

// clean is the metadata that a manifest has.
func clean(m metav1.ObjectMeta) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, Labels: m.Labels,
		Annotations: maps.Clone(m.Annotations)}
	delete(kept.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
	return kept
}
