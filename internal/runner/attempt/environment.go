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
func (w *workbench) environment() []string {
	env := slices.DeleteFunc(slices.Clone(w.Environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return engine.Withheld(name, w.backend().Own()) != ""
	})
	own := []string{
		"TF_IN_AUTOMATION=1",
		"TF_INPUT=0",
		"CHECKPOINT_DISABLE=1",
		"GIT_TERMINAL_PROMPT=0",
		"CAIRN_NAMESPACE=" + w.order.Namespace,
		"CAIRN_STACK=" + w.order.Stack,
		"CAIRN_RUN=" + w.order.Run,
		"HOME=" + w.home(),
	}
	tmp := cmp.Or(process.Variable(env, "TMPDIR"), w.work.Tmp())
	if len(tmp) > longestTmp {
		tmp = "/tmp"
	}
	own = append(own, "TMPDIR="+tmp)
	if w.backend().Own() && w.order.Workspace != "" {
		own = append(own, engine.WorkspaceVariable+"="+w.order.Workspace)
	}
	if !w.backend().Own() { // the engine's own backend may be of type http; the proxy's password is for nothing else
		own = append(own, w.proxy.Environment()...)
	}
	return slices.Concat(env, own, w.gitEnv)
}

// withheld returns the variables of the container that the engine does not get, without Cairn's own.
func (s *initStep) withheld() []string {
	var names []string
	for _, pair := range s.Environ {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(name, "CAIRN_") && engine.Withheld(name, s.backend().Own()) != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// setWorkspace sets the workspace of the order in the code in folders. The engine's own backends have workspaces:
// there a variable selects it.
func (w *workbench) setWorkspace(folders ...string) error {
	if w.order.Workspace == "" || w.backend().Own() {
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
		err = errors.Join(engine.SetWorkspace(root, w.order.Workspace), root.Close())
		if err != nil {
			return err
		}
	}
	return nil
}

// home returns the container's HOME if it is writable, and otherwise one in the workspace: an image's user may have
// none, or / .
func (j *job) home() string {
	home := process.Variable(j.Environ, "HOME")
	if home == "" || home == "/" {
		return j.work.Home()
	}
	if err := os.MkdirAll(home, 0o700); err != nil {
		return j.work.Home()
	}
	probe, err := os.CreateTemp(home, ".cairn-")
	if err != nil {
		return j.work.Home()
	}
	_ = probe.Close()
	_ = os.Remove(probe.Name())
	return home
}

// hookEnvironment returns what a hook gets: what the engine gets, with the engine's own program first on the PATH, and
// what docs/how-to/hooks.md lists.
func (w *workbench) hookEnvironment(h hook) ([]string, error) {
	env, err := w.aboutRun()
	if err != nil {
		return nil, err
	}
	env = append(env, "CAIRN_STEP="+h.Step, "CAIRN_WHEN="+h.When)
	return process.WithoutNUL(append(env, w.planEnvironment()...)), nil
}

// aboutRun returns what the engine gets, with the engine's own program first on the PATH, and variables about the Run.
func (w *workbench) aboutRun() ([]string, error) {
	env := w.environment()
	bin, err := w.linkEngine()
	if err != nil {
		return nil, err
	}
	if bin != "" {
		const separator = string(filepath.ListSeparator)
		env = append(env, "PATH="+strings.TrimSuffix(bin+separator+process.Variable(env, "PATH"), separator))
	}
	return append(env,
		"CAIRN_ATTEMPT="+strconv.Itoa(int(w.order.Attempt)),
		"CAIRN_OPERATION="+w.order.Operation,
		"CAIRN_CAUSE="+w.order.Cause,
		"CAIRN_REVISION="+w.order.Revision,
	), nil
}

// planEnvironment returns the variables about the plan, once there is one.
func (w *workbench) planEnvironment() []string {
	p := w.about
	if p == nil {
		return nil
	}
	env := []string{
		"CAIRN_PLAN_DIGEST=" + p.Digest, planFile + "=" + w.work.Plan(),
		"CAIRN_PLAN_CHANGES=" + strconv.FormatBool(p.Changes),
	}
	for _, file := range [][2]string{{"CAIRN_PLAN_TEXT", w.work.PlanText()}, {"CAIRN_PLAN_JSON", w.work.PlanJSON()}} {
		if _, err := os.Stat(file[1]); err == nil {
			env = append(env, file[0]+"="+file[1])
		}
	}
	if p.counted {
		n := func(n int32) string { return strconv.Itoa(int(n)) }
		env = append(env,
			"CAIRN_PLAN_ADD="+n(p.Add), "CAIRN_PLAN_CHANGE="+n(p.Change), "CAIRN_PLAN_DESTROY="+n(p.Destroy),
			"CAIRN_PLAN_REPLACE="+n(p.Replace), "CAIRN_PLAN_IMPORT="+n(p.Import), "CAIRN_PLAN_FORGET="+n(p.Forget),
			"CAIRN_PLAN_INVOKE="+n(p.Invoke), "CAIRN_PLAN_REFRESH="+n(p.Refresh))
	}
	return env
}

// linkEngine returns a folder in which the engine has its usual name, wherever its program is; empty while it is not
// known.
func (w *workbench) linkEngine() (string, error) {
	programs := w.engine.programs()
	if len(programs) == 0 {
		return "", nil
	}
	if err := os.MkdirAll(w.work.Bin(), 0o700); err != nil {
		return "", err
	}
	for _, name := range engine.Programs() {
		link := filepath.Join(w.work.Bin(), name)
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
	return w.work.Bin(), nil
}

// learn adds the secrets of the order to the redactor. An error of reading one is no failure here: the engine
// cannot read it either, or the step that needs it fails.
func (j *job) learn() {
	j.secrets.Add(j.token())
	for _, pair := range j.Environ {
		name, value, _ := strings.Cut(pair, "=")
		if slices.Contains(j.order.SecretEnv, name) {
			j.secrets.Add(value)
			if strings.HasPrefix(name, "TF_VAR_") { // the engine shows such a value piece by piece
				j.secrets.Add(redact.Expression(value)...)
			}
		}
	}
	inputs, err := j.work.OpenInputs(j.Inputs)
	if err != nil {
		return
	}
	defer inputs.Close() //nolint:errcheck // only read
	for _, dir := range j.order.SecretDirs {
		names, err := workspace.List(inputs, dir)
		if err != nil {
			continue
		}
		for _, name := range names {
			if data, err := workspace.Read(inputs, path.Join(dir, name)); err == nil {
				j.secrets.Add(string(data))
			}
		}
	}
}

// configureGit returns git, which the engine starts, the credentials for the hosts of modules.
func (s *initStep) configureGit() error {
	s.gitEnv = nil
	if len(s.order.ModuleCredentials) == 0 {
		return nil
	}
	inputs, err := s.work.OpenInputs(s.Inputs)
	if err != nil {
		return err
	}
	defer inputs.Close() //nolint:errcheck // only read
	env, secrets, err := gitauth.Configure(gitauth.Options{
		Dir: s.work.Git(), Inputs: inputs, Modules: s.order.ModuleCredentials, Environ: s.Environ,
	})
	s.secrets.Add(secrets...)
	s.gitEnv = env
	return err
}
