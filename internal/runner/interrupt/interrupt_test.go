package interrupt

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestOutlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		process, interrupt := WithInterrupt(t.Context())
		before, cancel := Outlive(process)
		defer cancel()
		time.Sleep(time.Hour)
		interrupt()
		after, cancel := Outlive(process)
		defer cancel()
		time.Sleep(Grace - time.Second)
		synctest.Wait()
		if before.Err() != nil || after.Err() != nil {
			t.Error("it was over too soon")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if before.Err() == nil || after.Err() == nil {
			t.Error("it is not over")
		}
		kept, cancel := Outlive(context.Background())
		time.Sleep(time.Hour)
		if kept.Err() != nil {
			t.Error("it was over without a reason")
		}
		cancel()
	})
}
