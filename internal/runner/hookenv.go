package runner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cairn.dev/cairn/internal/engine"
)

// hookEnvironment gives what a hook gets: what the engine gets, with the engine's own program first on the PATH, and what
// docs/hooks.md lists.
func (a *attempt) hookEnvironment(h hook) ([]string, error) {
	env, err := a.aboutRun()
	if err != nil {
		return nil, err
	}
	env = append(env, "CAIRN_STEP="+h.Step, "CAIRN_WHEN="+h.When)
	return withoutNUL(append(env, a.planEnvironment()...)), nil
}

// aboutRun gives what the engine gets, with the engine's own program first on the PATH, and what tells of the Run.
func (a *attempt) aboutRun() ([]string, error) {
	env := a.environment()
	bin, err := a.linkEngine()
	if err != nil {
		return nil, err
	}
	if bin != "" {
		env = append(env, "PATH="+strings.TrimSuffix(bin+string(filepath.ListSeparator)+variable(env, "PATH"), string(filepath.ListSeparator)))
	}
	return append(env,
		"CAIRN_ATTEMPT="+strconv.Itoa(int(a.order.Attempt)),
		"CAIRN_OPERATION="+a.order.Operation,
		"CAIRN_CAUSE="+a.order.Cause,
		"CAIRN_REVISION="+a.order.Revision,
	), nil
}

// withoutNUL makes an environment that a program can be started with.
func withoutNUL(env []string) []string {
	for i := range env {
		env[i] = strings.ReplaceAll(env[i], "\x00", "")
	}
	return env
}

// planEnvironment tells of the plan, once there is one.
func (a *attempt) planEnvironment() []string {
	p := a.about
	if p == nil {
		return nil
	}
	env := []string{"CAIRN_PLAN_DIGEST=" + p.Digest, planFile + "=" + a.work.plan(), "CAIRN_PLAN_CHANGES=" + strconv.FormatBool(p.Changes)}
	for _, file := range []struct{ name, path string }{{"CAIRN_PLAN_TEXT", a.work.planText()}, {"CAIRN_PLAN_JSON", a.work.planJSON()}} {
		if _, err := os.Stat(file.path); err == nil {
			env = append(env, file.name+"="+file.path)
		}
	}
	if p.counted {
		for _, count := range []struct {
			name string
			n    int32
		}{
			{"ADD", p.Add}, {"CHANGE", p.Change}, {"DESTROY", p.Destroy}, {"REPLACE", p.Replace}, {"IMPORT", p.Import}, {"FORGET", p.Forget},
		} {
			env = append(env, fmt.Sprintf("CAIRN_PLAN_%s=%d", count.name, count.n))
		}
	}
	return env
}

// linkEngine gives a folder in which the engine has its usual name, wherever its program is; "" while it is not known.
func (a *attempt) linkEngine() (string, error) {
	programs := map[string]string{}
	if a.engine.Engine != nil {
		programs[a.engine.Program()] = a.engine.path
	}
	if grunt, ok := a.engine.Engine.(engine.Terragrunt); ok && grunt.Engine != nil {
		programs[grunt.Engine.Program()] = grunt.Path
	}
	if !slices.ContainsFunc([]string{"tofu", "terraform", "terragrunt"}, func(name string) bool { return programs[name] != "" }) {
		return "", nil
	}
	if err := os.MkdirAll(a.work.bin(), 0o700); err != nil {
		return "", err
	}
	for _, name := range []string{"tofu", "terraform", "terragrunt"} {
		link := filepath.Join(a.work.bin(), name)
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
	return a.work.bin(), nil
}
