package git

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
	"strconv"
	"time"
)

const (
	// mostOutput is what git may print in one go: the refs of a repository with 300,000 branches and tags.
	mostOutput = 32 << 20
	// mostErrors is what is kept of git's errors.
	mostErrors = 64 << 10
	// patience is how long git may take to clean up after a signal to stop.
	patience = 5 * time.Second
)

// setting is a key of git's configuration and its value.
type setting struct{ key, value string }

// settings turn off what would run a program or prompt a user. They are in the environment, where they win over
// every file. Objects are checked as they are received, but for mistakes of old tools that are harmless and cannot
// be mended.
func settings() []setting {
	list := []setting{
		{"core.hooksPath", "/dev/null"},
		{"core.fsmonitor", "false"},
		{"core.askPass", ""},
		{"credential.helper", ""}, // an empty one ends the list of all before
		{"protocol.ext.allow", "never"},
		{"protocol.file.allow", "never"},
		{"transfer.fsckObjects", "true"},
		{"transfer.credentialsInUrl", "die"},
		{"fetch.recurseSubmodules", "false"},
		{"fetch.writeCommitGraph", "false"},
		{"transfer.bundleURI", "false"},   // a server could name any host
		{"http.followRedirects", "false"}, // session.follow does, with a check
		{"http.lowSpeedLimit", "1000"},    // bytes a second, over
		{"http.lowSpeedTime", "120"},      // seconds: a server that compresses objects sends some bytes only
		{"gc.auto", "0"},
		{"maintenance.auto", "false"},
	}
	for _, harmless := range []string{
		"badDate", "badDateOverflow", "badEmail", "badName", "badTimezone", "missingEmail", "missingNameBeforeEmail",
		"missingSpaceBeforeDate",
		"missingSpaceBeforeEmail", "missingTaggerEntry", "zeroPaddedFilemode", "zeroPaddedDate", "gitmodulesParse",
		"gitmodulesUrl", "gitmodulesPath",
	} {
		list = append(list, setting{"fetch.fsck." + harmless, "ignore"})
	}
	return list
}

// command is one call of git in a Mirror's folder.
type command struct {
	args []string
	// repo is the folder of the repository in the Mirror's. Empty: the mirror itself.
	repo string
	// settings and env beside those that all calls have.
	settings []setting
	env      []string
	// most is how many bytes it may print; 0 is mostOutput.
	most int
}

// objectsEnvironment has git write new objects to a folder of their own, and read those of the mirror too.
func (m *Mirror) objectsEnvironment() []string {
	if m.objects == "" {
		return nil
	}
	return []string{
		"GIT_OBJECT_DIRECTORY=" + m.objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" +
			filepath.Join(m.path(repository), "objects"),
	}
}

// environment is all that git gets. Of our own it has only where programs and certificates are.
func (m *Mirror) environment(c command) []string {
	env := []string{
		"HOME=" + m.path("home"), "XDG_CONFIG_HOME=" + m.path("home"), "GIT_DIR=" + cmp.Or(c.repo, repository),
		"LC_ALL=C",
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_CONFIG_GLOBAL=/dev/null", "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", "SSH_ASKPASS_REQUIRE=never",
		"GIT_ALLOW_PROTOCOL=https:http:ssh", "GIT_PROTOCOL_FROM_USER=0", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_NO_LAZY_FETCH=1", "GIT_OPTIONAL_LOCKS=0",
	}
	for _, name := range []string{"PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"} { // a proxy is set for each remote
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	all := slices.Concat(settings(), c.settings)
	for i, s := range all {
		env = append(env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i, s.key),
			fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i, s.value))
	}
	return slices.Concat(env, []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(all))}, m.objectsEnvironment(), c.env)
}

// git is a call that was not started yet. It is the head of a process group of its own, so that what it starts, ssh and
// the like, ends with it.
func (m *Mirror) git(ctx context.Context, c command) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", c.args...)
	cmd.Dir = m.dir
	cmd.Env = m.environment(c)
	cmd.SysProcAttr = groupAttributes()
	cmd.Cancel = func() error { return terminateGroup(cmd.Process) } // it removes its lock files then
	cmd.WaitDelay = patience
	return cmd
}

// gitError is what a call printed that failed. It may hold a secret.
type gitError struct {
	err  error
	said string
	// output is what it printed before.
	output []byte
}

func (e *gitError) Error() string { return e.err.Error() }
func (e *gitError) Unwrap() error { return e.err }

// run calls git and returns what it printed. That it failed is a *gitError, that ctx was over stopped's error.
func (m *Mirror) run(ctx context.Context, c command) ([]byte, error) {
	cmd := m.git(ctx, c)
	most := cmp.Or(c.most, mostOutput)
	out, said := &bounded{limit: most}, &bounded{limit: mostErrors, drop: true}
	cmd.Stdout, cmd.Stderr = out, said
	err := cmd.Run()
	if err != nil && cmd.Process != nil {
		// What it started may have outlived it.
		killGroup(cmd.Process)
	}
	switch {
	case err == nil:
		return out.kept.Bytes(), nil
	case ctx.Err() != nil:
		return nil, stopped(ctx, "git "+c.args[0])
	case errors.Is(err, exec.ErrNotFound):
		return nil, fmt.Errorf("there is no git on this machine: %w", err)
	case out.over:
		return nil, fail(ErrTooLarge, "git %s prints more than %d MiB", c.args[0], most>>20)
	}
	return nil, &gitError{err, said.kept.String(), out.kept.Bytes()}
}

// explain converts a local call's error to a message for users. Calls that know a secret do it themselves.
func explain(what string, err error) error {
	if failed, ok := errors.AsType[*gitError](err); ok {
		return classify(what, failed.said, false)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// bounded keeps what is written to it up to a limit. What is more is dropped, or ends the writer. It has not all
// that a buffer can: a command's output would be read by ReadFrom, past the limit.
type bounded struct {
	kept  bytes.Buffer
	limit int
	drop  bool
	over  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	n := len(p)
	if left := b.limit - b.kept.Len(); n > left {
		if b.over = true; !b.drop {
			return 0, ErrTooLarge
		}
		p = p[:left]
	}
	b.kept.Write(p)
	return n, nil
}
