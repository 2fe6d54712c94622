// Package postgres runs a real PostgreSQL, of Debian's package postgresql, for tests.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"cairn.dev/cairn/dev/ports"
)

// ErrNone says that this machine has none.
var ErrNone = errors.New("this machine has no PostgreSQL: apt-get install postgresql")

// A Server is one for a test.
type Server struct {
	// Address has host and port. User may do anything, with Password; Database is empty.
	Address, User, Password, Database string

	command *exec.Cmd
}

// URL of the database, as engines and clients take it.
func (s *Server) URL() string {
	return fmt.Sprintf("postgres://%s:%s@%s/%s?sslmode=disable", s.User, s.Password, s.Address, s.Database)
}

// New starts one that keeps what it has in a folder of its own. Kill ends it.
func New(ctx context.Context) (s *Server, err error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if len(found) == 0 {
		return nil, ErrNone
	}
	bin := slices.Max(found)
	dir, err := os.MkdirTemp("", "postgres-")
	if err != nil {
		return nil, err
	}
	as, err := unprivileged(dir)
	if err != nil {
		return nil, err
	}
	s = &Server{User: "cairn", Password: "pg-canary-password", Database: "postgres"}
	password := filepath.Join(dir, "password")
	if err := os.WriteFile(password, []byte(s.Password), 0o644); err != nil { //nolint:gosec // initdb reads it as another user; the folder and the password are this test's own
		return nil, err
	}
	data := filepath.Join(dir, "data")
	run := func(program string, args ...string) *exec.Cmd {
		cmd := exec.CommandContext(context.WithoutCancel(ctx), filepath.Join(bin, program), args...)
		cmd.SysProcAttr, cmd.Dir = as, dir
		return cmd
	}
	initdb := run("initdb", "--pgdata="+data, "--username="+s.User, "--pwfile="+password, "--auth=scram-sha-256",
		"--no-sync", "--no-instructions", "--locale=C")
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	if s.Address, err = ports.Free(ctx, "127.0.0.1"); err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(s.Address)
	if err != nil {
		return nil, err
	}
	s.command = run("postgres", "-D", data, "-h", "127.0.0.1", "-p", port, "-k", dir, "-F")
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	for until := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		said, err := run("pg_isready", "-h", "127.0.0.1", "-p", port).CombinedOutput()
		if err == nil {
			return s, nil
		}
		if time.Now().After(until) {
			s.Kill()
			return nil, fmt.Errorf("PostgreSQL does not answer: %s", strings.TrimSpace(string(said)))
		}
	}
}

// unprivileged is the user that it runs as: nobody instead of root, which PostgreSQL rejects.
func unprivileged(dir string) (*syscall.SysProcAttr, error) {
	attributes := &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if os.Geteuid() != 0 {
		return attributes, nil
	}
	nobody, err := user.Lookup("nobody")
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(nobody.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attributes, os.Chown(dir, int(uid), int(gid))
}

// Kill ends it and takes away what it kept.
func (s *Server) Kill() {
	_ = s.command.Process.Kill() // it may be gone
	_ = s.command.Wait()
	_ = os.RemoveAll(s.command.Dir)
}
