package runnerhandler

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"time"

	"cairn.dev/cairn/internal/engine/providers"
	"cairn.dev/cairn/internal/server/httpapi"
)

// provider answers with a mirror's files, in the protocol that engines know as network mirror: index.json, one
// <version>.json for each version, and archives.
func provider(from *providers.Mirror) func(http.ResponseWriter, *http.Request, Caller) error {
	return func(w http.ResponseWriter, r *http.Request, _ Caller) error {
		if from == nil {
			return httpapi.Errorf(http.StatusNotFound, "this install has no mirror of providers")
		}
		p, err := providers.ParseProvider(r.PathValue("hostname"), r.PathValue("namespace"), r.PathValue("type"))
		if err != nil {
			return providerError(err)
		}
		name := r.PathValue("file")
		ctx := startDownloading(r, longestDownloadWait)
		defer ctx.cancel()
		later := func(what string, err error) error {
			away := err != nil && ctx.Err() == nil && !errors.Is(err, providers.ErrNotFound) &&
				!errors.Is(err, providers.ErrVerify)
			if answered, err := ctx.later(w, what, from.Progress(p), err, away); answered || err != nil {
				return err
			}
			return providerError(err)
		}
		if version, ok := strings.CutSuffix(name, ".json"); ok {
			answer, err := describeProvider(ctx, from, p, version)
			if err != nil {
				return later("the list of "+p.String(), err)
			}
			return httpapi.WriteJSON(w, http.StatusOK, answer)
		}
		version, platform, ok := p.ParseFilename(name)
		if !ok {
			return httpapi.Errorf(http.StatusNotFound, "%.200q is no archive of %s", name, p)
		}
		archive, err := from.Archive(ctx, p, version, platform.OS, platform.Arch)
		if err != nil {
			return later(p.String()+" "+version, err)
		}
		defer archive.Close() //nolint:errcheck // only read
		w.Header().Set("Content-Type", "application/zip")
		w.Header().Set("ETag", `"sha256:`+archive.SHA256+`"`)
		http.ServeContent(w, r, name, time.Time{}, archive.File)
		return nil
	}
}

// describeProvider serves the versions of a provider, or what there is of one.
func describeProvider(ctx context.Context, from *providers.Mirror, p providers.Provider, version string) (any, error) {
	if version != "index" {
		return from.Version(ctx, p, version)
	}
	versions, err := from.Versions(ctx, p)
	if err != nil {
		return nil, err
	}
	index := map[string]struct{}{}
	for _, version := range versions {
		index[version] = struct{}{}
	}
	return map[string]any{"versions": index}, nil
}

// providerError converts an error for the client. Unlike others it has all details: it is about a registry, and
// only who asked for that one can know what to do.
func providerError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled):
		return err
	case errors.Is(err, providers.ErrNotFound):
		return httpapi.Errorf(http.StatusNotFound, "%s", err)
	case errors.Is(err, providers.ErrVerify):
		return httpapi.Errorf(http.StatusFailedDependency, "%s", err)
	}
	return httpapi.Errorf(http.StatusServiceUnavailable, "%s", err)
}
