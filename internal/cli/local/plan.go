// Package local plans the code in a working directory on this machine: `cairn plan --local`.
package local

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/cli/state"
	"cairn.dev/cairn/internal/cli/workcopy"
	"cairn.dev/cairn/internal/engine"
)

// Plan has the flags for the plan of a working directory.
type Plan struct {
	Dir, engine, root string
	variableFiles     []string
}

// localFlags are the flags that need --local.
var localFlags = []string{"engine", "root", "var-file"}

// AddFlags adds the flags to a command.
func (p *Plan) AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&p.Dir, "local", "", "plan the code in this directory on this machine, instead of a Run in the cluster")
	f.StringVar(&p.engine, "engine", "",
		"with --local: program that plans; default: tofu or terraform, the engine of the Stack")
	f.StringVar(&p.root, "root", "",
		"with --local: directory above it to copy as a whole, for code that reads files there; usually the "+
			"root of the repository")
	f.StringArrayVar(&p.variableFiles, "var-file", nil,
		"with --local: file with variables, which override the Stack's; can be repeated, later files win")
	_ = cmd.MarkFlagDirname("local") // fails only for a flag that does not exist
	_ = cmd.MarkFlagDirname("root")
	cmd.MarkFlagsMutuallyExclusive("local", "output")
}

// Split separates the name of the Stack from the arguments for the engine's plan, which follow --.
func (p *Plan) Split(cmd *cobra.Command, args []string) (own, engine []string, err error) {
	own = args
	if n := cmd.ArgsLenAtDash(); n >= 0 {
		own, engine = args[:n], args[n:]
	}
	if p.Dir != "" {
		return own, engine, checkPlanArguments(engine)
	}
	if len(engine) > 0 {
		return nil, nil, errors.New("arguments for the engine's plan after -- need --local DIR")
	}
	for _, name := range localFlags {
		if cmd.Flags().Changed(name) {
			return nil, nil, fmt.Errorf("--%s needs --local DIR", name)
		}
	}
	return own, nil, nil
}

// Run plans the code with the engine, the variables and a copy of the state of the Stack.
func Run(ctx context.Context, s *session.Session, name string, p Plan, args []string) (err error) {
	stack, err := s.Stack(ctx, name)
	if err != nil {
		return err
	}
	kind, program, err := localEngine(stack, p.engine)
	if err != nil {
		return err
	}
	own, err := absolute(p.variableFiles)
	if err != nil {
		return err
	}
	if stack, err = withVariableSets(ctx, s, stack); err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "cairn-plan-local-") // mode 0700
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	l := &localPlan{Session: s, stack: stack, kind: kind, program: program, temporary: temporary}
	if err := l.checkVersion(ctx); err != nil {
		return l.result(ctx, err)
	}
	if err := l.copyCode(ctx, p.Dir, p.root); err != nil {
		return l.result(ctx, err)
	}
	if err := l.copyState(ctx); err != nil {
		return l.result(ctx, err)
	}
	files, err := l.variables(ctx, own, args)
	if err != nil {
		return l.result(ctx, err)
	}
	return l.result(ctx, l.plan(ctx, append(files, own...), args))
}

// rejectedArguments select another state, or save a plan that could be applied.
var rejectedArguments = []string{"out", "state", "state-out", "backup", "lock", "lock-timeout"}

func checkPlanArguments(args []string) error {
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && slices.Contains(rejectedArguments, name) {
			return fmt.Errorf("-%s is not allowed with --local: the plan uses a copy of the state, and "+
				"cannot be applied", name)
		}
	}
	return nil
}

