package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"cairn.dev/cairn/internal/base/download"
	"cairn.dev/cairn/internal/base/egress"
	"cairn.dev/cairn/internal/engine"
)

// source is where the releases of a product are: their files and, of no version, one of indexes.
type source interface {
	// open returns a file: errMissing when there is none, ErrUnreachable when it may exist.
	open(ctx context.Context, version, file string) (body, error)
	// at is the address of such a file for messages, without a password.
	at(version, file string) string
	// unlisted are the versions, in no order, where there is no list of them.
	unlisted() ([]string, error)
	// String is the address for messages, without a password.
	String() string
}

// indexes are the names that a list of versions has on a mirror.
func indexes() []string { return []string{"index.json", "api.json"} }

// versionsOf are what the first list that there is names, in no order.
func versionsOf(ctx context.Context, s source) ([]string, error) {
	for _, name := range indexes() {
		file, err := s.open(ctx, "", name)
		if errors.Is(err, errMissing) {
			continue
		}
		if err != nil {
			return nil, err
		}
		data, err := readSmall(file, largestIndex)
		if err != nil {
			return nil, err
		}
		return parseIndex(data)
	}
	return s.unlisted()
}

// newSource returns the source at the address of a mirror, or the maker's own when that is empty.
func newSource(m engine.Release, mirror string, client *http.Client) (source, error) {
	if mirror == "" {
		files := map[string]string{indexes()[0]: m.Index}
		return web{client: client, files: files, release: m.Base, name: m.Index}, nil
	}
	base, err := url.Parse(mirror)
	if err != nil {
		return nil, errors.New("the address is no URL") // the error itself may hold a password
	}
	switch base.Scheme {
	case "file":
		if (base.Host != "" && base.Host != "localhost") || !filepath.IsAbs(base.Path) {
			return nil, fmt.Errorf("%s is not file:// and an absolute path", base.Redacted())
		}
		return folder{base: base.Path, product: m.Folder}, nil
	case "http", "https":
		if base.Host == "" || base.RawQuery != "" {
			return nil, fmt.Errorf("%s is no address of a folder", base.Redacted())
		}
		at := strings.TrimSuffix(base.String(), "/") + "/" + m.Folder
		s := web{client: client, files: map[string]string{}, release: at + "/{version}"}
		s.name = base.JoinPath(m.Folder).Redacted()
		for _, name := range indexes() {
			s.files[name] = at + "/" + name
		}
		return s, nil
	}
	return nil, fmt.Errorf("%s is neither https:// nor http:// nor file://", base.Redacted())
}

// body reads a response; its errors are marked as transient.
type body struct {
	io.Reader
	io.Closer
	// size is how many bytes there will be; less than 1 when that is not known.
	size int64
}

// readSmall reads and closes a source of at most limit bytes.
func readSmall(from io.ReadCloser, limit int64) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(from, limit+1))
	from.Close()
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%w: more than %d bytes", ErrMalformed, limit)
	}
	return data, nil
}

// web is a source over HTTP.
type web struct {
	client *http.Client
	// files are the addresses of the product's files.
	files map[string]string
	// release is the address of a release's folder, with {version} in it.
	release string
	name    string
}

func (w web) String() string { return w.name }

func (w web) unlisted() ([]string, error) {
	return nil, fmt.Errorf("%s has no list of versions", w.name)
}

// address is that of a file; empty of one that the source never has.
func (w web) address(version, file string) string {
	if version == "" {
		return w.files[file]
	}
	return strings.ReplaceAll(w.release, "{version}", version) + "/" + url.PathEscape(file)
}

func (w web) at(version, file string) string {
	u, err := url.Parse(w.address(version, file))
	if err != nil {
		return w.name
	}
	return u.Redacted()
}

func (w web) open(ctx context.Context, version, file string) (body, error) {
	address := w.address(version, file)
	if address == "" {
		return body{}, fmt.Errorf("%s: %w", file, errMissing)
	}
	return w.get(ctx, address)
}

func (w web) get(ctx context.Context, address string) (body, error) {
	ctx, through, over := download.Watch(ctx)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		over()
		return body{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	answer, err := w.client.Do(request) //nolint:bodyclose // the caller closes it
	if err != nil {
		over()
		return body{}, fmt.Errorf("%w: %w", ErrUnreachable, withoutQuery(err))
	}
	from := through(answer.Body)
	if answer.StatusCode == http.StatusOK {
		return body{tagged{from, ErrUnreachable}, from, answer.ContentLength}, nil
	}
	from.Close()
	if answer.StatusCode == http.StatusNotFound || answer.StatusCode == http.StatusGone {
		return body{}, fmt.Errorf("%s: %w", request.URL.Redacted(), errMissing)
	}
	return body{}, fmt.Errorf("%w: %s answered %s", ErrUnreachable, request.URL.Redacted(), answer.Status)
}

// withoutQuery leaves the query out of the address that an error names: the query of a redirect may contain a
// credential.
func withoutQuery(err error) error {
	asked, ok := errors.AsType[*url.Error](err)
	if !ok {
		return err
	}
	u, bad := url.Parse(asked.URL)
	if bad != nil {
		return asked.Err
	}
	u.RawQuery, u.User = "", nil
	return fmt.Errorf("%s: %w", u, asked.Err)
}

// careful returns a client, by default one that connects as the Guard allows, that follows a redirect only as safely as
// it began: the way from https leads to https.
func careful(c *http.Client, to *egress.Guard) *http.Client {
	if c == nil {
		c = &http.Client{Transport: download.Transport(to, 0)}
	}
	other := *c
	other.CheckRedirect = func(next *http.Request, before []*http.Request) error {
		if len(before) >= 10 {
			return errors.New("more than ten redirects")
		}
		if before[0].URL.Scheme == "https" && next.URL.Scheme != "https" {
			return fmt.Errorf("a redirect away from https, to %s", next.URL.Redacted())
		}
		return nil
	}
	return &other
}

// folder is a source on a disk, for an installation without a network. It is opened again each time: a volume may be
// mounted late, and filled while Cairn runs.
type folder struct{ base, product string }

func (f folder) String() string { return "file://" + path.Join(f.base, f.product) }

// unlisted are the names of the folders.
func (f folder) unlisted() ([]string, error) {
	root, err := os.OpenRoot(f.base)
	if err != nil {
		return nil, err
	}
	defer root.Close() //nolint:errcheck // holds no data
	entries, err := fs.ReadDir(root.FS(), f.product)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names, nil
}

func (f folder) at(version, file string) string {
	return "file://" + path.Join(f.base, f.product, version, file)
}

func (f folder) open(_ context.Context, version, file string) (body, error) {
	root, err := os.OpenRoot(f.base)
	if err != nil {
		return body{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer root.Close() //nolint:errcheck // holds no data
	name := path.Join(f.product, version, file)
	info, err := root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return body{}, fmt.Errorf("%s: %w", path.Join(f.base, name), errMissing)
	}
	if err != nil {
		return body{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if !info.Mode().IsRegular() {
		return body{}, fmt.Errorf("%w: %s is no file", ErrMalformed, path.Join(f.base, name))
	}
	content, err := root.Open(name)
	if err != nil {
		return body{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return body{tagged{content, ErrUnreachable}, content, info.Size()}, nil
}
