package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/source/closure"
	"cairn.dev/cairn/internal/source/git"
)

// Pull requests that are applied before their merge, in some histories with Stacks from git. Their controller, which
// has histories of its own, is one of the users here: it writes what it would, each time late.
//
//	/cairn apply ──► status.holds ──► status.hold of the Stack, which has the code of the merge
//	merge, close, unlock, deadline, deletion ──► released ──► the base

// pullModel is a pull request at the Git provider, and what its controller knows.
type pullModel struct {
	number int
	// changes are the Stacks whose code it changes, and from the versions that it changes.
	changes, from commit
	// head counts its pushes.
	head int
	// merged is the index of the merge in the base, and foreign reports that it was merged into another branch; -1
	// before the merge.
	merged  int
	foreign bool
}

func (p *pullModel) name() string { return fmt.Sprintf("infra-%d", p.number) }

// commitOf returns the ID of a head.
func (p *pullModel) commitOf(head int) string { return fmt.Sprintf("%032x%08x", p.number, head) }

// versionOf returns the version of a Stack's code at a head that is merged into a version of it.
func (p *pullModel) versionOf(head int, stack string, base int) int {
	if _, changes := p.changes[stack]; !changes {
		return base
	}
	version := 1000*p.number + head
	if base != p.from[stack] { // both changed it
		version += 10_000 * (1 + base)
	}
	return version
}

// join returns a commit of the base with a head merged into it.
func (p *pullModel) join(head int, base commit) commit {
	next := maps.Clone(base)
	for name := range p.changes {
		next[name] = p.versionOf(head, name, base[name])
	}
	return next
}

func (sim *simulation) object(p *pullModel) *v1alpha1.PullRequest {
	o, _ := sim.api.get(pulls, p.name()).(*v1alpha1.PullRequest)
	return o
}

// editPull changes a PullRequest as its controller, or Discovery, does.
func (sim *simulation) editPull(p *pullModel, change func(*v1alpha1.PullRequest)) {
	n := dup(sim.object(p))
	change(n)
	sim.api.put(pulls, n)
}

// openPulls creates the pull requests of a history: two that may change the same Stack.
func (sim *simulation) openPulls() {
	for number := 1; number <= 2; number++ {
		p := &pullModel{number: number, changes: commit{}, from: sim.commits[0], head: 1, merged: -1}
		for i, name := range []string{"net", "app"} {
			if all := sim.rand(3); all == 2 || all == i {
				p.changes[name] = 1
			}
		}
		if len(p.changes) == 0 {
			p.changes["net"] = 1
		}
		sim.pulls = append(sim.pulls, p)
		pull := &v1alpha1.PullRequest{ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: p.name(), UID: types.UID(p.name()),
		}}
		pull.Spec.Repository.Name, pull.Spec.Number, pull.Spec.Base = "infra", int64(number), "main"
		pull.Spec.State, pull.Spec.Head.Commit = v1alpha1.PullRequestOpen, p.commitOf(p.head)
		sim.addCode(p, sim.commits[0])
		sim.api.put(pulls, pull)
	}
}

// addCode puts the archives of a head, merged into a commit, into the bucket.
func (sim *simulation) addCode(p *pullModel, base commit) {
	for name, version := range p.join(p.head, base) {
		sim.putArchive(name, version)
	}
}

// ofPulls returns the actions of users in pull requests, and what the controller does later.
func (sim *simulation) ofPulls() {
	for i, p := range sim.pulls {
		pull := sim.object(p)
		if pull == nil {
			continue
		}
		if !sim.quiet && sim.pullActs > 0 && (sim.ready() > 0 || sim.step%16 == 0) {
			sim.can(1, actOnPull, i, 0)
		}
		for n, h := range pull.Status.Holds {
			if h.Released == "" && sim.endOf(p, pull, h) != "" {
				sim.can(3, releasePull, i, n)
			}
		}
	}
	if sim.quiet || len(sim.pulls) == 0 {
		return
	}
	for i, o := range sim.api.objects[runs] {
		if r := o.(*v1alpha1.Run); awaits(r) && r.Status.CarriedApproval == nil {
			sim.can(1, carry, i, 0)
		}
	}
}

func awaits(r *v1alpha1.Run) bool {
	return r.Status.Phase == v1alpha1.PhaseAwaitingApproval && r.Status.Plan != nil
}

// carry writes an approval that was given in a pull request. It counts for this plan, and for no later one of the Run.
func carry(sim *simulation, i, _ int) {
	r := dup(sim.api.objects[runs][i].(*v1alpha1.Run))
	sim.tracef("the approval of %s of Run %s is carried", short(r.Status.Plan.Digest), r.Name)
	r.Status.CarriedApproval = &v1alpha1.CarriedApproval{}
	r.Status.CarriedApproval.PlanDigest, r.Status.CarriedApproval.By = r.Status.Plan.Digest, "gitea:git:bob"
	sim.api.put(runs, r)
}

