package sim

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// ofUsers returns actions of users: they change objects, approve plans or request Runs.
func (sim *simulation) ofUsers() {
	for i, o := range sim.api.objects[runs] {
		if r := o.(*v1alpha1.Run); r.Status.Phase == v1alpha1.PhaseAwaitingApproval && r.Status.Plan != nil &&
			r.Spec.Approval == nil || staleApproval(r) {
			sim.can(2, approve, i, 0)
		}
	}
	if sim.wishes > 0 {
		sim.can(2, wish, 0, 0)
	}
	sim.ofPushes()
	sim.ofRestores()
	if sim.deletions > 0 {
		sim.can(3, deleteOne, 0, 0)
	}
}

// deletesOften reports whether objects are deleted ten times as often as in other histories, as in one of eight of
// them.
func (sim *simulation) deletesOften() bool {
	return sim.script == nil && (sim.Often || sim.Seed%8 == 7)
}

// mostDeletions leads to ten times as many deletions of each type, on average, as other histories.
const mostDeletions = 11

// deleteOne deletes a Run, a State, a pod or a Secret.
func deleteOne(sim *simulation, _, _ int) {
	sim.deletions--
	k := []kind{runs, states, pods, secrets}[sim.rand(4)]
	if i := pick(sim, k); i >= 0 {
		name := sim.api.objects[k][i].GetName()
		sim.tracef("bob deletes %s %s", kindNames[k], name)
		_ = sim.api.remove(k, name, nil, nil, false)
	} else if k == secrets {
		sim.putSecret()
	}
}

func staleApproval(r *v1alpha1.Run) bool {
	return r.Status.Phase == v1alpha1.PhaseAwaitingApproval && r.Spec.Approval != nil && r.Status.Plan != nil &&
		r.Spec.Approval.PlanDigest != r.Status.Plan.Digest
}

// edit changes the spec of an object, as a user does.
func edit[T interface {
	*v1alpha1.Stack | *v1alpha1.Run
	metav1.Object
}](sim *simulation, o T, change func(T)) {
	switch o := any(o).(type) {
	case *v1alpha1.Stack:
		n := dup(o)
		change(any(n).(T))
		n.Generation++
		sim.api.put(stacks, n)
	case *v1alpha1.Run:
		n := dup(o)
		change(any(n).(T))
		n.Generation++
		sim.api.put(runs, n)
	}
}

func approve(sim *simulation, i, _ int) {
	r := sim.api.objects[runs][i].(*v1alpha1.Run)
	sim.tracef("alice approves %s of Run %s", short(r.Status.Plan.Digest), r.Name)
	edit(sim, r, func(r *v1alpha1.Run) {
		r.Spec.Approval = &v1alpha1.Approval{PlanDigest: r.Status.Plan.Digest, By: "alice"}
	})
}

func pick(sim *simulation, k kind) int {
	if n := len(sim.api.objects[k]); n > 0 {
		return sim.rand(n)
	}
	return -1
}

