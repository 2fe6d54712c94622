package runnerhandler

import (
	"context"
	"net/http"
	"time"

	"cairn.dev/cairn/internal/base/download"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/httpapi"
)

// longestDownloadWait bounds how long a runner may have a request held.
const longestDownloadWait = time.Minute

// downloading is a request that waits for a download. One that sets for how long then gets the progress, and asks
// again; one that sets nothing is held, and its error is that of the download.
type downloading struct {
	context.Context //nolint:containedctx // it is the request's, which is over sooner
	cancel          context.CancelFunc
	request         *http.Request
	reportsProgress bool
}

func startDownloading(r *http.Request, otherwise time.Duration) downloading {
	wait, err := time.ParseDuration(r.URL.Query().Get("wait"))
	d := downloading{request: r, reportsProgress: err == nil && wait > 0}
	if !d.reportsProgress {
		wait = otherwise
	}
	d.Context, d.cancel = context.WithTimeout(r.Context(), min(wait, longestDownloadWait))
	return d
}

// later responds with the progress of the download, or that its source does not answer; false when neither applies.
func (d downloading) later(w http.ResponseWriter, what string, how download.Transfer, err error,
	unreachable bool) (bool, error) {
	answer := runnerapi.Download{What: what, From: how.From, Received: how.Received, Total: how.Total}
	switch {
	case !d.reportsProgress || err == nil || d.request.Context().Err() != nil:
		return false, nil
	case unreachable:
		answer.Unreachable = err.Error()
	case d.Err() == nil: // it failed in another way
		return false, nil
	}
	return true, httpapi.WriteJSON(w, http.StatusAccepted, answer)
}
