package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindController(t *testing.T) {
	folder, elsewhere := t.TempDir(), t.TempDir()
	t.Setenv("PATH", elsewhere)
	if _, err := findController(folder); err == nil || !strings.Contains(err.Error(), "cairn-controller is neither in "+folder+" nor in PATH: put ") {
		t.Errorf("without the program: %v", err)
	}
	for _, dir := range []string{elsewhere, folder} {
		want := filepath.Join(dir, "cairn-controller")
		if err := os.WriteFile(want, []byte("#!/bin/sh\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		if got, err := findController(folder); got != want || err != nil {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}
