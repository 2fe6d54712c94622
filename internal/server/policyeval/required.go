package policyeval

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/semaphore"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// What marks a ConfigMap of Cairn's namespace as policies that the installation requires, and in which namespaces: a
// list of names, or of patterns as path.Match has them, with commas between. Absent means all.
const (
	policyLabel          = "cairn.dev/policy"
	policyRequired       = "required"
	namespacesAnnotation = "cairn.dev/namespaces"
)

// requiredFor is how long the required policies are remembered. They are read past every cache, and only while Runs
// plan: one list of some labeled objects every five seconds at most. A cache would be a watch and its memory in each
// process for what changes once a month, and does not know either whether it is up to date.
const requiredFor = 5 * time.Second

// required are the policies that the installation requires.
type required struct {
	live      client.Reader
	namespace string
	now       func() time.Time

	// turn has capacity 1: its holder reads.
	turn  *semaphore.Weighted
	until time.Time
	known []requirement
}

// requirement is one ConfigMap of required policies.
type requirement struct {
	rules rules
	// namespaces it is for; empty is all.
	namespaces []string
}

func newRequired(live client.Reader, namespace string, now func() time.Time) *required {
	return &required{live: live, namespace: namespace, now: now, turn: semaphore.NewWeighted(1)}
}

// in returns the policies that are required in a namespace.
func (r *required) in(ctx context.Context, namespace string) ([]rules, error) {
	all, err := r.all(ctx)
	if err != nil {
		return nil, err
	}
	var there []rules
	for _, q := range all {
		if q.isFor(namespace) {
			there = append(there, q.rules)
		}
	}
	return there, nil
}

func (r *required) all(ctx context.Context) ([]requirement, error) {
	if err := r.turn.Acquire(ctx, 1); err != nil {
		return nil, err
	}
	defer r.turn.Release(1)
	if r.now().Before(r.until) {
		return r.known, nil
	}
	var list corev1.ConfigMapList
	err := r.live.List(ctx, &list, client.InNamespace(r.namespace), client.MatchingLabels{policyLabel: policyRequired})
	if err != nil {
		return nil, fmt.Errorf("read the policies that the installation requires: %w", err)
	}
	r.known = nil
	for i := range list.Items {
		r.known = append(r.known, requirementOf(&list.Items[i]))
	}
	slices.SortFunc(r.known, func(a, b requirement) int { return strings.Compare(a.rules.name, b.rules.name) })
	r.until = r.now().Add(requiredFor)
	return r.known, nil
}

func requirementOf(cm *corev1.ConfigMap) requirement {
	name := cm.Namespace + "/" + cm.Name
	q := requirement{rules: rules{name: name, files: map[string]string{}}}
	maps.Copy(q.rules.files, cm.Data)
	for file := range cm.BinaryData {
		q.rules.wrong = fmt.Sprintf("%s/%s is not text", name, file)
	}
	for _, file := range slices.Sorted(maps.Keys(cm.Data)) {
		if !isPolicy(file) { // it would never be evaluated
			q.rules.wrong = fmt.Sprintf("%s/%s ends in none of .rego, .yaml and .yml", name, file)
		}
	}
	if len(q.rules.files)+len(q.rules.wrong) == 0 {
		q.rules.wrong = fmt.Sprintf("%s has no key that ends in .rego, .yaml or .yml", name)
	}
	for pattern := range strings.SplitSeq(cm.Annotations[namespacesAnnotation], ",") {
		if pattern = strings.TrimSpace(pattern); pattern == "" {
			continue
		}
		if _, err := path.Match(pattern, ""); err != nil { // its namespaces are unknown
			q.namespaces = nil
			q.rules.wrong = fmt.Sprintf("the annotation %s of %s has %q, which is no pattern", namespacesAnnotation,
				name, pattern)
			break
		}
		q.namespaces = append(q.namespaces, pattern)
	}
	return q
}

func (q requirement) isFor(namespace string) bool {
	return len(q.namespaces) == 0 || slices.ContainsFunc(q.namespaces, func(pattern string) bool {
		ok, _ := path.Match(pattern, namespace) // it is one, see above
		return ok
	})
}

// isPolicy returns true if a key of a ConfigMap is a policy.
func isPolicy(file string) bool {
	return slices.Contains([]string{".rego", ".yaml", ".yml"}, path.Ext(file))
}
