package pullrequest

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/controller/pullrequest/comment"
)

var (
	histories = flag.Int("histories", 300, "number of random histories of TestPullRequestHistories")
	seed      = flag.Uint64("seed", 1, "seed of the first history")
	trace     = flag.Bool("trace", false, "print the steps of each history")
)

// TestPullRequestHistories runs both controllers in random histories of pull requests, in processes that are killed at
// any request, and whose requests and responses are lost, with caches that are late. The Git provider is a model behind
// the real client of Gitea, and so are the API server, Runs and merges. At each step nothing may run that no user
// allowed. After some steps nothing fails any longer: each open pull request then has one comment and the right
// statuses, a closed one has its plans for a time, of which nothing is left then, and further reconciles write nothing.
// In half of the histories there are two processes, as if one had not detected yet that it is no longer the leader.
// What both wrote to the Git provider may then be that of the first.
func TestPullRequestHistories(t *testing.T) {
	for i := range *histories {
		s := *seed + uint64(i)
		if problem := newHistory(s).live(); problem != "" {
			t.Fatalf("seed %d: %s\nreplay: go test ./internal/controller/pullrequest -run TestPullRequestHistories "+
				"-args -histories 1 -seed %d -trace", s, problem, s)
		}
	}
}

// history is one history: the models, and the processes of Cairn.
type history struct {
	rand      *rand.Rand
	now       time.Time
	git       *gitModel
	api       *apiModel
	processes []*process
	// tasks are reconciles in progress.
	tasks   []*task
	current *task
	// quiet: nothing fails any longer.
	quiet   bool
	problem string
}

func newHistory(seed uint64) *history {
	h := &history{rand: rand.New(rand.NewPCG(seed, 0)), now: noon}
	h.git, h.api = newGitModel(h), newAPIModel(h)
	h.git.merges = newMergeModel(h)
	for range 1 + seed%2 {
		h.processes = append(h.processes, newProcess(h))
	}
	return h
}

func (h *history) tracef(format string, args ...any) {
	if *trace {
		fmt.Printf(h.now.Format("15:04:05 ")+format+"\n", args...)
	}
}

func (h *history) violates(format string, args ...any) {
	if h.problem == "" {
		h.problem = fmt.Sprintf(format, args...)
	}
}

func (h *history) live() string {
	defer func() {
		for _, t := range h.tasks {
			t.kill()
		}
	}()
	for range 150 + h.rand.IntN(150) {
		if h.step(); h.problem != "" {
			return h.problem
		}
	}
	h.tracef("nothing fails any longer")
	h.quiet = true
	h.git.fetch()
	for range 40 { // longer than the longest retry
		if h.settle(); h.problem != "" {
			return h.problem
		}
		h.now = h.now.Add(time.Minute)
	}
	if h.check(); h.problem != "" {
		return h.problem
	}
	h.now = h.now.Add(kept)
	h.settle()
	h.checkKept(0)
	writes, requests := h.api.writes, h.git.requests
	for _, p := range h.processes {
		p.enqueueAll()
	}
	h.settle()
	if h.api.writes != writes || h.git.requests > requests+len(h.processes) {
		h.violates("%d writes and %d requests although nothing changed", h.api.writes-writes, h.git.requests-requests)
	}
	return h.problem
}

// Of 50 open pull requests of which nothing changes, an interval costs one request to the Git provider, no write and no
// plan. The affected Stacks among 2,000 are measured by BenchmarkProposal.
func TestManyPullRequestsCostNothing(t *testing.T) {
	h := newHistory(2) // one process
	h.quiet = true
	for number := range 50 {
		h.git.pulls = append(h.git.pulls, &pullModel{
			Number: number + 1, Title: "Change", State: "open", User: userModel{"alice"}, Updated: h.now,
			Head: refModel{Ref: "change", SHA: h.git.commit(), Repo: map[string]int{"id": 1}},
			Base: refModel{Ref: "main", RepoID: 1},
		})
	}
	h.git.fetch()
	pass := func(interval time.Duration, intervals int) {
		for range intervals {
			h.settle()
			h.now = h.now.Add(interval)
		}
	}
	interval := h.api.objects[key{"Repository", "web", "infra"}].(*v1alpha1.Repository).
		Spec.PullRequests.Interval.Duration
	pass(time.Minute, 20)
	h.check()
	writes, requests := h.api.writes, h.git.requests
	const intervals = 20
	pass(interval, intervals)
	if h.problem != "" || h.api.writes != writes || h.git.requests-requests > intervals {
		t.Errorf("%d intervals: %d writes, %d requests; %s", intervals, h.api.writes-writes, h.git.requests-requests,
			h.problem)
	}
	if known := len(h.api.objects); known < 100 { // 50 PullRequests and their Runs
		t.Errorf("only %d objects", known)
	}
}

