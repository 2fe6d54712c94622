package userhandler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/server/artifact"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/userapi"
)

const (
	// checkAgain is how often a follower checks for chunks that another process stored.
	checkAgain = time.Second
	// listAgain is how often it lists the log for that. A listing costs, and finds more only where two processes took
	// the same bytes.
	listAgain = 10 * time.Second
	// longestFollow is how long a log is followed by one request. Then the reader asks again, and may or may not.
	longestFollow = time.Hour
	// mostFollowers is how many follow a log at a time.
	mostFollowers = 500
	// mostFollowed is how many of these one user follows.
	mostFollowed = 20
	// mostOfAccounts is how many the ServiceAccounts of one namespace follow: who may create one may create many.
	mostOfAccounts = 100
	// askAgain is how often the permission of a follower is checked.
	askAgain = time.Minute
	// longestSend is how long a reader may take for a piece of a log.
	longestSend = time.Minute
)

// errStopping ends what is held open when the server stops, or was open for long enough. The reader asks again for the
// rest.
var errStopping = errors.New("the server ends this: ask again for the rest")

// mayReadLogs is what it takes to read a log.
var mayReadLogs = auth.Right{Verb: "get", Resource: "runs", Subresource: "logs"}

// showLogs shows the log of an attempt or of all attempts of a Run.
func (s *API) showLogs(w http.ResponseWriter, r *http.Request, a ask) error {
	attempt, offset, follow, err := askedForLog(r)
	if err != nil {
		return err
	}
	folder := artifact.AttemptLogFolder
	switch of := r.URL.Query().Get("of"); {
	case of == "":
	case of == userapi.OfOperations && attempt > 0:
		folder = artifact.OperationsFolder
	default:
		return httpapi.Errorf(http.StatusBadRequest, "of=%.40q: there is only %s, of an attempt", of,
			userapi.OfOperations)
	}
	run, err := s.readRun(r.Context(), a)
	if err != nil {
		return err
	}
	if attempt > 0 && attemptOf(run, attempt) == nil {
		return httpapi.Errorf(http.StatusNotFound, "Run %s has no attempt %d", run.Name, attempt)
	}
	ctx := r.Context()
	if follow {
		var end func()
		if ctx, end, err = s.follow(ctx, a.User); err != nil {
			return err
		}
		defer end()
	}

	news, leave := s.Logs.Changes.Subscribe(artifact.LogFolder(run.Namespace, run.UID))
	defer leave()
	f := &follower{
		server: s, run: run, key: a.NamespacedName, folder: folder, to: http.NewResponseController(w), w: w,
		offset: offset, follow: follow, news: news, skip: attempt == 0, asked: time.Now(),
	}
	f.may = func(ctx context.Context) error { return s.mayStill(ctx, a) }
	if r.Header.Get("Accept") == eventStreamType {
		f.pieces = &logPieces{events: newEventStream(w), at: offset}
	} else {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(http.StatusOK)
		_ = f.to.SetReadDeadline(time.Time{}) // or it would end what is held open
	}
	if err := f.send(nil); err != nil {
		return err
	}
	if attempt > 0 {
		err = f.attempt(ctx, attempt)
	} else {
		err = f.all(ctx)
	}
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err == nil && f.pieces != nil {
		err = f.pieces.end()
	}
	return err
}

// askedForLog reads the query.
func askedForLog(r *http.Request) (attempt int32, offset int64, follow bool, err error) {
	q := r.URL.Query()
	if text := q.Get("attempt"); text != "" {
		n, err := strconv.ParseInt(text, 10, 32)
		if err != nil || n < 1 {
			return 0, 0, false, httpapi.Errorf(http.StatusBadRequest, "attempt=%.40q is not the number of an attempt",
				text)
		}
		attempt = int32(n)
	}
	text := q.Get("offset")
	if id := r.Header.Get("Last-Event-ID"); id != "" { // a browser that continues
		text = id
	}
	if text != "" {
		if offset, err = strconv.ParseInt(text, 10, 64); err != nil || offset < 0 {
			return 0, 0, false, httpapi.Errorf(http.StatusBadRequest, "offset=%.40q is not a number of bytes", text)
		}
	}
	follow, err = flag(r, "follow")
	return attempt, offset, follow, err
}

// follower is a reader of a Run's log.
type follower struct {
	server *API
	run    *v1alpha1.Run
	key    types.NamespacedName
	// folder returns the folder of an attempt.
	folder func(namespace string, run types.UID, attempt int32) string
	w      http.ResponseWriter
	to     *http.ResponseController
	// offset is how many bytes are left out still, and skip whether whole attempts are.
	offset int64
	skip   bool
	follow bool
	// pieces sends the log as events; nil sends its bytes.
	pieces *logPieces
	// news that the log grew, or that the Run changed.
	news <-chan struct{}
	// listed is when the log was listed last, and sent when data or a heartbeat was sent.
	listed, sent time.Time
	// may returns whether the reader may still read it; asked is when it did last.
	may   func(context.Context) error
	asked time.Time
}

