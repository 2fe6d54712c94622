package attacks

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"

	"cairn.dev/cairn/internal/engine/release"
	"cairn.dev/cairn/internal/sigverify"
	"cairn.dev/cairn/test/releases"
)

// An attacker who can change the files of a mirror replaces a release and removes its signature. The installation accepts
// one old release without a signature.
func TestAMirrorStripsTheSignatureOfARelease(t *testing.T) {
	program := func(product, version string) releases.Release {
		return releases.Release{Product: product, Version: version, OS: "linux", Arch: "amd64", Program: []byte("program")}
	}
	m := releases.New(t, program("Terragrunt", "0.90.0"), program("Terragrunt", "1.1.3"), program("OpenTofu", "1.12.6"))
	m.Remove("terragrunt/0.90.0/SHA256SUMS.gpgsig")
	engines := enginesOf(t, m, func(o *release.Options) {
		sum := sha256.Sum256(m.Read("terragrunt/0.90.0/SHA256SUMS"))
		o.Unsigned = map[release.Product]map[string]string{release.Terragrunt: {"0.90.0": fmt.Sprintf("sha256:%x", sum)}}
	})
	if p, err := engines.Get(t.Context(), release.Terragrunt, "0.90.0", "linux", "amd64"); err != nil || !p.Unsigned {
		t.Fatalf("the old release: %+v, %v", p, err)
	}
	evil := []byte("evil")
	m.Write("terragrunt/1.1.3/terragrunt_linux_amd64", evil)
	m.Write("terragrunt/1.1.3/SHA256SUMS", fmt.Appendf(nil, "%x  terragrunt_linux_amd64\n", sha256.Sum256(evil)))
	m.Remove("terragrunt/1.1.3/SHA256SUMS.gpgsig")
	m.Remove("opentofu/1.12.6/tofu_1.12.6_SHA256SUMS.gpgsig")
	for product, version := range map[release.Product]string{release.Terragrunt: "1.1.3", release.OpenTofu: "1.12.6"} {
		if p, err := engines.Get(t.Context(), product, version, "linux", "amd64"); !errors.Is(err, sigverify.ErrSignature) {
			t.Errorf("%s %s: %+v, %v", product, version, p, err)
		}
	}
}

// A mirror serves the files of an old release, signed by its publisher, for a new version. For Terragrunt, whose list of
// checksums names no version, the runner detects it: TestAnOldTerragruntIsNotPassedOffAsANewOne.
func TestAMirrorServesAnOldReleaseAsANewOne(t *testing.T) {
	for product, files := range map[release.Product]string{
		release.OpenTofu:  "opentofu/%s/tofu_%[1]s",
		release.Terraform: "terraform/%s/terraform_%[1]s",
	} {
		m := releases.New(t,
			releases.Release{Product: string(product), Version: "1.5.0", OS: "linux", Arch: "amd64", Program: []byte("vulnerable")},
			releases.Release{Product: string(product), Version: "1.5.7", OS: "linux", Arch: "amd64", Program: []byte("fixed")})
		signature := map[release.Product]string{release.OpenTofu: ".gpgsig", release.Terraform: ".72D7468F.sig"}[product]
		for _, file := range []string{"_SHA256SUMS", "_SHA256SUMS" + signature, "_linux_amd64.zip"} {
			m.Write(fmt.Sprintf(files, "1.5.7")+file, m.Read(fmt.Sprintf(files, "1.5.0")+file))
		}
		if p, err := enginesOf(t, m).Get(t.Context(), product, "1.5.7", "linux", "amd64"); !errors.Is(err, release.ErrNoVersion) {
			t.Errorf("%s: %+v, %v", product, p, err)
		}
	}
}

// enginesOf are the engines of a mirror, whose key is trusted.
func enginesOf(t *testing.T, m *releases.Mirror, change ...func(*release.Options)) *release.Releases {
	t.Helper()
	o := release.Options{Dir: t.TempDir(), Mirrors: map[release.Product]string{}, Keys: map[release.Product][]string{}}
	for _, p := range []release.Product{release.OpenTofu, release.Terraform, release.Terragrunt} {
		o.Mirrors[p], o.Keys[p] = m.URL, []string{m.Key}
	}
	for _, c := range change {
		c(&o)
	}
	engines, err := release.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := engines.Close(); err != nil {
			t.Error(err)
		}
	})
	return engines
}