// step does one of these: an action of a user, a step of a Run, an event, a step of a reconcile, or the end of a
// process.
func (h *history) step() {
	switch n := h.rand.IntN(100); {
	case n < 8:
		h.git.act()
	case n < 17:
		h.api.runStep()
	case n < 20:
		h.git.merges.step()
	case n < 22:
		p := h.anyProcess()
		h.tracef("!  a process is killed")
		p.kill()
	case n < 35:
		h.now = h.now.Add(time.Duration(h.rand.IntN(8000)) * time.Millisecond)
	case n < 60:
		h.anyProcess().receive()
	default:
		h.work(h.anyProcess())
	}
}

func (h *history) anyProcess() *process { return h.processes[h.rand.IntN(len(h.processes))] }

// work starts a reconcile that is due, or continues one.
func (h *history) work(p *process) bool {
	if t := p.busy; t != nil {
		t.resume()
		return true
	}
	i := slices.IndexFunc(p.queue, func(q queued) bool { return !q.at.After(h.now) })
	if i < 0 {
		return false
	}
	next := p.queue[i]
	p.queue = slices.Delete(p.queue, i, i+1)
	p.busy = h.begin(p, next)
	p.busy.resume()
	return true
}

// settle works until nothing is due.
func (h *history) settle() {
	for range 5000 {
		busy := h.api.runStep()
		busy = h.git.merges.step() || busy
		for _, p := range h.processes {
			busy = p.receive() || busy
			busy = h.work(p) || busy
		}
		if !busy || h.problem != "" {
			return
		}
	}
	h.violates("it does not become idle")
}

// A task is a reconcile, which can be interrupted and killed at each request.
type task struct {
	of     *process
	next   func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
	killed bool
}

// killed unwinds a task whose process ended.
type killed struct{}

func (h *history) begin(p *process, q queued) *task {
	t := &task{of: p}
	t.next, t.stop = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		defer func() {
			if r := recover(); r != nil && r != (killed{}) {
				panic(r)
			}
		}()
		p.reconcile(q)
		if p.busy == t {
			p.busy = nil
		}
	})
	h.tasks = append(h.tasks, t)
	return t
}

func (t *task) resume() {
	h := t.of.history
	before := h.current
	h.current = t
	t.next()
	h.current = before
	if t.of.busy != t {
		t.kill()
		h.tasks = slices.DeleteFunc(h.tasks, func(o *task) bool { return o == t })
	}
}

func (t *task) kill() {
	t.killed = true
	t.stop()
}

// errLost is the error of a request or response that is lost.
var errLost = errors.New("connection reset")

// crossing does a request to another process. The request or its response can be lost, and others can work before and
// after it.
func (h *history) crossing(what string, do func()) error {
	h.pause()
	if h.fails(what, "request") {
		return errLost
	}
	do()
	h.pause()
	if h.fails(what, "response") {
		return errLost
	}
	return nil
}

func (h *history) fails(what, lost string) bool {
	if h.quiet || h.rand.IntN(40) > 0 {
		return false
	}
	h.tracef("!  the %s of %s is lost", lost, what)
	return true
}

// pause interrupts the current task sometimes. A killed one ends here.
func (h *history) pause() {
	t := h.current
	if t == nil || h.quiet || h.rand.IntN(3) > 0 {
		return
	}
	if !t.yield(struct{}{}) || t.killed {
		panic(killed{})
	}
}

