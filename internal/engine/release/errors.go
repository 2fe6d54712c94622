package release

import (
	"errors"
	"fmt"
	"io"

	"cairn.dev/cairn/internal/base/sigverify"
)

// What can be wrong with a release. A signature that is wrong is sigverify.ErrSignature.
var (
	// ErrUnknownProduct is a product that is not in the table.
	ErrUnknownProduct = errors.New("no such engine is known")
	// ErrNoVersion is a version, a constraint or a platform that no release meets. The message names what there is.
	ErrNoVersion = errors.New("there is no such version")
	// ErrChecksum is a download that is not what the maker signed.
	ErrChecksum = errors.New("the checksum does not match")
	// ErrMalformed is a release that is signed, but does not have the form of a release.
	ErrMalformed = errors.New("the release is not as expected")
	// ErrUnreachable may pass: the place of the releases does not answer, or answers nonsense.
	ErrUnreachable = errors.New("the releases cannot be reached")
	// ErrDamaged is transient: the stored program changed since it was verified. It is deleted, and the next Get
	// downloads it again.
	ErrDamaged = errors.New("the program that was kept is damaged")
)

// errUnsigned is a release without any signature: a sigverify.ErrSignature.
var errUnsigned = fmt.Errorf("%w: there is none", sigverify.ErrSignature)

// errMissing is a file that a source does not have.
var errMissing = errors.New("there is no such file")

// tagged adds an error to failures of reading, so that they are not taken for failures of writing.
type tagged struct {
	from io.Reader
	tag  error
}

func (t tagged) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		err = fmt.Errorf("%w: %w", t.tag, err)
	}
	return n, err
}

// advise adds to an error what an administrator can do about it: the flag and the chart value. An error that no
// configuration corrects stays as it is.
func advise(p Product, err error) error {
	var remedy string
	switch {
	case errors.Is(err, errUnsigned):
		remedy = fmt.Sprintf("use a release that has a signature; or, if its publisher signs none, compare "+
			"its list of checksums with a copy that you trust, and start Cairn with its SHA-256 digest: "+
			"--engine-unsigned=%s@VERSION=sha256:DIGEST (chart value engines.unsigned.%s)", p, p)
	case errors.Is(err, sigverify.ErrSignature):
		remedy = fmt.Sprintf("if the mirror signs releases with its own key, name that key: "+
			"start Cairn with --engine-key=%s=FILE (chart value engines.keys.%s)", p, p)
	case errors.Is(err, ErrUnreachable):
		remedy = fmt.Sprintf("allow Cairn's server to reach that address (HTTPS_PROXY names a proxy), or "+
			"name a mirror: start Cairn with --engine-mirror=%s=URL (chart value engines.mirrors.%s)", p, p)
	default:
		return err
	}
	return fmt.Errorf("%w; %s", err, remedy)
}
