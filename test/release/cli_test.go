//go:build e2e

package release

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// archives creates archives of the command line for platforms, and returns their folder.
func archives(t *testing.T, platforms ...string) string {
	t.Helper()
	files := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "../../tools/images/archives", files, t.TempDir())
	cmd.Env = append(os.Environ(), "VERSION=v"+version, "PLATFORMS="+strings.Join(platforms, " "))
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return files
}

func TestCommandLineIsArchivedTheSameEachTime(t *testing.T) {
	platforms := []string{"linux/" + runtime.GOARCH, "windows/amd64"}
	first, second := archives(t, platforms...), archives(t, platforms...)
	checkCommandLine(t, first, platforms...)
	all, err := filepath.Glob(first + "/*")
	if err != nil || len(all) != len(platforms)+1 {
		t.Errorf("%v, %v", all, err)
	}
	for _, file := range all {
		name := filepath.Base(file)
		if !bytes.Equal(read(t, file), read(t, filepath.Join(second, name))) {
			t.Errorf("%s differs in a second build of the commit", name)
		}
	}
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// checkCommandLine checks the archives of the command line and their manifest for krew.
func checkCommandLine(t *testing.T, files string, platforms ...string) {
	t.Helper()
	var plugin struct {
		Spec struct {
			Version   string
			Platforms []struct {
				Selector         struct{ MatchLabels struct{ OS, Arch string } }
				URI, SHA256, Bin string
				Files            []struct{ From string }
			}
		}
	}
	if err := yaml.Unmarshal(read(t, filepath.Join(files, "cairn.krew.yaml")), &plugin); err != nil {
		t.Fatal(err)
	}
	if plugin.Spec.Version != "v"+version || len(plugin.Spec.Platforms) != len(platforms) {
		t.Fatalf("the manifest for krew is %+v, want %s on %v", plugin, version, platforms)
	}
	for i, p := range plugin.Spec.Platforms {
		system := p.Selector.MatchLabels
		if system.OS+"/"+system.Arch != platforms[i] {
			t.Errorf("platform %d is %+v, want %s", i, system, platforms[i])
		}
		name := fmt.Sprintf("cairn-cli-%s-%s-%s.tar.gz", version, system.OS, system.Arch)
		program, migrate := "cairn", "cairn-migrate"
		if system.OS == "windows" {
			name, program, migrate = strings.TrimSuffix(name, ".tar.gz")+".zip", program+".exe", migrate+".exe"
		}
		data := read(t, filepath.Join(files, name))
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != p.SHA256 || filepath.Base(p.URI) != name ||
			p.Bin != program {
			t.Errorf("%s has the checksum %x; the manifest for krew has %+v", name, sum, p)
		}
		content := unpack(t, name, data)
		for _, want := range []string{
			program, migrate, "LICENSE", "man/man1/cairn.1", "man/man1/cairn-approve.1", "completions/cairn.bash",
			"completions/_cairn",
			"completions/cairn.fish", "completions/cairn.ps1", "completions/kubectl_complete-cairn",
		} {
			if len(content[want]) == 0 {
				t.Errorf("%s has no %s", name, want)
			}
		}
		if !slices.Contains(p.Files, struct{ From string }{migrate}) {
			t.Errorf("krew copies no %s", migrate)
		}
		for _, file := range p.Files {
			if len(content[file.From]) == 0 {
				t.Errorf("krew copies %s of %s, which it does not have", file.From, name)
			}
		}
		if platforms[i] == "linux/"+runtime.GOARCH {
			checkPrograms(t, content[program], content[migrate])
		}
	}
}

// unpack returns the files of an archive.
func unpack(t *testing.T, name string, data []byte) map[string][]byte {
	t.Helper()
	content := map[string][]byte{}
	if strings.HasSuffix(name, ".zip") {
		r, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range r.File {
			file, err := f.Open()
			if err != nil {
				t.Fatal(err)
			}
			if content[f.Name], err = io.ReadAll(file); err != nil {
				t.Fatal(err)
			}
		}
		return content
	}
	unzipped, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(unzipped); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return content
		}
		if err != nil {
			t.Fatal(err)
		}
		if content[header.Name], err = io.ReadAll(r); err != nil {
			t.Fatal(err)
		}
	}
}

// checkPrograms checks that the program runs, that it completes its commands, and that it finds cairn-migrate.
func checkPrograms(t *testing.T, program, migrate []byte) {
	t.Helper()
	dir := t.TempDir()
	path := filepath.Join(dir, "cairn")
	for to, content := range map[string][]byte{path: program, path + "-migrate": migrate} {
		if err := os.WriteFile(to, content, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte("terraform {\n  backend \"s3\" {}\n}\n"),
		0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"version": "Client: v" + version + "\n", "--version": "v" + version + "\n", "__complete appro": "approve\t",
		"generate --repository=https://git.example.com/a/b.git " + dir: "apiVersion: cairn.dev/v1alpha1\n",
	} {
		if out := run(t, path, strings.Fields(args)...); !strings.HasPrefix(out, want) {
			t.Errorf("cairn %s: %q, want %q", args, out, want)
		}
	}
}
