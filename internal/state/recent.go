package state

import (
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/weightedlru"
)

// recent is a small memory of States as this process read or wrote them last. Any of them may be out of date, since other
// processes write States too. Such a State is only a base to decide on and to swap (Store.updateRecent).
type recent struct {
	states *weightedlru.Cache[types.NamespacedName, *v1alpha1.State]
}

// recentMemory is the approximate maximum size in bytes of the States in memory: some thousands of usual ones.
const recentMemory = 8 << 20

func newRecent() *recent {
	return &recent{weightedlru.New[types.NamespacedName, *v1alpha1.State](recentMemory, weightedlru.EntryOverhead)}
}

// get returns a copy of the last State of that name; nil when there is none in memory.
func (r *recent) get(key types.NamespacedName) *v1alpha1.State {
	st, ok := r.states.Get(key)
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

// weightOf is the approximate size of a State in memory: its outputs and versions have no small limit.
func weightOf(st *v1alpha1.State) int {
	const rest, version, output = 2 << 10, 512, 128
	weight := rest + version*len(st.Status.Versions)
	for name := range st.Status.Outputs {
		weight += output + len(name)
	}
	return weight
}
