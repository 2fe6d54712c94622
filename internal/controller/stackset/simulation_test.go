package stackset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	ctrl "sigs.k8s.io/controller-runtime"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stackset/decision"
	"cairn.dev/cairn/internal/controller/stackset/render"
	"cairn.dev/cairn/internal/source/git"
)

var (
	histories = flag.Int("histories", 300, "number of random histories of TestStackSetHistories")
	seed      = flag.Uint64("seed", 1, "seed of the first history")
	trace     = flag.Bool("trace", false, "print the steps of each history")
)

const namespace, setName = "web", "platform"

// TestStackSetHistories runs the controller of StackSets in random histories of a set, its repository and its Stacks:
// in processes that are killed at any request, with requests and responses that are lost, and caches that are late. The
// API server, git and the controller of Stacks are models. Each write is checked when it arrives. After some steps
// nothing fails any longer: then the set must have the reason that its spec, commit and Stacks result in, with exactly
// these Stacks, and further reconciles must write nothing. The set has directories, a list, both, or a matrix of both,
// and users change which. In two of three histories it has Stacks in other namespaces, whose users grant that and
// withdraw it, and the author and the operator lose permissions there. In one of four histories there are two
// processes, as if one had not detected yet that it is no longer the leader; the limits of a rollout do not hold then.
func TestStackSetHistories(t *testing.T) {
	ended := map[string]int{}
	writes := map[string]int{}
	for i := range *histories {
		s := *seed + uint64(i)
		h := newHistory(t, s)
		if problem := h.live(); problem != "" {
			t.Fatalf("seed %d: %s\nreplay: go test ./internal/controller/stackset -run TestStackSetHistories "+
				"-histories 1 -seed %d -trace", s, problem, s)
		}
		ended[h.ended]++
		for what, n := range h.count {
			writes[what] += n
		}
	}
	t.Logf("ended: %v; writes: %v", ended, writes)
	if *histories >= 500 {
		for _, what := range []string{"create", "change", "suspend", "release", "delete", "of a move",
			"that keeps an ignored field",
			"create elsewhere", "change elsewhere", "suspend elsewhere"} {
			if writes[what] == 0 {
				t.Errorf("no history had the write %s", what)
			}
		}
	}
}

// history is one history: the models, and the processes of Cairn.
type history struct {
	rand      *rand.Rand
	now       time.Time
	api       *apiModel
	git       *gitModel
	processes []*process
	// quiet: nothing fails any longer.
	quiet bool
	// before is called before a request.
	before func(string)
	depth  int
	// meaning are the Stacks, by name and UID, that the digests stand for which the set reported.
	meaning map[string][]string
	// has are the templates that a Stack applied, by UID, and changing the one that the operator changed it to.
	has      map[types.UID]map[string]bool
	changing map[types.UID]string
	// suspended are the Stacks that were suspended for a listing, and joined those that users added to the set.
	suspended map[string]map[types.UID]bool
	joined    map[types.UID]bool
	problem   string
	ended     string
	count     map[string]int
	// usual are the generators that the set has at first.
	usual int
	// wide: the set has Stacks in other namespaces, in those that place has.
	wide  bool
	place place
}

func newHistory(t *testing.T, seed uint64) *history {
	t.Helper()
	before := atOnce
	atOnce = 1 // so that a history follows from its seed
	t.Cleanup(func() { atOnce = before })
	h := &history{
		rand: rand.New(rand.NewPCG(seed, 0)), now: time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC),
		meaning: map[string][]string{},
		has:     map[types.UID]map[string]bool{}, changing: map[types.UID]string{},
		suspended: map[string]map[types.UID]bool{},
		joined:    map[types.UID]bool{}, count: map[string]int{},
	}
	h.git, h.api = newGitModel(h), newAPIModel(h)
	for _, namespace := range others {
		h.api.setGrant(namespace, granted)
	}
	if seed%2 == 0 {
		h.usual = h.rand.IntN(4)
	}
	h.wide, h.place = seed%3 != 1, places[0]
	h.api.newSet()
	processes := 1
	if seed%4 == 0 {
		processes = 2
	}
	for range processes {
		p := &process{history: h}
		h.processes = append(h.processes, p)
		p.start()
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
		h.tracef("VIOLATION %s", h.problem)
	}
}

func (h *history) live() string {
	for range 100 + h.rand.IntN(150) {
		if h.act(); h.problem != "" {
			return h.problem
		}
	}
	h.tracef("nothing fails any longer")
	h.quiet = true
	h.end()
	for range 10 { // longer than the longest retry
		h.settle()
		h.now = h.now.Add(later + time.Second)
	}
	if h.check(); h.problem != "" {
		return h.problem
	}
	writes := h.api.version
	for _, p := range h.processes {
		p.enqueue(h.now)
	}
	if h.settle(); h.api.version != writes {
		h.violates("%d writes although nothing changed", h.api.version-writes)
	}
	return h.problem
}

// act does one of these: an action of a user, a step of a Stack, an event, a reconcile, or the end of a process.
func (h *history) act() {
	p := h.processes[h.rand.IntN(len(h.processes))]
	switch n := h.rand.IntN(100); {
	case n < 18:
		h.user()
	case n < 40:
		h.stackStep(false)
	case n < 42:
		h.tracef("!  a process is killed")
		p.start()
	case n < 55:
		h.now = h.now.Add(time.Duration(h.rand.IntN(3000)) * time.Millisecond)
	case n < 56:
		h.now = h.now.Add(later)
	case n < 58:
		p.relist()
	case n < 80:
		for range 1 + h.rand.IntN(5) {
			p.receive()
		}
	default:
		p.work()
	}
}

// others have others work while a process waits for the API server. It can be killed.
func (h *history) others() {
	if h.quiet || h.depth > 2 || h.rand.IntN(4) > 0 {
		return
	}
	h.depth++
	defer func() { h.depth-- }()
	for range 1 + h.rand.IntN(6) {
		h.act()
	}
}

