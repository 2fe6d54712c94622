package release

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"cairn.dev/cairn/internal/base/egress/egresstest"
	"cairn.dev/cairn/internal/base/sigverify"
	"cairn.dev/cairn/test/releases"
)

// fixture is Releases and the mirror that they are from.
type fixture struct {
	*testing.T
	*releases.Mirror
	*Releases
	clock time.Time
}

// newFixture creates Releases that download everything from the mirror over HTTP, with its key. The options can be
// changed.
func newFixture(t *testing.T, m *releases.Mirror, change ...func(*Options)) *fixture {
	t.Helper()
	r := &fixture{T: t, Mirror: m, clock: time.Now()}
	o := Options{
		Mirrors: map[Product]string{OpenTofu: m.URL, Terraform: m.URL, Terragrunt: m.URL},
		Keys:    map[Product][]string{OpenTofu: {m.Key}, Terraform: {m.Key}, Terragrunt: {m.Key}},
		Dir:     filepath.Join(t.TempDir(), "programs"),
		Now:     func() time.Time { return r.clock },
		Egress:  egresstest.Loopback(),
	}
	for _, c := range change {
		c(&o)
	}
	var err error
	if r.Releases, err = New(o); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

func tofu(version, program string) releases.Release {
	return releases.Release{Product: "OpenTofu", Version: version, OS: "linux", Arch: "amd64", Program: []byte(program)}
}

func grunt(version string) releases.Release {
	return releases.Release{Product: "Terragrunt", Version: version, OS: "linux", Arch: "amd64",
		Program: []byte("grunt")}
}

func (r *fixture) grunt(version string) error {
	_, err := r.Get(r.Context(), Terragrunt, version, "linux", "amd64")
	return err
}

func (r *fixture) get(version string) (Program, error) {
	return r.Get(r.Context(), OpenTofu, version, "linux", "amd64")
}

// content opens a program and reads it.
func (r *fixture) content(p Program) string {
	r.Helper()
	file, err := p.Open()
	if err != nil {
		r.Fatal(err)
	}
	defer file.Close()
	var data bytes.Buffer
	if _, err := data.ReadFrom(file); err != nil || int64(data.Len()) != p.Size {
		r.Fatalf("%d bytes of %d: %v", data.Len(), p.Size, err)
	}
	return data.String()
}

// files are all that is below the folder of programs.
func (r *fixture) files() []string {
	r.Helper()
	var names []string
	err := fs.WalkDir(r.shelf.root.FS(), ".", func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		r.Fatal(err)
	}
	return names
}

const (
	archive18 = "opentofu/1.8.0/tofu_1.8.0_linux_amd64.zip"
	sums18    = "opentofu/1.8.0/tofu_1.8.0_SHA256SUMS"
	sig18     = sums18 + ".gpgsig"
)

func TestTwoVersionsAreStoredSideBySide(t *testing.T) {
	r := newFixture(t, releases.New(t, tofu("1.8.0", "one"), tofu("1.9.1", "two")))
	for constraint, want := range map[string]string{"~> 1.8.0": "one", "": "two", ">= 1.8": "two", "1.8.0": "one",
		"= 1.9.1": "two"} {
		version, err := r.Find(t.Context(), OpenTofu, constraint)
		if err != nil {
			t.Fatal(err)
		}
		p, err := r.get(version)
		if err != nil {
			t.Fatal(err)
		}
		if got := r.content(p); got != want || p.Version != version {
			t.Errorf("%q: got %s, %q, want %q", constraint, p.Version, got, want)
		}
	}
	if n := r.Asked(archive18); n != 1 {
		t.Errorf("it was downloaded %d times", n)
	}
	if files := r.files(); len(files) != 2 {
		t.Errorf("left are %q", files)
	}
}

func TestEachProductIsReadFromAFolder(t *testing.T) {
	for _, list := range []string{"with a list", "without a list"} {
		t.Run(list, func(t *testing.T) {
			var all []releases.Release
			for _, p := range []string{"OpenTofu", "Terraform", "Terragrunt"} {
				for _, v := range []string{"0.99.1", "0.100.0", "0.101.0-rc1"} {
					all = append(all, releases.Release{Product: p, Version: v, OS: "linux", Arch: "arm64",
						Program: []byte(p + v)})
				}
			}
			m := releases.New(t, all...)
			m.Vanish()
			if list == "without a list" {
				m.Remove("opentofu/api.json")
				m.Remove("terraform/index.json")
				m.Remove("terragrunt/index.json")
			}
			r := newFixture(t, m, func(o *Options) {
				o.Mirrors = map[Product]string{OpenTofu: m.Folder, Terraform: m.Folder, Terragrunt: m.Folder}
			})
			for _, product := range []Product{OpenTofu, Terraform, Terragrunt} {
				version, err := r.Find(t.Context(), product, "< 1")
				if err != nil || version != "0.100.0" {
					t.Fatalf("%q, %v", version, err)
				}
				p, err := r.Get(t.Context(), product, version, "linux", "arm64")
				if err != nil || r.content(p) != string(product)+version {
					t.Errorf("%+v, %v", p, err)
				}
			}
		})
	}
}

func TestInvalidReleaseIsRejected(t *testing.T) {
	other := strings.Repeat("0", 64)
	tests := map[string]struct {
		change func(*releases.Mirror)
		want   error
	}{
		"an archive with another checksum": {func(m *releases.Mirror) {
			m.Write(archive18, releases.Zip(t, "tofu", []byte("evil")))
		}, ErrChecksum},
		"a truncated archive": {func(m *releases.Mirror) { m.Write(archive18, m.Read(archive18)[:50]) }, ErrChecksum},
		"a list of checksums that is not what was signed": {func(m *releases.Mirror) {
			m.Write(sums18, append(m.Read(sums18), '\n'))
		}, sigverify.ErrSignature},
		"a signature that is none": {func(m *releases.Mirror) {
			m.Write(sig18, []byte("signed, me"))
		}, sigverify.ErrSignature},
		"a signature by another key": {func(m *releases.Mirror) {
			m.SignWithAnotherKey()
			m.Sign("OpenTofu", "1.8.0")
		}, sigverify.ErrSignature},
		"no signature": {func(m *releases.Mirror) { m.Remove(sig18) }, sigverify.ErrSignature},
		"a signature of a megabyte": {func(m *releases.Mirror) {
			m.Write(sig18, append(m.Read(sig18), make([]byte, 1<<20)...))
		}, ErrMalformed},
		"a list of checksums of two megabytes": {func(m *releases.Mirror) {
			m.Write(sums18, bytes.Repeat([]byte("\n"), 2<<20))
			m.Sign("OpenTofu", "1.8.0")
		}, ErrMalformed},
		"a list that names the archive twice": {func(m *releases.Mirror) {
			m.Write(sums18, append(m.Read(sums18), other+"  tofu_1.8.0_linux_amd64.zip\n"...))
			m.Sign("OpenTofu", "1.8.0")
		}, ErrMalformed},
		"another version's signed list": {func(m *releases.Mirror) {
			m.Write(sums18, m.Read("opentofu/1.9.1/tofu_1.9.1_SHA256SUMS"))
			m.Write(sig18, m.Read("opentofu/1.9.1/tofu_1.9.1_SHA256SUMS.gpgsig"))
		}, ErrNoVersion},
		"a list without the archive": {func(m *releases.Mirror) {
			m.Write(sums18, []byte(other+"  tofu_1.8.0_plan9_amd64.zip\n"))
			m.Sign("OpenTofu", "1.8.0")
		}, ErrNoVersion},
		"no archive": {func(m *releases.Mirror) { m.Remove(archive18) }, ErrNoVersion},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := releases.New(t, tofu("1.8.0", "one"), tofu("1.9.1", "two"))
			r := newFixture(t, m)
			test.change(m)
			_, err := r.get("1.8.0")
			if !errors.Is(err, test.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v", err)
			}
			if errors.Is(err, sigverify.ErrSignature) && m.Asked(archive18) > 0 {
				t.Error("the archive was downloaded before the signature was looked at")
			}
			if files := r.files(); len(files) > 0 {
				t.Errorf("left are %q", files)
			}
		})
	}
}

