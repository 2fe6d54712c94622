package release

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/sigverify"
	"cairn.dev/cairn/test/releases"
)

const keysFile = "terragrunt/KEYS"

func grunt(version string) releases.Release {
	return releases.Release{Product: "Terragrunt", Version: version, OS: "linux", Arch: "amd64", Program: []byte("grunt")}
}

// unkeyed enters with no key of Terragrunt but a fingerprint.
func unkeyed(t *testing.T, m *releases.Mirror, fingerprint string, change ...func(*Options)) *room {
	t.Helper()
	r := enter(t, m, append(change, func(o *Options) { delete(o.Keys, Terragrunt) })...)
	its := r.makers[Terragrunt]
	its.fingerprint = fingerprint
	r.makers[Terragrunt] = its
	return r
}

// at has the key come from another address than the mirror, as it does from a maker, by a client.
func (r *room) at(address string, client *http.Client) {
	its := r.sources[Terragrunt].(web)
	its.files[keyFile], its.client = address, careful(client)
	r.sources[Terragrunt] = its
}

func (r *room) grunt(version string) error {
	_, err := r.Get(r.Context(), Terragrunt, version, "linux", "amd64")
	return err
}

func TestOnlyTheKeyWithTheFingerprintIsTaken(t *testing.T) {
	tests := map[string]struct {
		// change gets the mirror as its maker signed it, and a mirror of another signer.
		change func(m, other *releases.Mirror)
		want   error
		says   string
	}{
		"the key": {func(m, _ *releases.Mirror) { m.Write(keysFile, []byte(m.Key)) }, nil, ""},
		"another key, which signed": {func(m, _ *releases.Mirror) {
			m.SignWithAnotherKey()
			m.Sign("Terragrunt", "1.1.3")
			m.Write(keysFile, []byte(m.Key))
		}, errKey, "no public key in it has the fingerprint"},
		"two keys, of which the right one signed": {func(m, other *releases.Mirror) {
			m.Write(keysFile, []byte("Keys:\n"+other.Key+"\nand\n"+m.Key))
		}, nil, ""},
		"two keys, of which the other one signed": {func(m, _ *releases.Mirror) {
			right := m.Key
			m.SignWithAnotherKey()
			m.Sign("Terragrunt", "1.1.3")
			m.Write(keysFile, []byte(m.Key+"\n"+right))
		}, sigverify.ErrSignature, "Terragrunt 1.1.3: the signature is not of a known key"},
		"no key": {func(*releases.Mirror, *releases.Mirror) {}, errKey, "there is no file"},
		"a text that is no key": {func(m, _ *releases.Mirror) {
			m.Write(keysFile, []byte("<html>"))
		}, errKey, "no public key"},
		"the start of a key's text": {func(m, _ *releases.Mirror) {
			m.Write(keysFile, []byte(m.Key[:80]))
		}, errKey, "no public key"},
		"the key in a file of more than 64 KiB": {func(m, _ *releases.Mirror) {
			m.Write(keysFile, append([]byte(m.Key), bytes.Repeat([]byte("\n"), largestKey)...))
		}, errKey, "more than 65536 bytes"},
		"no signature, for which no key is necessary": {func(m, _ *releases.Mirror) {
			m.Remove("terragrunt/1.1.3/SHA256SUMS.gpgsig")
		}, errUnsigned, ""},
	}
	for name, test := range tests {
		for _, place := range []string{"a web server", "a folder"} {
			t.Run(name+" on "+place, func(t *testing.T) {
				m := releases.New(t, grunt("1.1.3"))
				base := m.URL
				r := unkeyed(t, m, m.Fingerprint, func(o *Options) {
					if place == "a folder" {
						base = m.Folder
					}
					o.Mirrors[Terragrunt] = base
				})
				test.change(m, releases.New(t))
				err := r.grunt("1.1.3")
				if !errors.Is(err, test.want) || errors.Is(err, ErrUnreachable) || !strings.Contains(fmt.Sprint(err), test.says) {
					t.Fatalf("%v", err)
				}
				if errors.Is(err, errKey) != errors.Is(test.want, errKey) || err != nil && !errors.Is(err, sigverify.ErrSignature) {
					t.Errorf("it is of another kind: %v", err)
				}
				if errors.Is(err, errKey) {
					remedy := "--engine-key=Terragrunt=FILE (chart value engines.keys.Terragrunt)"
					for _, want := range []string{base + "/" + keysFile, remedy} {
						if !strings.Contains(err.Error(), want) {
							t.Errorf("the message has no %q: %v", want, err)
						}
					}
				}
			})
		}
	}
}