// settle works until nothing is due soon, or nothing was written for longer than the longest retry.
func (h *history) settle() {
	version, since := h.api.version, h.now
	for range 5000 {
		if h.api.version != version {
			version, since = h.api.version, h.now
		}
		busy := h.stackStep(true)
		next := h.now.Add(time.Hour)
		for _, p := range h.processes {
			for p.receive() {
				busy = true
			}
			busy = p.work() || busy
			if p.due != nil && p.due.Before(next) {
				next = *p.due
			}
		}
		switch {
		case h.problem != "":
			return
		case busy:
		case next.Sub(h.now) < later && next.Sub(since) < 3*later:
			h.now = next
		default:
			return
		}
	}
	h.violates("it does not become idle")
}

// process is an operator. Its cache and its memory are lost when it is killed.
type process struct {
	*history
	reconciler *Reconciler
	// instance counts its starts: what an earlier one does is without effect.
	instance int
	stacks   map[string]*v1alpha1.Stack
	grants   map[string]grant
	set      *v1alpha1.StackSet
	// seen is how much of the log the cache has.
	seen int
	due  *time.Time
	busy bool
	// step is what the current reconcile has read and done, and confirmations the values of the annotation since it
	// began.
	step          step
	confirmations []string
	// granted are the grants that a namespace had since the reconcile began, or since it read them from the API server.
	granted map[string][]grant
}

type step struct {
	set    *v1alpha1.StackSet
	listed map[string]*v1alpha1.Stack
	// tree that was listed; unknown: a read failed.
	tree    string
	unknown bool
	// read is the tree that the mirrors had when the Stacks were read from the API server, and live these Stacks.
	read string
	live map[string]*v1alpha1.Stack
	// again is the tree that the mirrors had at last.
	again string
	// there are the Stacks of the set when the reconcile began.
	there map[types.UID]string
	// cached and grants are those that were read from the cache, and from the API server.
	cached, grants map[string]grant
}

// decided are the Stacks by which a suspension or a deletion was decided.
func (s step) decided() map[string]*v1alpha1.Stack {
	all := map[string]*v1alpha1.Stack{}
	maps.Copy(all, s.live)
	for name, stack := range s.listed {
		if all[name] == nil && (s.live == nil || !isOwn(stack)) {
			all[name] = stack
		}
	}
	return all
}

func (p *process) start() {
	p.instance++
	p.busy = false
	p.relist()
	mirrors := &mirrors{p, p.instance}
	p.reconciler = &Reconciler{
		Client: &kube{process: p, of: p.instance}, Live: &kube{process: p, of: p.instance, live: true},
		Mirrors: mirrors, Tree: mirrors.tree,
		Events: noEvents{}, Clock: func() time.Time { return p.now },
	}
	p.enqueue(p.now)
}

func (p *process) enqueue(at time.Time) {
	if p.due == nil || at.Before(*p.due) {
		p.due = &at
	}
}

// relist is a watch that broke: the events until now are lost, and their sum is received.
func (p *process) relist() {
	p.stacks, p.grants = maps.Clone(p.api.stacks), maps.Clone(p.api.grants)
	p.set, p.seen = p.api.set, len(p.api.log)
	p.enqueue(p.now.Add(soon))
}

// receive handles the next event of the watches.
func (p *process) receive() bool {
	if p.seen == len(p.api.log) {
		return false
	}
	e := p.api.log[p.seen]
	p.seen++
	if e.ofSet {
		before := p.set
		p.set = e.set
		if before == nil || e.set == nil || before.UID != e.set.UID || before.Generation != e.set.Generation ||
			!maps.Equal(before.Annotations, e.set.Annotations) {
			p.enqueue(p.now)
		}
		return true
	}
	if e.grant != nil {
		if p.grants[e.name] = *e.grant; p.set != nil && slices.Contains(p.set.Spec.Namespaces, e.name) {
			p.enqueue(p.now)
		}
		return true
	}
	for _, s := range []*v1alpha1.Stack{e.before, e.now} {
		if s != nil && isOwn(s) {
			p.enqueue(p.now.Add(soon))
		}
	}
	if e.now == nil {
		delete(p.stacks, e.name)
	} else {
		p.stacks[e.name] = e.now
	}
	return true
}

func (p *process) work() bool {
	if p.busy || p.due == nil || p.due.After(p.now) {
		return false
	}
	p.due, p.busy = nil, true
	p.confirmations = []string{p.api.confirmation()}
	p.step = step{set: p.set, tree: "none", there: map[types.UID]string{}}
	for key, s := range p.api.stacks {
		if isOwn(s) && s.DeletionTimestamp == nil {
			p.step.there[s.UID] = key
		}
	}
	p.granted = map[string][]grant{}
	for namespace, g := range p.api.grants {
		p.granted[namespace] = []grant{g}
	}
	of := p.instance
	p.tracef("process %d reconciles", slices.Index(p.processes, p))
	ctx := logr.NewContext(context.Background(), logr.Discard())
	result, err := p.reconciler.Reconcile(ctx,
		ctrl.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: setName}})
	if of != p.instance {
		return true
	}
	p.busy = false
	switch {
	case err != nil:
		p.tracef("      %v", err)
		p.enqueue(p.now.Add(time.Second))
	case result.RequeueAfter > 0:
		p.enqueue(p.now.Add(result.RequeueAfter))
	}
	return true
}

