package pipeline

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/pipeline/decision"
	"cairn.dev/cairn/internal/lifecycle/promotion"
	"cairn.dev/cairn/internal/source/git"
)

// history is a repository in memory: the content of each Stack at each commit. Commits are c0, c1, ...
type history struct {
	contents []map[string]int
}

func (h *history) at(commit, stack string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(commit, "c"))
	return h.contents[n][stack]
}

func (h *history) head() string { return fmt.Sprintf("c%d", len(h.contents)-1) }

func (h *history) Head(context.Context, *v1alpha1.Repository, string) (git.Commit, error) {
	return git.Commit{ID: h.head()}, nil
}

func (h *history) SameCode(
	_ context.Context, _ *v1alpha1.Repository, stack *v1alpha1.Stack, one, other string,
) (bool, error) {
	return h.at(one, stack.Name) == h.at(other, stack.Name), nil
}

// simStack is a Stack as the API server has it, and what happened to it.
type simStack struct {
	versions []*v1alpha1.Stack // the last one is current
	// applied is the content that is applied, and run that of the Run in progress; -1 for none.
	applied, run int
	runDigest    string
	// reached is whether it has had the content of the release of its stage since the stage has that, and verified
	// whether it has had that without drift.
	reached, verified bool
}

func (s *simStack) now() *v1alpha1.Stack { return s.versions[len(s.versions)-1] }

func (s *simStack) write(f func(*v1alpha1.StackStatus)) {
	next := s.now().DeepCopy()
	f(&next.Status)
	s.versions = append(s.versions, next)
}

type sim struct {
	*testing.T
	*rand.Rand
	*history
	clock  time.Time
	repo   *v1alpha1.Repository
	pipes  []*v1alpha1.Pipeline // versions; the last one is current
	stacks map[string][]*simStack
	names  []string
	log    []string
	given  int
}

func newSim(t *testing.T, seed uint64) *sim {
	s := &sim{
		T: t, Rand: rand.New(rand.NewPCG(seed, 1)), history: &history{}, stacks: map[string][]*simStack{},
		clock: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC), names: []string{"dev", "staging", "production"},
		repo: &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "infra"}},
	}
	p := &v1alpha1.Pipeline{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "shop", UID: "p", Generation: 1}}
	p.Spec.Repository.Name = "infra"
	p.Spec.Releases = []v1alpha1.ReleasePolicy{v1alpha1.ReleasesLatest, v1alpha1.ReleasesEvery}[s.IntN(2)]
	first := map[string]int{}
	for _, name := range s.names {
		stage := v1alpha1.PipelineStage{Name: name, Promote: v1alpha1.PromoteAutomatic}
		stage.Stacks.MatchLabels = map[string]string{"env": name}
		if s.IntN(3) == 0 {
			stage.Soak = &metav1.Duration{Duration: time.Minute}
		}
		if s.IntN(2) == 0 {
			stage.Verify = &v1alpha1.StageVerification{Drift: &v1alpha1.DriftVerification{}}
		}
		p.Spec.Stages = append(p.Spec.Stages, stage)
		for i := range 3 {
			stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: fmt.Sprintf("%s-%d", name, i), Labels: map[string]string{"env": name},
				Generation: 1,
			}}
			stack.Spec.Source.Git = &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: "infra"}}
			s.stacks[name] = append(s.stacks[name], &simStack{versions: []*v1alpha1.Stack{stack}, applied: -1, run: -1})
			first[stack.Name] = 0
		}
	}
	s.contents, s.pipes = []map[string]int{first}, []*v1alpha1.Pipeline{p}
	return s
}

// cached is a version of an object that a cache may have.
func cached[O any](s *sim, versions []O) O {
	return versions[max(0, len(versions)-1-s.IntN(min(4, len(versions)))*s.IntN(2))]
}

func (s *sim) pipe() *v1alpha1.Pipeline { return s.pipes[len(s.pipes)-1] }

// push is a commit that changes some Stacks, or none.
func (s *sim) push() {
	next := map[string]int{}
	for name, content := range s.contents[len(s.contents)-1] {
		next[name] = content
		if s.IntN(4) == 0 {
			next[name]++
		}
	}
	s.contents = append(s.contents, next)
}