// wish is an action of a user.
func wish(sim *simulation, _, _ int) {
	sim.wishes--
	what := sim.rand(24)
	if what < 17 {
		if i := pick(sim, stacks); i >= 0 {
			sim.wishOfStack(sim.api.objects[stacks][i].(*v1alpha1.Stack), what)
			return
		}
	}
	switch what {
	case 17, 18:
		if i := pick(sim, runs); i >= 0 {
			r := sim.api.objects[runs][i].(*v1alpha1.Run)
			if !r.Status.Phase.Finished() {
				sim.tracef("bob cancels Run %s", r.Name)
				edit(sim, r, func(r *v1alpha1.Run) { r.Spec.Cancel, r.Spec.CanceledBy = true, "bob" })
			}
		}
	case 19:
		if i := pick(sim, runs); i >= 0 {
			r := sim.api.objects[runs][i].(*v1alpha1.Run)
			if r.Status.Phase == v1alpha1.PhaseAwaitingApproval && r.Status.Plan != nil {
				sim.tracef("bob rejects Run %s", r.Name)
				edit(sim, r, func(r *v1alpha1.Run) {
					r.Spec.Rejection = &v1alpha1.Rejection{PlanDigest: r.Status.Plan.Digest, By: "bob"}
				})
			}
		}
	case 20:
		if i := pick(sim, runs); i >= 0 {
			sim.tracef("bob deletes Run %s", sim.api.objects[runs][i].GetName())
			_ = sim.api.remove(runs, sim.api.objects[runs][i].GetName(), nil, nil, false)
		}
	case 21:
		if i := pick(sim, states); i >= 0 {
			sim.tracef("bob deletes State %s", sim.api.objects[states][i].GetName())
			_ = sim.api.remove(states, sim.api.objects[states][i].GetName(), nil, nil, false)
		}
	case 22:
		if i := pick(sim, pods); i >= 0 {
			sim.tracef("bob deletes pod %s", sim.api.objects[pods][i].GetName())
			_ = sim.api.remove(pods, sim.api.objects[pods][i].GetName(), nil, nil, false)
		}
	default:
		sim.declare(sim.rand(2))
	}
}

func (sim *simulation) wishOfStack(s *v1alpha1.Stack, what int) {
	switch what {
	case 0, 1, 2, 3, 4:
		value := sim.rand(6)
		sim.tracef("alice sets the variable of Stack %s to %d", s.Name, value)
		edit(sim, s, func(s *v1alpha1.Stack) { s.Spec.Variables = variables(value) })
	case 5, 6:
		if len(sim.commits) > 0 && sim.chance(2) {
			sim.orphan(s)
		}
		sim.tracef("bob deletes Stack %s", s.Name)
		_ = sim.api.remove(stacks, s.Name, nil, nil, false)
	case 7:
		sim.tracef("bob sets suspend of Stack %s to %v", s.Name, !s.Spec.Suspend)
		edit(sim, s, func(s *v1alpha1.Stack) { s.Spec.Suspend = !s.Spec.Suspend })
	case 8, 9:
		mode := []v1alpha1.ApplyPolicy{v1alpha1.ApplyAutomatic, v1alpha1.ApplyManual, v1alpha1.ApplyNever}[sim.rand(3)]
		sim.tracef("bob sets apply of Stack %s to %s", s.Name, mode)
		edit(sim, s, func(s *v1alpha1.Stack) { s.Spec.Apply = mode })
	case 10:
		deletion := []v1alpha1.DeletionPolicy{v1alpha1.DeletionDestroy, v1alpha1.DeletionOrphan,
			v1alpha1.DeletionProtect}[sim.rand(3)]
		sim.tracef("bob sets deletionPolicy of Stack %s to %s", s.Name, deletion)
		edit(sim, s, func(s *v1alpha1.Stack) { s.Spec.DeletionPolicy = deletion })
	case 11, 12:
		sim.toggleCode()
	default:
		operation := []v1alpha1.Operation{v1alpha1.OperationApply, v1alpha1.OperationPlan,
			v1alpha1.OperationDestroy}[sim.rand(3)]
		sim.tracef("alice asks for %s of Stack %s", operation, s.Name)
		n := dup(s)
		n.Annotations = map[string]string{
			v1alpha1.RequestedAtAnnotation:        fmt.Sprint("r", sim.serial()),
			v1alpha1.RequestedOperationAnnotation: string(operation),
			v1alpha1.RequestedByAnnotation:        "alice",
		}
		sim.api.put(stacks, n)
	}
}

// orphan takes the Runs of a Stack from it, as the deletion with --cascade=orphan does: a later Stack of its name meets
// them, and the garbage collector deletes none.
func (sim *simulation) orphan(s *v1alpha1.Stack) {
	sim.tracef("the Runs of Stack %s are orphaned", s.Name)
	sim.orphanedRuns[s.UID] = true
	for _, o := range slices.Clone(sim.api.objects[runs]) {
		if metav1.IsControlledBy(o, s) {
			n := dup(o.(*v1alpha1.Run))
			n.OwnerReferences = nil
			sim.api.put(runs, n)
			sim.runGoes(n.Name) // the Stack does not know of its runner either
		}
	}
}

