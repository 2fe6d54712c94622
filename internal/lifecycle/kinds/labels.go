package kinds

import (
	"maps"
	"slices"
	"strings"
)

// mostLabels is how many labels a row has.
const mostLabels = 20

// ownerLabels are the domains, or labels, by which tools recognize the objects that they manage. Users do not filter by
// them.
var ownerLabels = []string{
	"app.kubernetes.io/managed-by", "helm.sh", "helm.toolkit.fluxcd.io", "kustomize.toolkit.fluxcd.io",
	"argocd.argoproj.io",
}

// labelsOf are the labels of an object as key=value, in order. Most objects share theirs with others, so each is one
// string for all.
func labelsOf(all map[string]string) []string {
	var of []string
	for _, key := range slices.Sorted(maps.Keys(all)) {
		domain, _, _ := strings.Cut(key, "/")
		if slices.Contains(ownerLabels, domain) || slices.Contains(ownerLabels, key) {
			continue
		}
		if len(of) == mostLabels {
			break
		}
		of = append(of, intern(key+"="+all[key]))
	}
	return slices.Clip(of)
}

// labelFilters is a filter for each key, which lets rows through that have one of its values.
func labelFilters[R any](labels func(*R) []string, values []string) ([]filter[R], error) {
	wanted := map[string][]string{}
	for _, l := range values {
		key, _, ok := strings.Cut(l, "=")
		if !ok || key == "" {
			return nil, &BadQuery{label, "use key=value, as in team=data"}
		}
		wanted[key] = append(wanted[key], l)
	}
	var filters []filter[R]
	for key, of := range wanted {
		has := func(l string) bool { return slices.Contains(of, l) }
		lets := func(row *R) bool { return slices.ContainsFunc(labels(row), has) }
		filters = append(filters, filter[R]{labelField(key), lets})
	}
	return filters, nil
}

// labelField is the field of a label, by which rows are grouped: label:team.
func labelField(key string) string { return label + ":" + key }
