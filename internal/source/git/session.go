package git

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"

	"cairn.dev/cairn/internal/engine/redact"
)

// mostProgram is how long the path in the first line of a program may be: Linux cuts the line at 256 bytes.
const mostProgram = 240

// session is what git needs to speak with a remote: who we are there, in files and variables that end with it. No
// credential is ever in an argument, where all users of the machine could see it.
type session struct {
	m      *Mirror
	remote Remote
	// at is where git connects to: the remote's URL, or the one that its server redirects to. auth are the credentials
	// there.
	at   remoteURL
	auth Auth
	// repo is the folder in the Mirror's that is fetched into.
	repo string
	// reserve is how many bytes below the limits of disk space a fetch has to stay.
	reserve int64
	// dir is a folder in the Mirror's, for keys and certificates. git and ssh run in the Mirror's folder and know
	// it by a name that no user can influence.
	dir     string
	call    command
	secrets *redact.Redactor
}

func (m *Mirror) open(ctx context.Context, remote Remote) (_ *session, err error) {
	s := &session{m: m, remote: remote, repo: repository, secrets: remote.Auth.Secrets()}
	dir, err := os.MkdirTemp(m.path(sessions), "session-") // of mode 0700
	if err != nil {
		return nil, err
	}
	s.dir = path.Join(sessions, path.Base(dir))
	defer func() {
		if err != nil {
			s.close()
		}
	}()
	if s.at, err = m.locate(remote.URL); err != nil {
		return nil, err
	}
	if s.at.scheme == "ssh" {
		return s, s.ssh(ctx)
	}
	if s.auth, err = m.apps.resolve(ctx, remote.Auth, m.o.Egress); err != nil {
		return nil, err
	}
	s.secrets.Add(s.auth.Password)
	return s, s.http(ctx)
}

func (s *session) close() { _ = os.RemoveAll(s.m.path(s.dir)) } // or the next Open does

func (s *session) http(ctx context.Context) error {
	route, err := s.route(ctx)
	if err != nil {
		return err
	}
	if s.call.settings = s.at.pin(route); route.Proxy != nil {
		password, _ := route.Proxy.User.Password()
		s.secrets.Add(password)
	}
	if header := s.auth.Authorization(); header != "" {
		s.secrets.Add(strings.Fields(header)[1])
		s.call.settings = append(s.call.settings, setting{"http." + s.at.origin() + "/.extraHeader",
			"Authorization: " + header})
	}
	if len(s.auth.CA) > 0 {
		name, err := s.file("ca.crt", s.auth.CA)
		if err != nil {
			return err
		}
		s.call.settings = append(s.call.settings, setting{"http.sslCAInfo", name})
	}
	return nil
}

// sshConfig is all that ssh knows: with -F it reads neither the user's nor the machine's configuration.
//
// git takes the name of a program (GIT_SSH), or a line for a shell (GIT_SSH_COMMAND); and where Cairn runs there
// need be no shell. So the file is both, the program and its configuration: its first line, which is a comment to
// ssh, has the kernel start "ssh -F <the file>" with git's arguments.
const sshConfig = `BatchMode yes
IdentitiesOnly yes
IdentityAgent none
PreferredAuthentications publickey
PasswordAuthentication no
KbdInteractiveAuthentication no
StrictHostKeyChecking yes
GlobalKnownHostsFile /dev/null
UpdateHostKeys no
VerifyHostKeyDNS no
CanonicalizeHostname no
ForwardAgent no
ForwardX11 no
ClearAllForwardings yes
PermitLocalCommand no
ProxyCommand none
ControlMaster no
ControlPath none
ConnectTimeout 20
ServerAliveInterval 15
ServerAliveCountMax 3
`

func (s *session) ssh(ctx context.Context) error {
	program, err := sshProgram()
	if err != nil {
		return err
	}
	address, err := s.address(ctx)
	if err != nil {
		return err
	}
	var identity []byte
	if len(s.remote.Auth.Identity) > 0 {
		plain, err := s.remote.Auth.PlainIdentity()
		if err != nil {
			return fail(ErrConfig, "%s", err)
		}
		identity = plain
		s.secrets.Add(string(plain))
	}
	identityFile, err := s.file("identity", identity)
	if err != nil {
		return err
	}
	knownHosts, err := s.file("known_hosts", s.remote.Auth.KnownHosts)
	if err != nil {
		return err
	}
	config, err := s.program("ssh",
		"#!"+program+" -F\n"+sshConfig+"IdentityFile "+identityFile+"\nUserKnownHostsFile "+knownHosts+
			"\nHostName "+address.String()+"\nHostKeyAlias "+s.at.hostKey()+"\n")
	if err != nil {
		return err
	}
	s.call.env = []string{"GIT_SSH=" + config, "GIT_SSH_VARIANT=ssh"}
	return nil
}

// file writes a file of the session, and returns its name as git sees it.
func (s *session) file(name string, data []byte) (string, error) {
	name = path.Join(s.dir, name)
	if err := os.WriteFile(s.m.path(name), data, 0o600); err != nil {
		return "", err
	}
	return name, nil
}

// program writes a file that can be run. Nothing is started meanwhile: a child that had the file open to write
// would keep it from being run ("text file busy").
func (s *session) program(name, content string) (string, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	name, err := s.file(name, []byte(content))
	if err != nil {
		return "", err
	}
	return name, os.Chmod(s.m.path(name), 0o700) //nolint:gosec // only ours, and it is to be run
}

// sshProgram is the path of ssh, as the first line of a program can have it.
func sshProgram() (string, error) {
	program, err := exec.LookPath("ssh")
	if err != nil {
		return "", fmt.Errorf("there is no ssh on this machine: %w", err)
	}
	if program, err = filepath.Abs(program); err != nil {
		return "", err
	}
	if len(program) > mostProgram || strings.ContainsFunc(program, unicode.IsSpace) {
		return "", fmt.Errorf("ssh is at %.300q: its path must be without spaces, of at most %d bytes", program,
			mostProgram)
	}
	return program, nil
}

// run calls git as someone whom the remote knows.
func (s *session) run(ctx context.Context, args ...string) ([]byte, error) {
	call := s.call
	call.repo, call.args = s.repo, args
	return s.m.run(ctx, call)
}

// local calls git for what needs no remote.
func (s *session) local(ctx context.Context, args ...string) ([]byte, error) {
	return s.m.run(ctx, command{repo: s.repo, args: args})
}

// explain converts git's errors to messages for users, without secrets.
func (s *session) explain(err error) error {
	var failed *gitError
	what := "fetch " + s.remote.URL
	switch {
	case err == nil:
		return nil
	case !errors.As(err, &failed):
		return fmt.Errorf("%s: %w", what, err)
	case damaged(failed.said):
		return fmt.Errorf("%s: %w: git printed: "+
			"%s%s", what, errDamaged, s.secrets.String(mainLine(failed.said)),
			serverAnswer(s.secrets.String(failed.said)))
	}
	return classify(what, s.secrets.String(failed.said), s.remote.Auth.String() != "anonymous")
}
