package release

import (
	"errors"
	"fmt"

	"cairn.dev/cairn/internal/sigverify"
)

// advise adds to an error what an administrator can do about it: the flag and the chart value. An error that no
// configuration corrects stays as it is.
func advise(p Product, err error) error {
	var remedy string
	switch {
	case errors.Is(err, errUnsigned):
		remedy = fmt.Sprintf("ask for a release that has a signature, or accept its checksum alone: "+
			"start Cairn with --engine-unsigned=%s (chart value engines.unsigned)", p)
	case errors.Is(err, errKey):
		remedy = fmt.Sprintf("name the key that signs the releases: start Cairn with --engine-key=%s=FILE "+
			"(chart value engines.keys.%s); or, if that address is your mirror, put the maker's public key there", p, p)
	case errors.Is(err, sigverify.ErrSignature):
		remedy = fmt.Sprintf("if the mirror signs releases with its own key, name that key: "+
			"start Cairn with --engine-key=%s=FILE (chart value engines.keys.%s)", p, p)
	case errors.Is(err, errKeyAway):
		remedy = fmt.Sprintf("allow Cairn's server to reach that address (HTTPS_PROXY names a proxy), or name the key: "+
			"start Cairn with --engine-key=%s=FILE (chart value engines.keys.%s)", p, p)
	case errors.Is(err, ErrUnreachable):
		remedy = fmt.Sprintf("allow Cairn's server to reach that address (HTTPS_PROXY names a proxy), or name a mirror: "+
			"start Cairn with --engine-mirror=%s=URL (chart value engines.mirrors.%s)", p, p)
	default:
		return err
	}
	return fmt.Errorf("%w; %s", err, remedy)
}
