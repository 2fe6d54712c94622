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
	"cairn.dev/cairn/internal/engine/redact"
	"cairn.dev/cairn/internal/runner/gitauth"
	"cairn.dev/cairn/internal/runner/process"
	"cairn.dev/cairn/internal/runner/workspace"
)

// longestTmp is how long the path of TMPDIR may be. Providers listen on a socket there, and the path of a socket has
// 107 bytes at most.
const longestTmp = 80

// environment returns what the engine, and all that it starts, gets: the container's variables without Cairn's own,
// and those that silence it and lead it to the state.
func (a *attempt) environment() []string {
	env := slices.DeleteFunc(slices.Clone(a.Environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return engine.Withheld(name, a.backend().Own()) != ""
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
	if a.backend().Own() && a.order.Workspace != "" {
		own = append(own, engine.WorkspaceVariable+"="+a.order.Workspace)
	}
	if !a.backend().Own() { // the engine's own backend may be of type http; the proxy's password is for nothing else
		own = append(own, a.proxy.Environment()...)
	}
	return slices.Concat(env, own, a.gitEnv, a.mirror.Environment())
}

// withheld returns the variables of the container that the engine does not get, without Cairn's own.
func (a *attempt) withheld() []string {
	var names []string
	for _, pair := range a.Environ {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "CAIRN_") && engine.Withheld(name, a.backend().Own()) != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// setWorkspace sets the workspace of the order in the code in folders. The engine's own backends have workspaces:
// there a variable selects it.
func (a *attempt) setWorkspace(folders ...string) error {
	if a.order.Workspace == "" || a.backend().Own() {
		return nil
	}
	for _, folder := range folders {
		root, err := os.OpenRoot(folder)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		err = errors.Join(engine.SetWorkspace(root, a.order.Workspace), root.Close())
		if err != nil {
			return err
		}
	}
	return nil
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
	programs := a.engine.programs()
	if len(programs) == 0 {
		return "", nil
	}
	if err := os.MkdirAll(a.work.Bin(), 0o700); err != nil {
		return "", err
	}
	for _, name := range engine.Programs() {
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