// queued is an object to reconcile at a time.
type queued struct {
	discovery bool
	key       types.NamespacedName
	at        time.Time
}

// process is an operator with both controllers. Its cache and its memory are lost when it is killed.
type process struct {
	*history
	cache      cacheModel
	discovery  *Discovery
	reconciler *Reconciler
	queue      []queued
	busy       *task
}

func newProcess(h *history) *process {
	p := &process{history: h}
	p.start()
	return p
}

func (p *process) start() {
	h := p.history
	p.cache = newCacheModel(h.api)
	cached, live, git := &kube{history: h, cache: p.cache.objects}, &kube{history: h}, h.git.provider()
	provider := func(context.Context, *v1alpha1.Repository) (Provider, error) { return git, nil }
	clock := func() time.Time { return h.now }
	p.discovery = &Discovery{Client: cached, Provider: provider, Clock: clock}
	p.reconciler = &Reconciler{
		Client: cached, Live: live, Merger: h.git, Access: h.git, Provider: provider, Runs: noArtifacts{},
		Plans: noArtifacts{}, Clock: clock,
	}
	p.enqueueAll()
}

func (p *process) kill() {
	if p.busy != nil {
		p.busy.kill()
	}
	p.busy, p.queue = nil, nil
	p.start()
}

func (p *process) enqueueAll() {
	for _, k := range sorted(p.cache.objects) {
		p.enqueueFor(p.cache.objects[k])
		if k.kind == "PullRequest" {
			p.add(false, types.NamespacedName{Namespace: k.namespace, Name: k.name}, p.now)
		}
	}
}

// enqueueFor enqueues what the watches of the controllers do.
func (p *process) enqueueFor(o client.Object) {
	switch o := o.(type) {
	case *v1alpha1.Repository:
		p.add(true, client.ObjectKeyFromObject(o), p.now)
		for _, k := range sorted(p.cache.objects) {
			if k.kind == "PullRequest" {
				p.add(false, types.NamespacedName{Namespace: k.namespace, Name: k.name}, p.now)
			}
		}
	case *v1alpha1.PullRequest:
		for _, r := range (lookups{&kube{history: p.history, cache: p.cache.objects}}).sharing(context.Background(),
			o) {
			p.add(false, r.NamespacedName, p.now)
		}
	case *v1alpha1.Stack:
		for _, r := range (lookups{&kube{history: p.history, cache: p.cache.objects}}).waitingFor(context.Background(),
			o) {
			p.add(false, r.NamespacedName, p.now)
		}
	case *v1alpha1.Run:
		for _, r := range plannedFor(context.Background(), o) {
			p.add(false, r.NamespacedName, p.now)
		}
	}
}

func (p *process) add(discovery bool, key types.NamespacedName, at time.Time) {
	for i, q := range p.queue {
		if q.discovery == discovery && q.key == key {
			if at.Before(q.at) {
				p.queue[i].at = at
			}
			return
		}
	}
	p.queue = append(p.queue, queued{discovery, key, at})
}

// receive handles the next event of a watch.
func (p *process) receive() bool {
	before, o, gone := p.cache.next(p.rand)
	if o == nil {
		return false
	}
	if _, ok := o.(*v1alpha1.Stack); ok && !progresses().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: o}) {
		return true
	}
	if before != nil && !gone { // the watch maps both
		p.enqueueFor(before)
	}
	p.enqueueFor(o)
	if pull, ok := o.(*v1alpha1.PullRequest); ok && (before == nil || gone ||
		before.GetGeneration() != pull.Generation ||
		before.GetDeletionTimestamp().IsZero() != pull.DeletionTimestamp.IsZero() || // as GenerationChangedPredicate
		resends().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: pull}) ||
		waitsForMore().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: pull})) {
		p.add(false, client.ObjectKeyFromObject(o), p.now)
	}
	if pull, ok := o.(*v1alpha1.PullRequest); ok && gone {
		for _, r := range p.discovery.deleted(context.Background(), pull) {
			p.add(true, r.NamespacedName, p.now)
		}
	}
	return true
}

