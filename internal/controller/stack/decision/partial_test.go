package decision

import (
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

func targeted(r *v1alpha1.Run) {
	r.Spec.PlanOptions = &v1alpha1.PlanOptions{Targets: []string{"module.vpc"}}
	requestedByAlice(r)
}

func refreshing(r *v1alpha1.Run) {
	r.Spec.PlanOptions = &v1alpha1.PlanOptions{RefreshOnly: true}
	requestedByAlice(r)
}

// partialPlan sets what the server reads from the plan file.
func partialPlan(r *v1alpha1.Run) { r.Status.Plan.Partial = runinfo.Partial(r) }

func replacing(r *v1alpha1.Run) {
	r.Spec.PlanOptions = &v1alpha1.PlanOptions{Replace: []string{"aws_eip.a"}}
	requestedByAlice(r)
}

// recordedInHistory is what becomes of a Run that succeeded, once the status has its end.
func recordedInHistory(w *Snapshot) {
	w.Stack.Status.History, w.Stack.Status.AppliedInputsDigest = nextHistory(*w), appliedInputs(*w)
	w.Runs = RunsInHistory(w.Stack)
}

// After an apply of a part, what is declared is not known to be applied: a Run of all of it follows, with an approval.
func TestAWholeRunFollowsAPartialOne(t *testing.T) {
	for name, tt := range map[string]struct {
		snapshot Snapshot
		reason   string
		after    string // spec.afterPartial of the Run that starts; "-" when none starts
	}{
		"a part of what was applied before": {
			newSnapshot(applied("sha256:now"), withRun("net-4", "Succeeded", "sha256:now", targeted, applyStarted)),
			v1alpha1.ReasonRunning, "net-4",
		},
		"drift that was accepted": {
			newSnapshot(applied("sha256:now"), withRun("net-4", "Succeeded", "sha256:now", refreshing, applyStarted)),
			v1alpha1.ReasonRunning, "net-4",
		},
		"drift that was not accepted": {
			newSnapshot(applied("sha256:now"), withRun("net-3", "Succeeded", "sha256:now", applyStarted),
				withRun("net-4", "Canceled", "sha256:now", refreshing, rejected)),
			v1alpha1.ReasonApplied, "-",
		},
		"a part of a change": {
			newSnapshot(applied("sha256:last"), withRun("net-4", "Succeeded", "sha256:now", targeted, applyStarted)),
			v1alpha1.ReasonRunning, "net-4",
		},
		"known from the history alone": {
			newSnapshot(applied("sha256:now"), withRun("net-4", "Succeeded", "sha256:now", targeted, applyStarted,
				func(r *v1alpha1.Run) {
					r.Status.Plan.Partial = runinfo.Partial(r)
				}), recordedInHistory), v1alpha1.ReasonRunning, "net-4",
		},
		"the engine limited the plan": {
			newSnapshot(applied("sha256:now"), withRun("net-4", "Succeeded", "sha256:now", applyStarted,
				func(r *v1alpha1.Run) {
					r.Status.Plan.Partial = "it defers a.b"
				})), v1alpha1.ReasonRunning, "net-4",
		},
		"the code has changed since": {
			newSnapshot(applied("sha256:last"), withRun("net-4", "Succeeded", "sha256:last", targeted, applyStarted)),
			v1alpha1.ReasonRunning, "net-4",
		},
		"a whole one that replaces more": {
			newSnapshot(applied("sha256:now"), withRun("net-4", "Succeeded", "sha256:now", replacing, applyStarted)),
			v1alpha1.ReasonApplied, "-",
		},
		"the whole one that followed": {
			newSnapshot(applied("sha256:now"), withRun("net-4", "Succeeded", "sha256:now", targeted, applyStarted),
				withRun("net-5", "Succeeded", "sha256:now", applyStarted)),
			v1alpha1.ReasonApplied, "-",
		},
		"a part that failed in the middle": {
			newSnapshot(applied("sha256:now"), withRun("net-4", "Failed", "sha256:now", targeted, applyStarted)),
			v1alpha1.ReasonRunFailed, "-",
		},
		"a part that was rejected": {
			newSnapshot(applied("sha256:now"), withRun("net-3", "Succeeded", "sha256:now", applyStarted),
				withRun("net-4", "Canceled", "sha256:now", targeted, rejected)),
			v1alpha1.ReasonApplied, "-",
		},
		"a part without changes": {
			newSnapshot(applied("sha256:now"), withRun("net-3", "Succeeded", "sha256:now", applyStarted),
				withRun("net-4", "Succeeded", "sha256:now", targeted, noChanges)),
			v1alpha1.ReasonApplied, "-",
		},
		"a plan of a part, where nothing is applied": {
			newSnapshot(never, withRun("net-3", "Succeeded", "sha256:now", planOperation),
				withRun("net-4", "Succeeded", "sha256:now", targeted, planOperation, noChanges)),
			v1alpha1.ReasonChangesPending, "-",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, after := Decide(tt.snapshot), "-"
			if d.Start != nil {
				after = d.Start.AfterPartial
			}
			if d.Reason != tt.reason || after != tt.after {
				t.Errorf("got %s %q, afterPartial %q; want %s, %q", d.Reason, d.Message, after, tt.reason, tt.after)
			}
		})
	}
}

