package command

import (
	"errors"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/api/v1alpha1"
)

var update = flag.Bool("update", false, "write the golden files")

const (
	alice, bob   = "gitea:git.example.com:alice", "gitea:git.example.com:bob"
	head, older  = "1f3c9a2b7d5e4f60718293a4b5c6d7e8f9012345", "0e2b8a1b7d5e4f60718293a4b5c6d7e8f9012345"
	digest       = "sha256:plan"
	otherDigest  = "sha256:other"
	defaultStack = "net"
)

// planned is a Stack with a plan that the user has read, and on which the user has all verbs.
func planned(edits ...func(*Stack)) Stack {
	s := Stack{
		Namespace: "web", Name: defaultStack, Affected: true, Verbs: []string{"plan", "apply", "approve", "reject"},
		Phase: v1alpha1.PhaseSucceeded,
		Head:  head, PlanDigest: digest, SeenDigest: digest, Changes: true,
	}
	for _, e := range edits {
		e(&s)
	}
	return s
}

func at(phase v1alpha1.RunPhase) func(*Stack) {
	return func(s *Stack) { s.Phase, s.PlanDigest = phase, "" }
}
func named(namespace, name string) func(*Stack) {
	return func(s *Stack) { s.Namespace, s.Name = namespace, name }
}
func may(verbs ...string) func(*Stack) { return func(s *Stack) { s.Verbs = verbs } }
func guarded(s *Stack)                 { s.PreventSelfApproval = true }
func unaffected(s *Stack)              { s.Affected = false }
func withDeletedDirectory(s *Stack)    { s.AfterMergeOnly = "its directory is deleted" }
func approvedBy(by, head, digest string) func(*Stack) {
	return func(s *Stack) { s.PreventSelfApproval, s.Approval = true, &Approval{head, digest, by} }
}

// bobs is a command of bob in a pull request of alice.
func bobs(line string, stacks ...Stack) Snapshot {
	c, err := Parse(Comment{Body: line})
	if err != nil || c == nil {
		panic(line)
	}
	c.Commit = head
	return Snapshot{Command: *c, User: bob, Head: head, Authors: []string{alice}, Stacks: stacks}
}

// restricted is a command of bob in a pull request that a user has to allow.
func restricted(line string, stacks ...Stack) Snapshot {
	return bobs(line, stacks...).with(func(s *Snapshot) { s.Restricted = true })
}

// cdn is another Stack.
func cdn(edits ...func(*Stack)) Stack {
	return planned(append(edits, named("web", "cdn"), at(""))...)
}

func (s Snapshot) with(edit func(*Snapshot)) Snapshot {
	edit(&s)
	return s
}

