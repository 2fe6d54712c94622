package attempt

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/redact"
	"cairn.dev/cairn/internal/runner/gitauth"
	"cairn.dev/cairn/internal/runner/process"
	"cairn.dev/cairn/internal/runner/workspace"
)

// dropped are variables that change what the engine does. TF_DATA_DIR would put what init prepares where apply in
// another pod does not find it; TF_WORKSPACE would name another state, and a Stack has one.
var dropped = []string{"TF_DATA_DIR", "TF_WORKSPACE"}

// droppedPrefixes are prefixes of more of them. TF_HTTP_ names another state, unless the engine's own backend uses it;
// TF_CLI_ARGS adds arguments, so that what is planned or applied is not what was approved; TG_ and TERRAGRUNT_ may run
// other code, all code there is, or another engine.
var droppedPrefixes = []string{"CAIRN_", "TF_HTTP_", "TF_CLI_ARGS", "TG_", "TERRAGRUNT_"}

// kept are those of Terragrunt's variables that configure only identity and features.
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

// longestTmp is how long the path of TMPDIR may be. Providers listen on a socket there, and the path of a socket has
// 107 bytes at most.
const longestTmp = 80

// environment returns what the engine, and all that it starts, gets: the container's variables without Cairn's own,
// and those that silence it and lead it to the state.
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
	tmp := cmp.Or(process.Variable(env, "TMPDIR"), a.work.Tmp())
	if len(tmp) > longestTmp {
		tmp = "/tmp"
	}
	own = append(own, "TMPDIR="+tmp)
	if !a.backend().Own() { // the engine's own backend may be of type http; the proxy's password is for nothing else
		own = append(own, a.proxy.Environment()...)
	}
	return slices.Concat(env, own, a.gitEnv, a.mirror.Environment())
}

// home returns the container's HOME if it is writable, and otherwise one in the workspace: an image's user may have
// none, or / .
func (a *attempt) home() string {
	home := process.Variable(a.Environ, "HOME")
	if home == "" || home == "/" {
		return a.work.Home()
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return a.work.Home()
	}
	probe, err := os.CreateTemp(home, ".cairn-")
	if err != nil {
		return a.work.Home()
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	return home
}

// hookEnvironment returns what a hook gets: what the engine gets, with the engine's own program first on the PATH, and
// what docs/how-to/hooks.md lists.
func (a *attempt) hookEnvironment(h hook) ([]string, error) {
	env, err := a.aboutRun()
	if err != nil {
		return nil, err
	}
	env = append(env, "CAIRN_STEP="+h.Step, "CAIRN_WHEN="+h.When)
	return process.WithoutNUL(append(env, a.planEnvironment()...)), nil
}

// aboutRun returns what the engine gets, with the engine's own program first on the PATH, and variables about the Run.
func (a *attempt) aboutRun() ([]string, error) {
	env := a.environment()
	bin, err := a.linkEngine()
	if err != nil {
		return nil, err
	}
	if bin != "" {
		const separator = string(filepath.ListSeparator)
		env = append(env, "PATH="+strings.TrimSuffix(bin+separator+process.Variable(env, "PATH"), separator))
	}
	return append(env,
		"CAIRN_ATTEMPT="+strconv.Itoa(int(a.order.Attempt)),
		"CAIRN_OPERATION="+a.order.Operation,
		"CAIRN_CAUSE="+a.order.Cause,
		"CAIRN_REVISION="+a.order.Revision,
	), nil
}

// planEnvironment returns the variables about the plan, once there is one.
func (a *attempt) planEnvironment() []string {
	p := a.about
	if p == nil {
		return nil
	}
	env := []string{
		"CAIRN_PLAN_DIGEST=" + p.Digest, planFile + "=" + a.work.Plan(),
		"CAIRN_PLAN_CHANGES=" + strconv.FormatBool(p.Changes),
	}
	for _, file := range [][2]string{{"CAIRN_PLAN_TEXT", a.work.PlanText()}, {"CAIRN_PLAN_JSON", a.work.PlanJSON()}} {
		if _, err := os.Stat(file[1]); err == nil {
			env = append(env, file[0]+"="+file[1])
		}
	}
	if p.counted {
		n := func(n int32) string { return strconv.Itoa(int(n)) }
		env = append(env,
			"CAIRN_PLAN_ADD="+n(p.Add), "CAIRN_PLAN_CHANGE="+n(p.Change), "CAIRN_PLAN_DESTROY="+n(p.Destroy),
			"CAIRN_PLAN_REPLACE="+n(p.Replace), "CAIRN_PLAN_IMPORT="+n(p.Import), "CAIRN_PLAN_FORGET="+n(p.Forget),
			"CAIRN_PLAN_INVOKE="+n(p.Invoke))
	}
	return env
}

// linkEngine returns a folder in which the engine has its usual name, wherever its program is; empty while it is not
// known.
func (a *attempt) linkEngine() (string, error) {
	programs := map[string]string{}
	if a.engine.Engine != nil {
		programs[a.engine.Program()] = a.engine.path
	}
	if grunt, ok := a.engine.Engine.(engine.Terragrunt); ok && grunt.Engine != nil {
		programs[grunt.Engine.Program()] = grunt.Path
	}
	if !slices.ContainsFunc(process.Engines, func(name string) bool { return programs[name] != "" }) {
		return "", nil
	}
	if err := os.MkdirAll(a.work.Bin(), 0o700); err != nil {
		return "", err
	}
	for _, name := range process.Engines {
		link := filepath.Join(a.work.Bin(), name)
		if err := os.Remove(link); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if programs[name] == "" {
			continue
		}
		if err := os.Symlink(programs[name], link); err != nil {
			return "", err
		}
	}
	return a.work.Bin(), nil
}

// learn adds the secrets of the order to the redactor. An error of reading one is no failure here: the engine
// cannot read it either, or the step that needs it fails.
func (a *attempt) learn() {
	a.secrets.Add(a.token())
	for _, pair := range a.Environ {
		name, value, _ := strings.Cut(pair, "=")
		if slices.Contains(a.order.SecretEnv, name) {
			a.secrets.Add(value)
			if strings.HasPrefix(name, "TF_VAR_") { // the engine shows such a value piece by piece
				a.secrets.Add(redact.Expression(value)...)
			}
		}
	}
	inputs, err := a.work.OpenInputs(a.Inputs)
	if err != nil {
		return
	}
	defer inputs.Close() //nolint:errcheck // only read
	for _, dir := range a.order.SecretDirs {
		names, err := workspace.List(inputs, dir)
		if err != nil {
			continue
		}
		for _, name := range names {
			if data, err := workspace.Read(inputs, path.Join(dir, name)); err == nil {
				a.secrets.Add(string(data))
			}
		}
	}
}

// learnFile adds the values of a variable file to the redactor.
func (a *attempt) learnFile(name string, data []byte) {
	a.secrets.Add(redact.Values(name, data)...)
}

// configureGit returns git, which the engine starts, the credentials for the hosts of modules.
func (a *attempt) configureGit() error {
	a.gitEnv = nil
	if len(a.order.ModuleCredentials) == 0 {
		return nil
	}
	inputs, err := a.work.OpenInputs(a.Inputs)
	if err != nil {
		return err
	}
	defer inputs.Close() //nolint:errcheck // only read
	env, secrets, err := gitauth.Configure(gitauth.Options{
		Dir: a.work.Git(), Inputs: inputs, Modules: a.order.ModuleCredentials, Environ: a.Environ,
	})
	a.secrets.Add(secrets...)
	a.gitEnv = env
	return err
}
