package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/statefile"
	"cairn.dev/cairn/internal/cli/workcopy"
	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/people"
)

func runCommand(s *session) *cobra.Command {
	cmd := &cobra.Command{Use: "run", Short: "Run an engine on this machine as Cairn would"}
	cmd.AddCommand(runLocalCommand(s))
	return cmd
}

// runLocal is a plan of a working directory.
type runLocal struct {
	stack, engine, root string
	variableFiles       []string
}

func runLocalCommand(s *session) *cobra.Command {
	var r runLocal
	cmd := &cobra.Command{
		Use:   "local DIR --stack NAME [flags] [-- ARGUMENTS OF plan]",
		Short: "Plan a working directory against a Stack's state, without touching it",
		Long: `Plans the code in DIR with the engine of this machine against the state of a Stack, and changes neither: it works in a
temporary copy of DIR and of the local modules that its code calls, with a copy of the state, without a lock. Everything
temporary is removed in the end. The providers use the credentials that you have here, not the Stack's.

The plan gets the Stack's variables as far as you may read them: values in the Stack, ConfigMaps and Secrets as you, outputs
of other Stacks through their states. Files of --var-file win over them.

It takes the verb pull on the State. Exit codes: 0 no changes, 1 failed, 2 changes.`,
		Example: s.examples(`
			cairn run local . --stack net
			cairn run local envs/prod/net --stack net --root .
			cairn run local . --stack net --var-file mine.tfvars -- -target=aws_vpc.this`),
		RunE: func(cmd *cobra.Command, args []string) error {
			own := args
			if n := cmd.ArgsLenAtDash(); n >= 0 {
				own = args[:n]
			}
			if len(own) != 1 {
				return errors.New("give one DIR, as in cairn run local . --stack net; arguments for the engine's plan come after --")
			}
			return s.runLocal(cmd.Context(), own[0], r, args[1:])
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	f := cmd.Flags()
	f.StringVar(&r.stack, "stack", "", "Stack whose state and variables are used")
	f.StringVar(&r.engine, "engine", "", "program that plans; default: tofu or terraform, as the Stack says")
	f.StringVar(&r.root, "root", "", "folder above DIR that is copied whole, for code that reads files of it; as a rule that of the repository")
	f.StringArrayVar(&r.variableFiles, "var-file", nil, "file with values that win over the Stack's; several are read in order")
	_ = cmd.MarkFlagRequired("stack") // fails only for a flag that is not there
	_ = cmd.RegisterFlagCompletionFunc("stack", s.complete(func(ctx context.Context, s *session, _ []string) ([]string, error) {
		return s.completeNames(ctx, "stack")
	}))
	return cmd
}

// note tells what is done, beside what the engine prints.
func (s *session) note(format string, args ...any) { fmt.Fprintf(s.ErrOut, format+"\n", args...) }

func (s *session) runLocal(ctx context.Context, dir string, r runLocal, args []string) (err error) {
	if err := checkPlanArguments(args); err != nil {
		return err
	}
	stack, err := s.stack(ctx, r.stack)
	if err != nil {
		return err
	}
	kind, program, err := localEngine(stack, r.engine)
	if err != nil {
		return err
	}
	own, err := absolute(r.variableFiles)
	if err != nil {
		return err
	}
	temporary, err := os.MkdirTemp("", "cairn-run-local-") // for nobody else: 0700
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(temporary)) }()
	l := &localRun{session: s, stack: stack, kind: kind, program: program, temporary: temporary}
	if err := l.checkVersion(ctx); err != nil {
		return l.ended(ctx, err)
	}
	if err := l.copyCode(ctx, dir, r.root); err != nil {
		return l.ended(ctx, err)
	}
	if err := l.copyState(ctx); err != nil {
		return l.ended(ctx, err)
	}
	files, err := l.variables(ctx, own, args)
	if err != nil {
		return l.ended(ctx, err)
	}
	return l.ended(ctx, l.plan(ctx, append(files, own...), args))
}

// refusedArguments would have the plan read or write another state, or make one to apply, which this is not for.
var refusedArguments = []string{"out", "state", "state-out", "backup", "lock", "lock-timeout"}

