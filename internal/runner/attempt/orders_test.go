package attempt

import (
	"context"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/report"
	"cairn.dev/cairn/internal/runnerapi"
)

// newJob returns a job of an order, in a pod whose image has the programs.
func newJob(t *testing.T, order runnerapi.Order, programs ...string) *job {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	if err := os.WriteFile(token, []byte("token"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, program := range programs {
		if err := os.WriteFile(filepath.Join(dir, program), nil, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	client, err := runnerapi.NewClient(runnerapi.ClientOptions{
		URL: server.URL, TokenFile: token,
		CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
	})
	if err != nil {
		t.Fatal(err)
	}
	executor, err := NewExecutor(Options{
		TokenFile: token, Work: filepath.Join(dir, "work"), Inputs: dir, Environ: []string{"PATH=" + dir},
		Output: io.Discard, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	reporter := report.StartReporter(client, executor.Log)
	t.Cleanup(func() { _ = reporter.Finish(context.Background(), runnerapi.Done{}) })
	return &job{Executor: executor, order: order, client: client, text: io.Discard, report: reporter}
}

func TestStepsOfAnOrder(t *testing.T) {
	t.Parallel()
	own := &runnerapi.Backend{Type: "s3"}
	planned := func(digest string) *ready {
		return &ready{digest: digest, setup: setup{engine: tool{Engine: engine.OpenTofu}}}
	}
	for name, test := range map[string]struct {
		order runnerapi.Order
		ready *ready
		want  string
	}{
		"a plan": {runnerapi.Order{Kind: runnerapi.OrderPlan}, nil, "fetch init plan"},
		"a plan with all there is": {
			runnerapi.Order{Kind: runnerapi.OrderPlan, EngineVersion: "1.12.6", Backend: own, Policy: true,
				Outputs: true},
			nil, "fetch engine init state plan policy outputs",
		},
		"a plan of an engine that the image does not have": {
			runnerapi.Order{Kind: runnerapi.OrderPlan, Engine: "Terraform"}, nil, "fetch engine init plan",
		},
		"a plan of a wrapper that the image has": {
			runnerapi.Order{Kind: runnerapi.OrderPlan, Engine: "Terragrunt"}, nil, "fetch engine init plan",
		},
		"a plan with hooks": {
			runnerapi.Order{Kind: runnerapi.OrderPlan, Hooks: []runnerapi.Hook{
				{Step: "plan", When: before}, {Step: "init", When: after}, {Step: "plan", When: before},
				{Step: "outputs", When: after},
			}}, nil, "fetch init after-init before-plan before-plan-2 plan",
		},
		"an apply in the pod of its plan": {
			runnerapi.Order{Kind: runnerapi.OrderApply, PlanDigest: "p", Outputs: true}, planned("p"), "apply outputs",
		},
		"an apply in the pod of another plan": {
			runnerapi.Order{Kind: runnerapi.OrderApply, PlanDigest: "p"}, planned("q"), "fetch init apply",
		},
		"an apply in another pod": {
			runnerapi.Order{Kind: runnerapi.OrderApply, PlanDigest: "p", Backend: own, Outputs: true}, nil,
			"fetch init apply state outputs",
		},
		"a shell": {runnerapi.Order{Kind: runnerapi.OrderShell}, nil, "fetch init shell"},
		"a shell with the engine's backend": {
			runnerapi.Order{Kind: runnerapi.OrderShell, Backend: own}, nil, "fetch init shell state",
		},
		"a build": {
			runnerapi.Order{Kind: runnerapi.OrderBuild, Build: &runnerapi.Build{}}, nil, "fetch build",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			j := newJob(t, test.order, "tofu", "terragrunt")
			j.ready = test.ready
			over, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := j.execute(over, t.Context()); err == nil {
				t.Error("an order that is canceled succeeds")
			}
			var names []string
			for _, s := range j.report.Steps() {
				names = append(names, s.Name)
			}
			if diff := cmp.Diff(test.want, strings.Join(names, " ")); diff != "" {
				t.Error(diff)
			}
			if j.ready != nil {
				t.Error("the workspace is still ready for a plan's apply")
			}
		})
	}
}

func TestStepsEndAtTheFirstFailure(t *testing.T) {
	t.Parallel()
	var ran []string
	do := func(name string, err error) step {
		return step{name: name, run: func(context.Context) (result, error) {
			ran = append(ran, name)
			return result{}, err
		}}
	}
	w := &workbench{job: newJob(t, runnerapi.Order{})}
	err := w.sequence(t.Context(), do("fetch", nil), do("engine", nil).when(false),
		do("init", &engine.Rejection{Reason: "no code"}), do("plan", nil))
	failed, ok := errors.AsType[*failedStep](err)
	if !ok || failed.name != "init" || failed.why.Class != runnerapi.FailureConfigurationError {
		t.Errorf("%+v", err)
	}
	if diff := cmp.Diff([]string{"fetch", "init"}, ran); diff != "" {
		t.Error(diff)
	}
}

func TestLastReport(t *testing.T) {
	t.Parallel()
	changed := int32(2)
	plan := &runnerapi.Plan{Digest: "p"}
	learned := runnerapi.Done{Plan: plan, Settled: "j", Changed: &changed, Saved: true, Image: "i"}
	canceledOf := &runnerapi.Failure{Class: canceled}
	deniedOf := &runnerapi.Failure{Class: policy}
	for name, test := range map[string]struct {
		failure *runnerapi.Failure
		want    runnerapi.Done
	}{
		"a success does not count what a failed apply changed": {
			nil, runnerapi.Done{Plan: plan, Settled: "j", Saved: true, Image: "i"},
		},
		"a failure has no plan": {
			canceledOf, runnerapi.Done{Failure: canceledOf, Changed: &changed, Saved: true, Image: "i"},
		},
		"a plan that is denied can be read": {
			deniedOf, runnerapi.Done{Failure: deniedOf, Plan: plan, Settled: "j", Changed: &changed, Saved: true,
				Image: "i"},
		},
	} {
		if diff := cmp.Diff(test.want, lastReport(learned, test.failure)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
