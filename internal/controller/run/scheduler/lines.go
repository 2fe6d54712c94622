package scheduler

import (
	"slices"
	"time"
)

// queued is a Run in the Queue. It waits in its lane; without a lane it runs or is granted, and counts as running.
type queued struct {
	Entry
	groups  groups
	lane    *lane
	granted time.Time // zero when its object shows that it runs
}

// groups are those whose limits a Run is under.
type groups struct{ repository, namespace, installation *group }

// group is all Runs that a limit is for.
type group struct {
	name    string
	limit   int
	running int
	waiting [ranks]int
}

// line is all that wait in a namespace, of one rank. It is never empty.
type line struct {
	namespace *group
	lanes     []*lane
}

// lane is the part of a line that waits for one Repository. Of it only the first can be the next. It is never empty.
type lane struct {
	repository *group
	runs       []*queued // by Since
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
	return of
}

// count has a Run count as running.
func (q *Queue) count(r *queued) {
	r.groups.each(func(g *group) { g.running++ })
	if !r.granted.IsZero() {
		q.grants[r.Key] = r
	}
}

// enqueue has a Run wait.
func (q *Queue) enqueue(r *queued) {
	l := q.lines[r.Rank][r.groups.namespace]
	if l == nil {
		l = &line{namespace: r.groups.namespace}
		q.lines[r.Rank][l.namespace] = l
	}
	i := slices.IndexFunc(l.lanes, func(x *lane) bool { return x.repository == r.groups.repository })
	if i < 0 {
		i = len(l.lanes)
		l.lanes = append(l.lanes, &lane{repository: r.groups.repository})
	}
	r.lane = l.lanes[i]
	r.lane.runs = slices.Insert(r.lane.runs, r.lane.before(r), r)
	r.groups.each(func(g *group) { g.waiting[r.Rank]++ })
}

// dequeue has a Run wait no longer.
func (q *Queue) dequeue(r *queued) {
	i := r.lane.before(r)
	r.lane.runs = slices.Delete(r.lane.runs, i, i+1)
	if len(r.lane.runs) == 0 {
		l := q.lines[r.Rank][r.groups.namespace]
		l.lanes = slices.DeleteFunc(l.lanes, func(x *lane) bool { return x == r.lane })
		if len(l.lanes) == 0 {
			delete(q.lines[r.Rank], l.namespace)
		}
	}
	r.lane = nil
	r.groups.each(func(g *group) { g.waiting[r.Rank]-- })
}

// before is how many of the lane go before a Run.
func (l *lane) before(r *queued) int {
	n, _ := slices.BinarySearchFunc(l.runs, r, bySince)
	return n
}

func (g groups) each(f func(*group)) {
	f(g.repository)
	f(g.namespace)
	f(g.installation)
}

func (g *group) full() bool { return g.limit > 0 && g.running >= g.limit }

// left is how many places are free; meaningless without a limit, where it is never 1.
func (g *group) left() int { return g.limit - g.running }

func (g *group) empty() bool { return g.running == 0 && g.waiting == [ranks]int{} }