func TestTooLargeArchiveIsNotReadToItsEnd(t *testing.T) {
	m := releases.New(t, tofu("1.8.0", "one"))
	broke := make(chan bool, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/"+archive18 {
			_, _ = w.Write(m.Read(strings.TrimPrefix(r.URL.Path, "/")))
			return
		}
		var err error
		for i := 0; i < 64 && err == nil; i++ {
			_, err = w.Write(make([]byte, 1<<20))
		}
		broke <- err != nil
	}))
	defer server.Close()
	r := newFixture(t, m, func(o *Options) { o.Mirrors[OpenTofu] = server.URL })
	r.largest = 100
	if _, err := r.get("1.8.0"); !errors.Is(err, ErrMalformed) {
		t.Errorf("%v", err)
	}
	if !<-broke {
		t.Error("all of it was read")
	}
}

func TestFilesOutsideOfTheFolderAreRejected(t *testing.T) {
	m := releases.New(t, tofu("1.8.0", "one"), tofu("1.9.1", "two"))
	r := newFixture(t, m, func(o *Options) { o.Mirrors[OpenTofu] = m.Folder })
	const sums19 = "opentofu/1.9.1/tofu_1.9.1_SHA256SUMS"
	outside := filepath.Join(t.TempDir(), "sums")
	if err := os.WriteFile(outside, m.Read(sums19), 0o600); err != nil {
		t.Fatal(err)
	}
	m.Remove(sums18)
	m.Write(sums18+"/file", nil)
	m.Remove(sums19)
	if err := os.Symlink(outside, filepath.Join(m.Dir, sums19)); err != nil {
		t.Fatal(err)
	}
	if _, err := r.get("1.8.0"); !errors.Is(err, ErrMalformed) {
		t.Errorf("a folder instead of a file: %v", err)
	}
	if _, err := r.get("1.9.1"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("a link out of the folder: %v", err)
	}
}

