package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/store"
)

// build does the steps of an order to build an image.
func (a *attempt) build(ctx context.Context) error {
	if a.order.Build == nil {
		return errors.New("the store's order says nothing of the image to build")
	}
	a.expect("fetch", "build")
	if err := a.step(ctx, "fetch", a.fetchContext); err != nil {
		return err
	}
	return a.step(ctx, "build", a.buildImage)
}

// fetchContext fills the workspace with what the image is built from.
func (a *attempt) fetchContext(ctx context.Context) (result, error) {
	if err := a.work.clear(); err != nil {
		return result{}, err
	}
	root, err := os.OpenRoot(a.work.code())
	if err != nil {
		return result{}, err
	}
	defer root.Close() //nolint:errcheck // holds no data
	if err := a.fetchFiles(ctx, root); err != nil {
		return result{}, err
	}
	for _, name := range []string{a.order.Build.Dockerfile, a.order.Build.Context} {
		if _, err := root.Stat(name); err != nil {
			return result{}, &engine.Refused{Reason: fmt.Sprintf("%s is not in the code, or a link leads out of it", name)}
		}
	}
	return result{}, nil
}

// buildImage runs the builder's own commands, and learns the digest of what they pushed.
func (a *attempt) buildImage(ctx context.Context) (result, error) {
	push, err := a.learnPush()
	if err != nil {
		return result{}, err
	}
	if err := os.MkdirAll(a.work.image(), 0o700); err != nil {
		return result{}, err
	}
	how, err := builderOf(*a.order.Build, buildPlaces{code: a.work.code(), work: a.work.image(), push: push})
	if err != nil {
		return result{}, err
	}
	var ended exit
	for _, command := range how.commands {
		if ended, err = a.runBuilder(ctx, command, how.env); err != nil {
			return result{}, err
		}
	}
	if a.built, err = how.digest(); err != nil {
		return result{}, &programError{engine.Transient, fmt.Sprintf("%s pushed an image and did not tell its digest: %v", a.order.Build.Builder, err), ended.code}
	}
	return result{message: a.order.Build.Image + "@" + a.built, exitCode: &ended.code}, nil
}

// runBuilder runs one of its commands. It holds no state, so one that does not end when it is told to is killed.
func (a *attempt) runBuilder(ctx context.Context, command, env []string) (exit, error) {
	path := command[0]
	if !filepath.IsAbs(path) {
		path = a.lookup(path)
	}
	if path == "" {
		return exit{}, noBuilder(a.order.Build, command[0])
	}
	cmd := exec.Command(path, command[1:]...) //nolint:noctx // it is ended by endGroup
	cmd.Dir, cmd.Env = a.work.code(), slices.Concat(a.builderEnvironment(), env)
	ended, err := a.execute(ctx, cmd, call{name: command[0]}, a.endGroup)
	if errors.Is(err, fs.ErrNotExist) {
		return ended, noBuilder(a.order.Build, command[0])
	}
	if err != nil || ended.code == 0 {
		return ended, err
	}
	failed := &programError{engine.ConfigurationError, buildError(command[0], ended), ended.code}
	if ended.killed != 0 || ended.starved != "" || passes(ended.last) {
		failed.class = engine.Transient
	}
	return ended, failed
}

func noBuilder(b *store.Build, program string) error {
	return &engine.Refused{Reason: fmt.Sprintf("the builder's image has no %s: name one that has %s in spec.runner.build.builderImage", program, b.Builder)}
}

// builderEnvironment is the container's own, but for what is Cairn's.
func (a *attempt) builderEnvironment() []string {
	env := slices.DeleteFunc(slices.Clone(a.Environ), func(pair string) bool { return strings.HasPrefix(pair, "CAIRN_") })
	return append(env, "HOME="+a.home(), "TMPDIR="+a.work.tmp(), "XDG_RUNTIME_DIR="+a.work.tmp())
}

// shownLines is how many lines of a builder's last words are in a message.
const shownLines = 3

// buildError says why a builder failed: its last words, or what can be known without them.
func buildError(name string, ended exit) string {
	if ended.killed != 0 || ended.starved != "" {
		return explain(name, ended, engine.Events{})
	}
	var lines []string
	for line := range strings.Lines(ended.last) {
		line = strings.TrimSpace(line)
		repeats := len(lines) > 0 && lines[len(lines)-1] == line
		if line != "" && !repeats && !strings.HasPrefix(line, noise) {
			lines = append(lines, line)
		}
	}
	if len(lines) == 0 {
		return explain(name, ended, engine.Events{})
	}
	return fmt.Sprintf("%s ended with exit code %d: %s", name, ended.code, strings.Join(lines[max(0, len(lines)-shownLines):], "; "))
}

// noise is what Buildah says, more than once, after a step of the Dockerfile has said what is wrong.
const noise = "subprocess exited with status"

// passing are words of builders and registries for what may pass.
var passing = regexp.MustCompile(`(?i)\bdial tcp\b|i/o timeout|connection re(fused|set)|TLS handshake timeout|no such host|temporary failure in name resolution|toomanyrequests|too many requests|\b50[0234]\b [a-z]|unexpected EOF|context deadline exceeded`)

// passes says that a builder's last words are of a failure that may pass by itself.
func passes(last string) bool {
	lines := strings.Split(strings.TrimSpace(last), "\n")
	return passing.MatchString(strings.Join(lines[max(0, len(lines)-shownLines):], "\n"))
}
