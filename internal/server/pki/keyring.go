package pki

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"

	"filippo.io/age"

	"cairn.dev/cairn/internal/base/bucket"
)

// Keys of the Secret that the keyring is kept in.
const (
	fieldIdentity    = "identity.age"
	fieldFingerprint = "fingerprint.key"
	fieldSigning     = "ca"
	fieldNext        = "next"
	fieldPast        = "past.crt"
	// fieldBucket lists the public keys of the identities that objects in the bucket may be encrypted with.
	fieldBucket = "bucket-recipients"
	// fieldRotate, with any value, is a user's request for a new identity.
	fieldRotate = "rotate"
)

// fingerprintSize is the length of the key for fingerprints in bytes, as long as HMAC-SHA256 has use for.
const fingerprintSize = 32

// keyring is the secrets of an installation: the keys of its bucket, and of the server's CA.
type keyring struct {
	// identities read states that runners printed. Everything is written to the first.
	identities []*age.X25519Identity
	// recipients are the public keys of the identities that the bucket is read with: the first one, and those from
	// before a rotation until no object is encrypted with them.
	recipients []string
	// rotate is set when a user requests a new identity.
	rotate bool
	// bucket is computed from the identities in recipients.
	bucket bucket.Keys
	// fingerprint is the key for fingerprints. It is one of its own, created once, since it must never change:
	// identities may be replaced, and then what was fingerprinted before has to be the same still.
	fingerprint []byte
	// signing signs the serving certificates, next will do so.
	signing, next *authority
	// past ones signed before. Only their certificates are kept.
	past []*x509.Certificate
}

// parseKeyring reads the Secret's data. What is missing is left out; what is there and wrong is an error, for a new
// identity in place of one that cannot be read would lose all that was encrypted to it.
func parseKeyring(data map[string][]byte) (keyring, error) {
	var k keyring
	if text := data[fieldIdentity]; len(text) > 0 {
		found, err := age.ParseIdentities(bytes.NewReader(text))
		if err != nil {
			return k, fmt.Errorf("%s: %w", fieldIdentity, err)
		}
		for _, id := range found {
			x, ok := id.(*age.X25519Identity)
			if !ok {
				return k, fmt.Errorf("%s: an identity that is not X25519", fieldIdentity)
			}
			k.identities = append(k.identities, x)
		}
	}
	k.recipients = strings.Fields(string(data[fieldBucket]))
	_, k.rotate = data[fieldRotate]
	if k.fingerprint = data[fieldFingerprint]; len(k.fingerprint) != 0 && len(k.fingerprint) != fingerprintSize {
		return k, fmt.Errorf("%s: %d bytes where %d are expected", fieldFingerprint, len(k.fingerprint),
			fingerprintSize)
	}
	var err error
	for field, slot := range map[string]**authority{fieldSigning: &k.signing, fieldNext: &k.next} {
		if len(data[field+".crt"]) == 0 && len(data[field+".key"]) == 0 {
			continue
		}
		if *slot, err = parseAuthority(data[field+".crt"], data[field+".key"]); err != nil {
			return k, fmt.Errorf("%s.crt and %[1]s.key: %w; remove both, and Cairn creates new ones", field, err)
		}
	}
	if k.past, err = parseCerts(data[fieldPast]); err != nil {
		return k, fmt.Errorf("%s: %w", fieldPast, err)
	}
	return k, nil
}

// data is what parseKeyring reads.
func (k keyring) data() (map[string][]byte, error) {
	data := map[string][]byte{
		fieldPast: encodeCerts(k.past), fieldFingerprint: k.fingerprint,
		fieldBucket: []byte(strings.Join(k.recipients, "\n") + "\n"),
	}
	for _, id := range k.identities {
		data[fieldIdentity] = append(data[fieldIdentity], id.String()+"\n"...)
	}
	for field, a := range map[string]*authority{fieldSigning: k.signing, fieldNext: k.next} {
		key, err := a.keyPEM()
		if err != nil {
			return nil, err
		}
		data[field+".crt"], data[field+".key"] = a.certPEM(), key
	}
	return data, nil
}

