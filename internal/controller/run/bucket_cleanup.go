package run

import (
	"context"

	"cairn.dev/cairn/api/v1alpha1"
)

// Bucket deletes all under a prefix.
type Bucket interface {
	DeletePrefix(ctx context.Context, prefix string) error
}

// Artifacts is what the bucket holds of Runs: plans, logs, and the sessions of their runners.
type Artifacts struct{ Bucket }

// Forget removes it for one Run that is about to go.
func (k Artifacts) Forget(ctx context.Context, run *v1alpha1.Run) error {
	for _, kind := range []string{"plans", "logs", "sessions"} {
		if err := k.DeletePrefix(ctx, kind+"/"+run.Namespace+"/"+string(run.UID)+"/"); err != nil {
			return err
		}
	}
	return nil
}