func absolute(files []string) ([]string, error) {
	var paths []string
	for _, file := range files {
		path, err := filepath.Abs(file)
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(path); err != nil {
			return nil, fmt.Errorf("--var-file: %w", err)
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// localEngine returns the engine of a Stack and its program on this machine.
func localEngine(stack *v1alpha1.Stack, program string) (engine.Engine, string, error) {
	name := string(stack.EngineOf().Name)
	kind, ok := engine.Find(name)
	if !ok {
		return engine.Engine{}, "", fmt.Errorf("the Stack %s uses %s, which this cairn does not know", stack.Name, name)
	}
	if kind.Wraps() {
		return engine.Engine{}, "", fmt.Errorf("the Stack %s uses %s, which creates its root module itself: "+
			"cairn plan --local supports only code for %s", stack.Name, name,
			strings.Join(engine.WrappedNames(), " and "))
	}
	path, err := exec.LookPath(cmp.Or(program, kind.Program()))
	if err != nil {
		return engine.Engine{}, "",
			fmt.Errorf("%s is not installed on this machine: install it, or set another program with --engine "+
				"(%w)", kind.Name(), err)
	}
	path, err = filepath.Abs(path)
	return kind, path, err
}

// localPlan is one plan on this machine.
type localPlan struct {
	*session.Session
	stack     *v1alpha1.Stack
	kind      engine.Engine
	program   string
	temporary string
	// code is the copy of the code.
	code *workcopy.Copy
}

func (l *localPlan) state() string  { return filepath.Join(l.temporary, "state") }
func (l *localPlan) values() string { return filepath.Join(l.temporary, "values") }

// result returns the error of the plan. An interrupt takes precedence over its consequences.
func (l *localPlan) result(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return session.Interrupted("interrupted: nothing was changed")
	}
	return err
}

// checkVersion prints the version of the engine, and a warning if the Stack needs another one.
func (l *localPlan) checkVersion(ctx context.Context) error {
	var out bytes.Buffer
	cmd := l.command(ctx, l.temporary, l.kind.Version())
	cmd.Stdout = &out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", l.program, err)
	}
	version, err := engine.ParseVersion(out.Bytes())
	if err != nil {
		return fmt.Errorf("%s: %w", l.program, err)
	}
	l.Note("Planning with %s %s (%s).", l.kind.Name(), version, l.program)
	if wanted := l.stack.EngineOf().Version; wanted != "" {
		if meets, err := engine.Meets(version, wanted); err == nil && !meets {
			l.Note("Warning: the Stack needs version %s; the plan of another version may differ.", wanted)
		}
	}
	return nil
}

// copyCode copies the code, and configures the engine to use the copy of the state.
func (l *localPlan) copyCode(ctx context.Context, dir, root string) (err error) {
	to := filepath.Join(l.temporary, "code")
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	if l.code, err = workcopy.Create(ctx, dir, root, to); err != nil {
		return fmt.Errorf("copy the code: %w", err)
	}
	what := "files of " + l.code.From
	switch n := len(l.code.Modules); {
	case root != "":
		what = "files of " + l.code.Base
	case n == 1:
		what += " and of 1 local module elsewhere"
	case n > 1:
		what += fmt.Sprintf(" and of %d local modules elsewhere", n)
	}
	l.Note("Copied %d %s (%.1f MiB); the originals are not changed.", l.code.Files, what, float64(l.code.Bytes)/(1<<20))
	if l.code.State {
		l.Note("The state in %s is ignored: the plan uses the Stack's.", l.code.From)
	}
	if len(l.code.Unknown) > 0 {
		l.Note("Paths that are unknown before the engine runs: %s. If they are outside of %s, copy that too "+
			"with --root.",
			strings.Join(l.code.Unknown, "; "), l.code.From)
	}
	code, err := os.OpenRoot(l.code.Dir)
	if err != nil {
		return err
	}
	defer code.Close() //nolint:errcheck // only read
	if err := engine.CheckCode(l.kind, engine.Backend{}, code.FS()); err != nil {
		return err
	}
	override := fmt.Sprintf("terraform {\n  backend \"local\" {\n    path = %s\n  }\n}\n", engine.Quote(l.state()))
	if err := code.WriteFile(engine.OverrideFile, []byte(override), 0o600); err != nil {
		return err
	}
	return l.setWorkspace(to)
}

// setWorkspace sets the workspace of the Stack in the code in a folder, as the runner does.
func (l *localPlan) setWorkspace(folder string) error {
	if l.stack.Spec.Workspace == "" {
		return nil
	}
	root, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(engine.SetWorkspace(root, l.stack.Spec.Workspace), root.Close())
}

// copyState reads the state, if there is one.
func (l *localPlan) copyState(ctx context.Context) error {
	data, err := state.Pull(ctx, l.Session, client.ObjectKeyFromObject(l.stack), 0)
	if session.HasCode(err, http.StatusNotFound) {
		if err := l.checkOwnBackend(); err != nil {
			return err
		}
		l.Note("Stack %s has no state yet: the plan creates all resources.", l.stack.Name)
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(l.state(), data, 0o600)
}

// checkOwnBackend rejects code with a backend block while Cairn has no state, as the runner does.
func (l *localPlan) checkOwnBackend() error {
	if l.stack.Spec.Backend != nil {
		return nil
	}
	found, err := engine.FindBackend(os.DirFS(l.code.Dir))
	if err != nil || found == nil {
		return err
	}
	return found.Reject(l.kind, l.stack.Name)
}

// plan runs the engine, whose output is not changed.
func (l *localPlan) plan(ctx context.Context, files, args []string) error {
	init := []string{"init", "-input=false"}
	plan := []string{"plan", "-input=false", "-lock=false", "-detailed-exitcode"}
	if !l.Color {
		// An engine does not detect whether its output is a terminal.
		init, plan = append(init, "-no-color"), append(plan, "-no-color")
	}
	for _, file := range files {
		init = append(init, "-var-file="+file) // a module's source may depend on variables
		plan = append(plan, "-var-file="+file)
	}
	cmd := l.command(ctx, l.code.Dir, init)
	cmd.Stdout = l.ErrOut // standard output has only the plan
	if err := cmd.Run(); err != nil {
		return l.failed("init", err)
	}
	if err := l.setWorkspace(filepath.Join(l.code.Dir, engine.DataDir, "modules")); err != nil {
		return err
	}
	cmd = l.command(ctx, l.code.Dir, append(plan, args...))
	cmd.Stdout = l.Out
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == engine.PlanChanges {
		return session.ErrChanges
	}
	if err != nil {
		return l.failed("plan", err)
	}
	return nil
}

// failed returns the error of an engine. An engine that exited printed its error itself.
func (l *localPlan) failed(step string, err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return session.ExitError{Code: session.ExitFailed}
	}
	return fmt.Errorf("%s %s: %w", l.program, step, err)
}

// stopTimeout is the time to stop before an interrupted engine is killed.
const stopTimeout = 10 * time.Second

// command returns a command of the engine. It is interrupted only by this process and not by the terminal, as a second
// interrupt would abort it.
func (l *localPlan) command(ctx context.Context, dir string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, l.program, args...)
	cmd.Dir = dir
	cmd.Env = localEnvironment(os.Environ())
	cmd.Stderr = l.ErrOut
	cmd.SysProcAttr = childAttributes()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = stopTimeout
	return cmd
}

// localEnvironment returns the environment of the engine: that of this process without variables that select another
// state or directory, and without arguments, which checkPlanArguments would not check.
func localEnvironment(env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return engine.Withheld(name, false) != ""
	})
	return append(env, "TF_IN_AUTOMATION=1", "TF_INPUT=0")
}