func TestCommandDecision(t *testing.T) {
	for name, tt := range map[string]struct {
		s Snapshot
		// whole is the reason of the decision, net that of the Stack web/net.
		whole, net Reason
	}{
		"a plan is approved": {bobs("/cairn approve", planned()), Allowed, Allowed},
		"a plan is applied":  {bobs("/cairn apply net", planned()), Allowed, Allowed},
		"a plan is rejected": {bobs("/cairn reject web/net", planned()), Allowed, Allowed},
		"a plan that waits is applied": {bobs("/cairn apply", planned(func(s *Stack) {
			s.Phase = v1alpha1.PhaseAwaitingApproval
		})), Allowed, Allowed},
		"a Stack is planned": {bobs("/cairn plan", planned(at(""))), Allowed, Allowed},
		"a restricted one, all of it": {restricted("/cairn plan", planned(at("")), cdn(may("plan"))),
			Allowed, Allowed},
		"a restricted one, all by name": {restricted("/cairn plan net cdn", planned(at("")), cdn(may("plan"))),
			Allowed, Allowed},
		"a restricted one, and what is beyond maxStacks": {
			restricted("/cairn plan", planned(at("")), cdn(may(), func(s *Stack) {
				s.Skipped = true
			})), Allowed, Allowed,
		},
		"a restricted one, one of two by name": {restricted("/cairn plan net", planned(at("")),
			cdn(may("plan"))), Allowed, Allowed},
		"a restricted one, without the verb on another": {restricted("/cairn plan", planned(at("")), cdn(may())),
			Allowed, Allowed},
		"a Stack is planned again":        {bobs("/cairn plan", planned()), Allowed, Allowed},
		"a failed Stack is planned again": {bobs("/cairn plan", planned(at("Failed"))), Allowed, Allowed},
		"a plan of an older head is replaced": {bobs("/cairn plan", planned(at("Planning"), func(s *Stack) {
			s.Head = older
		})), Allowed, Allowed},
		"a Stack that is planning": {bobs("/cairn plan", planned(at("Queued"))), Allowed, Planning},
		"a Stack that is applied":  {bobs("/cairn plan", planned(at("Applying"))), Allowed, Applying},
		"a lock is released": {bobs("/cairn unlock", planned(may("apply"), unaffected, func(s *Stack) {
			s.Locked = true
		})), Allowed, Allowed},
		"there is no lock": {bobs("/cairn unlock", planned(may("apply"))), Allowed, NotLocked},
		"plan is not unlock": {bobs("/cairn unlock", planned(may("plan"), func(s *Stack) {
			s.Locked = true
		})), Allowed, Forbidden},
		"a plan without changes": {bobs("/cairn apply", planned(func(s *Stack) {
			s.Changes = false
		})), Allowed, NoChanges},
		"a policy denies the plan": {bobs("/cairn apply", planned(func(s *Stack) {
			s.Denied = true
		})), Allowed, PolicyDenied},
		"a denied plan is not approved": {bobs("/cairn approve", planned(func(s *Stack) {
			s.Denied = true
		})), Allowed, PolicyDenied},
		"a denied plan is rejected": {bobs("/cairn reject", planned(func(s *Stack) {
			s.Denied = true
		})), Allowed, Allowed},
		"a requirement is missing": {bobs("/cairn apply", planned(func(s *Stack) {
			s.Lacks = "Approved is missing"
		})), Allowed, Requirement},
		"an approval needs no requirement": {bobs("/cairn approve", planned(func(s *Stack) {
			s.Lacks = "Approved is missing"
		})), Allowed, Allowed},
		"the plan failed":    {bobs("/cairn apply", planned(at("Failed"))), Allowed, PlanFailed},
		"a Run was canceled": {bobs("/cairn apply", planned(at("Canceled"))), Allowed, NotPlanned},
		"an unknown phase has no plan": {bobs("/cairn apply", planned(func(s *Stack) {
			s.Phase = "Other"
		})), Allowed, NotPlanned},
		"the pull request is closed": {bobs("/cairn apply", planned()).with(func(s *Snapshot) {
			s.Closed = true
		}), Closed, ""},
		"it conflicts": {bobs("/cairn apply", planned()).with(func(s *Snapshot) {
			s.Conflict = true
		}), Conflict, ""},
		"a conflict is not planned": {bobs("/cairn plan", planned()).with(func(s *Snapshot) {
			s.Conflict = true
		}), Conflict, ""},
		"two namespaces have the name": {bobs("/cairn apply net", planned(), planned(named("app", "net"))),
			Allowed, ""},
		"the namespace chooses one of the two": {bobs("/cairn apply web/net", planned(), planned(named("app", "net"))),
			Allowed, Allowed},

		// atlantis #1202, #1393, #2124, #1548: locks remained after a pull request was closed.
		"a lock of a closed pull request is released": {
			bobs("/cairn unlock", planned(may("apply"), func(s *Stack) { s.Locked = true })).with(func(s *Snapshot) {
				s.Closed, s.Conflict = true, true
			}), Allowed, Allowed,
		},
		// atlantis #6529: apply while planning succeeded with 0 of 0 plans, and the pull request was merged.
		"apply before any plan": {bobs("/cairn apply", planned(at(""))), Allowed, NotPlanned},
		"apply while queued":    {bobs("/cairn apply", planned(at("Queued"))), Allowed, Planning},
		"apply while planning":  {bobs("/cairn apply", planned(at("Planning"))), Allowed, Planning},
		"apply of all while another plans": {
			bobs("/cairn apply", planned(), planned(named("web", "dns"), at("Planning"))), Allowed, Planning},
		"approval of all while another plans": {
			bobs("/cairn approve", planned(), planned(named("web", "dns"), at("Planning"))), Allowed, Planning},
		"apply of one while another plans": {
			bobs("/cairn apply net", planned(), planned(named("web", "dns"), at("Planning"))), Allowed, Allowed},
		"apply of no Stack at all": {bobs("/cairn apply"), NotAffected, ""},
		// atlantis #1122, #2390: plans of directories that left the pull request were applied.
		"a plan of what is not affected now": {bobs("/cairn apply", planned(unaffected)), NotAffected, ""},
		"a plan of an older head": {bobs("/cairn apply", planned(func(s *Stack) {
			s.Head = older
		})), Allowed, StalePlan},
		"another plan than the one read": {bobs("/cairn approve", planned(func(s *Stack) {
			s.SeenDigest = otherDigest
		})), Allowed, StalePlan},
		"a plan that nobody has read": {bobs("/cairn approve", planned(func(s *Stack) {
			s.SeenDigest = ""
		})), Allowed, StalePlan},
		"a push after the comment": {bobs("/cairn apply", planned()).with(func(s *Snapshot) {
			s.Command.Commit = older
		}), HeadChanged, ""},
		"an unknown head of the comment": {bobs("/cairn apply", planned()).with(func(s *Snapshot) {
			s.Command.Commit = ""
		}), HeadChanged, ""},
		// atlantis #1508: an approved pull request could plan and apply any directory.
		"a Stack that is not affected":       {bobs("/cairn apply web/net", planned(unaffected)), Allowed, NotAffected},
		"a plan of one that is not affected": {bobs("/cairn plan web/net", planned(unaffected)), Allowed, NotAffected},
		"a Stack that does not exist":        {bobs("/cairn plan web/net"), Allowed, NotAffected},
		"a Stack beyond maxStacks": {bobs("/cairn plan", planned(func(s *Stack) {
			s.Skipped = true
		})), NotAffected, ""},
		"a Stack beyond maxStacks by name": {bobs("/cairn plan net", planned(func(s *Stack) {
			s.Skipped = true
		})), Allowed, Allowed},
		// atlantis #308, #2726: who could comment could apply.
		"a user without a verb": {bobs("/cairn apply", planned(may())), Allowed, Forbidden},
		"a user who is unknown": {bobs("/cairn apply", planned()).with(func(s *Snapshot) {
			s.User = ""
		}), Forbidden, ""},
		"plan is not apply": {bobs("/cairn apply", planned(may("plan", "approve", "reject"))),
			Allowed, Forbidden},
		"apply is not approve": {bobs("/cairn approve", planned(may("plan", "apply", "reject"))),
			Allowed, Forbidden},
		"approve is not reject": {bobs("/cairn reject", planned(may("plan", "apply", "approve"))),
			Allowed, Forbidden},
		"the verb of another Stack": {
			bobs("/cairn apply", planned(may()), planned(named("web", "dns"))), Allowed, Forbidden},
		"a deleted directory is not applied before": {bobs("/cairn apply", planned(withDeletedDirectory)), Allowed,
			AfterMerge},
		"it is approved, though, for the merge": {bobs("/cairn approve", planned(withDeletedDirectory)),
			Allowed, Allowed},
		"another pull request is applied to it": {bobs("/cairn apply", planned(func(s *Stack) {
			s.HeldBy = "pull request 13"
		})), Allowed, Held},
		"a draft is not applied": {bobs("/cairn apply", planned()).with(func(s *Snapshot) {
			s.Draft = true
		}), Draft, ""},
		"a draft is planned": {bobs("/cairn plan", planned()).with(func(s *Snapshot) {
			s.Draft = true
		}), Allowed, Allowed},
		"a fork is not applied": {bobs("/cairn apply", planned()).with(func(s *Snapshot) {
			s.Fork = true
		}), Fork, ""},
		"a plan that cannot be compared is applied": {bobs("/cairn apply", planned(func(s *Stack) {
			s.Incomparable = true
		})), Allowed, Allowed},
		"a plan that cannot be compared is approved": {bobs("/cairn approve", planned(func(s *Stack) {
			s.Incomparable = true
		})), Allowed, Incomparable},
		"what is forbidden shows no other fact": {bobs("/cairn apply", planned(may(), at("Failed"))), Allowed,
			Forbidden},
		// ambient-code #763: a label that trusted a pull request survived a push. Azure/telescope #1266: a fork ran
		// without any request.
		"a fork is planned on command": {bobs("/cairn plan", planned(at(""))).with(func(s *Snapshot) {
			s.Restricted = true
		}), Allowed, Allowed},
		"a fork that swaps its head after the command": {
			bobs("/cairn plan", planned(at(""))).with(func(s *Snapshot) {
				s.Restricted, s.Command.Commit = true, older
			}), HeadChanged, "",
		},
		"a fork with an unknown head": {bobs("/cairn plan", planned(at(""))).with(func(s *Snapshot) {
			s.Restricted, s.Command.Commit = true, ""
		}), HeadChanged, ""},
		"a fork's author": {bobs("/cairn plan", planned(at(""), may())).with(func(s *Snapshot) {
			s.Restricted, s.User = true, alice
		}), Allowed, Forbidden},
		"a branch is planned at its head": {bobs("/cairn plan", planned()).with(func(s *Snapshot) {
			s.Command.Commit = ""
		}), Allowed, Allowed},
		"a branch at the head that is named": {bobs("/cairn plan", planned()), Allowed, Allowed},
		"a branch at another head than the named one": {bobs("/cairn plan", planned()).with(func(s *Snapshot) {
			s.Command.Commit = older
		}), HeadChanged, ""},
		// atlantis #6535: the API skipped the requirements. One function decides for every caller.
		"self-approval is prevented": {bobs("/cairn approve", planned(guarded)).with(func(s *Snapshot) {
			s.User = alice
		}), Allowed, SelfApproval},
		"self-approval with another case of the login": {bobs("/cairn approve", planned(guarded)).
			with(func(s *Snapshot) {
				s.User = strings.ToUpper(alice)
			}), Allowed, SelfApproval},
		"a committer is an author": {bobs("/cairn approve", planned(guarded)).with(func(s *Snapshot) {
			s.Authors = append(s.Authors, bob)
		}), Allowed, SelfApproval},
		"an unknown committer can be anybody": {bobs("/cairn approve", planned(guarded)).with(func(s *Snapshot) {
			s.UnknownAuthor = true
		}), Allowed, SelfApproval},
		"without an author anybody can be it": {bobs("/cairn approve", planned(guarded)).with(func(s *Snapshot) {
			s.Authors = nil
		}), Allowed, SelfApproval},
		"self-approval is not prevented": {bobs("/cairn approve", planned()).with(func(s *Snapshot) {
			s.User = alice
		}), Allowed, Allowed},
		"another user approves":                     {bobs("/cairn approve", planned(guarded)), Allowed, Allowed},
		"the Run of an apply requires the approval": {bobs("/cairn apply", planned(guarded)), Allowed, Allowed},
		"the author applies what another user approved": {bobs("/cairn apply", planned(approvedBy(bob, head, digest))).
			with(func(s *Snapshot) {
				s.User = alice
			}), Allowed, Allowed},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(tt.s)
			if d.Reason != tt.whole {
				t.Errorf("reason %s, want %s", d.Reason, tt.whole)
			}
			i := slices.IndexFunc(d.Stacks, func(r Result) bool { return r.Stack == Ref{"web", "net"} })
			got := Result{}
			if i >= 0 {
				got = d.Stacks[i]
			}
			if got.Reason != tt.net {
				t.Errorf("web/net: %+v, want %s", got, tt.net)
			}
			if d.Allowed() != slices.ContainsFunc(d.Stacks, func(r Result) bool {
				return r.Reason == Allowed
			}) || tt.net == Allowed && !d.Allowed() ||
				len(tt.s.Stacks) < 2 && tt.net != Allowed && d.Allowed() {
				t.Errorf("allowed %t: %+v", d.Allowed(), d)
			}
			if got.Reason == Allowed && (got.Head != tt.s.Head ||
				tt.s.Command.needsPlan() != (got.PlanDigest == digest)) {
				t.Errorf("not bound to head and plan: %+v", got)
			}
			if d.Text() == "" || !d.Allowed() && got.Reason != "" && !strings.Contains(d.Text(), "rejected because") {
				t.Errorf("text %q", d.Text())
			}
		})
	}
}

