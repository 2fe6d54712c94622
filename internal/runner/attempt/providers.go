package attempt

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"cairn.dev/cairn/internal/runner/providermirror"
	"cairn.dev/cairn/internal/runnerapi"
)

// mirrorProviders lets the engine's init take providers from the server's mirror, when there is one, until the
// function that it returns is called. An image that has its own CLI configuration keeps it, and all that it
// configures about providers.
func (a *attempt) mirrorProviders(ctx context.Context) (stop func(), err error) {
	if !a.order.Providers || runtime.GOOS != "linux" { // elsewhere no environment configures which certificates a program trusts
		return func() {}, nil
	}
	env := a.environment()
	if own := providermirror.OwnConfig(env); own != "" {
		fmt.Fprintf(a.text, "providers: as configured in %s\n", own)
		return func() {}, nil
	}
	m, err := providermirror.Start(ctx, providermirror.Options{
		Client: a.client, OnDownload: a.onDownload, Log: a.Log, Secrets: a.secrets,
		TempDir: a.work.Tmp(), Environ: env, Module: a.module(),
	})
	if err != nil {
		return nil, err
	}
	a.mirror = m
	return func() {
		a.mirror = nil
		m.Close()
	}, nil
}

// unreachableTimeout is how long a runner has the server retry a site that does not answer. It is named from the
// first try on.
const unreachableTimeout = time.Minute

// unreachableError is that a site, from which the server downloads, does not answer.
type unreachableError struct{ runnerapi.Download }

func (u *unreachableError) Error() string { return u.Unreachable }

// onDownload returns what handles the server's answers about one download: it reports the progress, and fails once
// the site has not answered for a while.
func (a *attempt) onDownload() func(runnerapi.Download) error {
	var since time.Time
	timeout := min(unreachableTimeout, a.order.Patience)
	return func(d runnerapi.Download) error {
		a.reportProgress(d.String())
		if d.Unreachable == "" {
			since = time.Time{}
			return nil
		}
		if since.IsZero() {
			since = time.Now()
		}
		if time.Since(since)+runnerapi.UnreachablePause > timeout {
			return &unreachableError{d}
		}
		return nil
	}
}

// progress is what was reported last of downloads. An engine may ask for several providers at once.
type progress struct {
	mu   sync.Mutex
	last string
}

// reportProgress writes how far downloads are into the attempt's log and the message of its step, when that is news.
func (a *attempt) reportProgress(text string) {
	a.progress.mu.Lock()
	defer a.progress.mu.Unlock()
	if text = a.clean(text); text == a.progress.last {
		return
	}
	a.progress.last = text
	fmt.Fprintln(a.text, text)
	a.report.Progress(text)
}
