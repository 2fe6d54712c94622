package signinlink

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

// TestALinkWithoutACodeLeavesNothingOpen: anybody may ask for it, as often as they like.
func TestALinkWithoutACodeLeavesNothingOpen(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes it one day
	folder := t.TempDir()
	if _, err := Take(folder, "", time.Now()); !errors.Is(err, ErrExpired) {
		t.Errorf("it says %v", err)
	}
	const open = "/proc/self/fd"
	files, err := os.ReadDir(open)
	if err != nil && runtime.GOOS != "linux" { // where CI runs, and Cairn
		t.Skip("only Linux lists the files that a process has open:", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if name, _ := os.Readlink(filepath.Join(open, f.Name())); name == folder {
			t.Error("the folder of links is open")
		}
	}
}
