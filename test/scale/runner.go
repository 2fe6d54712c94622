package scale

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"cairn.dev/cairn/internal/engine/plan/planfile/planfiletest"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/state/document"
)

// runner sends the requests of internal/runner to the server, in the same order.
type runner struct {
	client *runnerapi.Client
	hold   func(namespace, stack string) time.Duration
	// planned is the state that the plan read; nil when there was none.
	planned []byte
}

// stateFile returns a state of one resource.
type stateFile struct {
	Version   int             `json:"version"`
	Engine    string          `json:"terraform_version"`
	Serial    int64           `json:"serial"`
	Lineage   string          `json:"lineage"`
	Outputs   map[string]any  `json:"outputs"`
	Resources json.RawMessage `json:"resources"`
}

const resources = `[{"mode":"managed","type":"terraform_data","name":"disk","provider":"provider[\"terraform.io/builtin/terraform\"]","instances":[{"schema_version":0,"attributes":{"id":"0b5ee0c4-5a9c-a5f9-7a8e-0c0ffee00000"}}]}]`

func (r *runner) run(ctx context.Context) error {
	for after := int32(0); ; {
		order, err := r.client.Order(ctx, after)
		if err != nil {
			return fmt.Errorf("order: %w", err)
		}
		switch order.Kind {
		case runnerapi.OrderWait:
		case runnerapi.OrderPlan, runnerapi.OrderApply:
			if err := r.attempt(ctx, order); err != nil {
				return err
			}
			after = order.Attempt
		default:
			return nil
		}
	}
}

func (r *runner) attempt(ctx context.Context, order runnerapi.Order) error {
	c := r.client.For(order.Attempt, order.Patience)
	ctx, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { // until the end of the attempt; the server never interrupts it here
		defer close(ended)
		_, _ = c.Interrupt(ctx)
	}()
	defer func() { stop(); <-ended }()
	began := time.Now()
	done := runnerapi.Done{}
	names := []string{"fetch", "init", "plan", "outputs"}
	steps := func(now int, last string) []runnerapi.Step {
		var all []runnerapi.Step
		for i, name := range names {
			at := began
			step := runnerapi.Step{Name: name, State: "Waiting"}
			switch {
			case i < now, i == now && last == "Succeeded":
				step.State, step.StartedAt, step.FinishedAt, step.Message = "Succeeded", &at, &at, "done in no time"
			case i == now:
				step.State = last
				if last == "Running" {
					step.StartedAt = &at
				}
			}
			all = append(all, step)
		}
		return all
	}
	planned := plan(order)
	plan := planned.File(must{})
	if order.Kind == runnerapi.OrderPlan {
		if err := c.Report(ctx, runnerapi.Report{Steps: steps(0, "Running")}); err != nil {
			return fmt.Errorf("report: %w", err)
		}
		if _, err := c.Journal(ctx); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		var err error
		if r.planned, err = readState(ctx, c); err != nil {
			return err
		}
		kept, err := c.PutPlan(ctx, bytes.NewReader(plan), int64(len(plan)))
		if err != nil {
			return fmt.Errorf("plan: %w", err)
		}
		text := fmt.Appendf(nil, `{"secrets":[],"plan":%s}`, planned.JSON(must{}))
		if err := c.PutPlanDocument(ctx, kept.Digest, bytes.NewReader(text), int64(len(text))); err != nil {
			return fmt.Errorf("plan: %w", err)
		}
		done.Plan = &runnerapi.Plan{
			Digest: kept.Digest, Changes: true, Change: 1, EngineVersion: "1.12.6",
			Resources: []runnerapi.ResourceChange{{Address: "terraform_data.disk", Action: "update"}},
		}
		names[3] = "outputs"
		return r.finish(ctx, c, steps(2, "Succeeded"), done)
	}
	names = []string{"apply", "outputs"}
	if err := c.Report(ctx, runnerapi.Report{Steps: steps(0, "Running")}); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	if err := r.apply(ctx, c, order); err != nil {
		return err
	}
	done.Saved, done.Outputs = true, map[string]json.RawMessage{"size": json.RawMessage("1")}
	return r.finish(ctx, c, steps(1, "Succeeded"), done)
}

