package pullrequest

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/pullrequest/comment"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// stackNames are the Stacks of the model.
var stackNames = []string{"app", "net", "other"}

// mergeModel has the commits of the base, and what the Stacks applied of them.
type mergeModel struct {
	*history
	bases []baseModel
	runs  int
	// writes are those of the model itself.
	writes int
	// done are the commits of the base whose code a Stack has, or had, applied, by the name of the Stack.
	done map[string]map[string]bool
}

// baseModel is a commit of the base, with a digest of the code of each Stack.
type baseModel struct {
	commit string
	code   map[string]string
}

// newMergeModel has a base whose code all Stacks applied.
func newMergeModel(h *history) *mergeModel {
	m := &mergeModel{history: h, done: map[string]map[string]bool{}}
	m.bases = []baseModel{{h.git.base, map[string]string{}}}
	for _, name := range stackNames {
		m.bases[0].code[name], m.done[name] = "sha256:first-"+name, map[string]bool{}
		stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name, UID: types.UID(name)}}
		stack.Status.Revision, stack.Status.InputsDigest = "main@sha1:"+h.git.base, "sha256:first-"+name
		stack.Status.AppliedInputsDigest = stack.Status.InputsDigest
		setReady(stack, metav1.ConditionTrue, v1alpha1.ReasonApplied)
		h.api.objects[keyOf(stack)] = stack
	}
	m.record()
	return m
}

func setReady(stack *v1alpha1.Stack, status metav1.ConditionStatus, reason string) {
	stack.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason,
		Message: "it is " + reason}}
}

// push adds a commit of the base, in which a head changes the code of Stacks.
func (m *mergeModel) push(commit, head string, changed []string) {
	next := baseModel{commit, map[string]string{}}
	for name, code := range m.bases[len(m.bases)-1].code {
		if next.code[name] = code; slices.Contains(changed, name) {
			next.code[name] = fmt.Sprintf("sha256:%x", hashOfAll(head, name))
		}
	}
	m.bases = append(m.bases, next)
	m.record()
}

// revert lets the newest commit of the base have the first code of a Stack again.
func (m *mergeModel) revert(name string) {
	m.tracef("Stack %s has its first code again", name)
	m.bases[len(m.bases)-1].code[name] = m.bases[0].code[name]
	m.record()
}

// record records which commits of the base are applied now.
func (m *mergeModel) record() {
	for _, name := range stackNames {
		for _, b := range m.bases {
			if b.code[name] == m.stack(name).Status.AppliedInputsDigest {
				m.done[name][b.commit] = true
			}
		}
	}
}

func (m *mergeModel) stack(name string) *v1alpha1.Stack {
	return m.api.objects[key{"Stack", "web", name}].(*v1alpha1.Stack)
}

// index returns the index of a commit of the base; -1 for another one.
func (m *mergeModel) index(commit string) int {
	return slices.IndexFunc(m.bases, func(b baseModel) bool { return b.commit == commit })
}

// step does the next step of a Stack, as its controller, its Runs and users would.
func (m *mergeModel) step() bool {
	for _, i := range m.order() {
		if stack := clone(m.stack(stackNames[i])).(*v1alpha1.Stack); m.stepOf(stack) {
			m.tracef("Stack %s: %s, %s", stack.Name, stack.Status.CurrentRun, readyReason(&stack.Status))
			m.put(stack)
			m.record()
			return true
		}
	}
	return false
}

func (m *mergeModel) put(o client.Object) {
	m.writes++
	m.api.put(o)
}

// order returns the indexes of the Stacks with something to do, in a random order.
func (m *mergeModel) order() (all []int) {
	base := m.bases[len(m.bases)-1]
	for i, name := range stackNames {
		if s := m.stack(name).Status; s.InputsDigest != base.code[name] || s.AppliedInputsDigest != s.InputsDigest ||
			s.CurrentRun != "" {
			all = append(all, i)
		}
	}
	if len(all) > 1 {
		m.rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	}
	return all
}

