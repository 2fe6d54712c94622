package stackset

import (
	"maps"
	"slices"
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stackset/decision"
)

// newQuiet has a set with the Stacks dev-a, dev-b and dev-c, which applied the template. Nothing fails.
func newQuiet(t *testing.T) (*history, *process) {
	t.Helper()
	h := newHistory(t, 1)
	h.quiet = true
	h.git.push([]string{"dev/a", "dev/b", "dev/c"})
	h.git.fetch()
	h.api.changeSet(func(s *v1alpha1.StackSet) {
		s.Spec.Prune, s.Spec.MaxDeletions = v1alpha1.PruneDelete, new(intstr.FromString("100%"))
	})
	h.settle()
	if names := slices.Sorted(maps.Keys(h.api.stacks)); !slices.Equal(names, []string{"dev-a", "dev-b", "dev-c"}) ||
		h.problem != "" {
		t.Fatalf("Stacks %v: %s", names, h.problem)
	}
	return h, h.processes[0]
}

// confirmDeletion has a user confirm what the set reports.
func (h *history) confirmDeletion(t *testing.T) {
	t.Helper()
	if h.api.set.Status.Deletions == nil {
		t.Fatalf("status %+v", h.api.set.Status)
	}
	h.api.changeSet(func(s *v1alpha1.StackSet) {
		s.Annotations = map[string]string{v1alpha1.ConfirmDeletionsAnnotation: s.Status.Deletions.Digest}
	})
}

// TestStackSetDeletesWhatIsStillConfirmed checks what changes after a deletion was decided from a cache: before the
// Stacks are read from the API server, or right before the Stack is deleted.
func TestStackSetDeletesWhatIsStillConfirmed(t *testing.T) {
	again := func(h *history, name string) {
		s := h.api.stacks[name]
		h.api.put(name, nil)
		h.api.edit(name, func(n *v1alpha1.Stack) { n.Labels, n.Annotations, n.Spec = s.Labels, s.Annotations, s.Spec })
	}
	unlabel := func(h *history) {
		h.api.edit("dev-b", func(s *v1alpha1.Stack) { s.Labels = map[string]string{envLabel: "dev"} })
	}
	for name, tt := range map[string]struct {
		change func(*history)
		late   bool
		want   int
	}{
		"nothing": {func(*history) {}, false, 1},
		"a status": {func(h *history) {
			h.stack("dev-b", func(s *v1alpha1.Stack) { s.Status.LastRun = "x" })
		}, true, 1},
		"the set is created again": {func(h *history) {
			h.changeLive(func(s *v1alpha1.StackSet) { s.UID = "other" })
		}, false, 0},
		"the set is being deleted": {func(h *history) {
			h.changeLive(func(s *v1alpha1.StackSet) { s.DeletionTimestamp = &metav1.Time{Time: h.now} })
		}, false, 0},
		"the set is deleted": {func(h *history) { h.api.putSet(nil) }, false, 0},
		"the spec": {func(h *history) {
			h.changeLive(func(s *v1alpha1.StackSet) { s.Generation++ })
		}, false, 0},
		"the confirmation is withdrawn": {func(h *history) {
			h.changeLive(func(s *v1alpha1.StackSet) { s.Annotations = nil })
		}, false, 0},
		"the directory returns": {func(h *history) {
			h.git.push([]string{"dev/a", "dev/b", "dev/c"})
			h.git.fetch()
		}, false, 0},
		"the commit is not known any more": {func(h *history) { h.git.trouble = errGit }, false, 0},
		"a Stack joins the set": {func(h *history) {
			h.api.edit("dev-x", func(s *v1alpha1.Stack) {
				s.Labels = map[string]string{v1alpha1.StackSetLabel: setName}
			})
		}, false, 0},
		"the Stack is created again":                   {func(h *history) { again(h, "dev-b") }, false, 0},
		"the Stack leaves the set":                     {unlabel, false, 0},
		"the Stack is created again after it was read": {func(h *history) { again(h, "dev-b") }, true, 0},
		"the Stack leaves the set after it was read":   {unlabel, true, 0},
		"a user deletes the Stack after it was read": {func(h *history) {
			must(h.api.remove("dev-b", nil, nil))
		}, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h, p := newQuiet(t)
			h.git.push([]string{"dev/a", "dev/c"})
			h.git.fetch()
			h.settle()
			h.confirmDeletion(t)
			for p.receive() {
			}
			k := p.reconciler.sets.of(p.set)
			p.step = step{set: p.set, there: map[types.UID]string{}}
			w, err := p.reconciler.gather(t.Context(), p.set, k)
			must(err)
			d := decision.Decide(w)
			if len(d.Writes) != 1 || d.Writes[0].Action != decision.Delete {
				t.Fatalf("%+v", d)
			}
			if tt.late {
				h.before = func(what string) {
					if what == "delete dev-b" {
						h.before = nil
						tt.change(h)
					}
				}
			} else {
				tt.change(h)
			}
			p.reconciler.write(t.Context(), w, d, k)
			if n := h.count["delete"]; n != tt.want {
				t.Errorf("%d Stacks are deleted, want %d", n, tt.want)
			}
		})
	}
}