// wanted is what a set generates from a tree, by the name of the Stack that has it, and why that is not known.
func (h *history) wanted(set *v1alpha1.StackSet, tree string,
	there map[string]*v1alpha1.Stack) (map[string]decision.Rendered, string) {
	for _, m := range set.Spec.Moved {
		if from, to := namespaceOf(m.From), namespaceOf(m.To); from != to {
			return nil, v1alpha1.ReasonGeneratorsInvalid
		}
	}
	key := string(mustJSON(set.Spec.Generators)) + string(mustJSON(set.Spec.Template)) + fmt.Sprint(set.Spec.Namespaces)
	r := renderers[key]
	if r == nil {
		found, problem := render.New(set)
		if problem != nil {
			return nil, problem.Reason
		}
		r, renderers[key] = found, found
	}
	all, problem, err := r.Stacks(context.Background(), h.git.trees[tree], nil)
	must(err)
	if problem != nil {
		return nil, problem.Reason
	}
	moved := map[string]string{}
	for _, m := range set.Spec.Moved {
		moved[m.To] = m.From
	}
	names := map[string]decision.Rendered{}
	exists := func(key string) bool {
		s := there[key]
		return s != nil && (s.Namespace == namespace || isOwn(s))
	}
	for _, one := range all {
		key := keyIn(one.Namespace, one.Name)
		if from := moved[key]; exists(from) {
			if exists(key) {
				return nil, v1alpha1.ReasonNamesCollide
			}
			key = from
		}
		if _, taken := names[key]; taken {
			return nil, v1alpha1.ReasonNamesCollide
		}
		names[key] = one
	}
	return names, ""
}

// renderers by generators and template: compiling them for each history would take most of the time.
var renderers = map[string]*render.Renderer{}

// checkWrite checks what holds for each write of a Stack.
func (p *process) checkWrite(before *v1alpha1.Stack) {
	p.api.writes++
	switch {
	case p.step.unknown:
		p.violates("Stack %s is written although what the set generates is not known", before.Name)
	case p.step.set == nil:
		p.violates("Stack %s is written without a set", before.Name)
	case p.step.set.Spec.Mode == v1alpha1.StackSetPreview:
		p.violates("Stack %s is written in mode Preview", before.Name)
	case !isOwn(before):
		p.violates("Stack %s is written, which is not of the set", before.Name)
	case p.step.again != "" && p.step.again != p.step.tree:
		p.violates("Stack %s is written although the commit changed", before.Name)
	}
	if p.step.set != nil {
		if _, problem := p.wanted(p.step.set, p.step.tree, p.step.listed); problem != "" {
			p.violates("Stack %s is written in spite of %s", before.Name, problem)
		}
		p.checkNamespace(before)
	}
}

// checkApply checks an apply that the API server accepted.
func (p *process) checkApply(before, now *v1alpha1.Stack, manager, rendered string, suspends bool) {
	set := p.step.set
	what := "change"
	switch {
	case before == nil:
		what = "create"
		p.checkWrite(now)
	case manager == GoneManager && !suspends:
		what = "release"
		p.checkWrite(before)
	case manager == GoneManager:
		what = "suspend"
		p.checkWrite(before)
		p.checkSuspension(before)
	default:
		p.checkWrite(before)
	}
	p.history.record(what, now)
	if what != "change" || p.problem != "" {
		return
	}
	want, _ := p.wanted(set, p.step.tree, p.step.listed)
	p.checkFields(before, now, want[keyOf(now)])
	if now.Generation == before.Generation && isReady(now) {
		p.applied(now)
	}
	decided := p.step.listed[keyOf(now)] // one that was new then has no limits
	if now.Generation == before.Generation || decided == nil || decided.Status.AppliedInputsDigest == "" ||
		len(p.processes) > 1 {
		return
	}
	// The limits of a rollout.
	p.changing[now.UID] = rendered
	most, order := int32(10), []metav1.LabelSelector(nil)
	if r := set.Spec.Rollout; r != nil {
		most, order = *r.MaxConcurrent, r.Order
	}
	n := int32(0)
	for name, one := range want {
		if !mayWrite(set, p.step.cached, name) {
			continue
		}
		if s := p.api.stacks[name]; s != nil && isOwn(s) && s.DeletionTimestamp == nil && !s.Spec.Suspend &&
			p.changing[s.UID] == one.Digest {
			n++
		}
		s := p.step.listed[name]
		if s == nil || !isOwn(s) || s.Status.AppliedInputsDigest == "" || s.DeletionTimestamp != nil ||
			s.Spec.Suspend || p.joined[s.UID] {
			continue
		}
		if group(order, one.Labels) < group(order, now.Labels) && !p.has[s.UID][one.Digest] {
			p.violates("Stack %s is changed before %s of an earlier group has applied the template", now.Name, name)
		}
	}
	if n > most {
		p.violates("%d Stacks change at once, and maxConcurrent is %d", n, most)
	}
}

// checkFields checks that a change of a Stack keeps what users may change, and what would loosen its rules.
func (p *process) checkFields(before, now *v1alpha1.Stack, one decision.Rendered) {
	declared := declaredBy(one)
	for _, path := range p.step.set.Spec.Ignore {
		if fields[path](now) != fields[path](before) {
			p.violates("field %s of Stack %s is changed, which is ignored", path, now.Name)
		}
		if fields[path](now) != fields[path](declared) {
			p.history.count["that keeps an ignored field"]++
		}
	}
	if declared.Spec.DeletionPolicy == "" && now.Spec.DeletionPolicy != before.Spec.DeletionPolicy {
		p.violates("the deletionPolicy of Stack %s is changed, and the template has none", now.Name)
	}
	if keyIn(declared.Namespace, declared.Name) != keyOf(now) {
		p.history.count["of a move"]++
	}
}

// fields are those that histories change, by path.
var fields = map[string]func(*v1alpha1.Stack) any{
	"spec.suspend":        func(s *v1alpha1.Stack) any { return s.Spec.Suspend },
	"spec.workspace":      func(s *v1alpha1.Stack) any { return s.Spec.Workspace },
	"spec.deletionPolicy": func(s *v1alpha1.Stack) any { return s.Spec.DeletionPolicy },
	"spec.timeout": func(s *v1alpha1.Stack) any {
		if s.Spec.Timeout == nil {
			return nil
		}
		return *s.Spec.Timeout
	},
}

func declaredBy(one decision.Rendered) *v1alpha1.Stack {
	s := &v1alpha1.Stack{}
	must(json.Unmarshal(one.JSON, s))
	return s
}

func group(order []metav1.LabelSelector, of map[string]string) int {
	for i, s := range order {
		if s.MatchLabels[envLabel] == of[envLabel] {
			return i
		}
	}
	return len(order)
}

