package operator

import (
	"context"

	ctrl "sigs.k8s.io/controller-runtime"

	"cairn.dev/cairn/internal/controller/bucketgc"
)

// addUpkeep has the leader of the operators encrypt the bucket again for a new key, and collect its garbage.
func addUpkeep(_ context.Context, mgr ctrl.Manager, p *parts, o Options) error {
	if o.Shard.Index == 0 {
		err := mgr.Add(&bucketgc.Reencrypter{
			Bucket: p.bucket, Retire: p.keys.Retire, Log: p.log, Metrics: p.telemetry.bucketgc,
		})
		if err != nil {
			return err
		}
	}
	if err := bucketgc.CheckAfter(o.BucketGCAfter); err != nil || o.BucketGCAfter == 0 {
		return err
	}
	p.bucket.RenewAfter(bucketgc.RenewAfter(o.BucketGCAfter))
	// The bucket is that of all parts: the collector has to know everything that refers to it, not only its own part.
	if o.Shard.Index > 0 {
		return nil
	}
	return mgr.Add(&bucketgc.Collector{
		Live: mgr.GetAPIReader(), Bucket: p.bucket, After: o.BucketGCAfter, Log: p.log, Metrics: p.telemetry.bucketgc,
	})
}
