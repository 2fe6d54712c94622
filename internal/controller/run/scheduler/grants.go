package scheduler

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// grantFor is how long a Run may take from its admission until its object shows that it runs.
	grantFor = time.Minute
	// patience is how long a Run waits before it keeps a place of its namespace free from lower ranks, while it lacks
	// one of its Repository only.
	patience = 5 * time.Minute
)

// next takes back the grants that were not used, and grants the places that are free. It returns the Runs that got one,
// in order, and then those that lost one.
func (q *Queue) next() (wake []types.NamespacedName) {
	now := q.now()
	lost := q.expireGrants(now)
	for r := q.first(now); r != nil; r = q.first(now) {
		q.dequeue(r)
		q.start(r, now)
		wake = append(wake, r.Key)
	}
	return append(wake, lost...)
}

// expireGrants forgets the Runs whose object did not show for too long after their admission that they run.
func (q *Queue) expireGrants(now time.Time) (lost []types.NamespacedName) {
	for key, r := range q.grants {
		if !now.Before(r.granted.Add(grantFor)) {
			q.drop(key)
			lost = append(lost, key)
		}
	}
	slices.SortFunc(lost, byName)
	return lost
}

// first is the Run that may start next; nil when none may.
func (q *Queue) first(now time.Time) *queued {
	if q.installation.full() {
		return nil
	}
	kept := map[*group]bool{} // namespaces whose last place is kept from the ranks that follow
	for _, waiting := range q.waiting {
		var first *queued
		var keep []*group
		for _, r := range waiting {
			namespace := r.groups.namespace
			switch {
			case namespace.full() || kept[namespace] && namespace.left() == 1:
			case !r.groups.repository.full():
				if first == nil || namespace.running < first.groups.namespace.running { // else first waits longer
					first = r
				}
			case now.Sub(r.Since) >= patience:
				keep = append(keep, namespace)
			}
		}
		if first != nil {
			return first
		}
		for _, g := range keep {
			kept[g] = true
		}
	}
	return nil
}

func bySince(a, b *queued) int { return cmp.Or(a.Since.Compare(b.Since), byName(a.Key, b.Key)) }

func byName(a, b types.NamespacedName) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
}
