package runnerhandler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/download"
	"cairn.dev/cairn/internal/base/sigverify"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/release"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/httpapi"
)

// Engines finds and downloads engines whose signatures were verified: release.Releases.
type Engines interface {
	Find(ctx context.Context, product release.Product, constraint string) (version string, err error)
	Get(ctx context.Context, product release.Product, version, os, arch string) (release.Program, error)
	// Progress is how far the download is that Find, with an empty version, or else Get waits for.
	Progress(product release.Product, version, os, arch string) download.Transfer
}

// engines serves what Engines has.
type engines struct {
	from Engines
	// inputs has the engine of a Run.
	inputs func(ctx context.Context, digest string) (inputs.Document, error)
}

// engineWait is how long a runner waits for a download before it has to ask again; the download continues. It is less
// than a runner waits for the head of an answer.
const engineWait = time.Minute

// find answers with the newest version that meets a constraint, once its program is here.
func (e engines) find(w http.ResponseWriter, r *http.Request, c Caller) error {
	ctx := startDownloading(r, engineWait)
	defer ctx.cancel()
	product, platform, err := e.asked(r, c)
	if err != nil {
		return err
	}
	var p release.Program
	what := "the list of versions of " + string(product)
	version, err := e.from.Find(ctx, product, r.URL.Query().Get("version"))
	if err == nil {
		what = string(product) + " " + version
		p, err = e.from.Get(ctx, product, version, platform.os, platform.arch)
	}
	how := e.from.Progress(product, version, platform.os, platform.arch)
	if answered, err := ctx.later(w, what, how, err, errors.Is(err, release.ErrUnreachable)); answered || err != nil {
		return err
	}
	if err != nil {
		return engineError(err)
	}
	return httpapi.WriteJSON(w, http.StatusOK, runnerapi.EngineRelease{Version: p.Version, Digest: p.Digest,
		Size: p.Size, Unsigned: p.Unsigned})
}

// program serves the program of a version.
func (e engines) program(w http.ResponseWriter, r *http.Request, c Caller) error {
	ctx, cancel := context.WithTimeout(r.Context(), engineWait)
	defer cancel()
	product, platform, err := e.asked(r, c)
	if err != nil {
		return err
	}
	p, err := e.from.Get(ctx, product, r.PathValue("version"), platform.os, platform.arch)
	if err != nil {
		return engineError(err)
	}
	file, err := p.Open()
	if err != nil {
		return fmt.Errorf("open %s %s: %w", product, p.Version, err)
	}
	defer file.Close() //nolint:errcheck // only read
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Length", strconv.FormatInt(p.Size, 10))
	_, err = io.Copy(w, file)
	return err
}

// platform is what a program runs on, as Go names it.
type platform struct{ os, arch string }

// platforms are those that cairn-runner is built for.
func platforms() []platform {
	return []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}}
}

// asked returns what a request is for: the engine of the caller's Run, or one that Terragrunt runs, and no other.
func (e engines) asked(r *http.Request, c Caller) (release.Product, platform, error) {
	product, query := release.Product(r.PathValue("name")), r.URL.Query()
	doc, err := e.inputs(r.Context(), c.Run.Spec.InputsDigest)
	if err != nil {
		return "", platform{}, err
	}
	its := release.Product(cmp.Or(doc.Engine.Name, v1alpha1.EngineOpenTofu))
	if product != its && !engine.Runs(string(its), string(product)) {
		return "", platform{}, httpapi.Errorf(http.StatusForbidden, "%.40q is not the engine of Run %s",
			product, c.RunName)
	}
	p := platform{cmp.Or(query.Get("os"), "linux"), cmp.Or(query.Get("arch"), "amd64")}
	if !slices.Contains(platforms(), p) {
		return "", platform{}, httpapi.Errorf(http.StatusUnprocessableEntity,
			"engines are not given out for %.40q on %.40q", p.os, p.arch)
	}
	return product, p, nil
}

// engineError is the runner's error when there is no engine and a retry does not help.
func engineError(err error) error {
	switch {
	case errors.Is(err, release.ErrUnreachable):
		return err
	case errors.Is(err, release.ErrUnknownProduct), errors.Is(err, release.ErrNoVersion):
		return httpapi.Errorf(http.StatusUnprocessableEntity, "%v", err)
	case errors.Is(err, sigverify.ErrSignature), errors.Is(err, release.ErrChecksum),
		errors.Is(err, release.ErrMalformed):
		return httpapi.Errorf(http.StatusFailedDependency, "%v", err)
	}
	return err
}
