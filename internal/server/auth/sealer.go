package auth

import (
	"crypto/aes"
	"crypto/cipher"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// What is sealed, each for a purpose of its own, so that one is never taken for the other.
const (
	purposeSession = "cairn session v1"
	purposeSignIn  = "cairn sign-in v1"
)

// mostCookie is how long a cookie's value may be: browsers keep 4096 bytes with its name and attributes.
const mostCookie = 3800

var errSealBroken = errors.New("it was not created by this installation, was changed, or has expired")

// sealer encrypts what a browser stores for the server: only the server can read or create it. There is no list of what
// was sealed, so it is valid with each process of the installation, also after a restart.
type sealer struct {
	aead cipher.AEAD
	now  func() time.Time
}

// sealed is what is in a seal.
type sealed struct {
	Until int64           `json:"until"`
	What  json.RawMessage `json:"what"`
}

func newSealer(derive func(purpose string) ([]byte, error), purpose string, now func() time.Time) (sealer, error) {
	key, err := derive(purpose)
	if err != nil {
		return sealer{}, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return sealer{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return sealer{aead, now}, err
}

// seal encrypts a value that is valid for so long.
func (s sealer) seal(v any, until time.Time) (string, error) {
	what, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	data, err := json.Marshal(sealed{Until: until.Unix(), What: what})
	if err != nil {
		return "", err
	}
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, data, nil)), nil //nolint:gosec // it makes a nonce itself, at random
}

// open decrypts what seal encrypted, unless it has expired.
func (s sealer) open(text string, v any) error {
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return errSealBroken
	}
	if data, err = s.aead.Open(nil, nil, data, nil); err != nil {
		return errSealBroken
	}
	var in sealed
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("%w: %w", errSealBroken, err)
	}
	if !s.now().Before(time.Unix(in.Until, 0)) {
		return errSealBroken
	}
	return json.Unmarshal(in.What, v)
}
