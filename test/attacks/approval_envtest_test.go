//go:build envtest

package attacks

import (
	"fmt"
	"strings"
	"testing"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/approval"
	"cairn.dev/cairn/test/devcluster"
	"cairn.dev/cairn/test/gitserver"
)

// Users with some roles of the chart try to have the effect of roles that they lack.
func TestUsersWithoutARoleAreDenied(t *testing.T) {
	t.Parallel()
	c := devcluster.Shared(t)

	runStory(t, c, "an editor applies a plan that waits by setting spec.apply to Automatic", func(s story) {
		net := stack(nil)
		s.creates("bob", net)
		s.run("net-1", v1alpha1.PhaseAwaitingApproval)
		s.denied(s.patches("ed", net, `{"spec":{"apply":"Automatic"}}`),
			"requires the verb approve on the Runs of the namespace")
		s.denied(s.patches("ed", net, coded("evil", `,"apply":"Automatic"`)), "requires the verb approve")
		s.done(s.patches("ed", net, `{"spec":{"apply":"Never"}}`))
		s.denied(s.patches("ed", net, `{"spec":{"apply":"Automatic"}}`), "requires the verb approve")
		// a user who can approve does the same without a detour
		s.done(s.patches("bob", net, `{"spec":{"apply":"Automatic"}}`))
	})

	runStory(t, c, "an editor removes the kind of change that requires an approval", func(s story) {
		net := stack(func(spec *v1alpha1.StackSpec) {
			spec.Apply, spec.RequireApprovalFor = v1alpha1.ApplyAutomatic, []v1alpha1.ChangeKind{v1alpha1.ChangeCreate,
				v1alpha1.ChangeDelete}
		})
		s.creates("bob", net)
		s.run("net-1", v1alpha1.PhaseAwaitingApproval)
		s.denied(s.patches("ed", net, `{"spec":{"requireApprovalFor":null}}`), "requires the verb approve")
		s.denied(s.patches("ed", net, `{"spec":{"requireApprovalFor":["Delete"]}}`), "requires the verb approve")
		s.run("net-1", v1alpha1.PhaseAwaitingApproval)
	})

	runStory(t, c, "an editor whose destroy is denied deletes the Stack", func(s story) {
		net := stack(nil)
		s.applied(net)
		s.denied(s.patches("ed", net,
			`{"metadata":{"annotations":{"cairn.dev/requested-at":"2026-11-24T12:00:00Z","cairn.dev/requested-operation":"Destroy"}}}`), "requires the verb destroy on the Stack")
		s.denied(s.deletes("ed", net), "requires the verb destroy on the Stack")
		s.denied(s.patches("ed", net,
			`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"ConfigMap","name":"gone","uid":"00000000-0000-0000-0000-000000000000"}]}}`),
			"requires the verb destroy") // the garbage collector would delete it
		s.done(s.deletes("carol", net))
	})

	runStory(t, c, "an editor removes the protection of a Stack", func(s story) {
		net := stack(func(spec *v1alpha1.StackSpec) { spec.DeletionPolicy = v1alpha1.DeletionProtect })
		s.applied(net)
		s.denied(s.deletes("ed", net), "is protected")
		s.denied(s.patches("ed", net, `{"spec":{"deletionPolicy":"Destroy"}}`), "requires the verb destroy")
		s.denied(s.patches("ed", net, `{"spec":{"deletionPolicy":"Orphan"}}`), "requires the verb destroy")
		s.done(s.patches("carol", net, `{"spec":{"deletionPolicy":"Orphan"}}`))
		s.denied(s.patches("ed", net, `{"spec":{"deletionPolicy":"Destroy"}}`), "requires the verb destroy")
	})

	runStory(t, c, "an editor deletes a Stack without its resources and creates one that applies by itself",
		func(s story) {
			net := stack(func(spec *v1alpha1.StackSpec) { spec.DeletionPolicy = v1alpha1.DeletionOrphan })
			s.applied(net)
			s.done(s.deletes("ed", net))
			s.gone(net)
			s.creates("ed", stack(func(spec *v1alpha1.StackSpec) {
				spec.Apply, spec.Source.Inline = v1alpha1.ApplyAutomatic, code("evil")
			}))
			run := s.run("net-2", v1alpha1.PhaseAwaitingApproval)
			if !run.Status.Plan.TakesOverState || s.state().Resources != 1 {
				s.Errorf("takesOverState is %v, and the State has %d resources", run.Status.Plan.TakesOverState,
					s.state().Resources)
			}
			s.denied(s.approves("ed", run), "cannot patch resource")
		})

	runStory(t, c, "an editor does that past the operator, by removing the finalizer", func(s story) {
		net := stack(nil)
		s.applied(net)
		s.done(s.patches("ed", net,
			`{"spec":{"deletionPolicy":"Orphan","suspend":true},"metadata":{"finalizers":null}}`))
		s.done(s.deletes("ed", net))
		s.gone(net)
		s.creates("ed", stack(func(spec *v1alpha1.StackSpec) {
			spec.Apply, spec.Source.Inline = v1alpha1.ApplyAutomatic, code("evil")
		}))
		if run := s.run("net-2", v1alpha1.PhaseAwaitingApproval); !run.Status.Plan.TakesOverState {
			s.Error("the Run does not take over the State")
		}
	})
}

