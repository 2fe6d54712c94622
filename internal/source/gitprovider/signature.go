package gitprovider

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// All secrets are tried, whichever is the right one, and digests are compared in constant time: the duration reveals
// nothing of a secret, its length included, nor which of them was right.

// hexHMAC checks an HMAC with SHA-256 that one of the headers has in hex, after a prefix.
func hexHMAC(prefix string, headers ...string) func(http.Header, []byte, [][]byte, time.Time) error {
	return func(h http.Header, signed []byte, secrets [][]byte, _ time.Time) error {
		value := first(h, headers...)
		if value == "" {
			return ErrUnsigned
		}
		text, ok := strings.CutPrefix(value, prefix)
		claim, err := hex.DecodeString(text)
		if !ok || err != nil {
			return ErrSignature
		}
		same := 0
		for _, secret := range secrets {
			same |= subtle.ConstantTimeCompare(claim, digest(secret, signed))
		}
		return errUnless(same)
	}
}

// fresh is how long ago a signature with a time in it may have been created. Clocks may differ by as much.
const fresh = 5 * time.Minute

// standardSigned checks a signature by the Standard Webhooks specification. The header may have several, for several
// keys.
func standardSigned(h http.Header, signed []byte, keys [][]byte, now time.Time) error {
	id, stamp := h.Get("Webhook-Id"), h.Get("Webhook-Timestamp")
	seconds, err := strconv.ParseInt(stamp, 10, 64)
	if err != nil {
		return ErrSignature
	}
	if age := now.Sub(time.Unix(seconds, 0)); age > fresh || age < -fresh {
		return fmt.Errorf("%w: signed at another time than now", ErrSignature)
	}
	same := 0
	for _, key := range keys {
		want := digest(key, []byte(id), []byte("."), []byte(stamp), []byte("."), signed)
		for text := range strings.FieldsSeq(h.Get("Webhook-Signature")) {
			text, ok := strings.CutPrefix(text, "v1,")
			if claim, err := base64.StdEncoding.DecodeString(text); ok && err == nil {
				same |= subtle.ConstantTimeCompare(claim, want)
			}
		}
	}
	return errUnless(same)
}

func digest(key []byte, parts ...[]byte) []byte {
	mac := hmac.New(sha256.New, key)
	for _, p := range parts {
		mac.Write(p)
	}
	return mac.Sum(nil)
}

func errUnless(same int) error {
	if same == 1 {
		return nil
	}
	return ErrSignature
}