// identity returns the identity of a public key; nil if the keyring does not have it.
func (k keyring) identity(recipient string) *age.X25519Identity {
	for _, id := range k.identities {
		if id.Recipient().String() == recipient {
			return id
		}
	}
	return nil
}

// restore adds the identities that the bucket is read with and that known has, if this keyring lost them. It returns
// whether it added any; one that known does not have either is an error.
func (k *keyring) restore(known keyring) (restored bool, err error) {
	listed := k.recipients
	if len(listed) == 0 {
		listed = known.recipients
	}
	for _, recipient := range listed {
		if k.identity(recipient) != nil {
			continue
		}
		id := known.identity(recipient)
		if id == nil {
			return false, fmt.Errorf("the identity of %s is gone, and objects in the bucket are encrypted with it: "+
				"restore it in %s from a backup; or, to lose these objects on purpose, remove the line from %s",
				recipient, fieldIdentity, fieldBucket)
		}
		k.identities, restored = append(k.identities, id), true
	}
	return restored, nil
}

// bucketKeys derives the keys of the bucket from the identities that it is read with.
func (k keyring) bucketKeys() (bucket.Keys, error) {
	var identities []string
	for _, id := range k.identities {
		if slices.Contains(k.recipients, id.Recipient().String()) {
			identities = append(identities, id.String())
		}
	}
	return bucket.NewKeys(identities...)
}

// renew returns the keyring that should exist now, and whether it is another one.
func (k keyring) renew(now time.Time) (keyring, bool, error) {
	changed := false
	if len(k.identities) == 0 || k.rotate {
		id, err := age.GenerateX25519Identity()
		if err != nil {
			return k, false, err
		}
		k.identities, k.rotate, changed = append([]*age.X25519Identity{id}, k.identities...), false, true
	}
	// Without a list the Secret is of a version without rotation, or its user wants to read with all of them.
	all := len(k.recipients) == 0
	for i, id := range k.identities {
		if recipient := id.Recipient().String(); (all || i == 0) && !slices.Contains(k.recipients, recipient) {
			k.recipients, changed = append(k.recipients, recipient), true
		}
	}
	if len(k.fingerprint) == 0 {
		k.fingerprint, changed = make([]byte, fingerprintSize), true
		_, _ = rand.Read(k.fingerprint) // never fails
	}
	rotation := Rotate(now, k.signing.span(), k.next.span())
	if rotation == RotateNothing {
		return k, changed, nil
	}
	was := k.signing
	switch rotation {
	case RotateBoth:
		a, err := newAuthority(now)
		if err != nil {
			return k, false, err
		}
		k.signing = a
	case RotatePromote:
		k.signing = k.next
	}
	next, err := newAuthority(now)
	if err != nil {
		return k, false, err
	}
	k.next = next
	k.past = pastOf(k.past, was, k.signing, now)
	return k, true, nil
}

// pastOf are the authorities that signed before and are still valid.
func pastOf(past []*x509.Certificate, was, signing *authority, now time.Time) []*x509.Certificate {
	if was != nil && was != signing {
		past = append(past[:len(past):len(past)], was.cert)
	}
	var valid []*x509.Certificate
	for _, cert := range past {
		if now.Before(cert.NotAfter) {
			valid = append(valid, cert)
		}
	}
	return valid
}

// bundle is the PEM of all authorities that the server's certificate may be from, now or while a pod runs that is
// started now.
func (k keyring) bundle() []byte {
	return encodeCerts(append([]*x509.Certificate{k.signing.cert, k.next.cert}, k.past...))
}

func encodeCerts(certs []*x509.Certificate) []byte {
	var text []byte
	for _, cert := range certs {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw})...)
	}
	return text
}