func (m *mergeModel) stepOf(stack *v1alpha1.Stack) bool {
	base, s := m.bases[len(m.bases)-1], &stack.Status
	if s.CurrentRun != "" {
		return m.stepOfRun(stack)
	}
	if s.InputsDigest != base.code[stack.Name] { // it is read, and the code may have an error
		if !m.quiet && m.rand.IntN(6) == 0 && readyReason(s) != v1alpha1.ReasonModuleNotFound {
			setReady(stack, metav1.ConditionFalse, v1alpha1.ReasonModuleNotFound)
			return true
		}
		s.Revision, s.InputsDigest = "main@sha1:"+base.commit, base.code[stack.Name]
		setReady(stack, metav1.ConditionUnknown, v1alpha1.ReasonRunning)
		return true
	}
	if s.AppliedInputsDigest == s.InputsDigest || readyReason(s) == v1alpha1.ReasonRunFailed && !m.quiet &&
		m.rand.IntN(2) == 0 {
		return false
	}
	m.runs++
	run := &v1alpha1.Run{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: fmt.Sprintf("%s-%d", stack.Name, m.runs),
			UID: types.UID(fmt.Sprint(m.runs))},
		Spec: v1alpha1.RunSpec{
			Stack: v1alpha1.ObjectRef{Name: stack.Name}, Operation: v1alpha1.OperationApply,
			InputsDigest: s.InputsDigest, Revision: s.Revision,
		},
	}
	m.put(run)
	s.CurrentRun, s.LastRun = run.Name, run.Name
	setReady(stack, metav1.ConditionUnknown, v1alpha1.ReasonRunning)
	return true
}

func (m *mergeModel) stepOfRun(stack *v1alpha1.Stack) bool {
	s := &stack.Status
	run := clone(m.api.objects[key{"Run", "web", s.CurrentRun}]).(*v1alpha1.Run)
	to := func(phase v1alpha1.RunPhase, reason string) {
		run.Status.Phase = phase
		run.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionSucceeded, Reason: reason,
			Message: "it is " + reason}}
	}
	switch phase := run.Status.Phase; {
	case phase == "":
		to(v1alpha1.PhasePlanning, string(v1alpha1.PhasePlanning))
	case phase != v1alpha1.PhaseApplying && m.bases[len(m.bases)-1].code[stack.Name] != run.Spec.InputsDigest:
		to(v1alpha1.PhaseSuperseded, v1alpha1.ReasonSuperseded)
		s.CurrentRun = ""
	case phase == v1alpha1.PhasePlanning && m.rand.IntN(2) == 0:
		to(v1alpha1.PhaseAwaitingApproval, v1alpha1.ReasonAwaitingApproval)
		setReady(stack, metav1.ConditionFalse, v1alpha1.ReasonAwaitingApproval)
	case phase != v1alpha1.PhaseApplying:
		to(v1alpha1.PhaseApplying, string(v1alpha1.PhaseApplying))
		setReady(stack, metav1.ConditionUnknown, v1alpha1.ReasonRunning)
	case m.rand.IntN(3) == 0:
		to(v1alpha1.PhaseFailed, "EngineError")
		setReady(stack, metav1.ConditionFalse, v1alpha1.ReasonRunFailed)
		s.CurrentRun, s.AppliedInputsDigest = "", ""
	default:
		to(v1alpha1.PhaseSucceeded, v1alpha1.ReasonApplied)
		setReady(stack, metav1.ConditionTrue, v1alpha1.ReasonApplied)
		s.CurrentRun, s.AppliedInputsDigest = "", run.Spec.InputsDigest
		s.History = append(s.History, v1alpha1.PastRun{
			Name: run.Name, Operation: run.Spec.Operation, Applied: true,
			Details: &v1alpha1.PastDetails{Revision: run.Spec.Revision, InputsDigest: run.Spec.InputsDigest,
				Plan: &v1alpha1.Plan{Changes: true, Add: 1}},
		})
	}
	m.put(run)
	return true
}