func (p *process) reconcile(q queued) {
	ctx := logr.NewContext(context.Background(), logr.Discard())
	req := ctrl.Request{NamespacedName: q.key}
	reconcile, name := p.reconciler.Reconcile, "pull request"
	if q.discovery {
		reconcile, name = p.discovery.Reconcile, "repository"
	}
	p.tracef("process %d reconciles %s %s", slices.Index(p.processes, p), name, q.key.Name)
	result, err := reconcile(ctx, req)
	if err != nil {
		p.tracef("      %v", err)
		result.RequeueAfter = time.Second
	}
	if result.RequeueAfter > 0 {
		p.add(q.discovery, q.key, p.now.Add(result.RequeueAfter))
	}
}

// noArtifacts is a bucket without objects.
type noArtifacts struct{}

func (noArtifacts) Forget(context.Context, *v1alpha1.Run) error { return nil }

func (noArtifacts) JSON(context.Context, string, types.UID, string, int64) ([]byte, error) {
	return nil, bucket.ErrNotFound
}

func (noArtifacts) Parts(context.Context, string, types.UID, string) (map[string]string, error) {
	return nil, nil
}

// check checks what the Git provider and the API server have in the end.
func (h *history) check() {
	known := map[int]bool{}
	expected := map[string]bool{}
	states := map[string]string{} // the worst one of the pull requests with a head
	for _, k := range sorted(h.api.objects) {
		pull, ok := h.api.objects[k].(*v1alpha1.PullRequest)
		if !ok {
			continue
		}
		known[int(pull.Spec.Number)] = true
		h.git.merges.checkApplied(pull)
		for _, s := range pull.Status.Stacks {
			expected[s.Run] = true
		}
		if head := pull.Spec.Head.Commit; pull.Spec.State == v1alpha1.PullRequestOpen {
			states[head] = worst(states[head], h.checkPull(pull))
		}
	}
	for head, state := range states {
		if got := h.git.statuses[head]["cairn"]; got != state && len(h.git.writers[head]) < 2 {
			h.violates("commit %s has status %q, and should have %q", head, got, state)
		}
	}
	for _, p := range h.git.pulls {
		if p.State == "open" && !known[p.Number] {
			h.violates("pull request %d is open, and the API server has no PullRequest", p.Number)
		}
		// The other pull request may have another head now, and leaves the statuses of the earlier one.
		if p.State != "open" && !h.git.shared[p.Head.SHA] && h.git.statuses[p.Head.SHA]["cairn"] == "pending" &&
			len(h.git.writers[p.Head.SHA]) < 2 {
			h.violates("the status of closed pull request %d is pending", p.Number)
		}
	}
	h.checkKept(kept)
	for _, k := range sorted(h.api.objects) {
		if run, ok := h.api.objects[k].(*v1alpha1.Run); ok && !isOwnRun(run) && !expected[run.Name] &&
			(!run.Status.Phase.Finished() || !known[int(numberOf(run))]) {
			h.violates("Run %s (%s) is left", run.Name, run.Status.Phase)
		}
	}
}

// checkKept checks that each PullRequest that ended did so within a time, and has plans that can be read and no other.
func (h *history) checkKept(longest time.Duration) {
	for _, k := range sorted(h.api.objects) {
		pull, ok := h.api.objects[k].(*v1alpha1.PullRequest)
		if !ok || pull.Spec.State == v1alpha1.PullRequestOpen {
			continue
		}
		if !pull.Status.Phase.Ended() || h.now.Sub(pull.Status.EndedAt.Time) > longest {
			h.violates("pull request %d is %s and %s since %v", pull.Spec.Number, pull.Spec.State, pull.Status.Phase,
				pull.Status.EndedAt)
		}
		for _, s := range pull.Status.Stacks {
			if run, ok := h.api.objects[key{"Run", s.Namespace, s.Run}]; !s.Phase.Finished() || !ok && s.Run != "" {
				h.violates("pull request %d ended and has %+v with Run %v", pull.Spec.Number, s, run)
			}
		}
	}
}

func worst(a, b string) string {
	for _, state := range []string{"failure", "pending"} {
		if a == state || b == state {
			return state
		}
	}
	return "success"
}

