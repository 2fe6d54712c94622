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

// providerFolder writes a provider folder with the providers of this repository, and returns the flags by which Cairn
// uses it and no registry.
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
	dir := filepath.Join(folder, "registry.opentofu.org", "hashicorp", "time")
	if err := os.MkdirAll(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	archive := fmt.Sprintf("terraform-provider-time_0.14.2_%s_%s.zip", runtime.GOOS, runtime.GOARCH)
	if err := os.WriteFile(filepath.Join(dir, archive), releases.Zip(t, "terraform-provider-time_v0.14.2", program),
		0o600); err != nil {
		t.Fatal(err)
	}
	if err := cloud.Folder(folder); err != nil {
		t.Fatal(err)
	}
	return []string{"--provider-folder=" + folder, "--provider-offline"}
}

// engines starts a signed release mirror with engine versions that the image does not have, and returns the flags by
// which Cairn uses it. The programs are the real ones with their version replaced. The archive of OpenTofu 1.10.1 has a
// wrong checksum, and 1.10.2 is signed with another key.
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
	all := []releases.Release{
		{Product: "Terraform", Version: "1.5.5", Program: bytes.ReplaceAll(terraform, []byte("1.5.7"),
			[]byte("1.5.5"))}}
	for _, version := range []string{"1.12.4", "1.12.5"} {
		all = append(all, releases.Release{Product: "OpenTofu", Version: version,
			Program: bytes.ReplaceAll(tofu, []byte("1.12.6"), []byte(version))})
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
