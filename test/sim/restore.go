package sim

import (
	"bytes"
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/decision"
)

// A backup tool creates the objects of a cluster that was lost again, in some histories: without status, UIDs and
// owners. The bucket and the cloud continue from now. Then a user restores each state, as docs/how-to/restore.md
// requires.

// ofRestores returns the restore of all objects, while no runner is alive, and that of a state.
func (sim *simulation) ofRestores() {
	atWork := slices.ContainsFunc(sim.machines, func(m *machine) bool { return m.runner != nil && m.runner.alive() })
	written := slices.ContainsFunc(sim.api.objects[states], func(o client.Object) bool {
		return o.(*v1alpha1.State).Status.Version > 0
	})
	if sim.restores > 0 && !atWork && len(sim.late) == 0 && written {
		sim.can(6, restoreObjects, 0, 0)
	}
	for i, name := range []string{"net", "app"} {
		if sim.lost[name] {
			sim.can(3, restoreState, i, 0)
		}
	}
}

// restoreObjects stops Cairn and creates all objects again, as a backup tool does.
func restoreObjects(sim *simulation, _, _ int) {
	sim.restores--
	sim.tracef("!  the cluster is lost, and a backup tool restores its objects")
	for i, m := range sim.managers {
		m.end()
		if sim.lease == i {
			sim.lease = -1
		}
	}
	sim.recreating = true
	for _, o := range slices.Clone(sim.api.objects[pods]) {
		sim.api.drop(pods, o.GetName())
	}
	for _, k := range []kind{runs, states, stacks} {
		for _, o := range slices.Clone(sim.api.objects[k]) {
			sim.api.drop(k, o.GetName())
			sim.recreate(o)
		}
	}
	sim.recreating = false
	for i := range sim.servers {
		sim.servers[i] = sim.newServer()
	}
}

func (sim *simulation) recreate(o client.Object) {
	n := dup(o)
	n.SetOwnerReferences(nil)
	n.SetDeletionTimestamp(nil)
	switch n := n.(type) {
	case *v1alpha1.State:
		sim.lost[n.Name] = n.Status.Version > 0
		if b := sim.backup(n.Name); b == nil || b.SHA256 != n.Status.SHA256 {
			sim.noBackup[n.Name] = sim.contents[n.Status.SHA256]
		}
		n.Status = v1alpha1.StateStatus{}
	case *v1alpha1.Run:
		n.Spec.Approval = nil // the admission of approvals rejects it: the Run has no plan
	}
	_ = sim.api.create(n)
	if k := kindOf(n); k == stacks {
		sim.recreated[sim.api.get(k, n.GetName()).GetUID()] = true
	}
}

// restoreState is cairn state restore.
func restoreState(sim *simulation, i, _ int) {
	name := []string{"net", "app"}[i]
	was := sim.quiet
	sim.quiet = true // a user tries it again
	_, err := sim.states0.Restore(ctx, types.NamespacedName{Namespace: namespace, Name: name}, "root", false)
	sim.quiet = was
	sim.tracef("bob restores the state of %s: %v", name, err)
	if err == nil || decision.ReasonOf(err) == decision.Missing && sim.noBackup[name] == nil {
		delete(sim.lost, name)
	}
	sim.dirty = true
}

// inBackup returns the content of a state that was not restored yet: of its backup or, if the last write of that
// failed, of the version in the bucket, which an administrator can push.
func (sim *simulation) inBackup(name string) *content {
	if !sim.lost[name] {
		return nil
	}
	if c := sim.noBackup[name]; c != nil {
		return c
	}
	if b := sim.backup(name); b != nil {
		return sim.contents[b.SHA256]
	}
	return nil
}

// backup returns the head of the backup of a state; nil if there is none.
func (sim *simulation) backup(name string) *decision.Backup {
	data, err := sim.bucket.Get(ctx, "states/"+namespace+"/"+name+"/backup", 1)
	var b decision.Backup
	if err != nil || json.NewDecoder(bytes.NewReader(data)).Decode(&b) != nil {
		return nil
	}
	return &b
}

// stateIsTheUsers reports whether a Stack was created again by a backup tool, and did not apply the state since: its
// deletion leaves the resources and the state.
func (sim *simulation) stateIsTheUsers(s *v1alpha1.Stack) bool {
	return sim.recreated[s.UID] && (sim.lost[s.Name] || sim.takesOver(s))
}