// endOf returns why a hold ends now; empty if it does not.
func (sim *simulation) endOf(p *pullModel, pull *v1alpha1.PullRequest, h v1alpha1.PullRequestHold) v1alpha1.HoldEnd {
	stack := sim.api.stack(h.Name)
	switch {
	case pull.Spec.State == v1alpha1.PullRequestClosed, stack == nil, p.foreign:
		return v1alpha1.HoldClosed
	case pull.Spec.State == v1alpha1.PullRequestMerged:
		isFetched := func(m *manager) bool { return m.alive && m.leads && !m.frozen && m.mirror.at >= p.merged }
		if slices.ContainsFunc(sim.managers, isFetched) {
			return v1alpha1.HoldMerged
		}
	case !sim.now().Before(h.Deadline.Time) && (stack.Status.Hold == nil || stack.Status.Hold.UID != pull.UID):
		return v1alpha1.HoldExpired
	}
	return ""
}

func releasePull(sim *simulation, i, n int) {
	p := sim.pulls[i]
	h := sim.object(p).Status.Holds[n]
	why := sim.endOf(p, sim.object(p), h)
	sim.tracef("pull request %d does not hold Stack %s: %s", p.number, h.Name, why)
	sim.editPull(p, func(pull *v1alpha1.PullRequest) { pull.Status.Holds[n].Released = why })
}

// actOnPull is an action of a user in a pull request.
func actOnPull(sim *simulation, i, _ int) {
	sim.pullActs--
	p := sim.pulls[i]
	open := sim.object(p).Spec.State == v1alpha1.PullRequestOpen
	isHeld := func(h v1alpha1.PullRequestHold) bool { return h.Released == "" }
	if open && sim.chance(2) && !slices.ContainsFunc(sim.object(p).Status.Holds, isHeld) {
		sim.holdStack(p)
		return
	}
	switch what := sim.rand(16); {
	case what < 3 && open:
		sim.holdStack(p)
	case what < 7 && open:
		sim.unlockStack(p)
	case what == 9 && open:
		p.head++
		sim.addCode(p, sim.commits[len(sim.commits)-1])
		sim.tracef("carol pushes head %d of pull request %d", p.head, p.number)
		sim.editPull(p, func(pull *v1alpha1.PullRequest) { pull.Spec.Head.Commit = p.commitOf(p.head) })
	case what < 13 && open:
		sim.mergePull(p)
	case what == 13 && open:
		sim.tracef("carol closes pull request %d", p.number)
		sim.editPull(p, func(pull *v1alpha1.PullRequest) { pull.Spec.State = v1alpha1.PullRequestClosed })
	case what == 13 && p.merged < 0:
		sim.tracef("carol opens pull request %d again", p.number)
		sim.editPull(p, func(pull *v1alpha1.PullRequest) { pull.Spec.State = v1alpha1.PullRequestOpen })
	case what == 14 && open:
		sim.tracef("carol retargets pull request %d", p.number)
		sim.editPull(p, func(pull *v1alpha1.PullRequest) {
			pull.Spec.Base = map[string]string{"main": "other", "other": "main"}[pull.Spec.Base]
		})
	case what == 15 && sim.chance(3):
		sim.tracef("PullRequest %d is deleted", p.number)
		sim.api.drop(pulls, p.name())
	}
}

// holdStack is the command /cairn apply for one Stack, or for all that the pull request changes.
func (sim *simulation) holdStack(p *pullModel) {
	base := sim.rand(len(sim.commits))
	if sim.chance(2) {
		base = len(sim.commits) - 1
	}
	sim.addCode(p, sim.commits[base])
	all := sim.chance(2)
	sim.editPull(p, func(pull *v1alpha1.PullRequest) {
		for _, name := range []string{"net", "app"} {
			if _, changes := p.changes[name]; !changes || !all && sim.chance(2) {
				continue
			}
			deadline := metav1.NewTime(sim.now().Add(seconds(60 + sim.rand(3000)).Duration))
			h := v1alpha1.PullRequestHold{
				Head: p.commitOf(p.head), Base: fmt.Sprintf("%040x", base), By: "gitea:git:bob",
				At:       metav1.NewTime(sim.now()),
				Deadline: &deadline,
			}
			h.Namespace, h.Name = namespace, name
			sim.tracef("bob applies head %d of pull request %d to Stack %s until %s", p.head, p.number, name,
				deadline.Format("15:04:05"))
			is := func(o v1alpha1.PullRequestHold) bool { return o.Name == name }
			pull.Status.Holds = append(slices.DeleteFunc(slices.Clone(pull.Status.Holds), is), h)
		}
	})
}