func (r *runner) apply(ctx context.Context, c *runnerapi.Client, order runnerapi.Order) error {
	if err := c.PutInputs(ctx,
		runnerapi.InputsKept{Files: map[string][]byte{"00.auto.tfvars.json": []byte(`{}`)}}); err != nil {
		return fmt.Errorf("inputs: %w", err)
	}
	lock := fmt.Appendf(nil, `{"ID":%q,"Who":"scale","Operation":"apply"}`, rand.Text())
	var info struct{ ID string }
	_ = json.Unmarshal(lock, &info) // it was encoded above
	answer, err := c.State(ctx, "LOCK", "", lock)
	if err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	var locked runnerapi.Locked
	if err := json.Unmarshal(answer, &locked); err != nil {
		return fmt.Errorf("lock: %w", err)
	}
	data := r.planned
	if data == nil || locked.Base != document.Digest(data) { // as the proxy of the runner does
		if data, err = readState(ctx, c); err != nil {
			return err
		}
	}
	now, err := parseState(data)
	if err != nil {
		return err
	}
	if r.hold != nil {
		select {
		case <-time.After(r.hold(order.Namespace, order.Stack)):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	if err := c.AppendJournal(ctx, 0,
		runnerapi.JournalEntries{
			Entries: []runnerapi.JournalEntry{{Address: "terraform_data.disk", Type: "terraform_data", Action: "update",
				IDKey: "id", ID: "0b5ee0c4"}}}); err != nil {
		return fmt.Errorf("journal: %w", err)
	}
	now.Serial++
	if data, err = json.Marshal(now); err != nil {
		return err
	}
	if _, err := c.State(ctx, http.MethodPost, info.ID, data); err != nil {
		return fmt.Errorf("state: %w", err)
	}
	if _, err := c.State(ctx, "UNLOCK", "", lock); err != nil {
		return fmt.Errorf("unlock: %w", err)
	}
	if !order.Outputs {
		return nil
	}
	if err := c.WriteOutputs(ctx, runnerapi.Outputs{"size": {Value: json.RawMessage("1")}}); err != nil {
		return fmt.Errorf("outputs: %w", err)
	}
	return nil
}

func (r *runner) finish(ctx context.Context, c *runnerapi.Client, steps []runnerapi.Step, done runnerapi.Done) error {
	log := "a line of a log\n"
	if _, err := c.AppendLog(ctx, 0, []byte(log)); err != nil {
		return fmt.Errorf("log: %w", err)
	}
	if err := c.Report(ctx, runnerapi.Report{Steps: steps, Done: &done}); err != nil {
		return fmt.Errorf("last report: %w", err)
	}
	return nil
}

// plan returns other bytes for each Run.
func plan(order runnerapi.Order) planfiletest.Plan {
	return planfiletest.Plan{{
		Address: "terraform_data.disk", Action: planfiletest.Update, Before: map[string]any{"input": ""},
		After: map[string]any{"input": fmt.Sprintf("of %s/%s %d", order.Namespace, order.Run, order.Attempt)},
	}}
}

// must ends the node where a test would end.
type must struct{}

func (must) Helper() {}

func (must) Fatal(args ...any) { panic(fmt.Sprint(args...)) }

// readState reads the state; nil when there is none.
func readState(ctx context.Context, c *runnerapi.Client) ([]byte, error) {
	data, err := c.State(ctx, http.MethodGet, "", nil)
	if runnerapi.Code(err) == http.StatusNotFound {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	return data, nil
}

// parseState parses a state; nil is an empty one.
func parseState(data []byte) (*stateFile, error) {
	s := &stateFile{Version: 4, Engine: "1.12.6", Lineage: rand.Text(), Outputs: map[string]any{},
		Resources: json.RawMessage(resources)}
	if data == nil {
		return s, nil
	}
	if err := json.Unmarshal(data, s); err != nil {
		return nil, fmt.Errorf("state: %w", err)
	}
	s.Outputs = map[string]any{"size": map[string]any{"value": s.Serial, "type": "number"}}
	return s, nil
}
