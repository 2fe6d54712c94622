package promotion

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// aPipeline has the stages dev and production, which select Stacks by the label env. Both have release c1.
func aPipeline(name string, change ...func(*v1alpha1.Pipeline)) v1alpha1.Pipeline {
	p := v1alpha1.Pipeline{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: "u", Generation: 1}}
	p.Spec.Repository.Name = "infra"
	p.Status.ObservedGeneration = 1
	for i, stage := range []string{"dev", "production"} {
		p.Spec.Stages = append(p.Spec.Stages, v1alpha1.PipelineStage{
			Name: stage, Stacks: metav1.LabelSelector{MatchLabels: map[string]string{"env": stage}},
		})
		p.Status.Stages = append(p.Status.Stages, v1alpha1.StageStatus{Name: stage, Release: "c1",
			Promotion: int64(3 + i)})
	}
	for _, f := range change {
		f(&p)
	}
	return p
}

// aStack is a Stack of the Repository infra with the label env.
func aStack(env string) *v1alpha1.Stack {
	s := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: "net", Labels: map[string]string{"env": env},
	}}
	s.Spec.Source.Git = &v1alpha1.GitSource{Repository: v1alpha1.RepositoryRef{Name: "infra"}}
	return s
}

// TestReleaseOfAStack checks which release a Stack has, and what prevents one.
func TestReleaseOfAStack(t *testing.T) {
	type pipelines = []v1alpha1.Pipeline
	shop := aPipeline("shop")
	release := func(commit string, promotion int64) *v1alpha1.StackRelease {
		return &v1alpha1.StackRelease{
			Pipeline: "shop", UID: "u", Stage: "production", Commit: commit, Promotion: promotion,
		}
	}
	elsewhere := aStack("production")
	elsewhere.Spec.Source.Git.Repository.Name = "other"
	inline := aStack("production")
	inline.Spec.Source.Git = nil
	for name, c := range map[string]struct {
		stack   *v1alpha1.Stack
		all     []v1alpha1.Pipeline
		want    *v1alpha1.StackRelease
		problem string
	}{
		"no Pipeline":          {aStack("production"), nil, nil, ""},
		"no stage selects it":  {aStack("qa"), pipelines{shop}, nil, ""},
		"a stage selects it":   {aStack("production"), pipelines{shop}, release("c1", 4), ""},
		"a Pipeline elsewhere": {aStack("production"), pipelines{aPipeline("shop", in("other"))}, nil, ""},
		"a Pipeline without a status": {aStack("production"), pipelines{aPipeline("shop", unobserved)},
			release("", 0), ""},
		"a stage without a status": {aStack("production"), pipelines{aPipeline("shop", newStage)}, release("", 0),
			""},
		"stages of two Pipelines": {aStack("dev"), pipelines{shop, aPipeline("web")}, nil,
			"2 stages select the Stack"},
		"two stages of a Pipeline": {aStack("dev"), pipelines{aPipeline("shop", sameLabels)}, nil,
			"2 stages select the Stack"},
		"the code of another Repository": {elsewhere, pipelines{shop}, nil, "not from Repository shop/infra"},
		"no code of a Repository":        {inline, pipelines{shop}, nil, "not from Repository shop/infra"},
		"a selector that is not valid": {
			aStack("qa"), pipelines{aPipeline("shop", invalid)}, nil, "stage dev of Pipeline shop",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Of(c.stack, c.all)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			problem, ok := errors.AsType[*Problem](err)
			switch {
			case ok != (c.problem != "") || err != nil && !ok:
				t.Errorf("the error is %v", err)
			case ok && (problem.Reason != v1alpha1.ReasonPipelineConflict ||
				!strings.Contains(problem.Message, c.problem)):
				t.Errorf("the problem is %+v", problem)
			}
		})
	}
}

func in(namespace string) func(*v1alpha1.Pipeline) {
	return func(p *v1alpha1.Pipeline) { p.Namespace = namespace }
}
func unobserved(p *v1alpha1.Pipeline) { p.Status.ObservedGeneration = -1 }
func newStage(p *v1alpha1.Pipeline)   { p.Status.Stages = p.Status.Stages[:1] }
func sameLabels(p *v1alpha1.Pipeline) { p.Spec.Stages[1].Stacks = p.Spec.Stages[0].Stacks }
func invalid(p *v1alpha1.Pipeline) {
	p.Spec.Stages[0].Stacks.MatchExpressions = []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Equals"}}
}

