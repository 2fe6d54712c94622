package scheduler

import (
	"slices"
	"time"
)

// queued is a Run in the Queue. It waits, or it runs or is granted, and counts as running.
type queued struct {
	Entry
	groups  groups
	waits   bool
	granted time.Time // zero when its object shows that it runs
}

// groups are those whose limits a Run is under.
type groups struct{ repository, namespace, installation *group }

// group is all Runs that a limit is for: those that run, and all of them.
type group struct {
	name         string
	limit        int
	running, all int
}

// join returns the groups of a Run, and creates those that do not exist.
func (q *Queue) join(e Entry) groups {
	of := groups{q.unlimited, q.namespaces[e.Key.Namespace], q.installation}
	if of.namespace == nil {
		of.namespace = &group{name: "of namespace " + e.Key.Namespace, limit: q.limits.Namespace}
		q.namespaces[e.Key.Namespace] = of.namespace
	}
	if e.Repository != "" && q.limits.Repository != nil {
		of.repository = q.repositories[e.Repository]
		if of.repository == nil {
			of.repository = &group{name: "of Repository " + e.Repository}
			q.repositories[e.Repository] = of.repository
		}
		of.repository.limit = q.limits.Repository(e.Repository)
	}
	of.each(func(g *group) { g.all++ })
	return of
}

// place is where a Run is among those of its rank that wait.
func (q *Queue) place(r *queued) int {
	n, _ := slices.BinarySearchFunc(q.waiting[r.Rank], r, bySince)
	return n
}

func (g groups) each(f func(*group)) {
	f(g.repository)
	f(g.namespace)
	f(g.installation)
}

// count is how many of some Runs are in the group.
func (g *group) count(runs []*queued) int {
	n := 0
	for _, r := range runs {
		if r.groups.repository == g || r.groups.namespace == g || r.groups.installation == g {
			n++
		}
	}
	return n
}

func (g *group) full() bool { return g.limit > 0 && g.running >= g.limit }

// left is how many places are free; meaningless without a limit, where it is never 1.
func (g *group) left() int { return g.limit - g.running }
