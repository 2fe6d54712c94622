// Package policyeval evaluates the policies of a Stack, and those that the installation requires, on a plan.
package policyeval

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/base/weightedlru"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/engine/plan"
	"cairn.dev/cairn/internal/engine/policy"
	"cairn.dev/cairn/internal/engine/redact"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/artifact"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/server/servermetrics"
	"cairn.dev/cairn/internal/server/tenant"
)

const (
	// checksAtOnce is how many plans are read and checked at a time in a process. It is the bound on memory too: a plan
	// is there as JSON and, while it is asked about, several times larger as what the policies read.
	checksAtOnce = 2
	// checksEach is how many of these are of one namespace: its policies may take all the time that there is.
	checksEach = 1
	// waitForCheck is how long a plan waits for its turn and for the answers of all policies before the response has
	// the runner ask again. It is shorter than a runner waits for an answer.
	waitForCheck = time.Minute
	// mostTries is how often policies may be cut off before they deny a Run's plan for good: it may have been the doing
	// of others at the same time.
	mostTries = 3
	// knownTries is how much is remembered of that: some two thousand plans.
	knownTries = 1 << 20
	// mostFindings is how many findings of a plan are kept.
	mostFindings = 200
	// longestFinding is how long the message is of a finding of ours.
	longestFinding = 1 << 10
	// mostSensitive is how many bytes of sensitive values of a plan are hidden in messages. One takes some hundred in
	// memory.
	mostSensitive = 1 << 20
	// largestVerdict as JSON.
	largestVerdict = 4 << 20
)

// Options of an Evaluator. All are required, except the clock.
type Options struct {
	// Live reads past every cache.
	Live client.Reader
	// Namespace of Cairn's own, which has the policies that the installation requires.
	Namespace string
	// Bucket has the plans, and stores the results.
	Bucket *bucket.Bucket
	// Inputs returns the document of a Run's inputs, which has the policies of its Stack.
	Inputs func(ctx context.Context, digest string) (inputs.Document, error)
	// Evaluate asks policies about a plan in the engine's JSON, as Apart.Evaluate of the package policy does.
	Evaluate func(ctx context.Context, modules []policy.Module, plan []byte) (runnerapi.PolicyResult, error)
	// Metrics count the results of policies; nil for none.
	Metrics *servermetrics.Metrics
	// Log gets required policies that cannot be evaluated.
	Log *slog.Logger
	// Now is the clock; nil means the real one.
	Now func() time.Time
}

// Evaluator evaluates the policies of Stacks, and those that the installation requires, on plans. Each ConfigMap is
// evaluated by itself: what the policies of a Stack define has no effect on those of the installation.
type Evaluator struct {
	Options
	required *required
	turns    *tenant.Semaphore

	// tries are how often policies were cut off, by Run. They are forgotten with the process: then it is asked more
	// often.
	counting sync.Mutex
	tries    *weightedlru.Cache[string, int]
}

// rules are the policies of one ConfigMap.
type rules struct {
	// name of the ConfigMap, with its namespace when the installation requires it.
	name  string
	files map[string]string
	// wrong is why they cannot be evaluated.
	wrong string
}

// New creates an Evaluator that has read no policies yet.
func New(o Options) *Evaluator {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Evaluator{
		Options: o, required: newRequired(o.Live, o.Namespace, o.Now),
		turns: tenant.NewSemaphore(checksAtOnce, checksEach, 0), tries: weightedlru.New[string, int](knownTries,
			weightedlru.EntryOverhead),
	}
}

// Asked returns whether there are policies that evaluate the plan of a Run.
func (p *Evaluator) Asked(ctx context.Context, r *v1alpha1.Run) (bool, error) {
	all, err := p.of(ctx, r)
	return len(all) > 0, err
}

// of returns the policies that evaluate the plan of a Run. No policy evaluates a drift check: it only reports what
// others did, and what it would take to put that right is a plan of its own.
func (p *Evaluator) of(ctx context.Context, r *v1alpha1.Run) ([]rules, error) {
	if runinfo.IsDriftCheck(r) {
		return nil, nil
	}
	all, err := p.required.in(ctx, r.Namespace)
	if err != nil {
		return nil, err
	}
	doc, err := p.Inputs(ctx, r.Spec.InputsDigest)
	if err != nil {
		return nil, err
	}
	for _, pinned := range doc.Policies {
		all = append(all, rules{name: pinned.Name, files: pinned.Files})
	}
	return all, nil
}

// Result returns the result of the policies for a plan of a Run: the stored one, or else a new one. Asked is false when
// there are none; a nil result means that the plan's JSON was never uploaded.
func (p *Evaluator) Result(ctx context.Context, r *v1alpha1.Run, digest string) (verdict *runnerapi.PolicyResult,
	asked bool, err error) {
	all, err := p.of(ctx, r)
	if err != nil || len(all) == 0 {
		return nil, false, err
	}
	if !httpapi.IsDigest(digest) {
		return nil, true, nil
	}
	key := artifact.PlanFolder(r) + "/" + digest
	verdict, err = p.kept(ctx, key)
	if verdict != nil || err != nil {
		return verdict, true, err
	}
	waiting, cancel := context.WithTimeout(ctx, waitForCheck)
	defer cancel()
	done, err := p.turns.Acquire(waiting, r.Namespace, 1)
	if err != nil {
		return nil, true, fmt.Errorf("wait for other plans to be checked: %w", err)
	}
	defer done()
	input, err := p.input(waiting, key)
	if input == nil || err != nil {
		return nil, true, err
	}
	if input.Unverified != "" {
		said := denial("cairn", "policies cannot be sure of what this plan does, so they deny it: "+input.Unverified)
		return &said, true, p.keep(ctx, key, said)
	}
	began := time.Now()
	said, err := p.ask(waiting, artifact.PlanFolder(r), all, input.Plan)
	p.Metrics.PolicyChecked(began, said, err)
	if err != nil {
		return nil, true, err
	}
	if err := hideSecrets(&said, input); err != nil {
		return nil, true, err
	}
	return &said, true, p.keep(ctx, key, said)
}

