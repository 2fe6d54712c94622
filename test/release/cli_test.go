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
		program := "cairn"
		if system.OS == "windows" {
			name, program = strings.TrimSuffix(name, ".tar.gz")+".zip", "cairn.exe"
		}
		data := read(t, filepath.Join(files, name))
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != p.SHA256 || filepath.Base(p.URI) != name || p.Bin != program {
			t.Errorf("%s has the checksum %x; the manifest for krew has %+v", name, sum, p)
		}
		content := unpack(t, name, data)
		for _, want := range []string{
			program, "LICENSE", "man/man1/cairn.1", "man/man1/cairn-approve.1", "completions/cairn.bash", "completions/_cairn",
			"completions/cairn.fish", "completions/cairn.ps1", "completions/kubectl_complete-cairn",
		} {
			if len(content[want]) == 0 {
				t.Errorf("%s has no %s", name, want)
			}
		}
		for _, file := range p.Files {
			if len(content[file.From]) == 0 {
				t.Errorf("krew copies %s of %s, which it does not have", file.From, name)
			}
		}
		if platforms[i] == "linux/"+runtime.GOARCH {
			checkProgram(t, content[program])
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

// checkProgram checks that the program runs, and that it completes its commands.
func checkProgram(t *testing.T, program []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cairn")
	if err := os.WriteFile(path, program, 0o700); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{"version": "v" + version + "\n", "--version": "v" + version + "\n", "__complete appro": "approve\t"} {
		if out := run(t, path, strings.Fields(args)...); !strings.HasPrefix(out, want) {
			t.Errorf("cairn %s: %q, want %q", args, out, want)
		}
	}
}
