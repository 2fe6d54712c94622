package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
)

// overlay says to go, by files in dir, which content some files of the checkout are to have. It gives what to set
// GOFLAGS to: so go commands that a test starts see the same.
func overlay(root, dir string, contents map[string]string) (goflags string, err error) {
	replace := map[string]string{}
	for file, content := range contents {
		at := filepath.Join(dir, strings.ReplaceAll(file, "/", "_"))
		if err := os.WriteFile(at, []byte(content), 0o600); err != nil {
			return "", err
		}
		replace[filepath.Join(root, file)] = at
	}
	data, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	at := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(at, data, 0o600); err != nil {
		return "", err
	}
	return strings.TrimSpace(os.Getenv("GOFLAGS") + " -overlay=" + at), nil
}
