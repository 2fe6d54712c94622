package dev

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"net"
	"net/http"
	"net/http/cgi" //nolint:gosec // git has no other server; nothing of a request but its path and query reaches it
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// repository is a bare git repository in the data directory, where only the user can write. Cairn fetches it over HTTP
// with a password: other users of this machine can neither read nor push it.
type repository struct {
	// dir is the repository; the user clones it from there.
	dir string
	// url and password are those of Cairn; the user name is repositoryUser.
	url, password string
}

const repositoryUser = "cairn"

// newRepository creates the repository NAME.git in a folder with code as its first commit, unless it exists, and serves
// it until ctx is done.
func newRepository(ctx context.Context, folder, name string, code fs.FS) (repository, error) {
	r := repository{dir: filepath.Join(folder, name+".git"), password: rand.Text()}
	if _, err := os.Stat(r.dir); errors.Is(err, fs.ErrNotExist) {
		if err := r.create(ctx, folder, code); err != nil {
			return r, err
		}
	}
	execPath, err := git(ctx, folder, "--exec-path")
	if err != nil {
		return r, err
	}
	backend := filepath.Join(execPath, "git-http-backend")
	if _, err := os.Stat(backend); err != nil {
		return r, fmt.Errorf("this git cannot serve repositories: %w", err)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return r, err
	}
	r.url = "http://" + listener.Addr().String() + "/" + name + ".git"
	server := &http.Server{
		ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0),
		Handler: r.authenticated(&cgi.Handler{
			Path: backend, Stderr: io.Discard, Logger: log.New(io.Discard, "", 0),
			Env: append(gitEnvironment(), "GIT_PROJECT_ROOT="+folder, "GIT_HTTP_EXPORT_ALL=1"),
		}),
	}
	go func() { _ = server.Serve(listener) }() // until Close
	context.AfterFunc(ctx, func() { _ = server.Close() })
	return r, nil
}

// authenticated answers requests with the password of the repository.
func (r repository) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		name, password, _ := q.BasicAuth()
		if name != repositoryUser || subtle.ConstantTimeCompare([]byte(password), []byte(r.password)) == 0 {
			w.Header().Set("WWW-Authenticate", `Basic realm="cairn demo"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, q)
	})
}

// create creates the repository: aside and then whole, so that an interrupted start leaves none without a commit.
func (r repository) create(ctx context.Context, folder string, code fs.FS) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	work, err := os.MkdirTemp(folder, "new-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	bare := filepath.Join(work, "bare")
	tree := filepath.Join(work, "tree")
	if _, err := git(ctx, work, "init", "--quiet", "--initial-branch=main", tree); err != nil {
		return err
	}
	if err := os.CopyFS(tree, code); err != nil {
		return err
	}
	for _, args := range [][]string{
		{"add", "."}, {"commit", "--quiet", "--message=Two servers"}, {"clone", "--quiet", "--bare", tree, bare},
		{"--git-dir=" + bare, "config", "http.receivepack", "false"},
	} {
		if _, err := git(ctx, tree, args...); err != nil {
			return err
		}
	}
	return os.Rename(bare, r.dir)
}

// push commits a file on main, as a user would.
func (r repository) push(ctx context.Context, path, content, message string) error {
	work, err := os.MkdirTemp("", "cairn-demo-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(work) }()
	tree := filepath.Join(work, "tree")
	if _, err := git(ctx, work, "clone", "--quiet", r.dir, tree); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tree, path), []byte(content), 0o600); err != nil {
		return err
	}
	for _, args := range [][]string{{"commit", "--quiet", "--all", "--message=" + message}, {"push", "--quiet"}} {
		if _, err := git(ctx, tree, args...); err != nil {
			return err
		}
	}
	return nil
}

// git runs git in a folder, and returns what it prints.
func git(ctx context.Context, folder string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env = folder, gitEnvironment()
	out, err := cmd.Output()
	var failed *exec.ExitError
	if errors.As(err, &failed) {
		err = fmt.Errorf("git %s: %w: %s", args[0], err, strings.TrimSpace(string(failed.Stderr)))
	}
	return strings.TrimSpace(string(out)), err
}

// gitEnvironment ignores the user's configuration: hooks, signatures and URLs of theirs are not for this repository.
func gitEnvironment() []string {
	env := []string{"PATH=" + os.Getenv("PATH"), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_TERMINAL_PROMPT=0"}
	for _, who := range []string{"AUTHOR", "COMMITTER"} {
		env = append(env, "GIT_"+who+"_NAME=Cairn demo", "GIT_"+who+"_EMAIL=demo@cairn.invalid")
	}
	return env
}
