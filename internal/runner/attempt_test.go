package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/redact"
	"cairn.dev/cairn/internal/store"
)

func TestClean(t *testing.T) {
	r := &runner{secrets: redact.New()}
	r.secrets.Add("hunter two")
	for text, want := range map[string]string{
		"plain":                    "plain",
		"two\n  lines\r\n":         "two lines",
		"nul \x00 esc \x1b[0m":     "nul esc [0m",
		"bad \xff\xfe":             "bad \ufffd",
		"a hunter\n  two b":        "a (sensitive) b",
		strings.Repeat("é", 600):   strings.Repeat("é", 510) + "…",
		strings.Repeat("x", 1024):  strings.Repeat("x", 1024),
		strings.Repeat("x ", 5000): strings.Repeat("x ", 510) + "x…",
	} {
		if got := r.clean(text); got != want || !utf8.ValidString(got) {
			t.Errorf("%.40q became %q", text, got)
		}
	}
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Hour: "1h", 90 * time.Minute: "1h30m", 90 * time.Second: "1m30s", 10 * time.Second: "10s", 10 * time.Minute: "10m",
		time.Hour + time.Second: "1h0m1s", 20 * time.Hour: "20h",
	} {
		if got := short(d); got != want {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
}

func TestOutlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		process, interrupt := Interrupted(t.Context())
		before, cancel := outlive(process)
		defer cancel()
		time.Sleep(time.Hour)
		interrupt()
		after, cancel := outlive(process)
		defer cancel()
		time.Sleep(lastPatience - time.Second)
		synctest.Wait()
		if before.Err() != nil || after.Err() != nil {
			t.Error("it was over too soon")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if before.Err() == nil || after.Err() == nil {
			t.Error("it is not over")
		}
		kept, cancel := outlive(context.Background())
		time.Sleep(time.Hour)
		if kept.Err() != nil {
			t.Error("it was over without a reason")
		}
		cancel()
	})
}

// TestVariableFilesKeepTheirOrder however many there are and whatever they are called.
func TestVariableFilesKeepTheirOrder(t *testing.T) {
	inputs := t.TempDir()
	work, err := openWorkspace(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := work.clear(); err != nil {
		t.Fatal(err)
	}
	put := func(dir, name, text string) {
		if err := os.MkdirAll(filepath.Join(inputs, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(inputs, dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("n", 240) + ".tfvars"
	put("b", "zz-variables.tfvars.json", "{}")
	put("b", "000-x.tfvars", "")
	put("a", long, "")
	put("a", ".hidden.tfvars", "")
	put("real", "linked.tfvars", "data")
	if err := os.Symlink("../real", filepath.Join(inputs, "a", "..data")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("..data/linked.tfvars", filepath.Join(inputs, "a", "linked.tfvars")); err != nil {
		t.Fatal(err)
	}
	for i := range 12 {
		put("many", fmt.Sprintf("%02d.tfvars", i), "")
	}
	a := &attempt{runner: &runner{Options: Options{Inputs: inputs}, secrets: redact.New(), work: work}}
	a.order.VariableFiles = []store.VariableFiles{{Dir: "b"}, {Dir: "a"}, {Dir: "many"}}
	a.order.Variables = []store.Variable{{Name: "x", Value: []byte("1")}}
	files, err := a.gather(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if files, err = a.assemble(files); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	want := []string{"000-000-x.tfvars", "001-zz-variables.tfvars.json", "002-.hidden.tfvars", "003-linked.tfvars", "004-" + long[len(long)-longestName:]}
	for i := range 12 {
		want = append(want, fmt.Sprintf("%03d-%02d.tfvars", 5+i, i))
	}
	if diff := cmp.Diff(append(want, ownVariables), names); diff != "" {
		t.Error(diff)
	}
	if string(files[3].data) != "data" {
		t.Errorf("%q", files[3].data)
	}
	for _, order := range []store.Order{
		{VariableFiles: []store.VariableFiles{{Dir: "missing"}}},
		{VariableFiles: []store.VariableFiles{{Dir: "../outside"}}},
		{Variables: []store.Variable{{Name: "x", File: "../outside"}}},
		{Variables: []store.Variable{{Name: "x", File: "b/missing"}}},
	} {
		a.order = order
		if _, err := a.gather(t.Context()); err == nil {
			t.Errorf("%+v is taken", order)
		}
	}
}