// limitOf is spec.maxDeletions of a number of Stacks.
func limitOf(set *v1alpha1.StackSet, present int) int {
	most := intstr.FromString("10%")
	if set.Spec.MaxDeletions != nil {
		most = *set.Spec.MaxDeletions
	}
	if most.Type == intstr.Int {
		return int(most.IntVal)
	}
	var percent int
	_, err := fmt.Sscanf(most.StrVal, "%d%%", &percent)
	must(err)
	if percent == 0 {
		return 0
	}
	return max(1, present*percent/100)
}

// checkSuspension checks that a listing suspends no more than spec.maxDeletions, and only what it does not have.
func (p *process) checkSuspension(s *v1alpha1.Stack) {
	set, stacks := p.step.set, p.step.decided()
	want, _ := p.wanted(set, p.step.tree, stacks)
	if _, ok := want[keyOf(s)]; ok {
		p.violates("Stack %s is suspended, and its directory exists", s.Name)
	}
	if s.DeletionTimestamp != nil {
		p.violates("Stack %s is suspended while it is deleted", s.Name)
	}
	listing := fmt.Sprint(p.step.tree, set.UID, set.Generation, p.step.grants)
	if p.suspended[listing] == nil {
		p.suspended[listing] = map[types.UID]bool{}
	}
	if !p.joined[s.UID] {
		p.suspended[listing][s.UID] = true
	}
	own, _, _ := withhold(set, want, stacks, p.step.grants)
	present := len(own)
	if n, most := len(p.suspended[listing]), limitOf(set, present); n > most {
		p.violates("%d Stacks are suspended for a listing, and spec.maxDeletions allows %d of %d", n, most, present)
	}
}

func identityOf(s *v1alpha1.Stack) string { return keyOf(s) + " " + string(s.UID) }

// checkDelete checks that a user confirmed the deletion of exactly the Stacks that are gone.
func (p *process) checkDelete(s *v1alpha1.Stack) {
	p.record("delete", s)
	p.checkWrite(s)
	if p.problem != "" {
		return
	}
	want, problem := p.wanted(p.step.set, p.step.tree, p.step.decided())
	if _, ok := want[keyOf(s)]; ok || problem != "" {
		p.violates("Stack %s is deleted, and its directory exists %s", s.Name, problem)
	}
	if p.step.read == "" {
		p.violates("Stack %s is deleted, and was not read from the API server", s.Name)
		return
	}
	if now, _ := p.wanted(p.step.set, p.step.read, p.step.decided()); now[keyOf(s)].Digest != "" {
		p.violates("Stack %s is deleted, and its directory was back before the Stacks were read", s.Name)
	}
	if p.step.set.Spec.Prune != v1alpha1.PruneDelete {
		p.violates("Stack %s is deleted with prune Keep", s.Name)
	}
	if p.api.set != nil && p.api.set.UID != p.step.set.UID {
		return // deleted and created again meanwhile, as a race
	}
	for _, digest := range p.confirmations {
		confirmed := p.meaning[digest]
		if digest == "" || !slices.Contains(confirmed, identityOf(s)) {
			continue
		}
		for uid, name := range p.step.there {
			now := p.api.stacks[name]
			_, wanted := want[name]
			if now != nil && now.UID == uid && now.DeletionTimestamp == nil && isOwn(now) && !wanted &&
				isCounted(p.step.set, now, p.step.grants) && !slices.Contains(confirmed, identityOf(now)) {
				p.violates("Stack %s is deleted, and %s was not on the list that a user confirmed", s.Name, name)
			}
		}
		return
	}
	p.violates("Stack %s is deleted, and no user confirmed it: %q", identityOf(s), p.confirmations)
}

// checkReport records what a reported digest stands for.
func (p *process) checkReport(next *v1alpha1.StackSet) {
	if d := next.Status.Deletions; d == nil ||
		(p.step.set.Status.Deletions != nil && p.step.set.Status.Deletions.Digest == d.Digest) {
		return
	}
	want, problem := p.wanted(p.step.set, p.step.tree, p.step.listed)
	if problem != "" {
		return
	}
	var all []string
	for key, s := range p.step.listed {
		_, ok := want[key]
		if !ok && isOwn(s) && s.DeletionTimestamp == nil && isCounted(p.step.set, s, p.step.cached) {
			all = append(all, identityOf(s))
		}
	}
	slices.Sort(all)
	if before := p.meaning[next.Status.Deletions.Digest]; before != nil && !slices.Equal(before, all) {
		p.violates("digest %s stands for %v and %v", next.Status.Deletions.Digest, before, all)
	}
	p.meaning[next.Status.Deletions.Digest] = all
}

// gitModel is a git server and the mirrors of the processes.
type gitModel struct {
	*history
	// trees are the files by ID of the tree; pushed is the one of the branch, and fetched the one of the mirrors.
	trees           map[string][]string
	pushed, fetched string
	before          string
	trouble         error
	treeTrouble     error
}

func newGitModel(h *history) *gitModel {
	g := &gitModel{history: h, trees: map[string][]string{"none": nil}}
	var all []string
	for _, d := range directories() {
		if h.rand.IntN(2) == 0 {
			all = append(all, d)
		}
	}
	g.push(append(all, "dev/a", "prod/a"))
	g.fetched = g.pushed
	return g
}

func directories() (all []string) {
	for _, env := range []string{"dev", "prod"} {
		for _, name := range []string{"a", "b", "c", "d", "e", "f"} {
			all = append(all, env+"/"+name)
		}
	}
	return all
}

func (g *gitModel) push(of []string) {
	of = slices.Compact(slices.Sorted(slices.Values(of)))
	files := []string{}
	for _, d := range of {
		files = append(files, d+"/main.tf")
	}
	g.pushed = fmt.Sprintf("%040x", len(g.trees))
	g.trees[g.pushed] = files
}

func (g *gitModel) has() (all []string) {
	for _, f := range g.trees[g.pushed] {
		all = append(all, strings.TrimSuffix(f, "/main.tf"))
	}
	return all
}

func (g *gitModel) fetch() {
	g.fetched = g.pushed
	for _, p := range g.processes {
		p.enqueue(p.now)
	}
}

