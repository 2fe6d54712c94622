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
	return mgr.Add(&upkeep.Sweeper{
		Cache: mgr.GetCache(), Bucket: p.bucket, Unused: o.BucketUnused, Log: p.log, Metrics: p.telemetry.upkeep,
	})
}