// A Stack is allowed only where no guard holds, in all combinations.
func TestOneGuardIsEnough(t *testing.T) {
	guards := []func(*Snapshot, *Stack){
		func(s *Snapshot, _ *Stack) { s.User = "" },
		func(s *Snapshot, _ *Stack) { s.Closed = true },
		func(s *Snapshot, _ *Stack) { s.Conflict = true },
		func(s *Snapshot, _ *Stack) { s.Command.Commit = older },
		func(_ *Snapshot, st *Stack) { st.Affected = false },
		func(_ *Snapshot, st *Stack) { st.Verbs = []string{"plan"} },
		func(_ *Snapshot, st *Stack) { st.Phase = v1alpha1.PhasePlanning },
		func(_ *Snapshot, st *Stack) { st.Head = older },
		func(_ *Snapshot, st *Stack) { st.PlanDigest = otherDigest },
		func(_ *Snapshot, st *Stack) { st.Denied = true },
		func(_ *Snapshot, st *Stack) { st.Changes = false },
		func(s *Snapshot, st *Stack) { st.PreventSelfApproval, s.Authors = true, []string{bob} },
	}
	for _, line := range []string{"/cairn apply", "/cairn approve net"} {
		for set := range 1 << len(guards) {
			st := planned()
			s := bobs(line)
			for i, g := range guards {
				if set&(1<<i) > 0 {
					g(&s, &st)
				}
			}
			s.Stacks = []Stack{st}
			if line == "/cairn apply" { // the Run of an apply has this guard
				set &^= 1 << (len(guards) - 1)
			}
			if d := Decide(s); d.Allowed() != (set == 0) {
				t.Fatalf("%s with guards %b: %+v", line, set, d)
			}
		}
	}
}

