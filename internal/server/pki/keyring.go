package pki

import (
	"bytes"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"time"

	"filippo.io/age"
)

// Keys of the Secret that the keyring is kept in.
const (
	fieldIdentity    = "identity.age"
	fieldFingerprint = "fingerprint.key"
	fieldSigning     = "ca"
	fieldNext        = "next"
	fieldPast        = "past.crt"
)

// fingerprintSize is the length of the key for fingerprints in bytes, as long as HMAC-SHA256 has use for.
const fingerprintSize = 32

// keyring is the secrets of an installation: the keys of its bucket, and of the server's CA.
type keyring struct {
	// identities read what is in the bucket; everything is written to the first.
	identities []*age.X25519Identity
	// fingerprint is the key for fingerprints. It is one of its own, created once, since it must never change: identities may
	// be replaced, and then what was fingerprinted before has to be the same still.
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
	if k.fingerprint = data[fieldFingerprint]; len(k.fingerprint) != 0 && len(k.fingerprint) != fingerprintSize {
		return k, fmt.Errorf("%s: %d bytes where %d are expected", fieldFingerprint, len(k.fingerprint), fingerprintSize)
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
	data := map[string][]byte{fieldPast: encodeCerts(k.past), fieldFingerprint: k.fingerprint}
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

// renew returns the keyring that should exist now, and whether it is another one.
func (k keyring) renew(now time.Time) (keyring, bool, error) {
	changed := false
	if len(k.identities) == 0 {
		id, err := age.GenerateX25519Identity()
		if err != nil {
			return k, false, err
		}
		k.identities, changed = []*age.X25519Identity{id}, true
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

// bundle is the PEM of all authorities that the store's certificate may be from, now or while a pod runs that is
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
