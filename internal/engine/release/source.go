package release

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
)

// source is where the releases of a product are.
type source interface {
	// versions are what is listed there, in no order.
	versions(ctx context.Context) ([]string, error)
	// open gives a file of a release: errMissing when there is none, ErrUnreachable when it may be there.
	open(ctx context.Context, version, file string) (body, error)
	// key gives the file with the maker's public key, with the errors of open; keyAt is its address, without a password.
	key(ctx context.Context) (body, error)
	keyAt() string
	// at is the address of such a file for people, without a password.
	at(version, file string) string
	// String is the address for people, without a password.
	String() string
}

// indexes are the names that a list of versions has on a mirror.
func indexes() []string { return []string{"index.json", "api.json"} }

// keyFile is the name that a maker's public key has on a mirror, in the product's folder.
const keyFile = "KEYS"

// newSource gives the source at the address of a mirror, or the maker's own when that is empty.
func newSource(m maker, mirror string, client *http.Client) (source, error) {
	if mirror == "" {
		return web{client: client, indexes: []string{m.index}, release: m.release, keyFile: m.key, name: m.index}, nil
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
		return folder{base: base.Path, product: m.folder}, nil
	case "http", "https":
		if base.Host == "" || base.RawQuery != "" {
			return nil, fmt.Errorf("%s is no address of a folder", base.Redacted())
		}
		at := strings.TrimSuffix(base.String(), "/") + "/" + m.folder
		s := web{client: client, release: at + "/{version}", keyFile: at + "/" + keyFile}
		s.name = base.JoinPath(m.folder).Redacted()
		for _, name := range indexes() {
			s.indexes = append(s.indexes, at+"/"+name)
		}
		return s, nil
	}
	return nil, fmt.Errorf("%s is neither https:// nor http:// nor file://", base.Redacted())
}

// body reads what came, with errors that say that they may pass.
type body struct {
	io.Reader
	io.Closer
	// size is how many bytes there will be; less than 1 when that is not known.
	size int64
}

// readSmall reads and closes what may have no more than limit bytes.
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
