package attempt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/providermirror"
	"cairn.dev/cairn/internal/runnerapi"
)

// mirrorProviders lets the engine's init take providers from images and from the server's mirror, as far as there are
// any, until the function that it returns is called. An image that has its own CLI configuration keeps it, and all
// that it configures about providers.
func (s *initStep) mirrorProviders(ctx context.Context) (stop func(), err error) {
	stop = func() {}
	if runtime.GOOS != "linux" { // elsewhere no environment configures which certificates a program trusts
		return stop, nil
	}
	env := s.environment()
	if own := providermirror.OwnConfig(env); own != "" {
		fmt.Fprintf(s.text, "providers: as configured in %s\n", own)
		return stop, nil
	}
	images, err := s.providerImages()
	if err != nil {
		return stop, err
	}
	s.explainUnfit(images.Unfit())
	if !s.order.Providers && images.Empty() {
		return stop, nil
	}
	o := providermirror.Options{
		Images: images, OnDownload: s.onDownload, Log: s.Log, Secrets: s.secrets,
		TempDir: s.work.Tmp(), Environ: env, Module: s.module(),
	}
	if s.order.Providers {
		o.Client = s.client
	}
	m, err := providermirror.Start(ctx, o)
	if err != nil {
		return nil, err
	}
	s.mirror = m
	return func() {
		s.mirror = nil
		m.Close()
	}, nil
}

// providerImages returns the providers that come from images.
func (s *initStep) providerImages() (*providermirror.Images, error) {
	lock, err := os.ReadFile(filepath.Join(s.module(), engine.LockFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return providermirror.FindImages(filepath.Join(s.Inputs, runnerapi.ProviderImages), engine.LockedProviders(lock))
}

// explainUnfit writes into the log which providers of images are not used, and what to do about it.
func (s *initStep) explainUnfit(unfit []string) {
	if len(unfit) > 0 {
		platform := runtime.GOOS + "_" + runtime.GOARCH
		fmt.Fprintf(s.text, "The lock file has no h1 checksum for %s of %s, which is in an image of providers: "+
			"it is downloaded instead. To use the image, run %s providers lock -platform=%s and commit %s.\n",
			platform, strings.Join(unfit, ", "), s.engine.Program(), platform, engine.LockFile)
	}
}

// initAgain runs an init that failed once more if the lock file rejects providers of images, and takes them elsewhere.
func (s *initStep) initAgain(ctx context.Context, args []string, code int32, failed error) (int32, error) {
	unfit, err := s.mirror.CheckImages()
	if err != nil || len(unfit) == 0 {
		return code, failed
	}
	s.explainUnfit(unfit)
	code, _, err = s.run(ctx, engine.StepInit, call{args: args, mirror: s.mirror})
	return code, err
}

// unreachableTimeout is how long a runner has the server retry a site that does not answer. It is named from the
// first try on.
const unreachableTimeout = time.Minute

// unreachableError is that a site, from which the server downloads, does not answer.
type unreachableError struct{ runnerapi.Download }

func (u *unreachableError) Error() string { return u.Unreachable }

// onDownload returns what handles the server's answers about one download: it reports the progress, and fails once
// the site has not answered for a while.
func (j *job) onDownload() func(runnerapi.Download) error {
	var since time.Time
	timeout := min(unreachableTimeout, j.order.Patience)
	return func(d runnerapi.Download) error {
		j.reportProgress(d.String())
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
func (j *job) reportProgress(text string) {
	j.progress.mu.Lock()
	defer j.progress.mu.Unlock()
	if text = j.clean(text); text == j.progress.last {
		return
	}
	j.progress.last = text
	fmt.Fprintln(j.text, text)
	j.report.Progress(text)
}
