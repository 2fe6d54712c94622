package operator

import (
	ctrl "sigs.k8s.io/controller-runtime"

	"cairn.dev/cairn/internal/upkeep"
)

// addUpkeep has the bucket swept by the operator that is active.
func addUpkeep(mgr ctrl.Manager, p *parts, o Options) error {
	if err := upkeep.CheckUnused(o.BucketUnused); err != nil || o.BucketUnused == 0 {
		return err
	}
	p.bucket.RenewAfter(upkeep.RenewAfter(o.BucketUnused))
	// The bucket is that of all parts: who sweeps it has to know of everything that refers to it, and not only of its own.
	if o.Shard.Index > 0 {
		return nil
	}
	return mgr.Add(&upkeep.Sweeper{
		Live: mgr.GetAPIReader(), Bucket: p.bucket, Unused: o.BucketUnused, Log: p.log, Metrics: p.telemetry.upkeep,
	})
}