func (sim *simulation) unlockStack(p *pullModel) {
	sim.editPull(p, func(pull *v1alpha1.PullRequest) {
		pull.Status.Holds = slices.Clone(pull.Status.Holds)
		for i := range pull.Status.Holds {
			if h := &pull.Status.Holds[i]; h.Released == "" && sim.chance(2) {
				sim.tracef("bob unlocks Stack %s in pull request %d", h.Name, p.number)
				h.Released = v1alpha1.HoldUnlocked
			}
		}
	})
}

// mergePull merges a pull request. A merge commit, a squash and a rebase have the same tree.
func (sim *simulation) mergePull(p *pullModel) {
	into := sim.object(p).Spec.Base
	sim.tracef("carol merges pull request %d into %s", p.number, into)
	if p.foreign = into != "main"; !p.foreign {
		sim.addCommit(p.join(p.head, sim.commits[len(sim.commits)-1]))
	}
	p.merged = len(sim.commits) - 1
	sim.editPull(p, func(pull *v1alpha1.PullRequest) {
		pull.Spec.State, pull.Spec.MergeCommit = v1alpha1.PullRequestMerged, fmt.Sprintf("%040x", p.merged)
		pull.Status.Holds = slices.Clone(pull.Status.Holds)
		for i := range pull.Status.Holds {
			pull.Status.Holds[i].Deadline = nil
		}
	})
}

// joined is a head that is merged into a commit of the base.
type joined struct {
	*mirror
	pull *pullModel
	head int
	base commit
	id   string
}

// Join implements code.Git.
func (m *mirror) Join(_ context.Context, _ *v1alpha1.Repository, base, head, name string) (code.Joined, error) {
	m.sim.pause()
	at, err := strconv.ParseInt(base, 16, 64)
	number, _ := strconv.Atoi(strings.TrimPrefix(name, "pull/"))
	count, _ := strconv.ParseInt(head[32:], 16, 64)
	if err != nil || m.at < int(at) {
		return nil, repository.ErrNotFetched
	}
	return joined{m, m.sim.pulls[number-1], int(count), m.sim.commits[at], head}, nil
}

func (j joined) Conflicts() []string { return nil }
func (j joined) Close() error        { return nil }

// Of implements code.Git.
func (j joined) Of(_ context.Context, _ *v1alpha1.Repository, stack *v1alpha1.Stack) (code.GitCode, error) {
	key := codeKey(stack.Name, j.pull.versionOf(j.head, stack.Name, j.base[stack.Name]))
	return code.GitCode{
		Closure: closure.Closure{Digest: key}, Key: key, URL: "https://git/infra",
		Revision: fmt.Sprintf("pull/%d@sha1:%s", j.pull.number, j.id), Commit: git.Commit{ID: j.id, Author: "carol"},
	}, nil
}

// Resolve implements code.Source.
func (j joined) Resolve(ctx context.Context, stack *v1alpha1.Stack) (code.Code, *decision.Problem, error) {
	direct := &kube{sim: j.sim, view: &view{api: &j.sim.api}, of: -1}
	return code.NewSources(direct, anyConfigMap{}, j).Resolve(ctx, stack)
}

// pullOf returns the pull request whose code a revision is; nil for the base.
func (sim *simulation) pullOf(revision string) *pullModel {
	rest, ok := strings.CutPrefix(revision, "pull/")
	if !ok {
		return nil
	}
	number, _, _ := strings.Cut(rest, "@")
	n, _ := strconv.Atoi(number)
	return sim.pulls[n-1]
}

// holdWritten: a Stack has one hold, which ends for a reason.
func (sim *simulation) holdWritten(old, now *v1alpha1.Stack) {
	was, is := old.Status.Hold, now.Status.Hold
	if is != nil && holderOf(old) != is.UID {
		sim.stats.Holds++
	}
	if was == nil || is != nil && is.UID == was.UID {
		return
	}
	pull, _ := sim.api.get(pulls, was.Name).(*v1alpha1.PullRequest)
	if pull == nil || sim.skewed {
		return
	}
	for _, h := range pull.Status.Holds {
		isWanted := h.Released == "" && h.Deadline != nil && sim.now().Before(h.Deadline.Time)
		if h.Name == now.Name && isWanted && h.Head == was.Head && h.At.Equal(&was.Since) {
			sim.violate("I4", "pull request %d holds Stack %s no more, and nothing ended that", was.Number, now.Name)
		}
	}
}

