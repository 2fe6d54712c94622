package runnerapi

import (
	"context"
	"net/url"
	"os"
)

// LargestProvider is how large the archive of a provider may be.
const LargestProvider = 2 << 30

// Provider writes a file of the mirror of providers into file, which then holds nothing else. The path is the file's
// below /v1/providers/. An *Error with code 404 means that there is none, one with code 424 that it failed its
// verification. Until then progress gets the progress of the download, and may cancel it.
func (c *Client) Provider(ctx context.Context, path string, file *os.File, progress func(Download) error) error {
	return c.await(ctx, fileCall("/v1/providers/"+(&url.URL{Path: path}).EscapedPath(), file, LargestProvider),
		progress)
}
