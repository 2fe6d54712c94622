package listing

import (
	"maps"
	"slices"
	"strings"
)

// mostLabels is how many labels a row has.
const mostLabels = 20

// ownerLabels are the domains, or labels, by which tools recognize the objects that they manage.
var ownerLabels = []string{
	"app.kubernetes.io/managed-by", "helm.sh", "helm.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io",
	"argocd.argoproj.io",
}

// labelsOf are the labels of an object as key=value, in order. Many objects share them, so each is one string for all.
func labelsOf(all map[string]string) []string {
	var labels []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		domain, _, _ := strings.Cut(key, "/")
		if len(labels) < mostLabels && !slices.Contains(ownerLabels, key) && !slices.Contains(ownerLabels, domain) {
			labels = append(labels, intern(key+"="+all[key]))
		}
	}
	return labels
}
