package runnerapi

import (
	"context"
	"net/http"
	"net/url"
	"os"
)

// Engine asks for the newest version of an engine that meets a constraint, for an operating system and an architecture
// as Go names them. The server has its program when it answers. An *Error with code 422 means that there is none, one
// with code 424 that the release is not what its maker signed. Until then progress gets the progress of the download,
// and may cancel it.
func (c *Client) Engine(
	ctx context.Context, name, constraint, os, arch string, progress func(Download) error,
) (EngineRelease, error) {
	await := func(ctx context.Context, r call) error { return c.await(ctx, r, progress) }
	query := url.Values{"version": {constraint}, "os": {os}, "arch": {arch}}
	path := "/v1/engines/" + url.PathEscape(name)
	return ask[EngineRelease](ctx, await, call{method: http.MethodGet, path: path, query: query})
}

// EngineProgram writes the program of a version, as Engine names it, into file, which then holds nothing else. The
// caller compares it with the digest from Engine.
func (c *Client) EngineProgram(ctx context.Context, name, version, os, arch string, file *os.File, limit int64) error {
	query := url.Values{"os": {os}, "arch": {arch}}
	path := "/v1/engines/" + url.PathEscape(name) + "/" + url.PathEscape(version)
	return c.download(ctx, path+"?"+query.Encode(), file, limit)
}