// mirrors are those of an instance of a process.
type mirrors struct {
	*process
	of int
}

func (m *mirrors) Commit(context.Context, types.UID, string) (*git.Mirror, git.Commit, error) {
	if m.of != m.instance {
		return nil, git.Commit{}, errLost
	}
	if m.git.trouble != nil {
		m.step.unknown = true
		return nil, git.Commit{}, m.git.trouble
	}
	if m.step.again = m.git.fetched; m.step.tree == "none" {
		m.step.tree = m.git.fetched
	}
	return nil, git.Commit{ID: m.git.fetched, Tree: m.git.fetched, Ref: "main"}, nil
}

func (m *mirrors) tree(_ context.Context, _ *git.Mirror, id string) (*git.Tree, error) {
	if m.git.treeTrouble != nil {
		m.step.unknown = true
		return nil, m.git.treeTrouble
	}
	var listing strings.Builder
	listed := map[string]bool{}
	for _, f := range m.git.trees[id] {
		for _, d := range []string{path.Dir(path.Dir(f)), path.Dir(f)} {
			if !listed[d] {
				fmt.Fprintf(&listing, "040000 tree %040x\t%s\x00", 1, d)
			}
			listed[d] = true
		}
		fmt.Fprintf(&listing, "100644 blob %040x\t%s\x00", 1, f)
	}
	return git.ParseTree(id, []byte(listing.String()))
}

var errGit = errors.New("git failed")

// push changes what the repository has.
func (h *history) push() {
	all := h.git.has()
	pick := func() int { return h.rand.IntN(len(all)) }
	d := directories()[h.rand.IntN(len(directories()))]
	switch n := h.rand.IntN(12); {
	case n < 4 || len(all) == 0:
		all = append(all, d)
	case n < 8:
		i := pick()
		all = slices.Delete(all, i, i+1)
	case n < 9: // a rename
		i := pick()
		from, to := h.place.keyOf(all[i]), h.place.keyOf(d)
		all[i] = d
		if h.rand.IntN(2) == 0 && from != to {
			h.api.changeSet(func(s *v1alpha1.StackSet) { s.Spec.Moved = []v1alpha1.StackSetMove{{From: from, To: to}} })
		}
	case n < 10: // half a tree
		h.git.before = h.git.pushed
		h.rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		all = all[:len(all)/2]
	case n < 11 && h.git.before != "":
		h.git.pushed = h.git.before
		all = h.git.has()
	case n == 11 && h.rand.IntN(3) == 0:
		all = nil
	}
	h.git.push(all)
	h.tracef("push %s: %v", h.git.pushed[36:], all)
}

// user does an action of a user.
func (h *history) user() {
	if h.api.set == nil && h.rand.IntN(4) == 0 {
		h.tracef("the set is created again")
		h.api.newSet()
		return
	}
	if h.wide && h.rand.IntN(5) == 0 {
		h.elsewhere()
		return
	}
	switch n := h.rand.IntN(40); {
	case n < 7:
		h.push()
		if h.rand.IntN(2) == 0 {
			h.git.fetch()
		}
	case n < 10:
		h.tracef("fetch")
		h.git.fetch()
	case n < 12:
		h.git.trouble = []error{nil, errGit, repository.ErrNotFetched, git.ErrNoRef}[h.rand.IntN(4)]
		h.git.treeTrouble = []error{nil, nil, errGit}[h.rand.IntN(3)]
		h.tracef("git: %v, %v", h.git.trouble, h.git.treeTrouble)
	case n < 15:
		h.git.trouble, h.git.treeTrouble = nil, nil
	case n < 23:
		h.changeSpec()
	case n < 28:
		h.confirm()
	case n < 29:
		if h.api.set != nil {
			h.tracef("the set is deleted")
			h.api.putSet(nil)
		}
	default:
		h.changeStack()
	}
}

// templateOf is a template with a workspace. By its last character it has a timeout and a deletionPolicy or not.
func templateOf(name, workspace string) v1alpha1.StackSetTemplate {
	more := ""
	switch workspace[len(workspace)-1] {
	case '1':
		more = `,"timeout":"1h0m0s","deletionPolicy":"Protect"`
	case '2': // neither
	default:
		more = `,"timeout":"1h0m0s"`
	}
	return v1alpha1.StackSetTemplate{
		Metadata: v1alpha1.StackSetMetadata{Name: name, Labels: map[string]string{envLabel: "${params.env}"}},
		Spec: apiextensionsv1.JSON{Raw: fmt.Appendf(nil,
			`{"source":{"git":{"repository":{"name":"infra"},"path":"${directory}"}},"workspace":"%s"%s}`,
			workspace, more)},
	}
}

// envLabel has the environment, from the name of a directory.
const envLabel = "directory.cairn.dev/env"

// plain is the name that the templates have usually, and plainOf the one for the generators of a set.
const plain = "${params.env}-${params.name}"

func plainOf(s *v1alpha1.StackSetSpec) string {
	if s.Generators[0].Matrix != nil {
		return plain + "-${params.size}"
	}
	return plain
}

func listOf(entries ...string) (items v1alpha1.StackSetItems) {
	for _, e := range entries {
		items.List = append(items.List, apiextensionsv1.JSON{Raw: []byte(e)})
	}
	return items
}

// generate gives a set one of the generators, with the name that their items need.
func (h *history) generate(s *v1alpha1.StackSetSpec, kind int) {
	directories := v1alpha1.StackSetItems{Directories: &v1alpha1.StackSetDirectories{Include: []string{"{env}/{name}"}}}
	entries := []string{`{"env":"dev","name":"e"}`, `{"env":"prod","name":"x"}`, `{"env":"dev","name":"y"}`,
		`{"env":"prod","name":"z"}`}
	half := entries[:1+h.rand.IntN(len(entries))]
	s.Repository = &v1alpha1.RepositoryRef{Name: "infra"}
	switch kind {
	case 0:
		s.Generators = []v1alpha1.StackSetGenerator{{StackSetItems: directories}}
	case 1: // both have dev-e
		s.Generators = []v1alpha1.StackSetGenerator{{StackSetItems: directories},
			{StackSetItems: listOf(half[min(1, len(half)-1):]...)}}
	case 2:
		directories.Directories.Exclude = []string{"prod/*"}
		sizes := []string{`{"size":"s"}`, `{"size":"l"}`}
		s.Generators = []v1alpha1.StackSetGenerator{
			{Matrix: []v1alpha1.StackSetItems{directories, listOf(sizes[:1+h.rand.IntN(2)]...)}}}
	default:
		s.Repository = nil
		s.Generators = []v1alpha1.StackSetGenerator{{StackSetItems: listOf(half...)}}
	}
}

