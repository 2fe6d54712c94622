package download

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestDownloadIsSharedAndContinuesWithoutItsCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGroup()
		defer g.Close()
		var downloads atomic.Int32
		download := func(context.Context) (string, error) {
			downloads.Add(1)
			time.Sleep(time.Minute)
			return "file", nil
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := Do(impatient, g, "a", download); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		began := time.Now()
		if got, err := Do(t.Context(), g, "a", download); got != "file" || err != nil || downloads.Load() != 1 {
			t.Errorf("%q, %v after %d downloads", got, err, downloads.Load())
		}
		if took := time.Since(began); took != time.Minute-time.Second {
			t.Errorf("it took %s", took)
		}
		if _, err := Do(t.Context(), g, "a", download); err != nil || downloads.Load() != 2 {
			t.Errorf("%v, %d downloads", err, downloads.Load())
		}
	})
}

func TestCloseCancelsDownloadsAndWaitsForThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGroup()
		var ended atomic.Bool
		result := make(chan error, 1)
		go func() {
			_, err := Do(t.Context(), g, "a", func(ctx context.Context) (any, error) {
				<-ctx.Done()
				time.Sleep(time.Second)
				ended.Store(true)
				return nil, ctx.Err()
			})
			result <- err
		}()
		synctest.Wait()
		if g.Close(); !ended.Load() {
			t.Error("it did not wait")
		}
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		_, err := Do(t.Context(), g, "b", func(context.Context) (any, error) {
			t.Error("a download began")
			return nil, nil
		})
		if !errors.Is(err, ErrClosed) {
			t.Error(err)
		}
	})
}