// A user reads a plan, and approves with a command after another user replaced it.
func TestPlanThatNobodyReadIsNotApproved(t *testing.T) {
	t.Parallel()
	c := devcluster.Shared(t)

	runStory(t, c, "an editor replaces a plan that was read by one that destroys", func(s story) {
		net := stack(nil)
		s.applied(net)
		s.done(s.patches("bob", net, coded("two", "")))
		read := s.run("net-2", v1alpha1.PhaseAwaitingApproval).Status.Plan
		s.done(s.patches("ed", net, `{"spec":{"source":{"inline":{"main.tf":"# nothing"}}}}`))
		run := s.run("net-3", v1alpha1.PhaseAwaitingApproval)
		for _, command := range [][]string{
			{"approve", "net"}, {"approve", "net", "--show"},
			{"approve", "net", "--digest", approval.Short(read.Digest)},
			{"reject", "net"}, {"reject", "net", "--digest", read.Digest},
		} {
			s.denied(s.cairn("alice", command...), "1 to destroy")
		}
		if run := s.run("net-3", v1alpha1.PhaseAwaitingApproval); run.Spec.Approval != nil ||
			run.Spec.Rejection != nil {
			s.Errorf("the approval is %+v, the rejection %+v", run.Spec.Approval, run.Spec.Rejection)
		}
		if said := apimeta.FindStatusCondition(run.Status.Conditions, v1alpha1.ConditionSucceeded).
			Message; !strings.HasSuffix(
			said, "approve with cairn approve net --digest "+approval.Short(run.Status.Plan.Digest)) {
			s.Errorf("the message does not name the plan: %s", said)
		}
		s.done(s.cairn("alice", "approve", "net", "--digest", approval.Short(run.Status.Plan.Digest)))
		s.run("net-3", v1alpha1.PhaseSucceeded)
	})
}