// checkApply checks that a pull request reports no merge as applied whose code was not.
func (m *mergeModel) checkApply(pull *v1alpha1.PullRequest) {
	if pull.Status.Apply == nil {
		return
	}
	merge := m.index(m.git.pull(int(pull.Spec.Number)).Merge)
	for _, s := range pull.Status.Apply.Stacks {
		has := func(b baseModel) bool { return m.done[s.Name][b.commit] }
		if s.Phase == v1alpha1.StackApplyApplied && (merge < 0 || !slices.ContainsFunc(m.bases[merge:], has)) {
			m.violates("pull request %d reports that Stack %s applied its merge: %+v", pull.Spec.Number, s.Name, s)
		}
	}
}

// checkApplied checks that a merged pull request reports in the end that its Stacks applied the merge: with the status
// of the merge commit, the comment, and a second one if something was applied.
func (m *mergeModel) checkApplied(pull *v1alpha1.PullRequest) {
	s, number := pull.Status, int(pull.Spec.Number)
	if pull.Spec.State != v1alpha1.PullRequestMerged || s.Apply == nil {
		return
	}
	if s.Phase != v1alpha1.PullRequestApplied || !isReported(pull) {
		m.violates("pull request %d is merged and %s: %+v, %+v", number, s.Phase, s.Apply, s.Delivered)
	}
	if commit := pull.Spec.MergeCommit; len(m.git.writers[commit]) < 2 &&
		m.git.statuses[commit]["cairn/apply"] != "success" {
		m.violates("the merge commit of pull request %d has the statuses %v", number, m.git.statuses[commit])
	}
	if len(m.git.writers[commentsOf(number)]) > 1 {
		return
	}
	repo := m.api.objects[key{"Repository", "web", "infra"}].(*v1alpha1.Repository)
	ended := Snapshot{Now: s.EndedAt.Time, PullRequest: pull, Repository: repo, Settings: repo.Spec.PullRequests}
	report := ended.reportOf(&s)
	want := []string{comment.Render(report, comment.Format{Limit: 65_536})}
	if hasResult(&s) {
		want = append(want, comment.Render(comment.Result(report), comment.Format{Limit: 65_536}))
	}
	var got []string
	for _, c := range m.git.commentsOf(number, "cairn") {
		got = append(got, c.Body)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		m.violates("pull request %d has %d comments:\n%s\nwant:\n%s", number, len(got), strings.Join(got, "\n---\n"),
			strings.Join(want, "\n---\n"))
	}
}

// checkComments checks that a pull request never gets more than two comments, and the second one not before it is
// merged.
func (m *mergeModel) checkComments(number int) {
	most := 1
	if m.git.pull(number).Merged {
		most = 2
	}
	if n := len(m.git.commentsOf(number, "cairn")); n > most && len(m.git.writers[commentsOf(number)]) < 2 {
		m.violates("pull request %d has %d comments", number, n)
	}
}

// Merged implements Merger.
func (g *gitModel) Merged(_ context.Context, _ *v1alpha1.Repository, _, commit string) (Merged, error) {
	g.pause()
	return mergedModel{g.merges, commit}, nil
}

// mergedModel implements Merged.
type mergedModel struct {
	*mergeModel
	commit string
}

func (m mergedModel) InBase() (has, known bool) { return m.index(m.commit) >= 0, true }

func (m mergedModel) Has(_ context.Context, revision string) (bool, error) {
	return m.index(runinfo.CommitOf(revision)) >= m.index(m.commit), nil
}

func (m mergedModel) IsSame(_ context.Context, stack *v1alpha1.Stack, revision string) (bool, error) {
	i := m.index(runinfo.CommitOf(revision))
	return i >= 0 && m.bases[i].code[stack.Name] == m.bases[len(m.bases)-1].code[stack.Name], nil
}

func (m mergedModel) IsRead(_ context.Context, stack *v1alpha1.Stack) (bool, error) {
	s := m.stack(stack.Name).Status
	return s.InputsDigest == m.bases[len(m.bases)-1].code[stack.Name] ||
		readyReason(&s) == v1alpha1.ReasonModuleNotFound, nil
}

// isOwnRun reports whether an object is a Run that no pull request has.
func isOwnRun(o any) bool {
	run, ok := o.(*v1alpha1.Run)
	return ok && !strings.Contains(run.Name, "-pr")
}
