package attempt

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/redact"
	"cairn.dev/cairn/internal/runner/workspace"
	"cairn.dev/cairn/internal/runnerapi"
)

// The order holds for any number of files with any names.
func TestVariableFilesKeepTheirOrder(t *testing.T) {
	inputs := t.TempDir()
	work, err := workspace.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := work.Clear(""); err != nil {
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
	s := &variables{&job{Executor: &Executor{Options: Options{Inputs: inputs}, secrets: redact.New(), work: work}}}
	s.order.VariableFiles = []runnerapi.VariableFiles{{Dir: "b"}, {Dir: "a"}, {Dir: "many"}}
	s.order.Variables = []runnerapi.Variable{{Name: "x", Value: []byte("1")}}
	files, err := s.gather(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if files, err = s.assemble(files); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.name)
	}
	want := []string{"000-000-x.tfvars", "001-zz-variables.tfvars.json", "002-.hidden.tfvars", "003-linked.tfvars",
		"004-" + long[len(long)-longestName:]}
	for i := range 12 {
		want = append(want, fmt.Sprintf("%03d-%02d.tfvars", 5+i, i))
	}
	if diff := cmp.Diff(append(want, ownVariables), names); diff != "" {
		t.Error(diff)
	}
	if string(files[3].data) != "data" {
		t.Errorf("%q", files[3].data)
	}
	for _, order := range []runnerapi.Order{
		{VariableFiles: []runnerapi.VariableFiles{{Dir: "missing"}}},
		{VariableFiles: []runnerapi.VariableFiles{{Dir: "../outside"}}},
		{Variables: []runnerapi.Variable{{Name: "x", File: "../outside"}}},
		{Variables: []runnerapi.Variable{{Name: "x", File: "b/missing"}}},
	} {
		s.order = order
		if _, err := s.gather(t.Context()); err == nil {
			t.Errorf("%+v is accepted", order)
		}
	}
}

func TestVariableFileOfTheCodeIsWithinIt(t *testing.T) {
	work, err := workspace.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := work.Clear(""); err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(outside, []byte(`x = "canary"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(work.Code(""), "link.tfvars")); err != nil {
		t.Fatal(err)
	}
	s := &variables{&job{Executor: &Executor{work: work}}}
	for _, path := range []string{"link.tfvars", "../token", outside, "."} {
		files, err := s.assemble(variableFiles{{name: "000-x.tfvars", code: path}})
		if err == nil || slices.ContainsFunc(files, func(f variableFile) bool { return len(f.data) > 0 }) {
			t.Errorf("%s: %v", path, err)
		}
		var refused *engine.Rejection
		if path == "." && errors.As(err, &refused) {
			t.Errorf("a folder is reported as missing: %v", err)
		}
	}
}