// Users who can change a Stack and approve its plans try to approve their own change.
func TestSelfApproval(t *testing.T) {
	t.Parallel()
	c := devcluster.Shared(t)
	prevents := func(spec *v1alpha1.StackSpec) { spec.PreventSelfApproval = true }
	const another = "requires the approval of another user"

	runStory(t, c, "one patch disables the rule and changes the code", func(s story) {
		net := stack(prevents)
		s.applied(net)
		s.done(s.patches("alice", net, coded("evil", `,"preventSelfApproval":false`)))
		run := s.run("net-2", v1alpha1.PhaseAwaitingApproval)
		s.denied(s.approves("alice", run), another)
		s.keeps(&v1alpha1.KeptSelfApproval{RemovedBy: "alice"})

		s.done(s.patches("alice", net, `{"spec":{"apply":"Automatic"}}`)) // nor is it applied by itself
		// nor without the Run that is known to be hers
		s.done(s.deletes("alice", run))
		run = s.run("net-3", v1alpha1.PhaseAwaitingApproval)
		s.denied(s.approves("alice", run), another)

		s.done(s.approves("bob", run)) // two users want it so
		s.run("net-3", v1alpha1.PhaseSucceeded)
		s.keeps(nil)
	})

	runStory(t, c, "a user disables the rule, waits for a change of another user, and approves that", func(s story) {
		net := stack(prevents)
		s.applied(net)
		s.done(s.patches("alice", net, `{"spec":{"preventSelfApproval":false}}`))
		s.keeps(&v1alpha1.KeptSelfApproval{RemovedBy: "alice"})
		s.observed(net)
		s.done(s.patches("bob", net, coded("two", "")))
		run := s.run("net-2", v1alpha1.PhaseAwaitingApproval)
		s.denied(s.approves("alice", run), another)
		s.denied(s.approves("bob", run), another)
		s.done(s.approves("carol", run))
		s.run("net-2", v1alpha1.PhaseSucceeded)
		s.keeps(nil)
	})

	runStory(t, c, "a user approves the change of another user that waits, after they disabled the rule",
		func(s story) {
			net := stack(prevents)
			s.applied(net)
			s.done(s.patches("bob", net, coded("two", "")))
			run := s.run("net-2", v1alpha1.PhaseAwaitingApproval)
			s.done(s.patches("alice", net, `{"spec":{"preventSelfApproval":false}}`))
			s.keeps(&v1alpha1.KeptSelfApproval{RemovedBy: "alice"})
			s.done(s.approves("alice", run)) // it is not her change
			s.run("net-2", v1alpha1.PhaseSucceeded)
			s.keeps(&v1alpha1.KeptSelfApproval{RemovedBy: "alice"})
			s.done(s.patches("alice", net, coded("evil", "")))
			s.denied(s.approves("alice", s.run("net-3", v1alpha1.PhaseAwaitingApproval)), another)
		})

	runStory(t, c, "a user deletes the Stack without its resources and creates it without the rule", func(s story) {
		net := stack(prevents)
		s.applied(net)
		s.done(s.patches("alice", net, `{"spec":{"deletionPolicy":"Orphan"}}`))
		s.done(s.deletes("alice", net))
		s.gone(net)
		s.creates("alice", stack(func(spec *v1alpha1.StackSpec) {
			spec.Apply, spec.Source.Inline = v1alpha1.ApplyAutomatic, code("evil")
		}))
		run := s.run("net-2", v1alpha1.PhaseAwaitingApproval)
		s.denied(s.approves("alice", run), another)
		s.done(s.approves("bob", run))
		s.run("net-2", v1alpha1.PhaseSucceeded)
		s.keeps(nil)
	})

	runStory(t, c, "a user points the Repository to other code", func(s story) {
		r := s.repositories()
		s.applied(r.stack(prevents))
		s.done(s.patches("alice", r.object, fmt.Sprintf(`{"spec":{"url":%q}}`, r.evil)))
		run := s.run("net-2", v1alpha1.PhaseAwaitingApproval)
		s.denied(s.approves("alice", run), another)
		if run.Spec.Cause.By != "alice" || run.Spec.Source == nil || run.Spec.Source.URL != r.evil {
			s.Errorf("%+v, %+v", run.Spec.Cause, run.Spec.Source)
		}
		s.done(s.deletes("alice", run)) // nor without the Run that is known to be hers
		run = s.run("net-3", v1alpha1.PhaseAwaitingApproval)
		s.denied(s.approves("alice", run), another)
		s.done(s.approves("bob", run))
		s.run("net-3", v1alpha1.PhaseSucceeded)
	})

	runStory(t, c, "a user points the Repository to a copy of the code, which changes nothing, and changes the copy",
		func(s story) {
			r := s.repositories()
			s.applied(r.stack(prevents))
			s.done(s.patches("alice", r.object, fmt.Sprintf(`{"spec":{"url":%q}}`, r.copy)))
			r.fetched(r.copy)
			r.commit(r.copied, "evil")
			s.done(s.patches("alice", r.object, `{"metadata":{"annotations":{"cairn.dev/requested-at":"1"}}}`))
			run := s.run("net-2", v1alpha1.PhaseAwaitingApproval)
			s.denied(s.approves("alice", run), another)
		})

	runStory(t, c, "a user chooses another default branch in the Repository", func(s story) {
		r := s.repositories()
		s.applied(r.stack(prevents))
		_, err := r.good.Commit(gitserver.Change{Branch: "evil", Files: code("evil")})
		must(s.T, err)
		s.done(s.patches("alice", r.object, `{"spec":{"ref":"evil"}}`))
		s.denied(s.approves("alice", s.run("net-2", v1alpha1.PhaseAwaitingApproval)), another)
	})

	runStory(t, c, "a user chooses another Repository in the Stack", func(s story) {
		r := s.repositories()
		net := r.stack(prevents)
		s.applied(net)
		s.creates("bob", &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Name: "evil"},
			Spec: v1alpha1.RepositorySpec{URL: r.evil}})
		s.done(s.patches("alice", net, `{"spec":{"source":{"git":{"repository":{"name":"evil"}}}}}`))
		s.denied(s.approves("alice", s.run("net-2", v1alpha1.PhaseAwaitingApproval)), another)
	})
}
