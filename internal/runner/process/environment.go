package process

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Variable returns the value that a program with that environment sees: the last one.
func Variable(env []string, name string) string {
	for _, pair := range slices.Backward(env) {
		if key, value, _ := strings.Cut(pair, "="); key == name {
			return value
		}
	}
	return ""
}

// WithoutNUL removes NUL bytes from an environment, in place: no program starts with one.
func WithoutNUL(env []string) []string {
	for i := range env {
		env[i] = strings.ReplaceAll(env[i], "\x00", "")
	}
	return env
}

// Find returns the path of a program on a PATH, which may be another than this process's; empty when there is none.
func Find(program, searchPath string) string {
	for _, dir := range filepath.SplitList(searchPath) {
		path := filepath.Join(dir, program)
		info, err := os.Stat(path)
		if err == nil && filepath.IsAbs(path) && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// Shell runs scripts that do not name their interpreter.
const Shell = "/bin/sh"
