package attempt

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runner/imagebuild"
	"cairn.dev/cairn/internal/runner/process"
	"cairn.dev/cairn/internal/runnerapi"
)

// build does the steps of an order to build an image.
func (a *attempt) build(ctx context.Context) error {
	if a.order.Build == nil {
		return errors.New("the server's order has no image to build")
	}
	a.expect("fetch", "build")
	if err := a.step(ctx, "fetch", a.fetchContext); err != nil {
		return err
	}
	return a.step(ctx, "build", a.buildImage)
}

// fetchContext fills the workspace with what the image is built from.
func (a *attempt) fetchContext(ctx context.Context) (result, error) {
	if err := a.work.Clear(); err != nil {
		return result{}, err
	}
	root, err := os.OpenRoot(a.work.Code())
	if err != nil {
		return result{}, err
	}
	defer root.Close() //nolint:errcheck // holds no data
	if err := a.fetchFiles(ctx, root); err != nil {
		return result{}, err
	}
	for _, name := range []string{a.order.Build.Dockerfile, a.order.Build.Context} {
		if _, err := root.Stat(name); err != nil {
			return result{}, &engine.Rejection{Reason: fmt.Sprintf("%s is not in the code, or a link leads out of it", name)}
		}
	}
	return result{}, nil
}

// buildImage runs the builder's own commands, and reads the digest of what they pushed.
func (a *attempt) buildImage(ctx context.Context) (result, error) {
	credentials, err := a.pushCredentials()
	if err != nil {
		return result{}, err
	}
	if err := os.MkdirAll(a.work.Image(), 0o700); err != nil {
		return result{}, err
	}
	paths := imagebuild.Paths{Code: a.work.Code(), Work: a.work.Image(), Credentials: credentials}
	builder, err := imagebuild.New(*a.order.Build, paths)
	if err != nil {
		return result{}, err
	}
	var exit process.Exit
	for _, command := range builder.Commands {
		if exit, err = a.runBuilder(ctx, command, builder.Env); err != nil {
			return result{}, err
		}
	}
	if a.built, err = builder.Digest(); err != nil {
		return result{}, &programError{
			engine.Transient, fmt.Sprintf("%s pushed an image and did not report its digest: "+
				"%v", a.order.Build.Builder, err), exit.Code,
		}
	}
	return result{message: a.order.Build.Image + "@" + a.built, exitCode: &exit.Code}, nil
}

// pushCredentials adds the credentials for the registry to the redactor, and returns their folder; empty when there
// are none.
func (a *attempt) pushCredentials() (dir string, err error) {
	b := a.order.Build
	if b.PushDir == "" {
		return "", nil
	}
	inputs, err := a.work.OpenInputs(a.Inputs)
	if err != nil {
		return "", err
	}
	defer inputs.Close() //nolint:errcheck // only read
	secrets, err := imagebuild.Secrets(inputs, *b)
	if err != nil {
		return "", err
	}
	a.secrets.Add(secrets...)
	return filepath.Join(a.Inputs, filepath.FromSlash(b.PushDir)), nil
}

// runBuilder runs one of its commands. It holds no state, so that one that ignores signals is killed.
func (a *attempt) runBuilder(ctx context.Context, command, env []string) (process.Exit, error) {
	path := command[0]
	if !filepath.IsAbs(path) {
		path = a.lookup(path)
	}
	if path == "" {
		return process.Exit{}, noBuilder(a.order.Build, command[0])
	}
	cmd := exec.Command(path, command[1:]...) //nolint:noctx // it is stopped by StopGroup
	cmd.Dir, cmd.Env = a.work.Code(), slices.Concat(a.builderEnvironment(), env)
	launcher := a.launcher()
	exit, err := launcher.Run(ctx, cmd, process.Options{Name: command[0], Stop: launcher.StopGroup})
	if errors.Is(err, fs.ErrNotExist) {
		return exit, noBuilder(a.order.Build, command[0])
	}
	if err != nil || exit.Code == 0 {
		return exit, err
	}
	return exit, &programError{imagebuild.Class(exit), exit.Explain(command[0], engine.Events{}), exit.Code}
}

func noBuilder(b *runnerapi.Build, program string) error {
	return &engine.Rejection{Reason: fmt.Sprintf(
		"the builder's image has no %s: name one that has %s in spec.runner.build.builderImage", program, b.Builder)}
}

// builderEnvironment returns the container's environment without Cairn's own variables.
func (a *attempt) builderEnvironment() []string {
	env := slices.DeleteFunc(slices.Clone(a.Environ), func(pair string) bool { return strings.HasPrefix(pair, "CAIRN_") })
	return append(env, "HOME="+a.home(), "TMPDIR="+a.work.Tmp(), "XDG_RUNTIME_DIR="+a.work.Tmp())
}