func (a *apiModel) newSet() {
	a.version++
	set := &v1alpha1.StackSet{}
	set.Namespace, set.Name, set.UID, set.Generation = namespace, setName, types.UID(
		fmt.Sprintf("set-%d", a.version)), 1
	set.Spec = v1alpha1.StackSetSpec{Mode: v1alpha1.StackSetCreate}
	a.generate(&set.Spec, a.usual)
	set.Spec.Template = templateOf(plainOf(&set.Spec), "w0")
	if a.rand.IntN(2) == 0 {
		set.Spec.Prune = v1alpha1.PruneDelete
	}
	if a.rand.IntN(3) == 0 {
		set.Spec.MaxDeletions = new(intstr.FromString("100%"))
	}
	if a.wide {
		a.place, set.Spec.Namespaces = places[a.rand.IntN(len(places))], slices.Clone(others)
		set.Spec.Template.Metadata.Namespace = a.place.expression
	}
	a.putSet(set)
}

func (h *history) changeSpec() {
	h.api.changeSet(func(set *v1alpha1.StackSet) {
		s := &set.Spec
		if h.wide && h.rand.IntN(5) == 0 {
			h.changeNamespaces(s)
			return
		}
		switch n := h.rand.IntN(25); {
		case n < 6:
			s.Template = templateOf(plainOf(s), fmt.Sprintf("w%d", h.rand.IntN(4)))
		case n == 6:
			s.Template = templateOf(plainOf(s), "${params.nothing}")
		case n == 7:
			s.Template = templateOf(plainOf(s), "${directory")
		case n == 8:
			s.Template = templateOf("${params.env}", "w0")
		case n == 9 && h.wide && h.rand.IntN(2) == 0: // one name in two namespaces, or twice in one
			s.Template = templateOf(strings.Replace(plainOf(s), "${params.env}-", "", 1), "w0")
		case n == 9:
			s.Template = templateOf(plainOf(s)+"-x", "w0")
		case n < 12:
			s.Prune = []v1alpha1.StackSetPrune{v1alpha1.PruneKeep, v1alpha1.PruneDelete,
				v1alpha1.PruneDelete}[h.rand.IntN(3)]
		case n < 14:
			s.MaxDeletions = []*intstr.IntOrString{nil, new(intstr.FromInt32(0)), new(intstr.FromInt32(2)),
				new(intstr.FromString("50%")), new(intstr.FromString("100%"))}[h.rand.IntN(5)]
		case n == 14:
			s.Mode = v1alpha1.StackSetPreview
		case n < 17:
			s.Mode = v1alpha1.StackSetCreate
		case n < 19:
			s.Rollout = &v1alpha1.StackSetRollout{MaxConcurrent: new(int32(1 + h.rand.IntN(3))),
				PauseAfterFailures: new(int32(1 + h.rand.IntN(3)))}
			if h.rand.IntN(2) == 0 {
				s.Rollout.Order = []metav1.LabelSelector{{MatchLabels: map[string]string{envLabel: "dev"}},
					{MatchLabels: map[string]string{envLabel: "prod"}}}
			}
		case n < 21:
			s.Ignore = [][]string{nil, {"spec.suspend"}, {"spec.timeout"}, {"spec.timeout", "spec.workspace"},
				{"spec.deletionPolicy"}}[h.rand.IntN(5)]
		case n < 23: // also half a list
			h.generate(s, h.usual)
		case n < 24:
			h.changeGenerators(s)
		default:
			s.Moved = nil
			if from, to := h.anyName(), h.anyName(); h.rand.IntN(3) > 0 {
				s.Moved = []v1alpha1.StackSetMove{{From: from, To: to}, {From: h.anyName(), To: from}}
			}
		}
		s.Template.Metadata.Namespace = h.place.expression
		h.tracef("spec: %s %s %s %s, prune %s, maxDeletions %v, %+v, moved %v, ignore %v", s.Mode,
			mustJSON(s.Generators), s.Template.Metadata.Name,
			s.Template.Spec.Raw, s.Prune, s.MaxDeletions, s.Rollout, s.Moved, s.Ignore)
	})
}

// changeGenerators changes the generators and, if that changes the names, moves the Stacks in one of two cases.
func (h *history) changeGenerators(s *v1alpha1.StackSetSpec) {
	before := plainOf(s)
	if h.generate(s, h.rand.IntN(4)); plainOf(s) == before {
		return
	}
	s.Template = templateOf(plainOf(s), "w0")
	s.Moved = nil
	if h.rand.IntN(2) == 0 {
		return
	}
	for _, d := range directories() {
		from, to := h.place.keyOf(d), h.place.keyOf(d)+"-s"
		if before != plain {
			from, to = to, from
		}
		s.Moved = append(s.Moved, v1alpha1.StackSetMove{From: from, To: to})
	}
}

// anyName is the key of a Stack that exists or can.
func (h *history) anyName() string {
	all := slices.Sorted(maps.Keys(h.api.stacks))
	if len(all) > 0 && h.rand.IntN(2) == 0 {
		return all[h.rand.IntN(len(all))]
	}
	d := directories()
	return h.place.keyOf(d[h.rand.IntN(len(d))])
}

