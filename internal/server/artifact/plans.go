package artifact

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
	"cairn.dev/cairn/internal/engine/plan/planfile"
	"cairn.dev/cairn/internal/runnerapi"
)

// PlanFolder returns the folder with the plans of a Run. The operator deletes it with the Run.
func PlanFolder(run *v1alpha1.Run) string { return fmt.Sprintf("plans/%s/%s", run.Namespace, run.UID) }

// SessionKey returns the key of the session of the runner in a pod. The operator deletes it with the Run.
func SessionKey(run *v1alpha1.Run, pod types.UID) string {
	return fmt.Sprintf("sessions/%s/%s/%s", run.Namespace, run.UID, pod)
}

// PlanJSONKey returns the key of the engine's JSON of a plan, without secrets: what users read.
func PlanJSONKey(plan string) string { return plan + ".json" }

// FingerprintKey returns the key of the fingerprint of a plan.
func FingerprintKey(plan string) string { return plan + ".fingerprint" }

// ShapeKey returns the key of the shape of a plan.
func ShapeKey(plan string) string { return plan + ".shape" }

// PlanPartsKey returns the key of the fingerprints of the parts of a plan: a JSON object from their names, without
// secrets, to hashes with the key of the installation.
func PlanPartsKey(plan string) string { return plan + ".parts" }

// MaxPlanParts is the maximum size of that object, in bytes.
const MaxPlanParts = 1 << 20

// DifferencesKey returns the key of the changes of a plan with their attributes.
func DifferencesKey(plan string) string { return plan + ".differences" }

// PolicyInputKey returns the key of the PolicyInput of a plan.
func PolicyInputKey(plan string) string { return plan + ".input" }

// PolicyInput is what policies evaluate: a plan with all values. Only they read it.
type PolicyInput struct {
	runnerapi.PlanDocument
	// Unverified is why the plan file cannot be read; then the plan is what the pod reported.
	Unverified string `json:"unverified,omitempty"`
}

// PlanVerdictKey returns the key of the result of the policies on a plan.
func PlanVerdictKey(plan string) string { return plan + ".verdict" }

// PlanFileMemory is how much memory a plan file may take while it is read.
const PlanFileMemory = 4 * planfile.Largest

// ReadPlanFile reads the plan file that is stored under a key, with planfile.Read or ReadChanges. The error is a
// planfile.ErrUnreadable for one that only the engine can read.
func ReadPlanFile(
	ctx context.Context, b *bucket.Bucket, plan string, read func([]byte) (*planfile.File, error),
) (*planfile.File, error) {
	data, err := b.Get(ctx, plan, planfile.Largest)
	if errors.Is(err, bucket.ErrTooLarge) {
		return nil, fmt.Errorf("%w: %w", planfile.ErrUnreadable, err)
	}
	if err != nil {
		return nil, err
	}
	return read(data)
}