func TestRejectedReleaseIsNotRetriedForAMinute(t *testing.T) {
	m := releases.New(t, tofu("1.8.0", "one"))
	r := newFixture(t, m)
	whole := m.Read(archive18)
	m.Write(archive18, whole[:50])
	for range 3 {
		if _, err := r.get("1.8.0"); !errors.Is(err, ErrChecksum) {
			t.Fatal(err)
		}
	}
	if n := m.Asked(archive18); n != 1 {
		t.Errorf("it was downloaded %d times", n)
	}
	m.Write(archive18, whole)
	r.clock = r.clock.Add(refusedRest)
	if _, err := r.get("1.8.0"); err != nil {
		t.Error(err)
	}
}

// digestOf is the SHA-256 digest of a file of the mirror.
func (r *fixture) digestOf(file string) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(r.Read(file)))
}

func TestDigestReplacesTheSignatureOfOneVersion(t *testing.T) {
	const sums = "terragrunt/0.90.0/SHA256SUMS"
	m := releases.New(t, grunt("0.90.0"), grunt("0.91.0"), tofu("1.8.0", "one"))
	for _, file := range []string{sums, "terragrunt/0.91.0/SHA256SUMS", sums18} {
		m.Remove(file + ".gpgsig")
	}
	digest := newFixture(t, m).digestOf(sums)
	unsigned := func(o *Options) { o.Unsigned = map[Product]map[string]string{Terragrunt: {"0.90.0": digest}} }

	if err := newFixture(t, m).grunt("0.90.0"); !errors.Is(err, sigverify.ErrSignature) {
		t.Errorf("without a digest: %v", err)
	}
	r := newFixture(t, m, unsigned, func(o *Options) { delete(o.Keys, Terragrunt) })
	p, err := r.Get(t.Context(), Terragrunt, "0.90.0", "linux", "amd64")
	if err != nil || !p.Unsigned || r.content(p) != "grunt" {
		t.Errorf("with its digest: %+v, %v", p, err)
	}
	r = newFixture(t, m, unsigned)
	if err := r.grunt("0.91.0"); !errors.Is(err, errUnsigned) {
		t.Errorf("another version: %v", err)
	}
	if _, err := r.get("1.8.0"); !errors.Is(err, errUnsigned) {
		t.Errorf("another product: %v", err)
	}
	const program = "terragrunt/0.90.0/terragrunt_linux_amd64"
	released := m.Read(program)
	m.Write(program, []byte("evil"))
	if err := r.grunt("0.90.0"); !errors.Is(err, ErrChecksum) {
		t.Errorf("another program: %v", err)
	}
	m.Write(program, released)
	m.Write(sums, append(m.Read(sums), '\n'))
	if err := newFixture(t, m, unsigned).grunt("0.90.0"); !errors.Is(err, ErrChecksum) {
		t.Errorf("another list of checksums: %v", err)
	}
}

