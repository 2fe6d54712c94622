//go:build e2e

package release

import (
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cairn.dev/cairn/dev/tools"
)

// key signs a release of a test. There is no transparency log without the internet, so none has an entry.
type key struct {
	cosign, public string
	env            []string // of the release
}

func newKey(t *testing.T) key {
	t.Helper()
	cosign, err := tools.Path("cosign")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("COSIGN_PASSWORD", "correct horse")
	dir := t.TempDir()
	run(t, cosign, "generate-key-pair", "--output-key-prefix", dir+"/release")
	run(t, cosign, "signing-config", "create", "--out", dir+"/services.json")
	return key{cosign, dir + "/release.pub", []string{"COSIGN_KEY=" + dir + "/release.key", "SIGNING_CONFIG=" + dir +
		"/services.json"}}
}

// verify runs a command of cosign that verifies, as docs/how-to/images.md has it.
func (k key) verify(t *testing.T, command string, args ...string) (string, error) {
	t.Helper()
	args = slices.Concat([]string{command, "--key", k.public, "--insecure-ignore-tlog"}, args)
	cmd := exec.CommandContext(t.Context(), k.cosign, args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return stderr.String(), err
	}
	return string(out), nil
}

// provenance is what the documents of the project promise of the predicate of SLSA.
type provenance struct {
	Predicate struct {
		BuildDefinition struct {
			BuildType            string
			ExternalParameters   struct{ Version string }
			ResolvedDependencies []struct {
				URI    string
				Digest struct{ GitCommit string }
			}
		}
		RunDetails struct {
			Builder  struct{ ID string }
			Metadata struct{ StartedOn, FinishedOn string }
		}
	}
}

func checkSignatures(t *testing.T, k key, files string) {
	t.Helper()
	other := newKey(t)
	commit := strings.TrimSpace(run(t, "git", "rev-parse", "HEAD"))
	pushed := pushed(t, files, "images.txt", "chart.txt")
	if len(pushed) != 3 {
		t.Errorf("images.txt and chart.txt name %q", pushed)
	}
	for _, reference := range pushed {
		if out, err := k.verify(t, "verify", "--allow-http-registry", reference); err != nil {
			t.Errorf("%s: %v\n%s", reference, err, out)
		}
		if out, err := other.verify(t, "verify", "--allow-http-registry", reference); err == nil {
			t.Errorf("%s is signed with another key too: %s", reference, out)
		}
		out, err := k.verify(t, "verify-attestation", "--allow-http-registry", "--type", "slsaprovenance1", reference)
		if err != nil {
			t.Errorf("%s: %v\n%s", reference, err, out)
			continue
		}
		checkProvenance(t, out, commit)
	}
	// The image of each architecture, which a cluster may name by its own digest.
	for _, reference := range pushed[:2] {
		var index struct{ Manifests []struct{ Digest string } }
		if err := json.Unmarshal([]byte(run(t, "skopeo", "inspect", "--raw", "--tls-verify=false", "docker://"+
			reference)), &index); err != nil {
			t.Fatal(err)
		}
		for _, m := range index.Manifests {
			name, _, _ := strings.Cut(reference, "@")
			if out, err := k.verify(t, "verify", "--allow-http-registry", name+"@"+m.Digest); err != nil {
				t.Errorf("%s@%s: %v\n%s", name, m.Digest, err, out)
			}
		}
	}
	checkSignedSums(t, k, files)
}

func checkProvenance(t *testing.T, envelope, commit string) {
	t.Helper()
	var e struct{ Payload string }
	if err := json.Unmarshal([]byte(envelope), &e); err != nil {
		t.Fatal(err)
	}
	payload, err := base64.StdEncoding.DecodeString(e.Payload)
	if err != nil {
		t.Fatal(err)
	}
	var p provenance
	if err := json.Unmarshal(payload, &p); err != nil {
		t.Fatal(err)
	}
	build, ran := p.Predicate.BuildDefinition, p.Predicate.RunDetails
	if build.BuildType == "" || build.ExternalParameters.Version != "v"+version || ran.Builder.ID == "" ||
		ran.Metadata.StartedOn == "" || ran.Metadata.FinishedOn == "" ||
		len(build.ResolvedDependencies) == 0 || build.ResolvedDependencies[0].Digest.GitCommit != commit {
		t.Errorf("the provenance is %s", payload)
	}
}

// checkSignedSums checks that the list of checksums is signed, and that it is not once a line of it differs.
func checkSignedSums(t *testing.T, k key, files string) {
	t.Helper()
	sums := filepath.Join(files, "checksums.txt")
	changed := filepath.Join(t.TempDir(), "checksums.txt")
	data, err := os.ReadFile(sums)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(changed, append(data, "0  cairn.yaml\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	for command, args := range map[string][]string{
		"verify-blob":             {"--bundle", sums + ".sigstore.json"},
		"verify-blob-attestation": {"--type", "slsaprovenance1", "--bundle", sums + ".provenance.sigstore.json"},
	} {
		if out, err := k.verify(t, command, append(args, sums)...); err != nil {
			t.Errorf("%s: %v\n%s", command, err, out)
		}
		if out, err := k.verify(t, command, append(args, changed)...); err == nil {
			t.Errorf("%s accepts a list that was changed: %s", command, out)
		}
	}
}