// input returns what policies evaluate of a plan; nil when it was never uploaded.
func (p *Evaluator) input(ctx context.Context, plan string) (*artifact.PolicyInput, error) {
	data, err := p.Bucket.Get(ctx, artifact.PolicyInputKey(plan), 2*runnerapi.LargestPlanDocument)
	if errors.Is(err, bucket.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	input := &artifact.PolicyInput{}
	if err := json.Unmarshal(data, input); err != nil {
		return nil, fmt.Errorf("read the input of the policies: %w", err)
	}
	return input, nil
}

// hideSecrets removes the secrets of a plan from messages. Policies get all values, so that no code evades a rule by
// marking a value as sensitive; users of their messages do not.
func hideSecrets(said *runnerapi.PolicyResult, input *artifact.PolicyInput) error {
	if len(said.Findings) == 0 {
		return nil
	}
	secrets, size := redact.New(), 0
	secrets.Add(input.Secrets...)
	err := plan.Sensitive(input.Plan, func(secret string) {
		if size += len(secret); size <= mostSensitive {
			secrets.Add(secret)
		}
	})
	if err != nil {
		return fmt.Errorf("read what is sensitive in the plan: %w", err)
	}
	for i := range said.Findings {
		f := &said.Findings[i]
		if f.Message = secrets.String(f.Message); size > mostSensitive {
			f.Message = "the message is not shown, since the plan has more sensitive values than Cairn can hide in it"
		}
	}
	return nil
}

func (p *Evaluator) kept(ctx context.Context, plan string) (*runnerapi.PolicyResult, error) {
	data, err := p.Bucket.Get(ctx, artifact.PlanVerdictKey(plan), largestVerdict)
	if bucket.IsLost(err) {
		if !errors.Is(err, bucket.ErrNotFound) {
			p.Log.Warn("the stored result of the policies is not used: the plan is evaluated again", "error", err)
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	verdict := &runnerapi.PolicyResult{}
	if err := json.Unmarshal(data, verdict); err != nil {
		return nil, fmt.Errorf("read the result of the policies: %w", err)
	}
	return verdict, nil
}

func (p *Evaluator) keep(ctx context.Context, plan string, verdict runnerapi.PolicyResult) error {
	data, err := json.Marshal(verdict)
	if err != nil {
		return err
	}
	return p.Bucket.Put(ctx, artifact.PlanVerdictKey(plan), data)
}

// ask asks all of them about a plan of a Run. What cannot be asked denies.
func (p *Evaluator) ask(ctx context.Context, of string, all []rules, plan []byte) (runnerapi.PolicyResult, error) {
	var said runnerapi.PolicyResult
	for _, one := range all {
		v, err := p.askOne(ctx, of, one, plan)
		if err != nil {
			return runnerapi.PolicyResult{}, err
		}
		said.Checked += v.Checked
		said.MoreDenied += v.MoreDenied
		said.MoreRequired += v.MoreRequired
		said.MoreWarned += v.MoreWarned
		said.Findings = append(said.Findings, v.Findings...)
	}
	slices.SortStableFunc(said.Findings, func(a, b runnerapi.Finding) int {
		return cmp.Or(cmp.Compare(a.Action, b.Action), cmp.Compare(a.Policy, b.Policy),
			cmp.Compare(a.Message, b.Message))
	})
	return said.Cut(mostFindings), nil
}

// askOne evaluates the policies of one ConfigMap. An evaluation that was cut off has no result.
func (p *Evaluator) askOne(ctx context.Context, of string, one rules, plan []byte) (runnerapi.PolicyResult, error) {
	v, err := runnerapi.PolicyResult{}, errors.New(one.wrong)
	if one.wrong == "" {
		v, err = p.Evaluate(ctx, one.modules(), plan)
	}
	var invalid *policy.Invalid
	switch {
	case one.wrong != "" || errors.As(err, &invalid):
		p.Log.Warn("policies deny every plan", "policies", one.name, "error", err)
		return denial(one.name, fmt.Sprintf("this policy cannot be read, so it denies every plan: %v", err)), nil
	case ctx.Err() != nil:
		return runnerapi.PolicyResult{}, fmt.Errorf("ask the policies of %s: %w", one.name, ctx.Err())
	case errors.Is(err, policy.ErrCutOff) && p.tried(of+" "+one.name) < mostTries:
		return runnerapi.PolicyResult{}, fmt.Errorf("ask the policies of %s: %w", one.name, err)
	case err != nil:
		return denial(one.name, fmt.Sprintf("this policy cannot be asked about the plan, so it denies it: %v", err)),
			nil
	}
	return v, nil
}

func (r rules) modules() []policy.Module {
	var all []policy.Module
	for _, file := range slices.Sorted(maps.Keys(r.files)) {
		all = append(all, policy.Module{Name: r.name + "/" + file, Text: r.files[file]})
	}
	return all
}

// tried counts that policies were cut off.
func (p *Evaluator) tried(key string) int {
	p.counting.Lock()
	defer p.counting.Unlock()
	n, _ := p.tries.Get(key)
	p.tries.Add(key, n+1, len(key))
	return n + 1
}

func denial(name, message string) runnerapi.PolicyResult {
	return runnerapi.PolicyResult{Checked: 1,
		Findings: []runnerapi.Finding{
			{Policy: name, Action: runnerapi.Deny, Message: shorten.Line(message, longestFinding)}}}
}
