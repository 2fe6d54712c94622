package auth

import (
	"errors"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
	"time"
)

// TestALinkWithoutACodeLeavesNothingOpen: anybody may ask for it, as often as they like.
func TestALinkWithoutACodeLeavesNothingOpen(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes it one day
	folder := t.TempDir()
	if _, err := RedeemLink(folder, "", time.Now()); !errors.Is(err, errLinkOver) {
		t.Errorf("it says %v", err)
	}
	const open = "/proc/self/fd"
	files, err := os.ReadDir(open)
	if err != nil {
		t.Skip("the system does not tell which files are open:", err)
	}
	for _, f := range files {
		if name, _ := os.Readlink(filepath.Join(open, f.Name())); name == folder {
			t.Error("the folder of links is open")
		}
	}
}