// leavesPull: what a pull request applied that is not merged is left by an approved plan only, and what it merged is
// not reverted by an older commit of the base.
func (sim *simulation) leavesPull(r *v1alpha1.Run, approved bool) {
	owner := metav1.GetControllerOfNoCopy(r)
	if len(sim.pulls) == 0 || owner == nil || r.Spec.Operation != v1alpha1.OperationApply {
		return
	}
	before, next := sim.pullIn[owner.UID], sim.pullOf(r.Spec.Revision)
	if was := sim.leftBy[owner.UID]; was.run != r.Name {
		sim.leftBy[owner.UID] = left{r.Name, before}
	}
	sim.pullIn[owner.UID] = next
	if next != nil {
		sim.stats.Applied++
	} else if before != nil {
		sim.stats.Returns++
	}
	if before == nil || before == next || approved {
		return
	}
	switch at := sim.indexOf(r.Spec.Revision); {
	case before.merged < 0 || before.foreign:
		sim.violate("I4", "Run %s of %s leaves pull request %d, which is not merged, and is not approved", r.Name,
			r.Spec.Revision, before.number)
	case next == nil && at < before.merged:
		sim.violate("I4", "Run %s of %s reverts pull request %d, which is merged", r.Name, r.Spec.Revision,
			before.number)
	}
}

// left is the pull request whose code a Stack had before a Run; nil for the base.
type left struct {
	run  string
	pull *pullModel
}

// runEnds records whose code a Stack has after a Run that had nothing to change, and after one whose apply never began.
func (sim *simulation) runEnds(old, now *v1alpha1.Run) {
	owner := metav1.GetControllerOfNoCopy(now)
	if len(sim.pulls) == 0 || owner == nil || now.Spec.Operation != v1alpha1.OperationApply ||
		old.Status.Phase == now.Status.Phase || !now.Status.Phase.Finished() {
		return
	}
	switch was := sim.leftBy[owner.UID]; {
	case now.Status.Phase == v1alpha1.PhaseSucceeded:
		sim.pullIn[owner.UID] = sim.pullOf(now.Spec.Revision)
	case was.run == now.Name && !runinfo.Began(now):
		sim.pullIn[owner.UID] = was.pull
	}
}

// indexOf returns the index of a commit of the base that a revision has.
func (sim *simulation) indexOf(revision string) int {
	at, _ := strconv.ParseInt(strings.TrimPrefix(revision, "main@sha1:"), 16, 64)
	return int(at)
}

// holdAllows: no Run starts for inputs that are applied, and no dependent applies what it does not have in common with
// what it depends on.
func (sim *simulation) holdAllows(r *v1alpha1.Run) {
	owner := metav1.GetControllerOfNoCopy(r)
	stack := sim.api.stack(r.Spec.Stack.Name)
	if len(sim.pulls) == 0 || stack == nil || stack.UID != owner.UID || r.Spec.Operation != v1alpha1.OperationApply {
		return
	}
	if r.Spec.Cause.Type == v1alpha1.CauseCommit && r.Spec.InputsDigest == stack.Status.AppliedInputsDigest {
		sim.violate("I6", "Run %s plans what is applied", r.Name)
	}
	if sim.writer == nil || sim.writer.of < 0 || len(stack.Spec.DependsOn) == 0 {
		return
	}
	m := sim.managers[sim.writer.of]
	upstream, _ := find(m.view.objects[stacks], stack.Spec.DependsOn[0].Name).(*v1alpha1.Stack)
	if upstream == nil || upstream.Status.Hold == nil || upstream.Status.Hold.UID == holderOf(stack) {
		return
	}
	if since, known := m.holds[upstream.Name]; known && since < m.started {
		sim.violate("I4", "Run %s of %s applies, and %s is applied to Stack %s", r.Name, r.Spec.Revision,
			upstream.Status.Hold.Text(), upstream.Name)
	}
}

func holderOf(s *v1alpha1.Stack) types.UID {
	if s.Status.Hold == nil {
		return ""
	}
	return s.Status.Hold.UID
}

// noteHold records since when a manager knows the hold of a Stack.
func (m *manager) noteHold(was, now *v1alpha1.Stack) {
	if now.Status.Hold == nil {
		delete(m.holds, now.Name)
	} else if _, known := m.holds[now.Name]; !known || was == nil || holderOf(was) != holderOf(now) {
		m.holds[now.Name] = m.sim.step
	}
}

// declaredSource is the archive of the code that a Stack has when it is Ready.
func (sim *simulation) declaredSource(s *v1alpha1.Stack) string {
	h := s.Status.Hold
	if h == nil {
		return sim.headOf(s.Name)
	}
	at, _ := strconv.ParseInt(h.Base, 16, 64)
	head, _ := strconv.ParseInt(h.Head[32:], 16, 64)
	return archiveOf(codeKey(s.Name, sim.pulls[h.Number-1].versionOf(int(head), s.Name, sim.commits[at][s.Name])))
}
