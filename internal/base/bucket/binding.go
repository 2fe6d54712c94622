package bucket

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"filippo.io/age"
)

// An object is an age file, whose payload age encrypts in chunks with their numbers and a mark on the last one. Its
// header has one stanza, of a type of Cairn's own:
//
//	-> cairn.dev/object/v1 <ID of the secret> <salt>
//	<the file's key, AES-256-GCM with the object's name as associated data>
//
// The stanza is symmetric: only the installation can write an object, although each pod has its public key. The name
// begins with the kind, as in plans/ and logs/, so an object is valid under one name and as one kind.
const stanzaType = "cairn.dev/object/v1"

// saltSize is the length of the salt of a stanza, in bytes. Each stanza has a new key by it, so its nonce can be
// constant.
const saltSize = 32

// Keys encrypt what goes into a bucket and decrypt what comes out.
type Keys struct{ secrets []secret }

// secret is a key from which those of stanzas are derived, and an ID that reveals nothing of it.
type secret struct {
	id  string
	key []byte
}

// NewKeys derives keys from the installation's age identities, as text. Objects are written with the first; all are
// used to read, so that what was written before a change of keys can still be read.
func NewKeys(identities ...string) (Keys, error) {
	var keys Keys
	for _, identity := range identities {
		key, err := hkdf.Key(sha256.New, []byte(identity), nil, "cairn.dev/bucket/key", 32)
		if err != nil {
			return Keys{}, err
		}
		id, err := hkdf.Key(sha256.New, []byte(identity), nil, "cairn.dev/bucket/id", 8)
		if err != nil {
			return Keys{}, err
		}
		keys.secrets = append(keys.secrets, secret{hex.EncodeToString(id), key})
	}
	return keys, nil
}

// ID names the key that objects are written with.
func (k Keys) ID() string { return k.secrets[0].id }

// Old are the IDs of the keys that objects are only read with.
func (k Keys) Old() []string {
	var ids []string
	for _, s := range k.secrets[1:] {
		ids = append(ids, s.id)
	}
	return ids
}

// Equal reports whether these are the same keys, in the same order.
func (k Keys) Equal(other Keys) bool {
	return slices.EqualFunc(k.secrets, other.secrets, func(a, b secret) bool { return a.id == b.id })
}

// aead encrypts the key of one file.
func (s secret) aead(salt []byte) (cipher.AEAD, error) {
	key, err := hkdf.Key(sha256.New, s.key, salt, stanzaType, 32)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	return cipher.NewGCM(block)
}

// named is the recipient and the identity of the object with a name.
type named struct {
	keys Keys
	name string
}

// associated is what the stanza is bound to beside its key.
func (n named) associated() []byte { return []byte(n.name) }

// Wrap implements age.Recipient.
func (n named) Wrap(fileKey []byte) ([]*age.Stanza, error) {
	s, salt := n.keys.secrets[0], make([]byte, saltSize)
	_, _ = rand.Read(salt) // never fails
	aead, err := s.aead(salt)
	if err != nil {
		return nil, err
	}
	return []*age.Stanza{{
		Type: stanzaType, Args: []string{s.id, hex.EncodeToString(salt)},
		Body: aead.Seal(nil, make([]byte, aead.NonceSize()), fileKey, n.associated()), //nolint:gosec // the salt makes a key of its own for each stanza
	}}, nil
}

// errBinding means that a stanza is not of this name, or was changed.
var errBinding = errors.New("it was changed, or belongs to another name")

// Unwrap implements age.Identity.
func (n named) Unwrap(stanzas []*age.Stanza) ([]byte, error) {
	if len(stanzas) != 1 || stanzas[0].Type != stanzaType || len(stanzas[0].Args) != 2 {
		return nil, age.ErrIncorrectIdentity
	}
	stanza := stanzas[0]
	i := slices.IndexFunc(n.keys.secrets, func(s secret) bool { return s.id == stanza.Args[0] })
	if i < 0 {
		return nil, age.ErrIncorrectIdentity
	}
	salt, err := hex.DecodeString(stanza.Args[1])
	if err != nil {
		return nil, fmt.Errorf("salt: %w", err)
	}
	aead, err := n.keys.secrets[i].aead(salt)
	if err != nil {
		return nil, err
	}
	fileKey, err := aead.Open(nil, make([]byte, aead.NonceSize()), stanza.Body, n.associated())
	if err != nil {
		return nil, errBinding
	}
	return fileKey, nil
}
