package engine

import (
	"slices"
	"strings"

	"cairn.dev/cairn/internal/runnerapi"
)

// Class is how to handle a failure.
type Class string

// What to do about a failure.
const (
	// Transient: it may pass; try again with a new plan.
	Transient Class = runnerapi.FailureTransient
	// ConfigurationError: the code or its values are wrong; the same again would fail the same way.
	ConfigurationError Class = runnerapi.FailureConfigurationError
)

// Classify returns the class of a failed step from its exit code and its errors. It answers one question: must a user
// change something? When in doubt the answer is no, because a retry costs little and is limited.
//
//   - An apply fails because of the infrastructure, not the code: a retry begins with a new plan, which detects errors
//     in the code.
//   - An engine that was killed, or printed no error, was not the cause.
//   - Otherwise the first error decides, by the first rule that fits it.
func Classify(step Step, exitCode int, diagnostics []Diagnostic) Class {
	first := FirstError(diagnostics)
	if step == StepApply || exitCode != 1 || first == nil {
		return Transient
	}
	if step == StepInit && first.Address == "" && first.Range == nil && saysOfBackend(*first) {
		return ConfigurationError
	}
	for _, rule := range rules {
		if rule.fits(*first) {
			return rule.class
		}
	}
	// With a place in the code and no resource it is about the code itself. With a resource it is the message of a
	// provider, and that may be transient.
	if first.Range != nil && first.Address == "" {
		return ConfigurationError
	}
	return Transient
}

// rules are the errors whose place in the code, or the lack of one, is misleading. A summary matches
// as a prefix, a detail anywhere. docs/troubleshooting/failures.md describes them.
var rules = []rule{
	// They have a place in the code, but are caused by the network or a remote service.
	{"Failed to download module", "", Transient},
	{"Error accessing remote module registry", "", Transient},
	{"Invalid response from remote module registry", "", Transient},
	{"Resource postcondition failed", "", Transient},

	// They have no place in the code, but are about it.
	{"Cycle: ", "", ConfigurationError},
	{"No configuration files", "", ConfigurationError},
	{"Unreadable module directory", "", ConfigurationError},
	{"Failed to read file", "", ConfigurationError},
	{"Invalid dependency on built-in provider", "", ConfigurationError},
	{"Inconsistent dependency lock file", "", ConfigurationError},
	{"Invalid backend configuration argument", "", ConfigurationError},
	{"Provider dependency changes detected", "", ConfigurationError},
	{`Invalid target "`, "", ConfigurationError},
	{`Invalid exclude "`, "", ConfigurationError},
	{"Invalid force-replace address", "", ConfigurationError},
	{"Failed to parse command-line flags", "", ConfigurationError},
	{"Failed to query available provider packages", "no available releases match", ConfigurationError},
	{"Failed to query available provider packages", "does not match configured version constraint", ConfigurationError},
	{"Failed to query available provider packages", "was not found in any of the search locations", ConfigurationError},
	{"Failed to query available provider packages", "does not have a provider named", ConfigurationError},
	{"Failed to resolve provider packages", "no available releases match", ConfigurationError},
	{"Failed to resolve provider packages", "does not match configured version constraint", ConfigurationError},
	{"Failed to install provider", "checksums previously recorded in the dependency lock file", ConfigurationError},
}

type rule struct {
	summary, detail string
	class           Class
}

func (r rule) fits(d Diagnostic) bool {
	return strings.HasPrefix(d.Summary, r.summary) && strings.Contains(d.Detail, r.detail)
}

// deniedWords are words of backends' servers for requests that fail again with the same credentials, or the same name.
// They can be anywhere in an init's error, which has no other detail.
var deniedWords = []string{
	// s3
	"NoSuchBucket", "https response error StatusCode: 403", "No valid credential sources found",
	// gcs
	"storage: bucket doesn't exist", "could not find default credentials", "neither valid json nor a valid file path",
	"invalid_grant",
	// azurerm
	"ContainerNotFound", "AuthorizationFailure", "AuthenticationFailed",
	// pg
	"password authentication failed", "no pg_hba.conf entry", "pq: role \"", "pq: database \"", "pq: permission denied",
	// kubernetes
	"Failed to initialize kubernetes configuration", " is forbidden: User ", "failed to list secrets: Unauthorized",
	// consul
	"ACL not found", "Permission denied: token",
}

func saysOfBackend(d Diagnostic) bool {
	said := d.Summary + "\n" + d.Detail
	return slices.ContainsFunc(deniedWords, func(words string) bool { return strings.Contains(said, words) })
}
