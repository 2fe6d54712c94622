package runner

import (
	"cmp"
	"os"
	"slices"
	"strings"
)

// dropped are variables that would make the engine do something else than it was told. TF_DATA_DIR would put what init
// prepares where apply in another pod does not look; TF_WORKSPACE would name another state, and a Stack has one.
var dropped = []string{"TF_DATA_DIR", "TF_WORKSPACE"}

// droppedPrefixes are of more of them. TF_HTTP_ names another state, unless the engine's own backend is told so; TF_CLI_ARGS adds arguments, so that not what was
// approved is planned or applied; TG_ and TERRAGRUNT_ may run other code, all code there is, or another engine.
var droppedPrefixes = []string{"CAIRN_", "TF_HTTP_", "TF_CLI_ARGS", "TG_", "TERRAGRUNT_"}

// kept are those of Terragrunt's variables that only say who it is, or what the code may ask for.
var kept = []string{
	"TG_AUTH_PROVIDER_CMD", "TG_FEATURE", "TG_IAM_ASSUME_ROLE", "TG_IAM_ASSUME_ROLE_DURATION",
	"TG_IAM_ASSUME_ROLE_SESSION_NAME", "TG_IAM_ASSUME_ROLE_WEB_IDENTITY_TOKEN",
}

func drop(name string) bool {
	if slices.Contains(kept, name) {
		return false
	}
	return slices.Contains(dropped, name) ||
		slices.ContainsFunc(droppedPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// longestTmp is how long the path of a folder for temporary files may be. Providers listen on a socket there, and the path
// of a socket has 107 bytes at most.
const longestTmp = 80

// environment gives what the engine, and all that it starts, gets: the container's variables but for Cairn's own, and
// those that make it quiet and lead it to the state.
func (a *attempt) environment() []string {
	env := slices.DeleteFunc(slices.Clone(a.Environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return drop(name) && (!a.backend().Own() || !strings.HasPrefix(name, "TF_HTTP_"))
	})
	own := []string{
		"TF_IN_AUTOMATION=1",
		"TF_INPUT=0",
		"CHECKPOINT_DISABLE=1",
		"GIT_TERMINAL_PROMPT=0",
		"CAIRN_NAMESPACE=" + a.order.Namespace,
		"CAIRN_STACK=" + a.order.Stack,
		"CAIRN_RUN=" + a.order.Run,
		"HOME=" + a.home(),
	}
	tmp := cmp.Or(variable(env, "TMPDIR"), a.work.tmp())
	if len(tmp) > longestTmp {
		tmp = "/tmp"
	}
	own = append(own, "TMPDIR="+tmp)
	return slices.Concat(env, own, a.gitEnv, a.proxy.environment(!a.backend().Own()))
}

// home is the container's HOME if something can be written to it, and otherwise one of our own: an image's user may have
// none, or / .
func (a *attempt) home() string {
	home := variable(a.Environ, "HOME")
	if home == "" || home == "/" {
		return a.work.home()
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return a.work.home()
	}
	probe, err := os.CreateTemp(home, ".cairn-")
	if err != nil {
		return a.work.home()
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	return home
}

// variable gives the value that a program would see: the last one.
func variable(env []string, name string) string {
	for _, pair := range slices.Backward(env) {
		if key, value, _ := strings.Cut(pair, "="); key == name {
			return value
		}
	}
	return ""
}