// TestRequestedPromotion checks which annotations are a promotion that waits.
func TestRequestedPromotion(t *testing.T) {
	asks := func(p *v1alpha1.Pipeline) {
		p.Annotations = map[string]string{
			v1alpha1.RequestedAtAnnotation: "2", v1alpha1.RequestedPromotionAnnotation: "production=c1",
			v1alpha1.RequestedByAnnotation: "alice",
		}
	}
	handled := func(at string) func(*v1alpha1.Pipeline) {
		return func(p *v1alpha1.Pipeline) { p.Status.LastHandledRequest = &v1alpha1.HandledRequest{Value: at} }
	}
	for name, c := range map[string]struct {
		changes []func(*v1alpha1.Pipeline)
		want    bool
	}{
		"nothing":                  {nil, false},
		"the first":                {[]func(*v1alpha1.Pipeline){asks}, true},
		"another than the last":    {[]func(*v1alpha1.Pipeline){asks, handled("1")}, true},
		"the last":                 {[]func(*v1alpha1.Pipeline){asks, handled("2")}, false},
		"what it was created with": {[]func(*v1alpha1.Pipeline){asks, unobserved}, false},
	} {
		p := aPipeline("shop", c.changes...)
		got, ok := Requested(&p)
		want := Request{}
		if c.want {
			want = Request{At: "2", Stage: "production", Commit: "c1", By: "alice"}
		}
		if got != want || ok != c.want {
			t.Errorf("%s: %+v, %t", name, got, ok)
		}
	}
}

// TestPromotionCheck checks which promotions are possible: a release that the stage before has completed, or that the
// stage had.
func TestPromotionCheck(t *testing.T) {
	p := aPipeline("shop")
	done := &metav1.Time{Time: noon}
	p.Status.Releases = []v1alpha1.Release{
		{Commit: "c3", Stages: []v1alpha1.ReleaseStage{{Name: "dev"}}},
		{Commit: "c2", Stages: []v1alpha1.ReleaseStage{{Name: "dev", CompletedAt: done}}},
		{Commit: "c1", Stages: []v1alpha1.ReleaseStage{{Name: "dev", CompletedAt: done}, {Name: "production"}}},
		{Commit: "c0", Stages: []v1alpha1.ReleaseStage{{Name: "production"}}},
	}
	now := noon.Format(time.RFC3339)
	in := func(d time.Duration) string { return noon.Add(d).Format(time.RFC3339) }
	held := p.DeepCopy()
	held.Status.Stages[1].Hold = &v1alpha1.PromotionHold{By: "bob"}
	for name, c := range map[string]struct {
		p    *v1alpha1.Pipeline
		q    Request
		want string
	}{
		"what the stage before completed": {&p, Request{now, "production", "c2", "alice"}, ""},
		"what the stage had":              {&p, Request{now, "production", "c0", "alice"}, ""},
		"any release to the first stage":  {&p, Request{now, "dev", "c3", "alice"}, ""},
		"what the stage before did not complete": {&p, Request{now, "production", "c3", "alice"},
			"has not completed it"},
		"what the stage has":                 {&p, Request{now, "production", "c1", "alice"}, "has release c1 already"},
		"what the stage has, to end a hold":  {held, Request{now, "production", "c1", "alice"}, ""},
		"a commit that is no release":        {&p, Request{now, "dev", "c9", "alice"}, `no release "c9"`},
		"no commit":                          {&p, Request{now, "dev", "", "alice"}, `no release ""`},
		"another stage":                      {&p, Request{now, "qa", "c1", "alice"}, `no stage "qa"`},
		"without a user":                     {&p, Request{now, "dev", "c3", ""}, "requires the name of its user"},
		"a clock that is some minutes ahead": {&p, Request{in(4 * time.Minute), "dev", "c3", "alice"}, ""},
		"a clock that is far ahead": {&p, Request{in(6 * time.Minute), "dev", "c3", "alice"},
			"check the clock"},
		"something that is no time": {&p, Request{"now", "dev", "c3", "alice"}, "check the clock"},
	} {
		got := Check(c.p, c.q, noon)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestStageThatVerifiesDrift checks which Stacks are checked after an apply: those of the stage, by its Pipeline.
func TestStageThatVerifiesDrift(t *testing.T) {
	p := v1alpha1.Pipeline{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "p"}}
	p.Spec.Stages = []v1alpha1.PipelineStage{
		{Name: "dev", Verify: &v1alpha1.StageVerification{Drift: &v1alpha1.DriftVerification{}}}, {Name: "production"},
	}
	for want, r := range map[bool][]*v1alpha1.StackRelease{
		true:  {{UID: "p", Stage: "dev"}},
		false: {nil, {UID: "p", Stage: "production"}, {UID: "q", Stage: "dev"}},
	} {
		for _, one := range r {
			if got := VerifiesDrift(one, []v1alpha1.Pipeline{p}); got != want {
				t.Errorf("%+v: %t", one, got)
			}
		}
	}
}
