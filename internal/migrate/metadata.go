package migrate

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// add makes a Stack of an object: with its name, its namespace, and those labels and annotations that are people's own.
func (c *conversion) add(o *object, spec v1alpha1.StackSpec, from *repository) {
	made := &stack{of: o, from: from}
	made.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Stack"}
	made.Name, made.Namespace, made.Spec = o.stack, o.ref.Namespace, spec
	made.Labels = o.own("labels")
	made.Annotations = o.own("annotations")
	c.stacks = append(c.stacks, made)
}

// repository is the Repository of an address in a namespace, with the Secret that it is read with; both are one Repository for all who ask
// for the same. Its name is made from the address.
func (c *conversion) repository(namespace, url, secret string) *repository {
	for _, r := range c.repositories {
		of := ""
		if r.Spec.Credentials != nil {
			of = r.Spec.Credentials.Secret.Name
		}
		if r.Namespace == namespace && r.Spec.URL == url && of == secret {
			return r
		}
	}
	made := newRepository(namespace, url)
	if secret != "" {
		made.Spec.Credentials = &v1alpha1.SecretSource{Secret: v1alpha1.ObjectRef{Name: secret}}
	}
	c.repositories = append(c.repositories, made)
	return made
}

// addRepository makes a Repository of an object, with its name where that is free.
func (c *conversion) addRepository(o *object, url string) *repository {
	made := newRepository(o.ref.Namespace, url)
	made.named, made.of, made.Name = true, o, c.freeRepository(o.ref.Namespace, o.ref.Name, o.kind.system)
	if made.Name != o.ref.Name {
		o.note(Became, "metadata.name", "metadata.name %s: another Repository has the name %s", made.Name, o.ref.Name)
	}
	made.Labels = o.own("labels")
	made.Annotations = o.own("annotations")
	c.repositories = append(c.repositories, made)
	return made
}

// repositoryAt makes a Repository of an object whose field at has the address; not ok when it is none.
func (c *conversion) repositoryAt(o *object, at field) (made *repository, a address, ok bool) {
	a, err := readAddress(at.text())
	if err != nil {
		at.fail("%w", err)
		return nil, a, false
	}
	made = c.addRepository(o, a.URL)
	at.became("Repository %s: spec.url", made.Name)
	if a.Secret {
		at.todo("the user or password in the URL is left out: put it into a Secret for spec.credentials, with keys username and password")
	}
	return made, a, true
}

func newRepository(namespace, url string) *repository {
	made := &repository{}
	made.TypeMeta = metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "Repository"}
	made.Namespace, made.Spec.URL = namespace, url
	return made
}

// theirs are the prefixes of labels and annotations with which tools find what they manage. Whatever applies the new objects writes its own.
var theirs = []string{
	"kubectl.kubernetes.io/", "kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/", "reconcile.fluxcd.io/", "meta.helm.sh/", "helm.sh/",
	"app.kubernetes.io/managed-by", "argocd.argoproj.io/", "app.kubernetes.io/instance", "crossplane.io/", "objectset.rio.cattle.io/",
	"fluxcd.io/", "deployment.kubernetes.io/",
}

// own are the labels or annotations that go along, and it speaks of all of which nothing was said yet.
func (o *object) own(what string) map[string]string {
	kept := map[string]string{}
	for _, f := range o.at("metadata", what).fields() {
		switch {
		case o.told[f.path]:
		case slices.ContainsFunc(theirs, func(prefix string) bool { return strings.HasPrefix(f.name, prefix) }):
			f.notNeeded("it is of the tool that applied the object; what applies the new one writes its own")
		default:
			kept[f.name] = f.text()
			f.became("the same")
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// metadata speaks of what is in metadata beside labels and annotations.
func (o *object) metadata() {
	for _, name := range []string{"apiVersion", "kind"} {
		o.told[name] = true
	}
	meta := o.at("metadata")
	for _, name := range []string{"name", "namespace"} {
		o.told[meta.at(name).path] = true
	}
	for _, what := range []string{"labels", "annotations"} {
		if f := meta.at(what); f.there() && len(f.fields()) == 0 {
			o.told[f.path] = true
		}
	}
	// Nothing is said of what the API server writes into each object.
	for _, name := range []string{"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"} {
		o.told[meta.at(name).path] = true
	}
	meta.at("finalizers").notNeeded("they are of the old controller; Cairn sets its own")
	meta.at("ownerReferences").cannot("the Stack has no owner: whoever made the old object has to make the Stack, or it stays when that is deleted")
	meta.at("generateName").notNeeded("the Stack has the name that was made from it")
}

// sortedKeys are the keys of a map, in order.
func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// clean is the metadata that a manifest has.
func clean(m metav1.ObjectMeta) metav1.ObjectMeta {
	kept := metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, Labels: m.Labels, Annotations: maps.Clone(m.Annotations)}
	delete(kept.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
	return kept
}
