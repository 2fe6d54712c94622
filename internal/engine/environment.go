package engine

import (
	"slices"
	"strings"
)

// WorkspaceVariable selects the workspace of an engine.
const WorkspaceVariable = "TF_WORKSPACE"

// passed are those of Terragrunt's variables that configure only identity and features.
var passed = []string{
	"TG_AUTH_PROVIDER_CMD", "TG_FEATURE", "TG_IAM_ASSUME_ROLE", "TG_IAM_ASSUME_ROLE_DURATION",
	"TG_IAM_ASSUME_ROLE_SESSION_NAME", "TG_IAM_ASSUME_ROLE_WEB_IDENTITY_TOKEN",
}

// withheld are the names, or with a * the beginnings of names, of variables that change what an engine does.
var withheld = []struct{ name, why string }{
	{"CAIRN_*", "names that begin with CAIRN_ are Cairn's own"},
	{"TF_DATA_DIR", "the apply in another pod expects what init prepares in .terraform"},
	{WorkspaceVariable, "set spec.workspace of the Stack"},
	{"TF_HTTP_*", "Cairn keeps the state; a backend of the engine is set in spec.backend"},
	{"TF_CLI_ARGS*", "with other arguments the engine would not apply what was approved"},
	{"TG_*", "Terragrunt could run other code, or another engine"},
	{"TERRAGRUNT_*", "Terragrunt could run other code, or another engine"},
}

// Withheld returns why an engine does not get an environment variable; empty for one that it gets. ownBackend: the
// state is in a backend of the engine.
func Withheld(name string, ownBackend bool) string {
	if slices.Contains(passed, name) || ownBackend && strings.HasPrefix(name, "TF_HTTP_") {
		return ""
	}
	for _, w := range withheld {
		if prefix, any := strings.CutSuffix(w.name, "*"); name == prefix || any && strings.HasPrefix(name, prefix) {
			return w.why
		}
	}
	return ""
}