func (sim *simulation) toggleCode() {
	if sim.api.get(configMaps, "code") != nil {
		sim.tracef("bob deletes the code")
		sim.api.drop(configMaps, "code")
		return
	}
	sim.putCode()
}

func (sim *simulation) putCode() {
	sim.api.put(configMaps, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "code", UID: "code"}})
}

func (sim *simulation) putSecret() {
	sim.tracef("bob makes the Secret")
	sim.api.put(secrets, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "token",
		UID: types.UID(fmt.Sprint("s", sim.serial()))}})
}

func variables(value int) []v1alpha1.Variable {
	raw, _ := json.Marshal(value)
	return []v1alpha1.Variable{{Name: "v", Value: &apiextensionsv1.JSON{Raw: raw}}}
}

func of[T any](v T) *T { return &v }

func seconds(n int) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(n) * time.Second}
}

// declare creates a Stack, unless one of that name exists.
func (sim *simulation) declare(n int) {
	name := []string{"net", "app"}[n]
	if sim.api.stack(name) != nil {
		return
	}
	s := &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.StackSpec{
			Source:    v1alpha1.Source{ConfigMap: &v1alpha1.ObjectRef{Name: "code"}},
			Engine:    v1alpha1.Engine{Name: v1alpha1.EngineOpenTofu},
			Variables: variables(sim.rand(6)), Apply: v1alpha1.ApplyAutomatic, DeletionPolicy: v1alpha1.DeletionDestroy,
			Retry:   v1alpha1.Retry{Limit: of(int32(sim.rand(4))), Backoff: seconds(15), MaxBackoff: seconds(600)},
			Timeout: seconds(3600), RunHistoryLimit: of(int32(1 + sim.rand(4))),
			Runner: v1alpha1.Runner{IdleTimeout: seconds(30)},
		},
	}
	if sim.chance(3) {
		s.Spec.Apply = v1alpha1.ApplyManual
	}
	if n == 1 && sim.chance(3) || n == 1 && len(sim.commits) > 0 {
		s.Spec.DependsOn = []v1alpha1.Dependency{{Name: "net"}}
	}
	if len(sim.commits) > 0 {
		s.Spec.Source = v1alpha1.Source{Git: &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: "infra"},
			Path: name}}
	}
	if sim.deletesOften() {
		s.Spec.Env = []corev1.EnvVar{{Name: "TOKEN",
			ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
				LocalObjectReference: corev1.LocalObjectReference{Name: "token"}, Key: "token",
			}}}}
	}
	sim.tracef("alice makes Stack %s, %s", name, s.Spec.Apply)
	_ = sim.api.create(s)
}

// settle is the start of a history.
func (sim *simulation) settle() {
	sim.putCode()
	sim.places = sim.rand(3)
	sim.budget, sim.wishes = sim.rand(6), sim.rand(7)
	if sim.Limit >= 0 {
		sim.budget = min(sim.budget, sim.Limit)
	}
	if sim.deletesOften() {
		sim.putSecret()
		sim.deletions = sim.rand(mostDeletions)
	}
	if sim.Seed%5 == 1 { // the seeds of earlier histories keep their meaning
		sim.addCommit(commit{"net": 0, "app": 0})
		sim.pushes = sim.rand(6)
	}
	if sim.Seed%10 == 6 {
		sim.openPulls()
		sim.pullActs = 6 + sim.rand(14)
	}
	if sim.Seed%10 == 2 && sim.script == nil {
		sim.restores = 1
	}
	sim.declare(0)
	if sim.chance(2) {
		sim.declare(1)
	}
	if sim.Limit != 0 && sim.chance(2) {
		sim.aims = 1 + sim.rand(2)
	}
	sim.managers = []*manager{sim.newManager(0), sim.newManager(1)}
	for range 1 + sim.rand(2) {
		sim.servers = append(sim.servers, sim.newServer())
	}
}