func TestRequestsWithPlanOptions(t *testing.T) {
	const anyTime = `{"requestedAt":"now",`
	terraform := func(w *Snapshot) { w.Inputs.Engine.Name = v1alpha1.EngineTerraform }
	for name, tt := range map[string]struct {
		operation v1alpha1.Operation
		options   string
		more      func(*Snapshot)
		rejected  string
	}{
		"targets": {v1alpha1.OperationApply, anyTime + `"targets":["module.vpc"]}`, nil, ""},
		"of a plan": {v1alpha1.OperationPlan, anyTime +
			`"excludes":["module.vpc"],"replace":["a.b"]}`, nil, ""},
		"of an earlier request": {v1alpha1.OperationApply, `{"requestedAt":"before","targets":["module.vpc"]}`,
			nil, `belongs to the request of "before": remove it`},
		"of no request": {v1alpha1.OperationApply, `{"targets":["module.vpc"]}`, nil,
			"belongs to the request of"},
		"of a destroy": {v1alpha1.OperationDestroy, anyTime + `"targets":["module.vpc"]}`,
			applied("sha256:now"), "and not for Destroy"},
		"of a shell": {v1alpha1.OperationShell, anyTime + `"targets":["module.vpc"]}`, func(w *Snapshot) {
			w.AllowShell = true
		}, "and not for Shell"},
		"not JSON": {v1alpha1.OperationApply, "module.vpc", nil, "is not the JSON of options"},
		"an unknown option": {v1alpha1.OperationApply, anyTime + `"target":["module.vpc"]}`, nil,
			`unknown field "target"`},
		"none": {v1alpha1.OperationApply, anyTime + `"targets":[]}`, nil,
			"set targets, excludes, replace or refreshOnly"},
		"an empty address": {v1alpha1.OperationApply, anyTime + `"targets":[""]}`, nil,
			"an address is empty"},
		"both targets and excludes": {v1alpha1.OperationApply, anyTime + `"targets":["a.b"],"excludes":["a.c"]}`, nil,
			"cannot both be set"},
		"too many": {v1alpha1.OperationApply, anyTime + `"targets":["a"` +
			strings.Repeat(`,"a"`, 50) + `]}`, nil, "the limit is 50"},
		"Terraform excludes nothing": {v1alpha1.OperationApply, anyTime + `"excludes":["a.b"]}`, terraform,
			"Terraform has no -exclude"},
		"a Stack that is deleted": {v1alpha1.OperationApply, anyTime + `"targets":["a.b"]}`, deleted,
			"a destroy has no options"},
		"only a refresh":         {v1alpha1.OperationApply, anyTime + `"refreshOnly":true}`, nil, ""},
		"a refresh of Terraform": {v1alpha1.OperationApply, anyTime + `"refreshOnly":true}`, terraform, ""},
		"a refresh and targets": {v1alpha1.OperationApply, anyTime + `"refreshOnly":true,"targets":["a.b"]}`, nil,
			"refreshOnly cannot be combined"},
		"a refresh and exclusions": {v1alpha1.OperationApply, anyTime + `"refreshOnly":true,"excludes":["a.b"]}`,
			nil, "refreshOnly cannot be combined"},
		"a refresh and a replacement": {v1alpha1.OperationApply, anyTime + `"refreshOnly":true,"replace":["a.b"]}`, nil,
			"refreshOnly cannot be combined"},
		"no refresh": {v1alpha1.OperationApply, anyTime + `"refreshOnly":false}`, nil,
			"set targets, excludes, replace or refreshOnly"},
		"Terraform has the other two": {v1alpha1.OperationApply, anyTime + `"targets":["a.b"],"replace":["a.b"]}`,
			terraform, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSnapshot(withRequest(tt.operation), annotate(v1alpha1.RequestedPlanOptionsAnnotation, tt.options),
				applied("sha256:now"))
			if tt.more != nil {
				tt.more(&w)
			}
			_, why := RejectedRequest(w)
			if (tt.rejected == "") != (why == "") || !strings.Contains(why, tt.rejected) {
				t.Fatalf("got %q, want %q", why, tt.rejected)
			}
			d := Decide(w)
			if started := d.Start != nil && d.Start.PlanOptions != nil; started != (tt.rejected == "") {
				t.Errorf("got %+v", d.Start)
			}
			if h := handled(lastHandledRequest(w, d)); tt.rejected != "" && h != "now rejected" {
				t.Errorf("it is handled as %q", h)
			}
		})
	}
}
