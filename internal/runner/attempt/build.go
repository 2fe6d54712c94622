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

// buildStep builds an image.
type buildStep struct {
	*job
	// digest of the image that was pushed.
	digest string
}

// fetchContext fills the workspace with what the image is built from.
func (s *buildStep) fetchContext(ctx context.Context) (result, error) {
	if err := s.work.Clear(s.order.Folder); err != nil {
		return result{}, err
	}
	root, err := os.OpenRoot(s.code())
	if err != nil {
		return result{}, err
	}
	defer root.Close() //nolint:errcheck // holds no data
	if err := s.fetchFiles(ctx, root); err != nil {
		return result{}, err
	}
	for _, name := range []string{s.order.Build.Dockerfile, s.order.Build.Context} {
		if _, err := root.Stat(name); err != nil {
			return result{}, &engine.Rejection{Reason: fmt.Sprintf("%s is not in the code, or a link leads out of it",
				name)}
		}
	}
	return result{}, nil
}

// buildImage runs the builder's own commands, and reads the digest of what they pushed.
func (s *buildStep) buildImage(ctx context.Context) (result, error) {
	credentials, err := s.pushCredentials()
	if err != nil {
		return result{}, err
	}
	if err := os.MkdirAll(s.work.Image(), 0o700); err != nil {
		return result{}, err
	}
	paths := imagebuild.Paths{Code: s.code(), Work: s.work.Image(), Credentials: credentials}
	builder, err := imagebuild.New(*s.order.Build, paths)
	if err != nil {
		return result{}, err
	}
	var exit process.Exit
	for _, command := range builder.Commands {
		if exit, err = s.runBuilder(ctx, command, builder.Env); err != nil {
			return result{}, err
		}
	}
	if s.digest, err = builder.Digest(); err != nil {
		return result{}, &programError{
			engine.Transient, fmt.Sprintf("%s pushed an image and did not report its digest: "+
				"%v", s.order.Build.Builder, err), exit.Code,
		}
	}
	return result{message: s.order.Build.Image + "@" + s.digest, exitCode: &exit.Code}, nil
}

// pushCredentials adds the credentials for the registry to the redactor, and returns their folder; empty when there
// are none.
func (s *buildStep) pushCredentials() (dir string, err error) {
	b := s.order.Build
	if b.PushDir == "" {
		return "", nil
	}
	inputs, err := s.work.OpenInputs(s.Inputs)
	if err != nil {
		return "", err
	}
	defer inputs.Close() //nolint:errcheck // only read
	secrets, err := imagebuild.Secrets(inputs, *b)
	if err != nil {
		return "", err
	}
	s.secrets.Add(secrets...)
	return filepath.Join(s.Inputs, filepath.FromSlash(b.PushDir)), nil
}

// runBuilder runs one of its commands. It holds no state, so that one that ignores signals is killed.
func (s *buildStep) runBuilder(ctx context.Context, command, env []string) (process.Exit, error) {
	path := command[0]
	if !filepath.IsAbs(path) {
		path = s.lookup(path)
	}
	if path == "" {
		return process.Exit{}, noBuilder(s.order.Build, command[0])
	}
	cmd := exec.Command(path, command[1:]...) //nolint:noctx // it is stopped by StopGroup
	cmd.Dir, cmd.Env = s.code(), slices.Concat(s.builderEnvironment(), env)
	launcher := s.launcher()
	exit, err := launcher.Run(ctx, cmd, process.Options{Name: command[0], Stop: launcher.StopGroup})
	if errors.Is(err, fs.ErrNotExist) {
		return exit, noBuilder(s.order.Build, command[0])
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
func (s *buildStep) builderEnvironment() []string {
	env := slices.DeleteFunc(slices.Clone(s.Environ), func(pair string) bool {
		return strings.HasPrefix(pair, "CAIRN_")
	})
	return append(env, "HOME="+s.home(), "TMPDIR="+s.work.Tmp(), "XDG_RUNTIME_DIR="+s.work.Tmp())
}
