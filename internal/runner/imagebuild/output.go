package imagebuild

import (
	"regexp"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/process"
)

// transientErrors are words of builders and registries for what a retry may cure.
var transientErrors = regexp.MustCompile(`(?i)\bdial tcp\b|i/o timeout|connection re(fused|set)|TLS handshake timeout` +
	`|no such host|temporary failure in name resolution|toomanyrequests|too many requests|\b50[0234]\b [a-z]` +
	`|unexpected EOF|context deadline exceeded`)

// Class classifies how a builder failed.
func Class(exit process.Exit) engine.Class {
	if exit.Interrupted() || transientErrors.MatchString(strings.Join(exit.LastLines(), "\n")) {
		return engine.Transient
	}
	return engine.ConfigurationError
}
