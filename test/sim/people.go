package sim

import (
	"encoding/json"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
)

// ofPeople returns actions of users: they approve, change or request something.
func (w *world) ofPeople() {
	for i, o := range w.api.objects[runs] {
		if r := o.(*v1alpha1.Run); r.Status.Phase == v1alpha1.PhaseAwaitingApproval && r.Status.Plan != nil && r.Spec.Approval == nil || staleApproval(r) {
			w.can(2, approve, i, 0)
		}
	}
	if w.wishes > 0 {
		w.can(2, wish, 0, 0)
	}
	if w.deletions > 0 {
		w.can(3, deleteOne, 0, 0)
	}
}

// deletesOften reports whether objects are deleted ten times as often as in other histories, as in one of eight of them.
func (w *world) deletesOften() bool { return w.script == nil && (w.Often || w.Seed%8 == 7) }

// mostDeletions leads to ten times as many deletions of each type, on average, as other histories.
const mostDeletions = 11

// deleteOne deletes a Run, a State, a pod or a Secret.
func deleteOne(w *world, _, _ int) {
	w.deletions--
	k := []kind{runs, states, pods, secrets}[w.rand(4)]
	if i := pick(w, k); i >= 0 {
		name := w.api.objects[k][i].GetName()
		w.tracef("bob deletes %s %s", kindNames[k], name)
		_ = w.api.remove(k, name, nil, nil, false)
	} else if k == secrets {
		w.putSecret()
	}
}

func staleApproval(r *v1alpha1.Run) bool {
	return r.Status.Phase == v1alpha1.PhaseAwaitingApproval && r.Spec.Approval != nil && r.Status.Plan != nil && r.Spec.Approval.PlanDigest != r.Status.Plan.Digest
}

// edit changes the spec of an object, as a user does.
func edit[T interface {
	*v1alpha1.Stack | *v1alpha1.Run
	metav1.Object
}](w *world, o T, change func(T)) {
	switch o := any(o).(type) {
	case *v1alpha1.Stack:
		n := dup(o)
		change(any(n).(T))
		n.Generation++
		w.api.put(stacks, n)
	case *v1alpha1.Run:
		n := dup(o)
		change(any(n).(T))
		n.Generation++
		w.api.put(runs, n)
	}
}

func approve(w *world, i, _ int) {
	r := w.api.objects[runs][i].(*v1alpha1.Run)
	w.tracef("alice approves %s of Run %s", short(r.Status.Plan.Digest), r.Name)
	edit(w, r, func(r *v1alpha1.Run) {
		r.Spec.Approval = &v1alpha1.Approval{PlanDigest: r.Status.Plan.Digest, By: "alice"}
	})
}

func pick(w *world, k kind) int {
	if n := len(w.api.objects[k]); n > 0 {
		return w.rand(n)
	}
	return -1
}

// wish is an action of a user.
func wish(w *world, _, _ int) {
	w.wishes--
	what := w.rand(24)
	if what < 17 {
		if i := pick(w, stacks); i >= 0 {
			w.wishOfStack(w.api.objects[stacks][i].(*v1alpha1.Stack), what)
			return
		}
	}
	switch what {
	case 17, 18:
		if i := pick(w, runs); i >= 0 {
			r := w.api.objects[runs][i].(*v1alpha1.Run)
			if !r.Status.Phase.Finished() {
				w.tracef("bob cancels Run %s", r.Name)
				edit(w, r, func(r *v1alpha1.Run) { r.Spec.Cancel, r.Spec.CanceledBy = true, "bob" })
			}
		}
	case 19:
		if i := pick(w, runs); i >= 0 {
			r := w.api.objects[runs][i].(*v1alpha1.Run)
			if r.Status.Phase == v1alpha1.PhaseAwaitingApproval && r.Status.Plan != nil {
				w.tracef("bob rejects Run %s", r.Name)
				edit(w, r, func(r *v1alpha1.Run) {
					r.Spec.Rejection = &v1alpha1.Rejection{PlanDigest: r.Status.Plan.Digest, By: "bob"}
				})
			}
		}
	case 20:
		if i := pick(w, runs); i >= 0 {
			w.tracef("bob deletes Run %s", w.api.objects[runs][i].GetName())
			_ = w.api.remove(runs, w.api.objects[runs][i].GetName(), nil, nil, false)
		}
	case 21:
		if i := pick(w, states); i >= 0 {
			w.tracef("bob deletes State %s", w.api.objects[states][i].GetName())
			_ = w.api.remove(states, w.api.objects[states][i].GetName(), nil, nil, false)
		}
	case 22:
		if i := pick(w, pods); i >= 0 {
			w.tracef("bob deletes pod %s", w.api.objects[pods][i].GetName())
			_ = w.api.remove(pods, w.api.objects[pods][i].GetName(), nil, nil, false)
		}
	default:
		w.declare(w.rand(2))
	}
}

