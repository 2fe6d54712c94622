package release

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/base/sigverify"
	"cairn.dev/cairn/test/releases"
)

// The fingerprints are those that the vendors publish.
func TestBuiltInKeys(t *testing.T) {
	want := map[Product]string{
		OpenTofu:   "E3E6E43D84CB852EADB0051D0C0AF313E5FD9F80",
		Terraform:  "C874011F0AB405110D02105534365D9472D7468F",
		Terragrunt: "68C80F86DF98E710C0F22E2E577774ACA847CC49",
	}
	got := map[Product]string{}
	for product, m := range makers() {
		ring, err := openpgp.ReadArmoredKeyRing(strings.NewReader(m.Key))
		if err != nil {
			t.Fatalf("%s: %v", product, err)
		}
		for _, key := range ring {
			got[product] += fmt.Sprintf("%X", key.PrimaryKey.Fingerprint)
			if key.PrivateKey != nil {
				t.Errorf("%s: there is a private key in it", product)
			}
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// A mirror is not trusted until the installation names its key, and the message says how to configure it.
func TestMirrorWithAnUntrustedKeyIsRejected(t *testing.T) {
	m := releases.New(t,
		releases.Release{Product: "Terraform", Version: "1.5.7", OS: "linux", Arch: "amd64", Program: []byte("tf")},
		releases.Release{Product: "Terragrunt", Version: "1.1.3", OS: "linux", Arch: "amd64", Program: []byte("grunt")},
		tofu("1.8.0", "one"))
	for product, version := range map[Product]string{Terraform: "1.5.7", Terragrunt: "1.1.3", OpenTofu: "1.8.0"} {
		_, err := newFixture(t, m, func(o *Options) { o.Keys = nil }).Get(t.Context(), product, version,
			"linux", "amd64")
		if !errors.Is(err, sigverify.ErrSignature) {
			t.Errorf("%s: %v", product, err)
		}
		for _, want := range []string{"--engine-key=" + string(product) + "=FILE", "chart value engines.keys." +
			string(product)} {
			if !strings.Contains(fmt.Sprint(err), want) {
				t.Errorf("%s: the message has no %q: %v", product, want, err)
			}
		}
		if p, err := newFixture(t, m).Get(t.Context(), product, version, "linux", "amd64"); err != nil ||
			p.Version != version {
			t.Errorf("%s: %v", product, err)
		}
	}
}

// TestRemedies: what an installation can do is in the message, with the flag and the chart value.
func TestRemedies(t *testing.T) {
	const sums = "terragrunt/0.90.0/SHA256SUMS"
	old := releases.Release{Product: "Terragrunt", Version: "0.90.0", OS: "linux", Arch: "amd64",
		Program: []byte("grunt")}
	for name, test := range map[string]struct {
		change func(*releases.Mirror)
		want   []string
	}{
		"a release without a signature": {
			func(m *releases.Mirror) { m.Remove(sums + ".gpgsig") },
			[]string{"Terragrunt 0.90.0 is published without one", "--engine-unsigned=Terragrunt@VERSION=sha256:DIGEST",
				"chart value engines.unsigned.Terragrunt"},
		},
		"a mirror that is away": {
			func(m *releases.Mirror) { m.Vanish() },
			[]string{"http://127.0.0.1:", "--engine-mirror=Terragrunt=URL", "chart value engines.mirrors.Terragrunt"},
		},
		"a list of checksums that was changed": {
			func(m *releases.Mirror) { m.Write(sums, append(m.Read(sums), '\n')) },
			[]string{"--engine-key=Terragrunt=FILE", "chart value engines.keys.Terragrunt"},
		},
		"an archive that was changed": {
			func(m *releases.Mirror) {
				m.Write("terragrunt/0.90.0/terragrunt_linux_amd64", bytes.Repeat([]byte("x"), 9))
			},
			[]string{"terragrunt_linux_amd64 is sha256:"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := releases.New(t, old)
			r := newFixture(t, m)
			test.change(m)
			_, err := r.Get(t.Context(), Terragrunt, "0.90.0", "linux", "amd64")
			for _, want := range test.want {
				if !strings.Contains(fmt.Sprint(err), want) {
					t.Errorf("the message has no %q: %v", want, err)
				}
			}
			if has := strings.Contains(fmt.Sprint(err), "chart value"); has != (len(test.want) > 1) {
				t.Errorf("a remedy: %v, %v", has, err)
			}
		})
	}
	m := releases.New(t, old)
	m.Vanish()
	if _, err := newFixture(t, m).Find(t.Context(), Terragrunt, ""); !strings.Contains(fmt.Sprint(err),
		"--engine-mirror=Terragrunt=URL") {
		t.Errorf("the list of versions: %v", err)
	}
}