// confirm is a confirmation of the current digest, of another, or of none.
func (h *history) confirm() {
	h.api.changeSet(func(s *v1alpha1.StackSet) {
		digest := ""
		switch n := h.rand.IntN(10); {
		case n < 8 && s.Status.Deletions != nil:
			digest = s.Status.Deletions.Digest
		case n < 8 && len(h.meaning) > 0:
			all := slices.Sorted(maps.Keys(h.meaning))
			digest = all[h.rand.IntN(len(all))]
		case n == 8:
			digest = fmt.Sprintf("%040x", h.rand.Uint64())
		}
		h.tracef("a user confirms %q", digest)
		s.Annotations = map[string]string{v1alpha1.ConfirmDeletionsAnnotation: digest}
	})
}

// changeStack is what users do with Stacks.
func (h *history) changeStack() {
	name := h.anyName()
	there := h.api.stacks[name]
	label := func(value string) func(*v1alpha1.Stack) {
		return func(s *v1alpha1.Stack) {
			s.Labels = map[string]string{v1alpha1.StackSetLabel: value, envLabel: s.Labels[envLabel]}
			if s.Namespace != namespace {
				s.Labels[v1alpha1.StackSetNamespaceLabel] = namespace
			}
		}
	}
	what := h.rand.IntN(15)
	h.tracef("a user does %d with Stack %s", what, name)
	if there == nil {
		if what < 3 {
			of := []string{"", "other", setName}[what]
			h.api.edit(name, func(s *v1alpha1.Stack) {
				label(of)(s)
				s.Spec.Source.Inline = map[string]string{"main.tf": ""}
			})
			h.joined[h.api.stacks[name].UID] = true
		}
		return
	}
	if what >= 6 && what != 10 && what != 11 { // its fields differ: it is outdated, and does not change for the rollout
		delete(h.changing, there.UID)
	}
	switch what {
	case 0, 1:
		must(h.api.remove(name, nil, nil))
	case 2:
		if there.DeletionTimestamp == nil { // created again, as it was
			h.api.put(name, nil)
			h.api.edit(name, func(s *v1alpha1.Stack) {
				s.Labels, s.Annotations, s.Spec = there.Labels, there.Annotations, there.Spec
			})
			h.joined[h.api.stacks[name].UID] = true
		}
	case 3:
		h.api.edit(name, label([]string{"", "other"}[h.rand.IntN(2)]))
	case 4, 5:
		h.api.edit(name, label(setName))
		if !isOwn(there) {
			h.joined[there.UID] = true
		}
	case 6, 7:
		h.api.edit(name, func(s *v1alpha1.Stack) { s.Spec.Suspend = !s.Spec.Suspend })
	case 8:
		h.api.edit(name, func(s *v1alpha1.Stack) { s.Spec.Timeout = &metav1.Duration{Duration: 2 * time.Hour} })
	case 9:
		h.api.edit(name, func(s *v1alpha1.Stack) { s.Spec.Workspace = "mine" })
	case 12:
		h.api.edit(name, func(s *v1alpha1.Stack) { s.Spec.DeletionPolicy = v1alpha1.DeletionOrphan })
	case 13:
		h.api.edit(name, func(s *v1alpha1.Stack) { s.Spec.Timeout = nil })
	case 14:
		h.api.edit(name, func(s *v1alpha1.Stack) {
			s.Labels = maps.Clone(s.Labels)
			delete(s.Labels, envLabel)
		})
	case 10:
		h.api.invalid[name] = !h.api.invalid[name]
	case 11:
		h.api.edit(name, func(s *v1alpha1.Stack) {
			s.Annotations = maps.Clone(s.Annotations)
			if s.Annotations[v1alpha1.ItemGoneAnnotation] != "" {
				delete(s.Annotations, v1alpha1.ItemGoneAnnotation)
				h.joined[s.UID] = true
			} else if s.Annotations != nil {
				s.Annotations[v1alpha1.ItemGoneAnnotation] = "copied"
			}
		})
	}
}

// stackStep is a step of the controller of Stacks; all of them: each Stack to its end.
func (h *history) stackStep(all bool) (busy bool) {
	names := slices.Sorted(maps.Keys(h.api.stacks))
	if len(names) == 0 {
		return false
	}
	if !all {
		names = []string{names[h.rand.IntN(len(names))]}
	}
	for _, name := range names {
		s := h.api.stacks[name].DeepCopy()
		ready := apimeta.FindStatusCondition(s.Status.Conditions, v1alpha1.ConditionReady)
		reason, status := "Planning", metav1.ConditionUnknown
		switch {
		case h.quiet && s.Spec.Suspend && s.Annotations[v1alpha1.ItemGoneAnnotation] == "":
			h.api.edit(name, func(s *v1alpha1.Stack) { s.Spec.Suspend = false })
			busy = true
			continue
		case s.DeletionTimestamp != nil && !s.Spec.Suspend:
			s.Finalizers = nil // destroyed
			h.api.put(name, s)
			busy = true
			continue
		case s.Spec.Suspend:
			reason, status = v1alpha1.ReasonSuspended, metav1.ConditionFalse
		case s.Status.ObservedGeneration == s.Generation && ready != nil && (all || h.rand.IntN(3) > 0):
			reason, status = "Applied", metav1.ConditionTrue
		case s.Status.ObservedGeneration == s.Generation && ready != nil && ready.Status == metav1.ConditionUnknown:
			reason, status = []string{v1alpha1.ReasonRunFailed,
				v1alpha1.ReasonAwaitingApproval}[h.rand.IntN(2)], metav1.ConditionFalse
		}
		if status == metav1.ConditionUnknown {
			s.Status.InputsDigest = fmt.Sprintf("sha256:%d", s.Generation)
		}
		if status == metav1.ConditionTrue {
			s.Status.AppliedInputsDigest = s.Status.InputsDigest
			s.Finalizers = []string{v1alpha1.Finalizer}
			h.applied(s)
		}
		if status == metav1.ConditionTrue || s.Spec.Suspend {
			delete(h.changing, s.UID)
		}
		if s.Status.ObservedGeneration == s.Generation && ready != nil && ready.Reason == reason {
			continue
		}
		s.Status.ObservedGeneration = s.Generation
		apimeta.SetStatusCondition(&s.Status.Conditions, metav1.Condition{
			Type: v1alpha1.ConditionReady, Status: status, Reason: reason, ObservedGeneration: s.Generation,
			LastTransitionTime: metav1.Time{Time: h.now},
		})
		h.tracef("Stack %s is %s", name, reason)
		h.api.put(name, s)
		busy = true
	}
	return busy
}

