//go:build envtest

package attacks

import (
	"context"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/devcluster"
	"cairn.dev/cairn/test/gitserver"
)

// author is alice as the author of a commit.
const author = "Alice <alice@example.org>"

// causedBy are the users who caused a Run, by kind and name.
func causedBy(run *v1alpha1.Run) (users []string) {
	for _, c := range run.Spec.CausedBy {
		users = append(users, string(c.Kind)+" "+c.Name)
	}
	return users
}

// Users approve a change that several users caused, of whom they are one.
func TestSelfApprovalOfSeveralUsers(t *testing.T) {
	t.Parallel()
	c := devcluster.Shared(t)
	prevents := func(spec *v1alpha1.StackSpec) { spec.PreventSelfApproval = true }
	const another = "requires the approval of another user"

	runStory(t, c, "the author of a commit, after the failed and reverted change of another user", func(s story) {
		r := s.repositories()
		net := r.stack(prevents)
		s.applied(net)
		s.done(s.patches("bob", net, `{"spec":{"hooks":[{"step":"plan","when":"Before","script":"exit 1"}]}}`))
		s.run("net-2", v1alpha1.PhaseFailed)
		s.done(s.patches("bob", net, `{"spec":{"hooks":null}}`))
		s.until("the change is reverted", func(ctx context.Context) (bool, error) {
			err := s.cluster.Get(ctx, client.ObjectKeyFromObject(net), net)
			return err == nil && net.Status.ObservedGeneration == net.Generation &&
				net.Status.InputsDigest == net.Status.AppliedInputsDigest, err
		})
		r.commitBy(r.good, gitserver.Change{Author: author, Files: code("evil")})
		r.fetch()
		run := s.run("net-3", v1alpha1.PhaseAwaitingApproval)
		s.denied(s.approves("alice", run), another)
		s.done(s.approves("bob", run)) // his change is not part of it
		s.run("net-3", v1alpha1.PhaseSucceeded)
	})

	runStory(t, c, "the author of a commit, while a change of another user waits, and the other way round",
		func(s story) {
			r := s.repositories()
			net := r.stack(prevents)
			s.applied(net)
			r.commitBy(r.good, gitserver.Change{Author: author, Files: map[string]string{
				"main.tf": "variable \"input\" { default = \"evil\" }\nresource \"terraform_data\" \"disk\" { input " +
					"= var.input }\n",
			}})
			r.fetch()
			s.run("net-2", v1alpha1.PhaseAwaitingApproval)
			s.done(s.patches("bob", net, `{"spec":{"variables":[{"name":"input","value":"two"}]}}`))
			run := s.run("net-3", v1alpha1.PhaseAwaitingApproval)
			for _, user := range []string{"alice", "bob"} {
				s.denied(s.approves(user, run), another)
			}
			s.done(s.approves("carol", run))
			s.run(run.Name, v1alpha1.PhaseSucceeded)
		})

	runStory(t, c, "each of the authors, co-authors and committers of the commits of one fetch", func(s story) {
		r := s.repositories()
		r.commitBy(r.good, gitserver.Change{Author: "Dan <dan@example.org>",
			Files: map[string]string{"net/main.tf": code("one")["main.tf"]}})
		r.upToDate()
		net := r.stack(prevents)
		net.Spec.Source.Git.Path = "net"
		s.applied(net)
		r.commitBy(r.good, gitserver.Change{
			Author: author, Committer: "Bob <bob@example.org>",
			Files: map[string]string{"net/main.tf": code("evil")["main.tf"]},
		})
		r.commitBy(r.good, gitserver.Change{
			Author: "Dan <dan@example.org>", Files: map[string]string{"net/other.tf": "# more\n"},
			Message: "Add a comment\n\nCo-authored-by: Carol <carol@example.org>\n",
		})
		r.commitBy(r.good, gitserver.Change{Author: "Ed <ed@example.org>",
			Files: map[string]string{"docs/net.md": "not read by the Stack"}})
		r.fetch()
		run := s.run("net-2", v1alpha1.PhaseAwaitingApproval)
		for _, user := range []string{"alice", "bob", "carol"} {
			s.denied(s.approves(user, run), another)
		}
		want := []string{
			"Author Dan <dan@example.org>", "Committer Dan <dan@example.org>", "Author Carol <carol@example.org>",
			"Author Alice <alice@example.org>", "Committer Bob <bob@example.org>",
		}
		if got := causedBy(run); !slices.Equal(got, want) {
			s.Errorf("got %q, want %q", got, want)
		}
	})

	runStory(t, c, "the author of a commit whom a push by force hides, until another user requests the Run",
		func(s story) {
			r := s.repositories()
			net := r.stack(prevents)
			r.commitBy(r.good, gitserver.Change{Author: "Dan <dan@example.org>", Files: code("two")})
			r.upToDate()
			s.applied(net)
			_, err := r.good.Git("update-ref", "refs/heads/main", "refs/heads/main~1")
			must(s.T, err)
			r.fetch()
			run := s.run("net-2", v1alpha1.PhaseAwaitingApproval)
			s.denied(s.approves("alice", run), "not all users who caused Run net-2 are known")
			s.done(s.patches("bob", net,
				`{"metadata":{"annotations":{"cairn.dev/requested-at":"2026-11-24T12:00:00Z","cairn.dev/requested-operation":"Apply","cairn.dev/requested-by":"bob"}}}`))
			run = s.run("net-3", v1alpha1.PhaseAwaitingApproval)
			s.denied(s.approves("bob", run), another)
			s.done(s.approves("alice", run))
			s.run("net-3", v1alpha1.PhaseSucceeded)
		})

	runStory(t, c, "the author of a commit, who has the Stack created again by another user", func(s story) {
		r := s.repositories()
		net := r.stack(prevents)
		s.applied(net)
		r.commitBy(r.good, gitserver.Change{Author: author, Files: code("evil")})
		r.commitBy(r.good, gitserver.Change{Author: "Dan <dan@example.org>",
			Files: map[string]string{"other.tf": "# more\n"}})
		r.fetch()
		s.run("net-2", v1alpha1.PhaseAwaitingApproval)
		s.done(s.patches("alice", net, `{"spec":{"deletionPolicy":"Orphan"}}`))
		s.done(s.deletes("alice", net))
		s.gone(net)
		again := r.stack(prevents)
		s.creates("bob", again)
		s.denied(s.approves("alice", s.waiting(again)), another)
	})
}

// waiting waits until a Run of a Stack waits for an approval. The name of the first Run of a Stack that is created
// again depends on the garbage collector.
func (s story) waiting(stack *v1alpha1.Stack) (found *v1alpha1.Run) {
	s.Helper()
	s.until("a Run waits for an approval", func(ctx context.Context) (bool, error) {
		runs := &v1alpha1.RunList{}
		err := s.cluster.List(ctx, runs, client.InNamespace(s.namespace))
		for i := range runs.Items {
			if r := &runs.Items[i]; metav1.IsControlledBy(r, stack) &&
				r.Status.Phase == v1alpha1.PhaseAwaitingApproval {
				found = r
			}
		}
		return found != nil, err
	})
	return found
}