// changeLive is a change of the StackSet that the cache does not have yet.
func (h *history) changeLive(do func(*v1alpha1.StackSet)) {
	next := h.api.set.DeepCopy()
	do(next)
	h.api.putSet(next)
}

// stack changes a Stack without its fields being a user's.
func (h *history) stack(name string, do func(*v1alpha1.Stack)) {
	next := h.api.stacks[name].DeepCopy()
	do(next)
	h.api.put(name, next)
}

// matrix has the set combine each directory with two sizes.
func (h *history) matrix() {
	h.api.changeSet(func(s *v1alpha1.StackSet) {
		directories := s.Spec.Generators[0].StackSetItems
		s.Spec.Generators = []v1alpha1.StackSetGenerator{
			{Matrix: []v1alpha1.StackSetItems{directories, listOf(`{"size":"s"}`, `{"size":"l"}`)}}}
		s.Spec.Template = templateOf(plainOf(&s.Spec), "w0")
	})
	h.settle()
	for name, s := range h.api.stacks { // those of the directories alone
		if s.Spec.Suspend {
			h.api.put(name, nil)
		}
	}
	h.settle()
}

// The deletions of Argo CD's ApplicationSets have a test each, by the number of the issue.

// TestArgoCD18212 checks a git server that does not answer.
func TestArgoCD18212(t *testing.T) {
	keepsStacks(t, false, func(h *history) { h.git.trouble = errGit }, v1alpha1.ReasonComplete)
}

// TestArgoCD14318 checks a git server that answers without content, so that nothing is listed.
func TestArgoCD14318(t *testing.T) {
	keepsStacks(t, false, func(h *history) { h.git.push(nil) }, v1alpha1.ReasonNothingGenerated)
}

// TestArgoCD18480 checks a list that fails.
func TestArgoCD18480(t *testing.T) {
	keepsStacks(t, false, func(h *history) {
		h.git.push([]string{"dev/a", "dev/b", "dev/c"})
		h.git.treeTrouble = errGit
	}, v1alpha1.ReasonComplete)
}

// TestArgoCD22127 checks a matrix while what lists its directories restarts.
func TestArgoCD22127(t *testing.T) {
	keepsStacks(t, true, func(h *history) {
		h.git.push([]string{"dev/a", "dev/b", "dev/c", "README"})
		h.git.treeTrouble = errGit
		h.processes[0].start()
	}, v1alpha1.ReasonComplete)
}

// TestStackSetDeletesNothingBySurprise checks similar cases.
func TestStackSetDeletesNothingBySurprise(t *testing.T) {
	for name, tt := range map[string]struct {
		fail   func(*history)
		reason string
	}{
		"a process without a mirror starts": {func(h *history) {
			h.git.push([]string{"dev/a", "dev/b", "dev/c"})
			h.git.trouble = repository.ErrNotFetched
			h.processes[0].start()
		}, v1alpha1.ReasonComplete},
		"half a tree": {func(h *history) {
			h.api.changeSet(func(s *v1alpha1.StackSet) { s.Spec.MaxDeletions = nil })
			h.git.push([]string{"dev/a"})
		}, v1alpha1.ReasonTooManyGone},
		"a matrix with half of its list": {func(h *history) {
			h.api.changeSet(func(s *v1alpha1.StackSet) {
				s.Spec.MaxDeletions = nil
				s.Spec.Generators[0].Matrix[1] = listOf(`{"size":"s"}`)
			})
		}, v1alpha1.ReasonTooManyGone},
		"a matrix without directories": {func(h *history) { h.git.push(nil) }, v1alpha1.ReasonNothingGenerated},
	} {
		t.Run(name, func(t *testing.T) { keepsStacks(t, strings.Contains(name, "matrix"), tt.fail, tt.reason) })
	}
}

