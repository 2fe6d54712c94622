package podspec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Other systems of a cluster act on labels and annotations of pods: they attach a pod to a network, mount volumes into
// it, or assign it an identity. They do so for the users who can create pods. The operator creates the pods of Runs, so
// users who can create Stacks and no pods would get that by a template.

// metadataKeys are those with a domain that templates can set in each installation. None changes which network,
// volumes, rights or identity a pod has, beyond what its namespace and ServiceAccount have.
var metadataKeys = []string{
	"app.kubernetes.io/",
	"azure.workload.identity/use",
	"cluster-autoscaler.kubernetes.io/safe-to-evict",
	"karpenter.sh/do-not-disrupt",
	"kubectl.kubernetes.io/default-container",
	"linkerd.io/inject",
	"sidecar.istio.io/inject",
}

// foreignKey returns which label or annotation of a template other systems act on, and the installation does not allow;
// empty when there is none. An allowed key that ends in a slash is a prefix.
func foreignKey(t corev1.PodTemplateSpec, allowed []string) string {
	for _, kind := range []struct {
		name string
		of   map[string]string
	}{{"labels", t.Labels}, {"annotations", t.Annotations}} {
		for _, key := range slices.Sorted(maps.Keys(kind.of)) {
			if isOwn(key) || !strings.Contains(key, "/") || listed(key, metadataKeys) || listed(key, allowed) {
				continue
			}
			return fmt.Sprintf("metadata.%s[%s] is not allowed in this installation: remove it, or have an "+
				"administrator add the key to runner.metadataKeys of the chart (--runner-metadata-key)", kind.name, key)
		}
	}
	return ""
}

// listed reports whether a list has a key, or a prefix of it that ends in a slash.
func listed(key string, list []string) bool {
	return slices.ContainsFunc(list, func(one string) bool {
		return key == one || strings.HasSuffix(one, "/") && strings.HasPrefix(key, one)
	})
}

// isOwn reports whether a label or annotation is Cairn's own.
func isOwn(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return domain == "cairn.dev" || strings.HasSuffix(domain, ".cairn.dev") || key == labelManagedBy
}

// systemClasses begins the names of the PriorityClasses of the cluster's own components. Kubernetes reserves it.
const systemClasses = "system-"

// systemPriority returns that a template asks for the priority of the cluster's own components; empty when it does not.
func systemPriority(t corev1.PodTemplateSpec) string {
	if class := t.Spec.PriorityClassName; strings.HasPrefix(class, systemClasses) {
		return fmt.Sprintf("spec.priorityClassName: %s is for components of the cluster, and evicts other pods: use "+
			"a PriorityClass that an administrator created for runners, or remove it", class)
	}
	return ""
}
