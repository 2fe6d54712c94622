// Package permissions has a table of the permissions of Cairn's processes, and tests that they use each of them and
// need no others.
package permissions

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	chart "cairn.dev/cairn/charts/cairn"
	"cairn.dev/cairn/dev"
)

// Permission is one verb on one resource for one component, the operator or the server.
type Permission struct {
	Half     string
	Scope    chart.Scope
	Resource string // with its group and its subresource
	Name     string // of the only object, or empty for all
	Verb     string
}

// String returns the permission as the list of unused ones names it.
func (p Permission) String() string { return fmt.Sprintf("%s %s %s", p.Half, p.Verb, p.row()) }

func (p Permission) row() string {
	if p.Name != "" {
		return fmt.Sprintf("%s %s", p.Resource, p.Name)
	}
	return p.Resource
}

// All returns the permissions of Cairn's processes by the roles of the chart.
func All() ([]Permission, error) {
	roles, err := chart.Roles()
	if err != nil {
		return nil, err
	}
	var all []Permission
	for _, role := range roles {
		for _, rule := range role.Rules {
			if len(rule.NonResourceURLs) > 0 {
				return nil, fmt.Errorf("the role of the %s has non-resource URLs %v, which Cairn does not use",
					role.Half, rule.NonResourceURLs)
			}
			names := rule.ResourceNames
			if len(names) == 0 {
				names = []string{""}
			}
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					for _, name := range names {
						for _, verb := range rule.Verbs {
							all = append(all, Permission{role.Half, role.Scope, joined(group, resource), name, verb})
						}
					}
				}
			}
		}
	}
	return all, nil
}

func joined(group, resource string) string {
	if group == "" {
		return resource
	}
	name, sub, isSub := strings.Cut(resource, "/")
	if isSub {
		return name + "." + group + "/" + sub
	}
	return name + "." + group
}

// verbs in the order of the table.
var verbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "cancel"}

// Table formats permissions for docs/how-to/access-audit.md.
func Table(all []Permission) string {
	places := map[chart.Scope]string{
		chart.Watched: "in each namespace that Cairn watches", chart.Cluster: "in the cluster",
		chart.Own: "in Cairn's own namespace",
	}
	type section struct {
		half  string
		scope chart.Scope
	}
	sections := map[section]map[string][]string{}
	for _, p := range all {
		s := section{p.Half, p.Scope}
		if sections[s] == nil {
			sections[s] = map[string][]string{}
		}
		sections[s][p.row()] = append(sections[s][p.row()], p.Verb)
	}
	var text strings.Builder
	for _, s := range slices.SortedFunc(maps.Keys(sections), func(a, b section) int {
		return strings.Compare(a.half+" "+string(a.scope), b.half+" "+string(b.scope))
	}) {
		place := places[s.scope]
		if place == "" {
			place = "in namespace " + string(s.scope)
		}
		fmt.Fprintf(&text, "the %s %s\n", s.half, place)
		for _, row := range slices.Sorted(maps.Keys(sections[s])) {
			fmt.Fprintf(&text, "    %-50s", row)
			has := sections[s][row]
			slices.SortFunc(has, func(a, b string) int { return slices.Index(verbs, a) - slices.Index(verbs, b) })
			fmt.Fprintf(&text, " %s\n", strings.Join(slices.Compact(has), " "))
		}
	}
	return text.String()
}

// Allows reports whether a request needs the permission. Own is Cairn's namespace.
func (p Permission) Allows(r dev.Request, own string) bool {
	resource := r.Resource
	if r.Subresource != "" {
		resource += "/" + r.Subresource
	}
	if joined(r.Group, resource) != p.Resource || r.Verb != p.Verb || (p.Name != "" && p.Name != r.Name) {
		return false
	}
	switch p.Scope {
	case chart.Watched, chart.Cluster:
		return true
	case chart.Own:
		return r.Namespace == own
	default:
		return r.Namespace == string(p.Scope)
	}
}
