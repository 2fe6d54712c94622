package tenant

import "slices"

// namespaces are the only ones that are served; all of the cluster's when there are none.
type Namespaces []string

func (n Namespaces) Includes(namespace string) bool {
	return len(n) == 0 || slices.Contains(n, namespace)
}