// applied records that a Stack has applied its template.
func (h *history) applied(s *v1alpha1.Stack) {
	if h.has[s.UID] == nil {
		h.has[s.UID] = map[string]bool{}
	}
	h.has[s.UID][s.Annotations[v1alpha1.RenderedAnnotation]] = true
}

func isReady(s *v1alpha1.Stack) bool {
	return s.Status.ObservedGeneration == s.Generation && apimeta.IsStatusConditionTrue(s.Status.Conditions,
		v1alpha1.ConditionReady)
}

// end has users correct everything that they can, in most histories.
func (h *history) end() {
	h.git.trouble, h.git.treeTrouble = nil, nil
	h.api.invalid, h.api.forbidden, h.api.denied = map[string]bool{}, map[string]bool{}, map[string]bool{}
	if h.api.set == nil {
		h.api.newSet()
	}
	if h.rand.IntN(4) > 0 {
		h.api.changeSet(func(s *v1alpha1.StackSet) {
			s.Spec.Mode, s.Spec.MaxDeletions, s.Spec.Moved = v1alpha1.StackSetCreate, new(
				intstr.FromString("100%")), nil
			s.Spec.Template = templateOf(plainOf(&s.Spec), "w9")
			if s.Spec.Template.Metadata.Namespace = h.place.expression; h.wide {
				s.Spec.Namespaces = slices.Clone(others)
			}
		})
		for _, namespace := range others {
			h.api.setGrant(namespace, granted)
		}
		for _, name := range slices.Sorted(maps.Keys(h.api.stacks)) {
			left := namespaceOf(name) != namespace && h.rand.IntN(2) == 0 // there it stops only itself
			if !isOwn(h.api.stacks[name]) && !left {
				must(h.api.remove(name, nil, nil))
			}
		}
		h.git.push(append(h.git.has(), "dev/a"))
	}
	h.git.fetch()
}

// check checks the condition of the set and its Stacks in the end.
func (h *history) check() {
	set := h.api.set
	c := apimeta.FindStatusCondition(set.Status.Conditions, v1alpha1.ConditionReady)
	if c == nil || c.ObservedGeneration != set.Generation {
		h.violates("the set has no condition: %+v", c)
		return
	}
	h.ended = c.Reason
	want, reason := h.wanted(set, h.git.fetched, h.api.stacks)
	own, want, not := withhold(set, want, h.api.stacks, h.api.grants)
	var gone, fresh, present int
	for key, s := range h.api.stacks {
		_, wanted := want[key]
		switch {
		case own[key] == nil && wanted && reason == "":
			reason = v1alpha1.ReasonStackNotOwned
		case own[key] == nil:
			continue
		case !wanted && s.Annotations[v1alpha1.ItemGoneAnnotation] == "":
			fresh++
		case !wanted:
			gone++
			continue
		}
		if own[key] != nil {
			present++
		}
	}
	switch {
	case reason != "":
	case len(want) == 0 && not.generated:
		reason = not.reason
	case len(want) == 0:
		reason = v1alpha1.ReasonNothingGenerated
	case set.Spec.Mode == v1alpha1.StackSetPreview:
		reason = v1alpha1.ReasonPreviewed
	case fresh > limitOf(set, present):
		reason = v1alpha1.ReasonTooManyGone
	default:
		reason = cmp.Or(not.reason, v1alpha1.ReasonComplete)
		if gone > 0 && set.Spec.Prune == v1alpha1.PruneDelete {
			reason = v1alpha1.ReasonAwaitingDeletionConfirmation
		}
		h.checkComplete(want, own)
	}
	if c.Reason != reason {
		h.violates("the set is %s (%s), and should be %s", c.Reason, c.Message, reason)
	}
}

// checkComplete checks that exactly what is wanted exists, with the template applied, and that the rest is suspended.
func (h *history) checkComplete(want map[string]decision.Rendered, own map[string]*v1alpha1.Stack) {
	for name, one := range want {
		s := h.api.stacks[name]
		switch {
		case s == nil:
			h.violates("Stack %s does not exist", name)
		case s.Annotations[v1alpha1.RenderedAnnotation] != one.Digest || !h.has[s.UID][one.Digest]:
			h.violates("Stack %s has not applied the template", name)
		case s.Annotations[v1alpha1.ItemGoneAnnotation] != "" || s.Spec.Suspend || s.DeletionTimestamp != nil:
			h.violates("Stack %s is suspended or deleted, and its directory exists", name)
		}
		if h.problem == "" {
			h.checkRestored(s, declaredBy(one))
		}
	}
	for name, s := range own {
		_, ok := want[name] // users can resume a Stack that is gone
		if !ok && s.Annotations[v1alpha1.ItemGoneAnnotation] == "" {
			h.violates("Stack %s is gone, and not suspended", name)
		}
	}
}

// checkRestored checks that a Stack has what the template declares, except what users may change, and nothing that an
// earlier template declared.
func (h *history) checkRestored(s, declared *v1alpha1.Stack) {
	for path, field := range fields {
		switch value := field(declared); {
		case slices.Contains(h.api.set.Spec.Ignore, path), path == "spec.suspend":
		case !reflect.ValueOf(value).IsValid(), reflect.ValueOf(value).IsZero():
			if isOurs(s, path) && !slices.Contains(rules, path) {
				h.violates("the set still has field %s of Stack %s", path, s.Name)
			}
		case field(s) != value:
			h.violates("field %s of Stack %s is not restored: %v", path, s.Name, field(s))
		}
	}
	for name, value := range declared.Labels {
		if s.Labels[name] != value {
			h.violates("label %s of Stack %s is not restored", name, s.Name)
		}
	}
}
