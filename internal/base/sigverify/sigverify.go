// Package sigverify verifies downloads: lists of checksums and the signatures of such lists, as HashiCorp, OpenTofu
// and the publishers of providers create them.
package sigverify

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	pgperrors "github.com/ProtonMail/go-crypto/openpgp/errors"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
)

// Keys are the public keys that signatures are accepted of. The zero Keys accept none.
type Keys struct{ ring openpgp.EntityList }

// ParseKeys reads armored OpenPGP public keys; each text may hold several.
func ParseKeys(armored ...string) (Keys, error) {
	var keys Keys
	for _, text := range armored {
		ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(text))
		if err != nil {
			return Keys{}, fmt.Errorf("read a public key: %w", err)
		}
		keys.ring = append(keys.ring, ring...)
	}
	return keys, nil
}

// ErrSignature is the error of a signature that is of no known key for these bytes.
var ErrSignature = errors.New("the signature is not of a known key for these bytes")

// largestSignature is how much of a signature is read.
const largestSignature = 1 << 20

// Verify verifies that a detached OpenPGP signature of data, binary or armored, is by one of the keys. A key that
// has expired since is accepted: a release does not change. A key that was revoked, or had expired before, is not.
// The error is ErrSignature.
func (k Keys) Verify(data, signature []byte) error {
	signature, err := binary(signature)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSignature, err)
	}
	made, err := k.check(data, signature, time.Now())
	if errors.Is(err, pgperrors.ErrKeyExpired) {
		_, err = k.check(data, signature, made.CreationTime)
	}
	if err == nil && made.SigExpired(time.Now()) {
		err = pgperrors.ErrSignatureExpired
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrSignature, err)
	}
	return nil
}

// check verifies a signature as it would have been at a time. The signature is nil when it is of no key.
func (k Keys) check(data, signature []byte, at time.Time) (*packet.Signature, error) {
	made, _, err := openpgp.VerifyDetachedSignature(k.ring, bytes.NewReader(data), bytes.NewReader(signature),
		&packet.Config{Time: func() time.Time { return at }})
	return made, err
}

// binary removes the armor of a signature that has one.
func binary(signature []byte) ([]byte, error) {
	if len(signature) > largestSignature {
		return nil, fmt.Errorf("a signature of %d bytes", len(signature))
	}
	if !bytes.HasPrefix(bytes.TrimSpace(signature), []byte("-----BEGIN")) {
		return signature, nil
	}
	block, err := armor.Decode(bytes.NewReader(signature))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(block.Body)
}

// ParseSums reads lines of "<sha256 in hex>  <name>" and returns the digest, in lower case, of each name. It
// rejects a name with two digests.
func ParseSums(data []byte) (map[string]string, error) {
	sums := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		sum, name, _ := strings.Cut(line, " ")
		name = strings.TrimPrefix(strings.TrimSpace(name), "*")
		raw, err := hex.DecodeString(sum)
		if err != nil || len(raw) != sha256.Size || name == "" {
			return nil, fmt.Errorf("%.200q is no line of a list of checksums", line)
		}
		sum = strings.ToLower(sum)
		if other, ok := sums[name]; ok && other != sum {
			return nil, fmt.Errorf("%.200q has two checksums", name)
		}
		sums[name] = sum
	}
	return sums, nil
}
