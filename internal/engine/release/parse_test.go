package release

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/test/releases"
)

func TestParseIndex(t *testing.T) {
	tests := map[string]struct {
		data string
		want []string // nil is an error
	}{
		"HashiCorp's": {`{"name":"terraform","versions":{"1.5.7":{"builds":[]},"1.5.6":{}}}`,
			[]string{"1.5.6", "1.5.7"}},
		"OpenTofu's": {`{"versions":[{"id":"1.9.0","files":["a"]},{"id":"1.8.0"}]}`, []string{"1.8.0", "1.9.0"}},
		"GitHub's": {
			" [{\"ref\":\"refs/tags/v0.99.0\"},{\"ref\":\"refs/heads/v1\"},{\"ref\":\"refs/tags/vendor\"}]",
			[]string{"0.99.0", "endor"}},
		"no versions":       {`{}`, nil},
		"versions of null":  {`{"versions":null}`, nil},
		"versions of words": {`{"versions":["1.9.0"]}`, nil},
		"a page":            {"<html>", nil},
		"nothing":           {"", nil},
		"tags of words":     {`["v1"]`, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseIndex([]byte(test.data))
			slices.Sort(got)
			if diff := cmp.Diff(test.want, got); diff != "" || (err == nil) != (test.want != nil) {
				t.Errorf("%v %s", err, diff)
			}
		})
	}
}

// entry is a file of an archive.
type entry struct {
	name, content string
	mode          fs.FileMode
}

func archived(t testing.TB, entries ...entry) []byte {
	t.Helper()
	var data bytes.Buffer
	z := zip.NewWriter(&data)
	for _, e := range entries {
		header := &zip.FileHeader{Name: e.name, Method: zip.Deflate}
		header.SetMode(0o755 | e.mode)
		w, err := z.CreateHeader(header)
		if err == nil {
			_, err = io.WriteString(w, e.content)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return data.Bytes()
}

func TestUnpack(t *testing.T) {
	good := archived(t, entry{name: "README.md"}, entry{name: "tofu", content: "program"},
		entry{name: "docs/", mode: fs.ModeDir})
	bent := bytes.Replace(archived(t, entry{name: "tofu", content: strings.Repeat("program", 99)}),
		[]byte("PK\x01\x02"), []byte("PK\x07\x07"), 1)
	tests := map[string]struct {
		archive []byte
		ok      bool
	}{
		"the program among others": {good, true},
		"no program":               {archived(t, entry{name: "README.md"}), false},
		"a program in a folder":    {archived(t, entry{name: "bin/tofu", content: "program"}), false},
		"two programs": {archived(t, entry{name: "tofu", content: "program"},
			entry{name: "tofu", content: "evil"}), false},
		"a name that leads out": {archived(t, entry{name: "tofu", content: "program"}, entry{name: "../evil"}),
			false},
		"an absolute name": {archived(t, entry{name: "tofu", content: "program"},
			entry{name: "/etc/evil"}), false},
		"a name that leads out for DOS": {archived(t, entry{name: "tofu", content: "program"}, entry{name: `..\evil`}),
			false},
		"a link instead of a program": {archived(t, entry{name: "tofu", content: "/bin/sh", mode: fs.ModeSymlink}),
			false},
		"a folder instead of a program": {archived(t, entry{name: "tofu/", mode: fs.ModeDir}), false},
		"a program that is too large":   {archived(t, entry{name: "tofu", content: strings.Repeat("0", 1<<20)}), false},
		"no archive":                    {[]byte("program"), false},
		"an archive that is cut off":    {good[:len(good)/2], false},
		"an archive that is bent":       {bent, false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var program bytes.Buffer
			err := unpack(bytes.NewReader(test.archive), int64(len(test.archive)), "tofu", 1000, &program)
			if test.ok && (err != nil || program.String() != "program") || !test.ok && !errors.Is(err, ErrMalformed) {
				t.Errorf("%q, %v", program.String(), err)
			}
			if program.Len() > 1001 {
				t.Errorf("%d bytes were written", program.Len())
			}
		})
	}
}

func FuzzParseIndex(f *testing.F) {
	f.Add([]byte(`{"versions":{"1.5.7":{}}}`))
	f.Add([]byte(`{"versions":[{"id":"1.9.0"}]}`))
	f.Add([]byte(`[{"ref":"refs/tags/v0.99.0"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		names, err := parseIndex(data)
		if err != nil {
			return
		}
		all := sorted(names)
		for i, v := range all {
			if strings.ContainsAny(v.String(), "/\\ ") || strings.Contains(v.String(), "..") ||
				i > 0 && !all[i-1].GreaterThan(v) {
				t.Errorf("%q", all)
			}
		}
	})
}

func FuzzParseWish(f *testing.F) {
	f.Add("~> 1.9, != 1.9.4")
	f.Add("= 1.11.0-beta1")
	f.Add("1.11.0.0")
	all := sorted([]string{"1.8.0", "1.9.0", "1.11.0-beta1"})
	f.Fuzz(func(t *testing.T, text string) {
		w, err := parseWish(text)
		if err != nil {
			return
		}
		if got, ok := w.newest(all); ok && strings.Contains(got, "beta") && !strings.Contains(text, "beta") {
			t.Errorf("%q meets %q", got, text)
		}
		_ = w.nearest(all)
	})
}

func FuzzUnpack(f *testing.F) {
	f.Add(releases.Zip(f, "tofu", []byte("program")))
	f.Fuzz(func(t *testing.T, data []byte) {
		var program bytes.Buffer
		if unpack(bytes.NewReader(data), int64(len(data)), "tofu", 1000, &program) == nil && program.Len() > 1000 {
			t.Errorf("%d bytes", program.Len())
		}
	})
}

func TestNumberOfValuesOfAVersionListIsLimited(t *testing.T) {
	for _, text := range []string{`{"versions":[` + strings.Repeat("{},", 1<<20) + `{}]}`,
		"[" + strings.Repeat("{},", 1<<20) + "{}]"} {
		if _, err := parseIndex([]byte(text)); err == nil || !strings.Contains(err.Error(), "more than 500000 values") {
			t.Errorf("got %v", err)
		}
	}
}