// keepsStacks checks that a set of directories or of a matrix suspends and deletes nothing, and writes no more than its
// status, which gets a reason.
func keepsStacks(t *testing.T, matrix bool, fail func(*history), reason string) {
	t.Helper()
	h, p := newQuiet(t)
	if matrix {
		h.matrix()
	}
	uids := map[string]types.UID{}
	for name, s := range h.api.stacks {
		uids[name] = s.UID
	}
	fail(h)
	writes := h.api.writes
	for range 3 {
		h.git.fetch()
		h.settle()
		h.now = h.now.Add(later)
		p.enqueue(h.now)
	}
	for name, uid := range uids {
		if s := h.api.stacks[name]; s == nil || s.UID != uid || s.Spec.Suspend || s.DeletionTimestamp != nil {
			t.Errorf("Stack %s is %+v", name, s)
		}
	}
	c := apimeta.FindStatusCondition(h.api.set.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.Reason != reason {
		t.Errorf("condition %+v, want %s", c, reason)
	}
	if n := h.api.writes - writes; n > 1 { // the status
		t.Errorf("%d writes", n)
	}
}

// TestStackSetSuspendsByWhatExists checks a cache that does not have a new Stack yet when two directories are gone of
// which one may be: by the cache it is one, and then again one.
func TestStackSetSuspendsByWhatExists(t *testing.T) {
	h, p := newQuiet(t)
	h.api.changeSet(func(s *v1alpha1.StackSet) { s.Spec.MaxDeletions = new(intstr.FromInt32(1)) })
	h.git.push([]string{"dev/a", "dev/b", "dev/c", "dev/d"})
	h.git.fetch()
	for p.receive() {
	}
	p.work()
	h.git.push([]string{"dev/a", "dev/b"})
	h.git.fetch()
	p.work()
	h.settle()
	for _, name := range []string{"dev-c", "dev-d"} {
		if s := h.api.stacks[name]; s == nil || s.Spec.Suspend {
			t.Errorf("Stack %s is %+v", name, s)
		}
	}
	if c := apimeta.FindStatusCondition(h.api.set.Status.Conditions, v1alpha1.ConditionReady); c.Reason !=
		v1alpha1.ReasonTooManyGone {
		t.Errorf("condition %+v", c)
	}
}

// TestStackSetSuspendsByOneCommit checks a commit that is another, or not known any more, when the Stacks were read:
// what was decided by the one before is not written.
func TestStackSetSuspendsByOneCommit(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*history)
		writes int
	}{
		"nothing": {func(*history) {}, 2},
		"a commit without the new directory": {func(h *history) {
			h.git.push([]string{"dev/a", "dev/b"})
			h.git.fetch()
		}, 0},
		"a mirror that is removed": {func(h *history) { h.git.trouble = repository.ErrNotFetched }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h, p := newQuiet(t)
			h.git.push([]string{"dev/a", "dev/b", "dev/d"})
			h.git.fetch()
			k := p.reconciler.sets.of(p.set)
			p.step = step{set: p.set, there: map[types.UID]string{}}
			w, err := p.reconciler.gather(t.Context(), p.set, k)
			must(err)
			tt.change(h)
			p.reconciler.write(t.Context(), w, decision.Decide(w), k)
			if n := h.count["create"] - 3 + h.count["suspend"]; n != tt.writes {
				t.Errorf("%d writes, want %d: %v", n, tt.writes, h.count)
			}
		})
	}
}

// TestStackSetWritesWhatItRead checks a Stack that a user takes from the set right before it is changed or suspended.
func TestStackSetWritesWhatItRead(t *testing.T) {
	for name, cause := range map[string]func(*history){
		"a change": func(h *history) {
			h.api.changeSet(func(s *v1alpha1.StackSet) { s.Spec.Template = templateOf(plain, "w5") })
		},
		"a suspension": func(h *history) { h.git.push([]string{"dev/a", "dev/c"}) },
	} {
		t.Run(name, func(t *testing.T) {
			h, _ := newQuiet(t)
			cause(h)
			h.git.fetch()
			h.before = func(what string) {
				if what == "apply dev-b" {
					h.before = nil
					h.api.edit("dev-b", func(s *v1alpha1.Stack) { s.Labels = map[string]string{envLabel: "dev"} })
				}
			}
			h.settle()
			if s := h.api.stacks["dev-b"]; h.before != nil || s.Spec.Workspace != "w0" || s.Spec.Suspend ||
				s.Labels[v1alpha1.StackSetLabel] != "" {
				t.Errorf("the Stack of a user was written: %+v", s)
			}
		})
	}
}