func TestTexts(t *testing.T) {
	var b strings.Builder
	show := func(name, text string) { b.WriteString("# " + name + "\n\n```text\n" + text + "\n```\n\n") }
	_, err := Parse(Comment{Body: "/cairn aply"})
	var syntax *SyntaxError
	if !errors.As(err, &syntax) {
		t.Fatal(err)
	}
	show("unknown command", syntax.Text())
	show("help", Decide(bobs("/cairn help")).Text())
	show("apply", Decide(bobs("/cairn apply net dns cdn db old gone eks",
		planned(), planned(named("web", "dns"), at("Planning")), planned(named("web", "cdn"), may()),
		planned(named("web", "db"), guarded),
		planned(named("web", "old"), withDeletedDirectory), planned(named("web", "eks")),
		planned(named("app", "eks")))).Text())
	show("apply while planning", Decide(bobs("/cairn apply", planned(), planned(named("web", "dns"), at("Planning")))).
		Text())
	show("empty apply", Decide(bobs("/cairn apply")).Text())
	show("a fork without a commit", Decide(bobs("/cairn plan", planned(at(""))).with(func(s *Snapshot) {
		s.Restricted, s.Command.Commit = true, ""
	})).Text())
	show("a fork with a Stack that the user may not plan",
		Decide(restricted("/cairn plan", planned(at("")), cdn(may()))).Text())
	show("a fork, for one Stack", Decide(restricted("/cairn plan net", planned(at("")), cdn())).Text())
	show("another head", Decide(bobs("/cairn approve", planned()).with(func(s *Snapshot) {
		s.Command.Commit = older
	})).Text())
	file := filepath.Join("testdata", "texts.golden.md")
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), b.String()); diff != "" {
		t.Errorf("(-update writes it):\n%s", diff)
	}
}