func numberOf(run *v1alpha1.Run) (number int64) {
	_, _ = fmt.Sscanf(run.Spec.PullRequest.Name, "infra-%d", &number)
	return number
}

// checkPull checks an open pull request, and returns the aggregate status that it should have.
func (h *history) checkPull(pull *v1alpha1.PullRequest) string {
	p := h.git.pull(int(pull.Spec.Number))
	if pull.Spec.Head.Commit != p.Head.SHA || pull.Spec.Draft != p.Draft || pull.Status.Head != p.Head.SHA {
		h.violates("pull request %d: %s is not the head %s", p.Number, pull.Status.Head, p.Head.SHA)
	}
	phase, state := h.git.expected(p)
	if pull.Status.Phase != phase {
		h.violates("pull request %d is %s, and should be %s", p.Number, pull.Status.Phase, phase)
	}
	var names []string
	for _, s := range pull.Status.Stacks {
		names = append(names, s.Name)
		if run, ok := h.api.objects[key{"Run", s.Namespace, s.Run}].(*v1alpha1.Run); phase ==
			v1alpha1.PullRequestPlanned {
			switch {
			case !ok:
				h.violates("pull request %d has no Run %s", p.Number, s.Run)
			case run.Status.Phase != s.Phase || run.Spec.InputsDigest != h.git.digest(p, s.Name):
				h.violates("Run %s is %s with inputs %s, and its pull request reports %s", run.Name, run.Status.Phase,
					run.Spec.InputsDigest, s.Phase)
			case s.Phase != v1alpha1.PhaseSucceeded:
				state = "failure"
			}
		}
	}
	if affected := h.git.affected(p); (phase == v1alpha1.PullRequestPlanned ||
		phase == v1alpha1.PullRequestAwaitingCommand) && !slices.Equal(names, affected) {
		h.violates("pull request %d reports Stacks %v, and affects %v", p.Number, names, affected)
	}
	ours := h.git.commentsOf(p.Number, "cairn")
	repo := h.api.objects[key{"Repository", "web", "infra"}].(*v1alpha1.Repository)
	report := Snapshot{PullRequest: pull, Repository: repo, Settings: repo.Spec.PullRequests}.reportOf(&pull.Status)
	want := comment.Render(report, comment.Format{Limit: 65_536})
	if len(h.git.writers[commentsOf(p.Number)]) < 2 && (len(ours) != 1 || ours[0].Body != want) {
		var bodies []string
		for _, c := range ours {
			bodies = append(bodies, c.Body)
		}
		h.violates("pull request %d has %d comments:\n%s\nwant:\n%s", p.Number, len(ours),
			strings.Join(bodies, "\n---\n"), want)
	}
	return state
}

func hashOfAll(parts ...any) uint64 {
	sum := fnv.New64a()
	fmt.Fprintln(sum, parts...)
	return sum.Sum64()
}

func repositoryOf() *v1alpha1.Repository {
	return &v1alpha1.Repository{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "infra", UID: "repository", ResourceVersion: "1",
			Generation: 1},
		Spec: v1alpha1.RepositorySpec{URL: "https://git.example.com/acme/infra.git",
			PullRequests: &v1alpha1.PullRequests{
				Provider: v1alpha1.GitProviderGitea, Interval: &metav1.Duration{Duration: 5 * time.Second},
				Drafts:    v1alpha1.DraftsSkip,
				MaxStacks: ptr.To(int32(50)), StatusContext: "cairn",
			}},
	}
}

// TestSeedsThatFailed checks histories that TestPullRequestHistories found with seeds that it does not run by default.
func TestSeedsThatFailed(t *testing.T) {
	for seed, what := range map[uint64]string{
		917300000297:    "the worse status of another pull request stayed once that one was closed",
		917300000419:    "a pull request that was to send again was not enqueued",
		917300000001461: "the same",
		930000000395:    "nothing checked again whether what a plan waits for exists",
		930000000466:    "the same, after a change of the model",
		917500000122:    "a Run that ended before the cache had it, which only the model allowed",
	} {
		if problem := newHistory(seed).live(); problem != "" {
			t.Errorf("seed %d (%s): %s", seed, what, problem)
		}
	}
}