func (w *world) wishOfStack(s *v1alpha1.Stack, what int) {
	switch what {
	case 0, 1, 2, 3, 4:
		value := w.rand(6)
		w.tracef("alice sets the variable of Stack %s to %d", s.Name, value)
		edit(w, s, func(s *v1alpha1.Stack) { s.Spec.Variables = variables(value) })
	case 5, 6:
		w.tracef("bob deletes Stack %s", s.Name)
		_ = w.api.remove(stacks, s.Name, nil, nil, false)
	case 7:
		w.tracef("bob sets suspend of Stack %s to %v", s.Name, !s.Spec.Suspend)
		edit(w, s, func(s *v1alpha1.Stack) { s.Spec.Suspend = !s.Spec.Suspend })
	case 8, 9:
		mode := []v1alpha1.ApplyPolicy{v1alpha1.ApplyAutomatic, v1alpha1.ApplyManual, v1alpha1.ApplyNever}[w.rand(3)]
		w.tracef("bob sets apply of Stack %s to %s", s.Name, mode)
		edit(w, s, func(s *v1alpha1.Stack) { s.Spec.Apply = mode })
	case 10:
		deletion := []v1alpha1.DeletionPolicy{v1alpha1.DeletionDestroy, v1alpha1.DeletionOrphan, v1alpha1.DeletionProtect}[w.rand(3)]
		w.tracef("bob sets deletionPolicy of Stack %s to %s", s.Name, deletion)
		edit(w, s, func(s *v1alpha1.Stack) { s.Spec.DeletionPolicy = deletion })
	case 11, 12:
		w.toggleCode()
	default:
		operation := []v1alpha1.Operation{v1alpha1.OperationApply, v1alpha1.OperationPlan, v1alpha1.OperationDestroy}[w.rand(3)]
		w.tracef("alice asks for %s of Stack %s", operation, s.Name)
		n := dup(s)
		n.Annotations = map[string]string{
			v1alpha1.RequestedAtAnnotation: fmt.Sprint("r", w.serial()), v1alpha1.RequestedOperationAnnotation: string(operation),
			v1alpha1.RequestedByAnnotation: "alice",
		}
		w.api.put(stacks, n)
	}
}

func (w *world) toggleCode() {
	if w.api.get(configMaps, "code") != nil {
		w.tracef("bob deletes the code")
		w.api.drop(configMaps, "code")
		return
	}
	w.putCode()
}

func (w *world) putCode() {
	w.api.put(configMaps, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "code", UID: "code"}})
}

func (w *world) putSecret() {
	w.tracef("bob makes the Secret")
	w.api.put(secrets, &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "token", UID: types.UID(fmt.Sprint("s", w.serial()))}})
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
func (w *world) declare(n int) {
	name := []string{"net", "app"}[n]
	if w.api.stack(name) != nil {
		return
	}
	s := &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.StackSpec{
			Source: v1alpha1.Source{ConfigMap: &v1alpha1.ObjectRef{Name: "code"}}, Engine: v1alpha1.Engine{Name: v1alpha1.EngineOpenTofu},
			Variables: variables(w.rand(6)), Apply: v1alpha1.ApplyAutomatic, DeletionPolicy: v1alpha1.DeletionDestroy,
			Retry:   v1alpha1.Retry{Limit: of(int32(w.rand(4))), Backoff: seconds(15), MaxBackoff: seconds(600)},
			Timeout: seconds(3600), RunHistoryLimit: of(int32(1 + w.rand(4))), Runner: v1alpha1.Runner{IdleTimeout: seconds(30)},
		},
	}
	if w.chance(3) {
		s.Spec.Apply = v1alpha1.ApplyManual
	}
	if n == 1 && w.chance(3) {
		s.Spec.DependsOn = []v1alpha1.Dependency{{Name: "net"}}
	}
	if w.deletesOften() {
		s.Spec.Env = []corev1.EnvVar{{Name: "TOKEN", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "token"}, Key: "token",
		}}}}
	}
	w.tracef("alice makes Stack %s, %s", name, s.Spec.Apply)
	_ = w.api.create(s)
}

// settle is the start of a history.
func (w *world) settle() {
	w.putCode()
	w.places = w.rand(3)
	w.budget, w.wishes = w.rand(6), w.rand(7)
	if w.Limit >= 0 {
		w.budget = min(w.budget, w.Limit)
	}
	if w.deletesOften() {
		w.putSecret()
		w.deletions = w.rand(mostDeletions)
	}
	w.declare(0)
	if w.chance(2) {
		w.declare(1)
	}
	if w.Limit != 0 && w.chance(2) {
		w.aims = 1 + w.rand(2)
	}
	w.managers = []*manager{w.newManager(0), w.newManager(1)}
	for range 1 + w.rand(2) {
		w.servers = append(w.servers, w.newServer())
	}
}
