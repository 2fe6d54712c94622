package imagebuild

import (
	"fmt"
	"regexp"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/process"
)

// shownLines is how many of a builder's last lines are in a message.
const shownLines = 3

// noise is what Buildah prints, more than once, after a step of the Dockerfile has printed what is wrong.
const noise = "subprocess exited with status"

// Explain returns why a builder failed: its last lines, or what is known without them.
func Explain(name string, exit process.Exit) string {
	if exit.Interrupted() {
		return exit.Explain(name, engine.Events{})
	}
	var lines []string
	for line := range strings.Lines(exit.Last) {
		line = strings.TrimSpace(line)
		repeats := len(lines) > 0 && lines[len(lines)-1] == line
		if line != "" && !repeats && !strings.HasPrefix(line, noise) {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return exit.Explain(name, engine.Events{})
	}
	return fmt.Sprintf("%s ended with exit code %d: %s", name, exit.Code, strings.Join(lines[max(0, len(lines)-shownLines):], "; "))
}

// transientErrors are words of builders and registries for what a retry may cure.
var transientErrors = regexp.MustCompile(`(?i)\bdial tcp\b|i/o timeout|connection re(fused|set)|TLS handshake timeout` +
	`|no such host|temporary failure in name resolution|toomanyrequests|too many requests|\b50[0234]\b [a-z]` +
	`|unexpected EOF|context deadline exceeded`)

// Class classifies how a builder failed.
func Class(exit process.Exit) engine.Class {
	lines := strings.Split(strings.TrimSpace(exit.Last), "\n")
	last := strings.Join(lines[max(0, len(lines)-shownLines):], "\n")
	if exit.Interrupted() || transientErrors.MatchString(last) {
		return engine.Transient
	}
	return engine.ConfigurationError
}
