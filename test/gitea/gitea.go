// Package gitea runs a real Gitea, for tests of pull requests.
package gitea

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"cairn.dev/cairn/dev/ports"
	"cairn.dev/cairn/dev/tools"
)

// Admin is the login of the administrator.
const Admin = "root"

// A Server stores its repositories and its database in a directory. It can be killed and started again.
type Server struct {
	// URL is its address. Example: http://127.0.0.1:3000.
	URL string

	dir      string
	password string
	command  *exec.Cmd
	ended    chan struct{}
}

// starts is how long the server may take until it responds.
const starts = time.Minute

// New starts a server at a host of this machine, which stores what it has below dir. Kill stops it.
func New(ctx context.Context, host, dir string) (*Server, error) {
	address, err := ports.Free(ctx, host)
	if err != nil {
		return nil, err
	}
	s := &Server{URL: "http://" + address, dir: dir, password: rand.Text()}
	static, err := assets(ctx)
	if err != nil {
		return nil, err
	}
	_, port, _ := strings.Cut(address, ":")
	config := strings.NewReplacer("<dir>", dir, "<host>", host, "<port>", port, "<static>", static, "<secret>",
		rand.Text()).Replace(`
APP_NAME = Gitea
RUN_MODE = prod
WORK_PATH = <dir>
I_AM_BEING_UNSAFE_RUNNING_AS_ROOT = true
[server]
HTTP_ADDR = <host>
HTTP_PORT = <port>
ROOT_URL = http://<host>:<port>/
DISABLE_SSH = true
OFFLINE_MODE = true
STATIC_ROOT_PATH = <static>
[database]
DB_TYPE = sqlite3
[security]
INSTALL_LOCK = true
SECRET_KEY = <secret>
[service]
DISABLE_REGISTRATION = true
[webhook]
ALLOWED_HOST_LIST = loopback
[log]
LEVEL = warn
[repository.pull-request]
DEFAULT_MERGE_STYLE = merge
[cron.update_checker]
ENABLED = false
`)
	if err := os.WriteFile(s.config(), []byte(config), 0o600); err != nil {
		return nil, err
	}
	if err := s.Start(ctx); err != nil {
		return nil, err
	}
	if err := s.admin(ctx, "user", "create", "--admin", "--username", Admin, "--password", s.password, "--email",
		"root@example.com", "--must-change-password=false"); err != nil {
		s.Kill()
		return nil, err
	}
	return s, nil
}

func (s *Server) config() string { return filepath.Join(s.dir, "app.ini") }

// assets returns the directory of Gitea's module, which has its templates and translations.
func assets(ctx context.Context) (string, error) {
	module, err := filepath.Abs("../../tools/gitea")
	if err != nil {
		return "", err
	}
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "code.gitea.io/gitea")
	list.Dir, list.Env = module, append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	out, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("go list -m code.gitea.io/gitea: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// Start starts the server, again after Kill, with what it has stored. It returns when the server responds.
func (s *Server) Start(ctx context.Context) error {
	program, err := tools.Path("gitea")
	if err != nil {
		return err
	}
	s.command = exec.CommandContext(context.WithoutCancel(ctx), program, "--config", s.config(), "web")
	s.command.Stdout, s.command.Stderr = os.Stderr, os.Stderr
	if err := s.command.Start(); err != nil {
		return err
	}
	s.ended = make(chan struct{})
	go func(command *exec.Cmd, ended chan struct{}) {
		_ = command.Wait() // it is killed
		close(ended)
	}(s.command, s.ended)
	if err := s.responds(ctx); err != nil {
		s.Kill()
		return err
	}
	return nil
}

func (s *Server) responds(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, starts)
	defer cancel()
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL+"/api/healthz", http.NoBody)
		if err != nil {
			return err
		}
		if response, err := http.DefaultClient.Do(request); err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-s.ended:
			return errors.New("gitea has ended: see its log above")
		case <-ctx.Done():
			return fmt.Errorf("gitea does not respond: %w", ctx.Err())
		}
	}
}

// Kill kills the server, and waits.
func (s *Server) Kill() {
	_ = s.command.Process.Kill() // it may have ended
	<-s.ended
}

// admin runs a command of `gitea admin`.
func (s *Server) admin(ctx context.Context, args ...string) error {
	command := exec.CommandContext(ctx, s.command.Path, append([]string{"--config", s.config(), "admin"}, args...)...)
	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("gitea admin %s: %w\n%s", args[0], err, out)
	}
	return nil
}

// User creates a user, and returns a token with all scopes.
func (s *Server) User(ctx context.Context, login string) (token string, err error) {
	if login != Admin {
		user := map[string]any{"username": login, "email": login + "@example.com", "password": s.password,
			"must_change_password": false}
		if err := s.call(ctx, Admin, "", http.MethodPost, "/admin/users", user, nil); err != nil {
			return "", err
		}
	}
	var created struct {
		Token string `json:"sha1"`
	}
	err = s.call(ctx, login, "", http.MethodPost, "/users/"+url.PathEscape(login)+"/tokens",
		map[string]any{"name": rand.Text(), "scopes": []string{"all"}}, &created)
	return created.Token, err
}

// Call sends a request to the API (/api/v1) with a token, and decodes the response into a value, unless that is nil. An
// error has the status and the body of a response that is not 2xx.
func (s *Server) Call(ctx context.Context, token, method, path string, body, into any) error {
	return s.call(ctx, "", token, method, path, body, into)
}

func (s *Server) call(ctx context.Context, login, token, method, path string, body, into any) error {
	var content io.Reader = http.NoBody
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, s.URL+"/api/v1"+path, content)
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "token "+token)
	} else {
		request.SetBasicAuth(login, s.password)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode/100 != 2 {
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, data)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(data, into)
}

// CloneURL returns the address of a repository, with a user's token for HTTP.
func (s *Server) CloneURL(login, token, repository string) string {
	return strings.Replace(s.URL, "://", "://"+url.UserPassword(login, token).String()+"@", 1) + "/" +
		repository + ".git"
}