// reconcilePipeline decides on caches, and may be killed before the write, which fails if the Pipeline was old.
func (s *sim) reconcilePipeline(killed bool) {
	known := cached(s, s.pipes)
	w := decision.Snapshot{Now: s.clock, Pipeline: known, Stages: map[string][]decision.Stack{}}
	changed, newest := 0, ""
	if len(known.Status.Releases) > 0 {
		newest = known.Status.Releases[0].Commit
	}
	for _, stage := range s.names {
		for _, one := range s.stacks[stage] {
			of := origin{s.history, s.repo, cached(s, one.versions)}
			if same, _ := of.same(s.Context(), newest, s.head()); !same {
				changed++
			}
			facts, err := of.factsIn(s.Context(), known, stage)
			if err != nil {
				s.Fatal(err)
			}
			w.Stages[stage] = append(w.Stages[stage], facts)
		}
	}
	if changed > 0 {
		w.Head = &decision.Head{Commit: s.head(), Stacks: changed}
	}
	d := decision.Decide(w)
	if killed || known != s.pipe() || equality.Semantic.DeepEqual(known.Status, d.Status) {
		return
	}
	next := known.DeepCopy()
	next.Status = d.Status
	s.pipes = append(s.pipes, next)
	for _, given := range d.Promoted {
		s.check(given)
	}
}

// check fails if a stage gets a release that the stage before did not reach, and begins to follow what it does with it.
func (s *sim) check(given decision.Promotion) {
	s.given++
	s.log = append(s.log, given.Stage+" has "+given.Commit)
	for i, name := range s.names {
		if name != given.Stage {
			continue
		}
		if i > 0 && given.By == "" {
			before := s.pipe().Stage(s.names[i-1])
			release, _ := s.pipe().Release(given.Commit)
			if in := release.In(before.Name); in == nil || in.CompletedAt == nil {
				s.Fatalf("%s has %s, which %s has not completed", name, given.Commit, before.Name)
			}
			for _, one := range s.stacks[before.Name] {
				if before.Release == given.Commit && !one.reached {
					s.Fatalf("%s has %s, and Stack %s never applied it\n%s",
						name, given.Commit, one.now().Name, strings.Join(s.log, "\n"))
				}
				if before.Release == given.Commit && s.pipe().Spec.Stages[i-1].Verify != nil && !one.verified {
					s.Fatalf("%s has %s, and Stack %s was never without drift\n%s",
						name, given.Commit, one.now().Name, strings.Join(s.log, "\n"))
				}
			}
		}
		for _, one := range s.stacks[name] {
			one.reached = one.applied == s.at(given.Commit, one.now().Name)
			one.verified = one.reached && isChecked(one)
		}
	}
}

// reconcileStack has a Stack read its release from the cache, and start a Run after it compared that with the API
// server.
func (s *sim) reconcileStack(stage string, one *simStack, killed bool) {
	found, err := promotion.Of(one.now(), []v1alpha1.Pipeline{*cached(s, s.pipes)})
	if err != nil {
		s.Fatal(err)
	}
	if found == nil || found.Commit == "" {
		return
	}
	content := s.at(found.Commit, one.now().Name)
	digest := fmt.Sprintf("%s@%d", one.now().Name, content)
	if killed {
		return
	}
	one.write(func(st *v1alpha1.StackStatus) { st.Release, st.InputsDigest, st.ObservedGeneration = found, digest, 1 })
	if one.run >= 0 || one.now().Status.AppliedInputsDigest == digest {
		return
	}
	live, _ := promotion.Of(one.now(), []v1alpha1.Pipeline{*s.pipe()})
	if *live != *found {
		return
	}
	if has := s.pipe().Stage(stage).Release; has != found.Commit {
		s.Fatalf("a Run of Stack %s has %s, and its stage has %s", one.now().Name, found.Commit, has)
	}
	one.run, one.runDigest = content, digest
	one.write(func(st *v1alpha1.StackStatus) {
		st.CurrentRun, st.ReservedRun = "run", &v1alpha1.ReservedRun{Name: "run", Operation: v1alpha1.OperationApply}
	})
}

// isChecked reports whether the status of a Stack has a check without drift since its last apply.
func isChecked(one *simStack) bool {
	d := one.now().Status.Drift
	return d != nil && d.CheckedBy != "" && d.Since == nil
}