// The program is in the cache of the same folder.
func TestUnsignedProgramIsNotUsedAfterItsDigestIsRemoved(t *testing.T) {
	const sums = "terragrunt/0.90.0/SHA256SUMS"
	m := releases.New(t, grunt("0.90.0"))
	m.Remove(sums + ".gpgsig")
	digest, dir := newFixture(t, m).digestOf(sums), t.TempDir()
	in := func(o *Options) { o.Dir = dir }
	r := newFixture(t, m, in, func(o *Options) {
		o.Unsigned = map[Product]map[string]string{Terragrunt: {"0.90.0": digest}}
	})
	if err := r.grunt("0.90.0"); err != nil {
		t.Fatal(err)
	}
	if err := newFixture(t, m, in).grunt("0.90.0"); !errors.Is(err, errUnsigned) {
		t.Errorf("%v", err)
	}
}

func TestOneValidSignatureOfTerraformSuffices(t *testing.T) {
	const sums = "terraform/1.5.7/terraform_1.5.7_SHA256SUMS"
	m := releases.New(t, releases.Release{Product: "Terraform", Version: "1.5.7", OS: "linux", Arch: "amd64",
		Program: []byte("tf")})
	m.Write(sums+".sig", m.Read(sums+".72D7468F.sig"))
	m.Write(sums+".72D7468F.sig", []byte("by the maker, not the company"))
	r := newFixture(t, m)
	if _, err := r.Get(t.Context(), Terraform, "1.5.7", "linux", "amd64"); err != nil {
		t.Error(err)
	}
}

func TestConcurrentCallersShareADownload(t *testing.T) {
	m := releases.New(t, tofu("1.8.0", "one"))
	asked, answer := make(chan struct{}), make(chan struct{})
	m.Hold = func(r *http.Request) {
		if r.URL.Path == "/"+archive18 {
			close(asked) // a second download would panic
			<-answer
		}
	}
	r := newFixture(t, m)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error)
	go func() {
		_, err := r.Get(ctx, OpenTofu, "1.8.0", "linux", "amd64")
		left <- err
	}()
	<-asked
	leave() // the first one, whose download it is
	if err := <-left; !errors.Is(err, ctx.Err()) {
		t.Error(err)
	}
	var others sync.WaitGroup
	for range 5 {
		others.Go(func() {
			if p, err := r.get("1.8.0"); err != nil || p.Size != 3 {
				t.Errorf("%+v, %v", p, err)
			}
		})
	}
	close(answer)
	others.Wait()
	if n := m.Asked(archive18); n != 1 {
		t.Errorf("%d downloads", n)
	}
}

func TestCloseCancelsADownload(t *testing.T) {
	m := releases.New(t, tofu("1.8.0", "one"))
	asked, answer := make(chan struct{}), make(chan struct{})
	m.Hold = func(r *http.Request) {
		if r.URL.Path == "/"+archive18 {
			close(asked)
			<-answer
		}
	}
	r := newFixture(t, m)
	got := make(chan error)
	go func() {
		_, err := r.get("1.8.0")
		got <- err
	}()
	<-asked
	r.programs.close()
	if err := <-got; !errors.Is(err, ErrUnreachable) {
		t.Error(err)
	}
	close(answer)
	_, err := r.programs.get(t.Context(), "x", func(context.Context) (Program, error) {
		t.Error("work began after it")
		return Program{}, nil
	})
	if !errors.Is(err, ErrUnreachable) {
		t.Errorf("after it: %v", err)
	}
}

