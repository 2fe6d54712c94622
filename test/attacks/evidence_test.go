package attacks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/telemetry"
)

// deleter deletes a Run as soon as its end is written.
type deleter struct {
	client.StatusClient
	client.SubResourceWriter
	deleted func()
}

func (d *deleter) Status() client.SubResourceWriter { return d }

func (d *deleter) Patch(context.Context, client.Object, client.Patch, ...client.SubResourcePatchOption) error {
	d.deleted()
	return errors.New("the connection was lost")
}

// A user who can delete Runs deletes the one that shows who requested and approved an apply, as soon as it has ended.
func TestEvidenceOfADeletedRunIsKept(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 11, 25, 6, 0, 0, 0, time.UTC))
	before := &v1alpha1.Run{
		ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "net-7", UID: "1b4e", CreationTimestamp: at},
		Spec: v1alpha1.RunSpec{
			Stack: v1alpha1.ObjectRef{Name: "net"}, Operation: v1alpha1.OperationApply, InputsDigest: "sha256:aa",
			Cause:    v1alpha1.Cause{Type: v1alpha1.CauseManual, By: "alice"},
			Approval: &v1alpha1.Approval{PlanDigest: "sha256:bb", By: "bob"}, SelfApprovalRemovedBy: "carol",
			CausedBy: []v1alpha1.Contributor{{Kind: v1alpha1.ContributorSpec, Name: "dan"}},
		},
		Status: v1alpha1.RunStatus{
			Phase: v1alpha1.PhaseApplying, Plan: &v1alpha1.Plan{Digest: "sha256:bb", Destroy: 3},
			Attempts: []v1alpha1.Attempt{{Number: 1, Phase: v1alpha1.AttemptPlan},
				{Number: 2, Phase: v1alpha1.AttemptApply}},
		},
	}
	run := before.DeepCopy()
	run.Status.Phase, run.Status.FinishedAt = v1alpha1.PhaseSucceeded, &at

	var log bytes.Buffer
	line := map[string]any{}
	recorder := &telemetry.Recorder{Log: slog.New(slog.NewJSONHandler(&log, nil))}
	thief := &deleter{deleted: func() {
		if err := json.Unmarshal(log.Bytes(), &line); err != nil {
			t.Errorf("the Run is deleted, and the log has %q: %v", log.String(), err)
		}
	}}
	if err := recorder.WriteStatus(t.Context(), thief, before, run); err == nil {
		t.Error("the error of the write is lost")
	}
	for field, want := range map[string]any{
		"msg": "audit: run finished", "namespace": "infra", "stack": "net", "run": "net-7", "uid": "1b4e",
		"operation": "Apply", "cause": "Manual",
		"by": "alice", "approvedBy": "bob", "approvedPlan": "sha256:bb", "planDigest": "sha256:bb",
		"inputsDigest":          "sha256:aa",
		"selfApprovalRemovedBy": "carol", "phase": "Succeeded", "applied": true, "destroy": 3.0,
		"finishedAt": "2026-11-25T06:00:00Z",
	} {
		if line[field] != want {
			t.Errorf("%s is %v, want %v", field, line[field], want)
		}
	}
	if got := fmt.Sprint(line["causedBy"]); got != "[Spec dan]" {
		t.Errorf("causedBy is %s", got)
	}
}
