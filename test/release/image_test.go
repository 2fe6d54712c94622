//go:build e2e

// Package release tests the results of `make images` and `make release`. The tests run as root, and need buildah,
// skopeo, umoci and a registry.
package release

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// nonRoot is the user ID of the images.
const nonRoot = 65532

// image is a built image on disk.
type image struct {
	*testing.T
	archive string
	// root is the folder with its files.
	root string
}

// unpacked has the folders of archives, each unpacked once for all tests.
var unpacked = map[string]string{}

func TestMain(m *testing.M) {
	code := m.Run()
	for _, dir := range unpacked {
		if err := os.RemoveAll(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// built returns an image of `make images`, or of the folder CAIRN_IMAGES.
func built(t *testing.T, name string) *image {
	t.Helper()
	dir := os.Getenv("CAIRN_IMAGES")
	if dir == "" {
		dir = filepath.Join("..", "..", "bin", "images")
	}
	return open(t, filepath.Join(dir, name+".tar"))
}

func open(t *testing.T, archive string) *image {
	t.Helper()
	if _, err := os.Stat(archive); err != nil {
		t.Fatalf("%v: run make images", err)
	}
	dir, ok := unpacked[archive]
	if !ok {
		var err error
		if dir, err = os.MkdirTemp("", "image-"); err != nil {
			t.Fatal(err)
		}
		unpacked[archive] = dir
		run(t, "skopeo", "copy", "--quiet", "oci-archive:"+archive, "oci:"+dir+"/layout:it")
		run(t, "umoci", "unpack", "--image", dir+"/layout:it", dir+"/bundle")
		if err := os.Chmod(dir, 0o755); err != nil { // for the image's user
			t.Fatal(err)
		}
	}
	return &image{t, archive, filepath.Join(dir, "bundle", "rootfs")}
}

// run runs a program that must succeed, and returns its output.
func run(t *testing.T, name string, args ...string) string {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, &stderr)
	}
	return string(out)
}

// inside runs a program of the image, in its root and with the devices of a container.
func (i *image) inside(ctx context.Context, env []string, name string, args ...string) (string, error) {
	i.Helper()
	i.devices()
	cmd := exec.CommandContext(ctx, name)
	cmd.Path, cmd.Args, cmd.Err = name, append([]string{name}, args...), nil
	cmd.Env = append([]string{"PATH=/usr/local/bin:/usr/bin", "HOME=/home/nonroot"}, env...)
	cmd.Dir = "/tmp"
	cmd.SysProcAttr = &syscall.SysProcAttr{Chroot: i.root, Credential: &syscall.Credential{Uid: nonRoot, Gid: nonRoot}}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// devices creates the devices that every container has.
func (i *image) devices() {
	i.Helper()
	for name, minor := range map[string]int{"null": 3, "random": 8, "urandom": 9} {
		path := filepath.Join(i.root, "dev", name)
		if err := syscall.Mknod(path, syscall.S_IFCHR|0o666, 1<<8|minor); err != nil && err != syscall.EEXIST {
			i.Fatal(err)
		}
		if err := os.Chmod(path, 0o666); err != nil {
			i.Fatal(err)
		}
	}
}

// config is the part of an image's configuration that is tested.
type config struct {
	Architecture string
	Config       struct {
		User       string
		WorkingDir string
		Env        []string
		Entrypoint []string
		Labels     map[string]string
	}
}

func (i *image) config() (c config) {
	i.Helper()
	if err := json.Unmarshal([]byte(run(i.T, "skopeo", "inspect", "--config", "oci-archive:"+i.archive)),
		&c); err != nil {
		i.Fatal(err)
	}
	return c
}

func TestImagesHaveLabelsAndRunAsNonRoot(t *testing.T) {
	for _, name := range []string{"cairn", "cairn-tools"} {
		i := built(t, name)
		c := i.config()
		if c.Config.User != "65532:65532" || c.Config.WorkingDir != "/home/nonroot" ||
			!slices.Contains(c.Config.Env, "HOME=/home/nonroot") {
			t.Errorf("%s: %+v", name, c.Config)
		}
		for _, label := range []string{"title", "description", "source", "licenses", "version", "revision"} {
			if c.Config.Labels["org.opencontainers.image."+label] == "" {
				t.Errorf("%s has no label %s", name, label)
			}
		}
		info, err := os.Stat(filepath.Join(i.root, "home", "nonroot"))
		if err != nil || info.Sys().(*syscall.Stat_t).Uid != nonRoot {
			t.Errorf("%s: the home is %v, %v", name, info, err)
		}
		for path, info := range i.files() {
			if info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 && name == "cairn" {
				t.Errorf("%s: %s is %v", name, path, info.Mode())
			}
		}
	}
}

// files returns the regular files of an image by their path.
func (i *image) files() map[string]fs.FileInfo {
	i.Helper()
	found := map[string]fs.FileInfo{}
	err := filepath.WalkDir(i.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		found[strings.TrimPrefix(path, i.root)], err = e.Info()
		return err
	})
	if err != nil {
		i.Fatal(err)
	}
	return found
}

func TestServerImageHasNoShellAndNoScripts(t *testing.T) {
	i := built(t, "cairn")
	if c := i.config(); !slices.Equal(c.Config.Entrypoint, []string{"/usr/local/bin/cairn-controller"}) {
		t.Errorf("it starts %v", c.Config.Entrypoint)
	}
	i.noShell()
	i.hasLibraries()
	for program, argument := range map[string]string{
		"/usr/local/bin/cairn-controller": "version",
		"/usr/local/bin/cairn-migrate":    "--version",
		"/usr/local/bin/cairn-runner":     "version",
	} {
		out, err := i.inside(t.Context(), nil, program, argument)
		if want := i.config().Config.Labels["org.opencontainers.image.version"]; err != nil ||
			strings.TrimSpace(out) != want {
			t.Errorf("%s: %s, %v; want %s", program, out, err, want)
		}
		file, err := elf.Open(filepath.Join(i.root, program))
		if err != nil {
			t.Fatal(err)
		}
		if libraries, err := file.ImportedLibraries(); err != nil || len(libraries) > 0 {
			t.Errorf("%s is not static: %v, %v", program, libraries, err)
		}
		file.Close()
	}
}

func (i *image) noShell() {
	i.Helper()
	for _, name := range []string{"sh", "bash", "dash", "busybox", "perl", "python3", "awk", "env", "apt-get", "dpkg"} {
		for _, dir := range []string{"/bin", "/sbin", "/usr/local/bin"} {
			if _, err := os.Lstat(filepath.Join(i.root, dir, name)); err == nil {
				i.Errorf("%s/%s exists", dir, name)
			}
		}
	}
	for path, info := range i.files() {
		if info.Mode()&0o111 != 0 && strings.HasPrefix(i.head(path, 2), "#!") {
			i.Errorf("%s is a script", path)
		}
	}
}

func (i *image) head(path string, n int64) string {
	i.Helper()
	file, err := os.Open(filepath.Join(i.root, path))
	if err != nil {
		i.Fatal(err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, n))
	if err != nil {
		i.Fatal(err)
	}
	return string(data)
}

// hasLibraries checks that the image has the libraries of each program and library, for its architecture: packages that
// only scripts of other packages need are omitted.
func (i *image) hasLibraries() {
	i.Helper()
	type binary struct {
		path    string
		machine elf.Machine
		needs   []string
	}
	var all []binary
	has := map[string]elf.Machine{}
	for path, info := range i.files() {
		if info.Size() < 4 || i.head(path, 4) != elf.ELFMAG {
			continue
		}
		file, err := elf.Open(filepath.Join(i.root, path))
		if err != nil {
			i.Fatalf("%s: %v", path, err)
		}
		needs, err := file.ImportedLibraries()
		if err != nil {
			i.Fatalf("%s: %v", path, err)
		}
		all = append(all, binary{path, file.Machine, needs})
		if names, _ := file.DynString(elf.DT_SONAME); len(names) == 1 {
			has[names[0]] = file.Machine
		}
		file.Close()
	}
	if len(all) < 50 {
		i.Errorf("only %d programs and libraries", len(all))
	}
	machine := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[i.config().Architecture]
	for _, b := range all {
		if b.machine != machine {
			i.Errorf("%s is for %v, not %v", b.path, b.machine, machine)
		}
		for _, name := range b.needs {
			if has[name] != machine {
				i.Errorf("%s needs %s, which is missing", b.path, name)
			}
		}
	}
}

// The tests of internal/source/git run in the image, as its user: HTTPS, tokens, SSH with known hosts, LFS, submodules.
func TestGitWorksInServerImageWithoutShell(t *testing.T) {
	i := built(t, "cairn")
	program := filepath.Join(i.root, "git.test")
	t.Cleanup(func() { os.Remove(program) })
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", program, "../../internal/source/git")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	// The first replaces git by a script that records what it starts; the second reads /proc.
	out, err := i.inside(t.Context(), nil, "/git.test", "-test.v", "-test.skip",
		"^(TestGitStartsNoShell|TestIdleProcessesEnd)$")
	if err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for _, name := range []string{
		"TestSSH", "TestCredentialsAreAccepted/a_username_and_a_password,_TLS_true",
		"TestCredentialsAreAccepted/a_token,_TLS_true", "TestFetchErrorsNameTheRemedyAndNoCredential",
		"TestArchiveHasTheFilesOfSubmodules", "TestArchiveHasTheContentOfLFSFiles",
	} {
		if !strings.Contains(out, "--- PASS: "+name+" ") {
			t.Errorf("%s did not run in the image", name)
		}
	}
}

func TestToolsImageHasProgramsOfStacks(t *testing.T) {
	i := built(t, "cairn-tools")
	i.hasLibraries()
	for program, want := range map[string]string{
		"tofu version": "OpenTofu v", "git --version": "git version", "ssh -V": "OpenSSH", "curl --version": "https",
		"jq --version": "jq-", "id -un": "nonroot",
		// Users can install packages, although the image was unpacked rather than installed.
		"dpkg --audit": "",
		"dpkg-query -Wf '${db:Status-Status}' git jq":                                   "installedinstalled",
		"test $(grep -c BEGIN /etc/ssl/certs/ca-certificates.crt) -gt 100 && echo many": "many",
		"bash -c 'test -w ~ && echo yes'":                                               "yes",
	} {
		out, err := i.inside(t.Context(), nil, "/bin/sh", "-c", program)
		if err != nil || !strings.Contains(out, want) {
			t.Errorf("%s: %s, %v", program, out, err)
		}
	}
}

func TestImagesHaveArchitectureOfMachine(t *testing.T) {
	for _, name := range []string{"cairn", "cairn-tools"} {
		if c := built(t, name).config(); c.Architecture != runtime.GOARCH {
			t.Errorf("%s is for %s", name, c.Architecture)
		}
	}
}
