package fence

import (
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/weightedlru"
	"cairn.dev/cairn/internal/state/decision"
)

// recent is a small memory of States as this process read or wrote them last. Any of them may be out of date, since
// other processes write States too. Such a State is only a base to decide on and to swap (Fence.UpdateRecent).
type recent struct {
	states *weightedlru.Cache[types.NamespacedName, *v1alpha1.State]
	plans  *weightedlru.Cache[types.NamespacedName, planned]
}

// planned is what a State was when a plan began.
type planned struct {
	by      decision.Holder
	version v1alpha1.StateVersion
}

// recentMemory is the approximate maximum size in bytes of the States in memory: some thousands of usual ones.
const recentMemory = 8 << 20

func newRecent() *recent {
	return &recent{
		states: weightedlru.New[types.NamespacedName, *v1alpha1.State](recentMemory, weightedlru.EntryOverhead),
		plans:  weightedlru.New[types.NamespacedName, planned](1000, 1),
	}
}

// Recent returns a copy of a State as this process read or wrote it last; nil when it is not in memory.
func (f *Fence) Recent(key types.NamespacedName) *v1alpha1.State {
	st, ok := f.recent.states.Get(key)
	if !ok {
		return nil
	}
	return st.DeepCopy()
}

// add stores a copy of a State.
func (r *recent) add(st *v1alpha1.State) {
	st = st.DeepCopy()
	st.ManagedFields = nil // an update without them leaves them as they are
	r.states.Add(types.NamespacedName{Namespace: st.Namespace, Name: st.Name}, st, weightOf(st))
}

// BeginPlan stores the version that a State had when a plan began; none if it has no version.
func (f *Fence) BeginPlan(key types.NamespacedName, by decision.Holder, now v1alpha1.StateStatus) {
	version, _ := decision.Current(now)
	f.recent.plans.Add(key, planned{by, version}, 0)
}

// ForgetPlan has a plan in progress read the State again.
func (f *Fence) ForgetPlan(key types.NamespacedName) { f.recent.plans.Add(key, planned{}, 0) }

// BegunPlan returns the version that the State had when the plan of an attempt began, if it is known.
func (f *Fence) BegunPlan(key types.NamespacedName, by decision.Holder) (v1alpha1.StateVersion, bool) {
	p, _ := f.recent.plans.Get(key)
	return p.version, p.by == by && p.version.Version > 0
}

// weightOf is the approximate size of a State in memory: its outputs and versions have no small limit.
func weightOf(st *v1alpha1.State) int {
	const rest, version, output = 2 << 10, 512, 128
	weight := rest + version*len(st.Status.Versions)
	for name := range st.Status.Outputs {
		weight += output + len(name)
	}
	return weight
}