func TestCachedProgramsAreUsedWhileTheMirrorIsUnavailable(t *testing.T) {
	m := releases.New(t, tofu("1.8.0", "one"), tofu("1.9.1", "two"), tofu("1.9.0-rc1", "three"))
	r := newFixture(t, m)
	for _, v := range []string{"1.8.0", "1.9.0-rc1"} {
		if _, err := r.get(v); err != nil {
			t.Fatal(err)
		}
	}
	m.Vanish()
	for constraint, want := range map[string]string{"~> 1.8": "1.8.0", "": "1.8.0", "1.9.0-rc1": "1.9.0-rc1"} {
		if v, err := r.Find(t.Context(), OpenTofu, constraint); v != want || err != nil {
			t.Errorf("%q: %q, %v", constraint, v, err)
		}
	}
	if p, err := r.get("1.8.0"); err != nil || r.content(p) != "one" {
		t.Errorf("%+v, %v", p, err)
	}
	if _, err := r.Find(t.Context(), OpenTofu, ">= 1.9"); !errors.Is(err, ErrUnreachable) {
		t.Errorf("none is here: %v", err)
	}
	if _, err := r.get("1.9.1"); !errors.Is(err, ErrUnreachable) || strings.Contains(err.Error(), "\n") {
		t.Errorf("it is not here: %v", err)
	}
}

func TestModifiedProgramIsDownloadedAgain(t *testing.T) {
	r := newFixture(t, releases.New(t, tofu("1.8.0", "one")))
	p, err := r.get("1.8.0")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Chmod(p.Path, 0o700), os.WriteFile(p.Path, []byte("bad"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Open(); !errors.Is(err, ErrDamaged) {
		t.Errorf("%v", err)
	}
	if p, err = r.get("1.8.0"); err != nil || r.content(p) != "one" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestTemporaryFileOfADeadProcessIsRemoved(t *testing.T) {
	dir := t.TempDir()
	old, young := filepath.Join(dir, draftPrefix+"OLD"), filepath.Join(dir, draftPrefix+"YOUNG")
	for _, path := range []string{old, young} {
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	past := time.Now().Add(-2 * draftAge)
	if err := os.Chtimes(old, past, past); err != nil {
		t.Fatal(err)
	}
	r := newFixture(t, releases.New(t), func(o *Options) { o.Dir = dir })
	if files := r.files(); len(files) != 1 || files[0] != filepath.Base(young) {
		t.Errorf("left are %q", files)
	}
}

func TestInvalidOptions(t *testing.T) {
	tests := map[string]Options{
		"no folder":                            {},
		"a mirror of an unknown product":       {Mirrors: map[Product]string{"Pulumi": "https://x"}},
		"a key of an unknown product":          {Keys: map[Product][]string{"Pulumi": {"x"}}},
		"an unknown product without signature": {Unsigned: map[Product]map[string]string{"Pulumi": {}}},
		"no digest instead of a signature": {
			Unsigned: map[Product]map[string]string{Terragrunt: {"0.90.0": "true"}}},
		"no version without a signature": {
			Unsigned: map[Product]map[string]string{Terragrunt: {"0.x": "sha256:" + strings.Repeat("0", 64)}}},
		"a key that is none":          {Keys: map[Product][]string{OpenTofu: {"x"}}},
		"a mirror over ftp":           {Mirrors: map[Product]string{OpenTofu: "ftp://x/y"}},
		"a mirror that is no URL":     {Mirrors: map[Product]string{OpenTofu: "https://me:secret@x:y"}},
		"a mirror without a host":     {Mirrors: map[Product]string{OpenTofu: "https:///x"}},
		"a mirror with a query":       {Mirrors: map[Product]string{OpenTofu: "https://me:secret@x/?y=z"}},
		"a folder on another machine": {Mirrors: map[Product]string{OpenTofu: "file://server/x"}},
		"a folder without a root":     {Mirrors: map[Product]string{OpenTofu: "file:x"}},
	}
	for name, o := range tests {
		t.Run(name, func(t *testing.T) {
			if name != "no folder" {
				o.Dir = t.TempDir()
			}
			if _, err := New(o); err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v", err)
			}
		})
	}
	r, err := New(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatalf("the least: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
}
