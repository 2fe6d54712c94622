package release

import (
	"context"
	_ "embed"
	"errors"
	"fmt"

	"cairn.dev/cairn/internal/sigverify"
)

// The public keys that the makers sign their releases with, apart from OpenTofu's, which a library includes. Each test
// of this package that names a fingerprint has it from the maker's own documentation. For a maker whose key is in no
// module, the fingerprint is in the table of products.
var (
	// hashicorpKey is HashiCorp's: https://www.hashicorp.com/trust/security, and the Go module
	// github.com/hashicorp/hc-install v0.10.0, internal/pubkey. It expires on 2030-03-01; a signature from before
	// that counts afterwards too.
	//
	// C874 011F 0AB4 0511 0D02 1055 3436 5D94 72D7 468F
	//
	//go:embed keys/hashicorp.asc
	hashicorpKey string
)

// keysOf returns the keys that sign the releases of a product: those that are configured or built in, or else the one
// that is fetched and has the built-in fingerprint. It is fetched once for all releases.
func (r *Releases) keysOf(ctx context.Context, m maker, w wanted) (sigverify.Keys, error) {
	if keys, ok := r.keys[w.product]; ok {
		return keys, nil
	}
	return r.fetched.get(ctx, string(w.product), func(ctx context.Context) (sigverify.Keys, error) {
		return r.fetchKey(ctx, m, w)
	})
}

// fetchKey fetches the maker's public key. Only the fingerprint is trusted, not the place that the key is fetched from.
// Errors: errKey when the place has no such key, errKeyAway with ErrUnreachable when the place does not answer.
func (r *Releases) fetchKey(ctx context.Context, m maker, w wanted) (sigverify.Keys, error) {
	at := r.sources[w.product].at("", keyFile)
	from, err := r.open(ctx, w, "", keyFile)
	var data []byte
	if err == nil {
		data, err = readSmall(from, largestKey)
	}
	if errors.Is(err, ErrUnreachable) {
		return sigverify.Keys{}, fmt.Errorf("%w: %w", errKeyAway, err)
	}
	if errors.Is(err, errMissing) { // the key is missing, and not the version
		return sigverify.Keys{}, fmt.Errorf("%w: there is no file %s", errKey, at)
	}
	var keys sigverify.Keys
	if err == nil {
		keys, err = sigverify.ParseKey(data, m.fingerprint)
	}
	if err != nil {
		return sigverify.Keys{}, fmt.Errorf("%w: %s: %w", errKey, at, err)
	}
	return keys, nil
}