// checkDrift is a drift check of a Stack: it fails, or finds drift, or none.
func (s *sim) checkDrift(stage string, one *simStack) {
	if one.run >= 0 || one.now().Status.AppliedInputsDigest == "" {
		return
	}
	result := s.IntN(4)
	one.write(func(st *v1alpha1.StackStatus) {
		st.CurrentRun, st.ReservedRun = "check", &v1alpha1.ReservedRun{Name: "check", Operation: v1alpha1.OperationPlan}
	})
	one.write(func(st *v1alpha1.StackStatus) {
		st.CurrentRun = ""
		switch result {
		case 0: // no result
		case 1:
			st.Drift = &v1alpha1.DriftStatus{CheckedBy: "check", Since: &metav1.Time{Time: s.clock}}
		default:
			st.Drift = &v1alpha1.DriftStatus{CheckedBy: "check"}
		}
	})
	release := s.pipe().Stage(stage)
	if release != nil && release.Release != "" && one.applied == s.at(release.Release, one.now().Name) &&
		isChecked(one) {
		one.verified = true
	}
}

// end ends the Run of a Stack: it is applied, or fails.
func (s *sim) end(stage string, one *simStack) {
	if one.run < 0 {
		return
	}
	fails := s.IntN(4) == 0
	if !fails {
		one.applied = one.run
		one.reached = one.reached || one.applied == s.at(s.pipe().Stage(stage).Release, one.now().Name)
	} else {
		one.applied = -1 // what it has of it is not known
	}
	one.write(func(st *v1alpha1.StackStatus) {
		st.CurrentRun, st.AppliedInputsDigest, st.Drift = "", "", &v1alpha1.DriftStatus{}
		st.DriftChecks = &v1alpha1.DriftChecks{}
		st.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: "False",
			Reason: v1alpha1.ReasonRunFailed}}
		if !fails {
			st.AppliedInputsDigest = one.runDigest
			st.Conditions[0].Status, st.Conditions[0].Reason = "True", v1alpha1.ReasonApplied
		}
	})
	one.run = -1
}

// request has a user promote any release to any stage.
func (s *sim) request() {
	if len(s.pipe().Status.Releases) == 0 {
		return
	}
	next := s.pipe().DeepCopy()
	release := next.Status.Releases[s.IntN(len(next.Status.Releases))].Commit
	next.Annotations = map[string]string{
		v1alpha1.RequestedAtAnnotation: s.clock.Format(time.RFC3339Nano), v1alpha1.RequestedByAnnotation: "alice",
		v1alpha1.RequestedPromotionAnnotation: s.names[s.IntN(3)] + "=" + release,
	}
	s.pipes = append(s.pipes, next)
}

// TestGeneratedHistories checks with old caches, events in any order, failures and kills that no stage gets a release
// that the stage before has not completed, that no Run has a release that its stage does not have, and that all of it
// ends without another write.
func TestGeneratedHistories(t *testing.T) {
	given := 0
	for seed := range uint64(30) {
		s := newSim(t, seed)
		step := func(calm bool) {
			s.clock = s.clock.Add(time.Second)
			stage := s.names[s.IntN(3)]
			one := s.stacks[stage][s.IntN(3)]
			switch n := s.IntN(100); {
			case n < 3 && !calm:
				s.push()
			case n < 5 && !calm:
				s.request()
			case n < 35:
				s.reconcilePipeline(s.IntN(5) == 0)
			case n < 65:
				s.reconcileStack(stage, one, s.IntN(5) == 0)
			case n < 80:
				if !calm || !isChecked(one) { // in the end, no drift is found any more
					s.checkDrift(stage, one)
				}
			default:
				s.end(stage, one)
			}
		}
		for range 600 {
			step(false)
		}
		rounds, before := 0, -1
		for ; rounds < 100 && len(s.pipes) != before; rounds++ { // until a round writes nothing
			before = len(s.pipes)
			s.clock = s.clock.Add(time.Hour) // each soak is over
			for range 600 {
				step(true)
			}
		}
		if rounds == 100 {
			t.Errorf("seed %d: the status is written without end", seed)
		}
		for _, stage := range s.pipe().Status.Stages {
			if stage.Release != "" && stage.State != v1alpha1.StageComplete {
				t.Errorf("seed %d: stage %s stays %s: %s", seed, stage.Name, stage.State, stage.Message)
			}
		}
		given += s.given
	}
	if given < 30*4 {
		t.Errorf("only %d promotions in all histories", given)
	}
}