func TestTheKeyIsFetchedOnce(t *testing.T) {
	m := releases.New(t, grunt("1.1.3"), grunt("1.1.2"), grunt("1.1.1"))
	r := unkeyed(t, m, m.Fingerprint)
	m.Write(keysFile, []byte("<html>"))
	for range 2 {
		if err := r.grunt("1.1.3"); !errors.Is(err, errKey) {
			t.Fatal(err)
		}
	}
	if n := m.Asked(keysFile); n != 1 {
		t.Errorf("a file that has no key was asked for %d times in a minute", n)
	}
	m.Write(keysFile, []byte(m.Key))
	r.clock = r.clock.Add(refusedRest)
	for _, version := range []string{"1.1.3", "1.1.2", "1.1.1"} {
		if err := r.grunt(version); err != nil {
			t.Error(err)
		}
		r.clock = r.clock.Add(1000 * listAge)
	}
	if n := m.Asked(keysFile); n != 2 {
		t.Errorf("the key was asked for %d times", n-1)
	}
}

func TestAKeyThatIsConfiguredIsNotFetched(t *testing.T) {
	m := releases.New(t, grunt("1.1.3"), tofu("1.8.0", "one"))
	r := enter(t, m)
	_, err := r.get("1.8.0")
	if err := errors.Join(err, r.grunt("1.1.3")); err != nil {
		t.Error(err)
	}
	if n := m.Asked(keysFile) + m.Asked("opentofu/KEYS"); n > 0 {
		t.Errorf("a key was asked for %d times", n)
	}
}

// TestAPlaceOfTheKeyThatDoesNotAnswer is named; it may pass, so it is asked again at once.
func TestAPlaceOfTheKeyThatDoesNotAnswer(t *testing.T) {
	m := releases.New(t, grunt("1.1.3"))
	away := true
	place := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if away {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		_, _ = w.Write([]byte(m.Key))
	}))
	t.Cleanup(place.Close)
	r := unkeyed(t, m, m.Fingerprint)
	r.at(place.URL+"/key.txt", nil)
	err := r.grunt("1.1.3")
	if !errors.Is(err, ErrUnreachable) || errors.Is(err, sigverify.ErrSignature) {
		t.Errorf("%v", err)
	}
	remedy := "--engine-key=Terragrunt=FILE (chart value engines.keys.Terragrunt)"
	for _, want := range []string{"public key", place.URL + "/key.txt", remedy} {
		if !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("the message has no %q: %v", want, err)
		}
	}
	away = false
	if err := r.grunt("1.1.3"); err != nil {
		t.Error(err)
	}
}

// TestTheWayToTheKeyStaysEncrypted: a redirect from https to http is not followed, although the fingerprint is checked.
func TestTheWayToTheKeyStaysEncrypted(t *testing.T) {
	m := releases.New(t, grunt("1.1.3"))
	m.Write(keysFile, []byte(m.Key))
	place := httptest.NewTLSServer(http.RedirectHandler(m.URL+"/"+keysFile, http.StatusFound))
	t.Cleanup(place.Close)
	r := unkeyed(t, m, m.Fingerprint)
	r.at(place.URL, place.Client())
	if err := r.grunt("1.1.3"); !errors.Is(err, ErrUnreachable) || m.Asked(keysFile) > 0 {
		t.Errorf("%v", err)
	}
}
