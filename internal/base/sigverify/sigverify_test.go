package sigverify

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/packet"
	"github.com/google/go-cmp/cmp"
	"github.com/opentofu/tofudl/branding"
)

// signer is a key that was made at a time.
type signer struct {
	*testing.T
	entity *openpgp.Entity
	config packet.Config
}

func newSigner(t *testing.T, made time.Time) *signer {
	t.Helper()
	s := &signer{T: t, config: packet.Config{
		Algorithm: packet.PubKeyAlgoEdDSA, Time: func() time.Time { return made },
	}}
	var err error
	if s.entity, err = openpgp.NewEntity("Maker", "", "maker@example.com", &s.config); err != nil {
		t.Fatal(err)
	}
	return s
}

// live gives the key an end, counted from when it was made.
func (s *signer) live(life time.Duration) {
	s.Helper()
	seconds := uint32(life.Seconds())
	for _, id := range s.entity.Identities {
		id.SelfSignature.KeyLifetimeSecs = &seconds
		if err := id.SelfSignature.SignUserId(id.UserId.Id, s.entity.PrimaryKey, s.entity.PrivateKey,
			&s.config); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *signer) armored() string {
	s.Helper()
	var text bytes.Buffer
	w, err := armor.Encode(&text, openpgp.PublicKeyType, nil)
	if err == nil {
		err = errors.Join(s.entity.Serialize(w), w.Close())
	}
	if err != nil {
		s.Fatal(err)
	}
	return text.String()
}

func (s *signer) keys() Keys {
	s.Helper()
	keys, err := ParseKeys(s.armored())
	if err != nil {
		s.Fatal(err)
	}
	return keys
}

// sign makes a signature at a time that lives for so long; 0 is forever.
func (s *signer) sign(data string, at time.Time, life time.Duration) []byte {
	s.Helper()
	config := s.config
	config.Time, config.SigLifetimeSecs = func() time.Time { return at }, uint32(life.Seconds())
	var signature bytes.Buffer
	if err := openpgp.DetachSign(&signature, s.entity, strings.NewReader(data), &config); err != nil {
		s.Fatal(err)
	}
	return signature.Bytes()
}

func TestVerify(t *testing.T) {
	now := time.Now()
	year := 365 * 24 * time.Hour
	ours, other := newSigner(t, now.Add(-year)), newSigner(t, now.Add(-year))
	expired := newSigner(t, now.Add(-2*year))
	before, after := expired.sign("data", now.Add(-year-time.Hour), 0), expired.sign("data", now.Add(-time.Hour), 0)
	brief := expired.sign("data", now.Add(-year-time.Hour), time.Minute)
	expired.live(year)
	both, err := ParseKeys(other.armored(), ours.armored())
	if err != nil {
		t.Fatal(err)
	}
	good := ours.sign("data", now.Add(-time.Hour), 0)
	var text bytes.Buffer
	if err := openpgp.ArmoredDetachSign(&text, ours.entity, strings.NewReader("data"), nil); err != nil {
		t.Fatal(err)
	}
	bent := bytes.Clone(good)
	bent[len(bent)-1] ^= 1

	tests := map[string]struct {
		keys      Keys
		signature []byte
		ok        bool
	}{
		"a signature by the key":             {ours.keys(), good, true},
		"an armored signature by the key":    {ours.keys(), text.Bytes(), true},
		"a signature by one of two keys":     {both, good, true},
		"a signature by another key":         {other.keys(), good, false},
		"a signature when there are no keys": {Keys{}, good, false},
		"a signature of other bytes": {ours.keys(), ours.sign("date", now.Add(-time.Hour), 0),
			false},
		"a signature with a bit changed": {ours.keys(), bent, false},
		"a signature that is cut off":    {ours.keys(), good[:len(good)/2], false},
		"no signature":                   {ours.keys(), nil, false},
		"armor around nothing": {ours.keys(), []byte("-----BEGIN PGP SIGNATURE-----"),
			false},
		"a signature that has expired": {ours.keys(),
			ours.sign("data", now.Add(-time.Hour), time.Minute), false},
		"a key that has expired since it signed":              {expired.keys(), before, true},
		"a key that had expired when it signed":               {expired.keys(), after, false},
		"a signature that has expired by a key that has, too": {expired.keys(), brief, false},
		"a signature of two megabytes": {ours.keys(),
			append(bytes.Clone(good), make([]byte, 2<<20)...), false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			err := test.keys.Verify([]byte("data"), test.signature)
			if ok := err == nil; ok != test.ok || !ok && !errors.Is(err, ErrSignature) {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestARevokedKeyIsTakenForNothing(t *testing.T) {
	now := time.Now()
	s := newSigner(t, now.Add(-time.Hour))
	signature := s.sign("data", now.Add(-time.Minute), 0)
	if err := s.entity.RevokeKey(packet.KeyCompromised, "stolen", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.keys().Verify([]byte("data"), signature); !errors.Is(err, ErrSignature) {
		t.Errorf("%v", err)
	}
}

func TestParseKeys(t *testing.T) {
	if _, err := ParseKeys(branding.DefaultGPGKey); err != nil {
		t.Error(err)
	}
	for _, text := range []string{"", "no key", "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nAAAA\n-----END PGP PUBLIC " +
		"KEY BLOCK-----"} {
		if _, err := ParseKeys(text); err == nil {
			t.Errorf("%q is taken for a key", text)
		}
	}
}

func TestParseSums(t *testing.T) {
	a, b := strings.Repeat("a", 64), strings.Repeat("0B", 32)
	tests := map[string]struct {
		data string
		want map[string]string // nil is an error
	}{
		"two files": {a + "  one.zip\n" + b + "  two.zip\n",
			map[string]string{"one.zip": a, "two.zip": strings.ToLower(b)}},
		"a binary file, as sha256sum marks": {a + " *one.zip", map[string]string{"one.zip": a}},
		"empty lines and Windows' ends":     {"\r\n" + a + "  one.zip\r\n\r\n", map[string]string{"one.zip": a}},
		"nothing":                           {"", map[string]string{}},
		"the same line twice":               {a + "  one.zip\n" + a + "  one.zip\n", map[string]string{"one.zip": a}},
		"a file with two checksums":         {a + "  one.zip\n" + b + "  one.zip\n", nil},
		"the checksum of another kind":      {a[:40] + "  one.zip\n", nil},
		"what is no hex":                    {strings.Repeat("z", 64) + "  one.zip\n", nil},
		"a checksum of nothing":             {a + "\n", nil},
		"a page that says sorry":            {"<html><body>sorry</body></html>", nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := ParseSums([]byte(test.data))
			if diff := cmp.Diff(test.want, got); diff != "" || (err == nil) != (test.want != nil) {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}

func FuzzParseSums(f *testing.F) {
	f.Add([]byte(strings.Repeat("a", 64) + "  one.zip\n"))
	f.Add([]byte(strings.Repeat("a", 64) + " *one.zip\n" + strings.Repeat("b", 64) + "  one.zip"))
	f.Fuzz(func(t *testing.T, data []byte) {
		sums, err := ParseSums(data)
		if err != nil && sums != nil {
			t.Error("both an error and checksums")
		}
		for name, sum := range sums {
			if name == "" || len(sum) != 64 || strings.ToLower(sum) != sum {
				t.Errorf("%q: %q", name, sum)
			}
		}
	})
}

func FuzzVerify(f *testing.F) {
	keys, err := ParseKeys(branding.DefaultGPGKey)
	if err != nil {
		f.Fatal(err)
	}
	f.Add([]byte("data"), []byte("-----BEGIN PGP SIGNATURE-----"))
	f.Add([]byte("data"), []byte{0xc2, 0x04, 4, 0, 22, 8})
	f.Fuzz(func(t *testing.T, data, signature []byte) {
		if err := keys.Verify(data, signature); !errors.Is(err, ErrSignature) {
			t.Errorf("%v", err)
		}
	})
}