func checkPlanArguments(args []string) error {
	for _, arg := range args {
		name, _, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")
		if strings.HasPrefix(arg, "-") && slices.Contains(refusedArguments, name) {
			return fmt.Errorf("-%s has no place here: this plan is made against a copy of the state, and can only be looked at", name)
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

// localEngine finds the program for a Stack's engine.
func localEngine(stack *v1alpha1.Stack, program string) (engine.Engine, string, error) {
	var kind engine.Engine
	switch stack.EngineOf().Name {
	case v1alpha1.EngineTerragrunt:
		return nil, "", fmt.Errorf("stack %s is for Terragrunt, which makes its root module itself: cairn run local plans code for OpenTofu and Terraform only", stack.Name)
	case v1alpha1.EngineTerraform:
		kind = engine.Terraform{}
	default:
		kind = engine.OpenTofu{}
	}
	path, err := exec.LookPath(cmp.Or(program, kind.Program()))
	if err != nil {
		return nil, "", fmt.Errorf("%s cannot be found on this machine: install it, or name another program with --engine (%w)", kind.Name(), err)
	}
	path, err = filepath.Abs(path)
	return kind, path, err
}

// localRun is one plan on this machine.
type localRun struct {
	*session
	stack     *v1alpha1.Stack
	kind      engine.Engine
	program   string
	temporary string
	// code is the copy of the code.
	code *workcopy.Copy
}

func (l *localRun) state() string  { return filepath.Join(l.temporary, "state") }
func (l *localRun) values() string { return filepath.Join(l.temporary, "values") }

// ended is how it ends: an interruption counts more than what came of it.
func (l *localRun) ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return exitError{exitInterrupted, errors.New("interrupted: nothing was changed")}
	}
	return err
}

// checkVersion says when the engine is not one that the Stack would be planned with.
func (l *localRun) checkVersion(ctx context.Context) error {
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
	l.note("Planning with %s %s (%s).", l.kind.Name(), version, l.program)
	if wanted := l.stack.EngineOf().Version; wanted != "" {
		if meets, err := engine.Meets(version, wanted); err == nil && !meets {
			l.note("Mind: the Stack wants %s; what another version plans may be different.", wanted)
		}
	}
	return nil
}

// copyCode copies the code, and has the engine keep the state beside it.
func (l *localRun) copyCode(ctx context.Context, dir, root string) (err error) {
	to := filepath.Join(l.temporary, "code")
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	if l.code, err = workcopy.Make(ctx, dir, root, to); err != nil {
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
	l.note("Copied the %d %s (%.1f MiB); nothing is written there.", l.code.Files, what, float64(l.code.Bytes)/(1<<20))
	if l.code.State {
		l.note("The state in %s is not used, but the Stack's.", l.code.From)
	}
	if len(l.code.Unknown) > 0 {
		l.note("Paths that are not known before the engine runs: %s. If they lead out of %s, copy that too with --root.", strings.Join(l.code.Unknown, "; "), l.code.From)
	}
	code, err := os.OpenRoot(l.code.Dir)
	if err != nil {
		return err
	}
	defer code.Close() //nolint:errcheck // only read
	if err := engine.CheckCode(l.kind, engine.Backend{}, code.FS()); err != nil {
		return err
	}
	override := fmt.Sprintf("terraform {\n  backend \"local\" {\n    path = %s\n  }\n}\n", statefile.Quote(l.state()))
	return code.WriteFile(engine.OverrideFile, []byte(override), 0o600)
}

// copyState gets the state, if there is one.
func (l *localRun) copyState(ctx context.Context) error {
	server, err := l.server(ctx)
	if err != nil {
		return err
	}
	data, err := server.State(ctx, l.stack.Namespace, l.stack.Name, 0)
	var refused *people.Error
	if errors.As(err, &refused) && refused.Code == 404 {
		if err := l.checkOwnBackend(); err != nil {
			return err
		}
		l.note("Stack %s has no state yet: the plan makes everything.", l.stack.Name)
		return nil
	}
	if err != nil {
		return l.explainServer(err)
	}
	return os.WriteFile(l.state(), data, 0o600)
}

// checkOwnBackend rejects code that has a backend of its own while Cairn has no state, as the runner does.
func (l *localRun) checkOwnBackend() error {
	if l.stack.Spec.Backend != nil {
		return nil
	}
	found, err := engine.FindBackend(os.DirFS(l.code.Dir))
	if err != nil || found == nil {
		return err
	}
	return found.Refuse(l.kind, l.stack.Name)
}

// plan runs the engine. What it prints goes to the terminal as it is.
func (l *localRun) plan(ctx context.Context, files, args []string) error {
	init := []string{"init", "-input=false"}
	plan := []string{"plan", "-input=false", "-lock=false", "-detailed-exitcode"}
	if !l.color {
		init, plan = append(init, "-no-color"), append(plan, "-no-color") // an engine does not look where it prints to
	}
	for _, file := range files {
		init = append(init, "-var-file="+file) // a module's source may depend on variables
		plan = append(plan, "-var-file="+file)
	}
	cmd := l.command(ctx, l.code.Dir, init)
	cmd.Stdout = l.ErrOut // the plan alone is the result
	if err := cmd.Run(); err != nil {
		return l.failed("init", err)
	}
	cmd = l.command(ctx, l.code.Dir, append(plan, args...))
	cmd.Stdout = l.Out
	err := cmd.Run()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == engine.PlanChanges {
		return exitError{code: exitChanges}
	}
	if err != nil {
		return l.failed("plan", err)
	}
	return nil
}

// failed is the end of an engine that said itself what was wrong.
func (l *localRun) failed(step string, err error) error {
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() {
		return exitError{code: exitFailed}
	}
	return fmt.Errorf("%s %s: %w", l.program, step, err)
}

// interruptPatience is how long an engine may take to end once it is interrupted.
const interruptPatience = 10 * time.Second

// command is an engine's. It is interrupted when this process is, and not by the terminal as well: a second interruption
// would end it in the middle.
func (l *localRun) command(ctx context.Context, dir string, args []string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, l.program, args...)
	cmd.Dir = dir
	cmd.Env = localEnvironment(os.Environ())
	cmd.Stderr = l.ErrOut
	cmd.SysProcAttr = childAttributes()
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = interruptPatience
	return cmd
}

// localEnvironment is what the engine gets: this process's environment but for what would lead it to another state, or out
// of the copy, and for arguments, which checkPlanArguments would not see.
func localEnvironment(env []string) []string {
	env = slices.DeleteFunc(slices.Clone(env), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return name == "TF_DATA_DIR" || name == "TF_WORKSPACE" || strings.HasPrefix(name, "TF_HTTP_") ||
			name == "TF_CLI_ARGS" || strings.HasPrefix(name, "TF_CLI_ARGS_")
	})
	return append(env, "TF_IN_AUTOMATION=1", "TF_INPUT=0")
}
