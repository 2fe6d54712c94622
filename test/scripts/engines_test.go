package scripts

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"cairn.dev/cairn/dev"
	"cairn.dev/cairn/test/cloud"
	"cairn.dev/cairn/test/releases"
)

// providerFolder makes an air-gapped folder with the providers that can be built here, and gives the flags that have
// Cairn use it, and ask no registry.
func providerFolder(t *testing.T) []string {
	t.Helper()
	tools, err := dev.BinDir()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(filepath.Join(tools, "terraform-provider-time"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	home := filepath.Join(folder, "registry.opentofu.org", "hashicorp", "time")
	if err := os.MkdirAll(home, 0o750); err != nil {
		t.Fatal(err)
	}
	archive := fmt.Sprintf("terraform-provider-time_0.14.2_%s_%s.zip", runtime.GOOS, runtime.GOARCH)
	if err := os.WriteFile(filepath.Join(home, archive), releases.Zip(t, "terraform-provider-time_v0.14.2", program), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cloud.Folder(folder); err != nil {
		t.Fatal(err)
	}
	return []string{"--provider-folder=" + folder, "--provider-offline"}
}

// engines makes a signed release mirror with versions of engines that the image does not have, and gives the flags that
// have Cairn use it. The programs are the real ones with another version in the place of their own. Of OpenTofu 1.10.1 the archive is
// not what its checksum says, and 1.10.2 is signed by somebody else.
func engines(t *testing.T) []string {
	t.Helper()
	tools, err := dev.BinDir()
	if err != nil {
		t.Fatal(err)
	}
	tofu, err := os.ReadFile(filepath.Join(tools, "tofu"))
	if err != nil {
		t.Fatal(err)
	}
	terraform, err := os.ReadFile(filepath.Join(tools, "terraform"))
	if err != nil {
		t.Fatal(err)
	}
	all := []releases.Release{{Product: "Terraform", Version: "1.5.5", Program: bytes.ReplaceAll(terraform, []byte("1.5.7"), []byte("1.5.5"))}}
	for _, version := range []string{"1.12.4", "1.12.5"} {
		all = append(all, releases.Release{Product: "OpenTofu", Version: version, Program: bytes.ReplaceAll(tofu, []byte("1.12.6"), []byte(version))})
	}
	for _, version := range []string{"1.10.1", "1.10.2"} {
		all = append(all, releases.Release{Product: "OpenTofu", Version: version, Program: []byte("no program")})
	}
	all = append(all, releases.Release{Product: "Terragrunt", Version: "1.0.0", Program: []byte(releases.Terragrunt)})
	mirror := releases.New(t, all...)
	archives, err := filepath.Glob(filepath.Join(mirror.Dir, "opentofu", "1.10.1", "*.zip"))
	if err != nil || len(archives) != 1 {
		t.Fatalf("%v %v", archives, err)
	}
	name, err := filepath.Rel(mirror.Dir, archives[0])
	if err != nil {
		t.Fatal(err)
	}
	mirror.Write(name, []byte("other bytes"))
	key := filepath.Join(t.TempDir(), "key.asc")
	if err := os.WriteFile(key, []byte(mirror.Key), 0o600); err != nil {
		t.Fatal(err)
	}
	mirror.SignWithAnotherKey()
	mirror.Sign("OpenTofu", "1.10.2")
	var flags []string
	for _, engine := range []string{"OpenTofu", "Terraform", "Terragrunt"} {
		flags = append(flags, "--engine-mirror="+engine+"="+mirror.URL, "--engine-key="+engine+"="+key)
	}
	return flags
}
