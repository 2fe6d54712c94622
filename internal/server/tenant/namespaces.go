package tenant

import "slices"

// Namespaces are the namespaces that the installation serves; an empty list is all of the cluster.
type Namespaces []string

// Includes checks whether a namespace is served.
func (n Namespaces) Includes(namespace string) bool {
	return len(n) == 0 || slices.Contains(n, namespace)
}