// all sends the log of each attempt, and of those to come until the Run is finished.
func (f *follower) all(ctx context.Context) error {
	for number := int32(1); ; {
		switch next := attemptFrom(f.run, number); {
		case next != nil:
			if err := f.attempt(ctx, next.Number); err != nil {
				return err
			}
			number = next.Number + 1
		case !f.follow || f.run.Status.Phase.Finished():
			return nil
		default:
			if err := f.wait(ctx); err != nil {
				return err
			}
			if err := f.readRun(ctx); err != nil {
				return err
			}
		}
	}
}

// attempt sends the log of one attempt until that is over.
func (f *follower) attempt(ctx context.Context, number int32) error {
	folder := f.folder(f.run.Namespace, f.run.UID, number)
	at := f.offset
	f.listed = time.Time{}
	for {
		// Checked before the log is read: when it is over, all of the log is there.
		last := !f.follow || isOver(f.run, number)
		if f.skip && f.offset > 0 && last {
			length, err := f.server.Logs.Length(ctx, folder)
			if err != nil {
				return err
			}
			if length <= f.offset {
				f.offset -= length
				return nil
			}
		}
		var err error
		if at, err = f.copy(ctx, folder, at, last); err != nil {
			return err
		}
		if last {
			f.offset = 0
			return nil
		}
		if err := f.wait(ctx); err != nil {
			return err
		}
		if err := f.readRun(ctx); err != nil {
			return err
		}
	}
}

// copy sends what a log has from an offset on, and returns the offset where it continues.
func (f *follower) copy(ctx context.Context, folder string, at int64, last bool) (int64, error) {
	for {
		list := last || time.Since(f.listed) > listAgain
		data, listed, err := f.server.Logs.ReadAt(ctx, folder, at, list)
		if listed {
			f.listed = time.Now()
		}
		if err != nil || len(data) == 0 {
			return at, err
		}
		if err := f.send(data); err != nil {
			return at, err
		}
		at += int64(len(data))
		if err := f.still(ctx); err != nil {
			return at, err
		}
	}
}

// send writes bytes to the reader, who has to read them in time.
func (f *follower) send(data []byte) error {
	f.sent = time.Now()
	if f.pieces != nil {
		return f.pieces.send(data)
	}
	_ = f.to.SetWriteDeadline(time.Now().Add(longestSend))
	if _, err := f.w.Write(data); err != nil {
		return err
	}
	if err := f.to.Flush(); err != nil {
		return err
	}
	return f.to.SetWriteDeadline(time.Time{}) // nothing is late while there is nothing to send
}

// still returns an error once the reader is not allowed any more. It is called from time to time.
func (f *follower) still(ctx context.Context) error {
	if time.Since(f.asked) < askAgain {
		return nil
	}
	f.asked = time.Now()
	return f.may(ctx)
}

// wait for news, or for the time to check whether there is some. A Run may be silent for hours, as one whose plan
// waits: who reads events gets heartbeats meanwhile.
func (f *follower) wait(ctx context.Context) error {
	if f.pieces != nil && time.Since(f.sent) >= heartbeat {
		if err := f.send(nil); err != nil {
			return err
		}
	}
	again := time.NewTimer(checkAgain)
	defer again.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-f.news:
	case <-again.C:
	}
	return nil
}

// readRun reads the Run again, from a cache. The log of a deleted one has ended.
func (f *follower) readRun(ctx context.Context) error {
	if err := f.still(ctx); err != nil {
		return err
	}
	run := &v1alpha1.Run{}
	err := f.server.Cache.Get(ctx, f.key, run)
	if apierrors.IsNotFound(err) {
		err = f.server.Live.Get(ctx, f.key, run) // the cache may not know it yet
	}
	switch {
	case apierrors.IsNotFound(err) || err == nil && run.UID != f.run.UID:
		gone := f.run.DeepCopy()
		gone.Status.Phase = v1alpha1.PhaseCanceled
		f.run = gone
		return nil
	case err != nil:
		return fmt.Errorf("read Run %s: %w", f.key, err)
	}
	f.run = run
	return nil
}

// mayStill returns an error once the user may not follow a log any longer. While Kubernetes does not answer, the last
// answer is used.
func (s *API) mayStill(ctx context.Context, a ask) error {
	err := s.Users.Revalidate(ctx, a.User)
	if err == nil {
		err = s.Authorizer.Authorize(ctx, a.User, mayReadLogs.On(a.NamespacedName))
	}
	var no *httpapi.Error
	if errors.As(err, &no) && (no.Code == http.StatusUnauthorized || no.Code == http.StatusForbidden) {
		return err
	}
	return nil
}

// isOver returns true when the log of an attempt has ended.
func isOver(run *v1alpha1.Run, number int32) bool {
	a := attemptOf(run, number)
	return run.Status.Phase.Finished() || a != nil && a.FinishedAt != nil || attemptFrom(run, number+1) != nil
}

func attemptOf(run *v1alpha1.Run, number int32) *v1alpha1.Attempt {
	if a := attemptFrom(run, number); a != nil && a.Number == number {
		return a
	}
	return nil
}

// attemptFrom returns the first attempt of a Run whose number is not below that.
func attemptFrom(run *v1alpha1.Run, number int32) *v1alpha1.Attempt {
	for i := range run.Status.Attempts {
		if run.Status.Attempts[i].Number >= number {
			return &run.Status.Attempts[i]
		}
	}
	return nil
}
