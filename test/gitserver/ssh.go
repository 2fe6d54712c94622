package gitserver

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"
)

// SSH serves repositories to one key, by the real git upload-pack and receive-pack.
type SSH struct {
	// URL of the server, without a slash at its end: ssh://git@127.0.0.1:<port>.
	URL string
	// Identity is the private key that is let in, KnownHosts has the server's key.
	Identity, KnownHosts []byte

	repos    *Repos
	config   *ssh.ServerConfig
	listener net.Listener
	ctx      context.Context
	cancel   context.CancelFunc
	work     sync.WaitGroup
}

// NewIdentity makes a private key, encrypted if there is a passphrase.
func NewIdentity(passphrase string) (identity []byte, public ssh.PublicKey, err error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	var block *pem.Block
	if passphrase == "" {
		block, err = ssh.MarshalPrivateKey(key, "")
	} else {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(key, "", []byte(passphrase))
	}
	if err != nil {
		return nil, nil, err
	}
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(block), signer.PublicKey(), nil
}

// ServeSSH serves repositories on this machine until Close.
func ServeSSH(repos *Repos) (*SSH, error) { return ServeSSHAt(repos, "127.0.0.1") }

// ServeSSHAt serves them to those who find this machine by an IP address.
func ServeSSHAt(repos *Repos, address string) (*SSH, error) {
	identity, authorized, err := NewIdentity("")
	if err != nil {
		return nil, err
	}
	hostKey, _, err := NewIdentity("")
	if err != nil {
		return nil, err
	}
	host, err := ssh.ParsePrivateKey(hostKey)
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return nil, err
	}
	address = listener.Addr().String()
	s := &SSH{
		URL: "ssh://git@" + address, Identity: identity,
		KnownHosts: []byte(knownhosts.Line([]string{knownhosts.Normalize(address)}, host.PublicKey()) + "\n"),
		repos:      repos, listener: listener,
		config: &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions,
			error) {
			if !bytes.Equal(key.Marshal(), authorized.Marshal()) {
				return nil, errors.New("another key")
			}
			return &ssh.Permissions{}, nil
		}},
	}
	s.config.AddHostKey(host)
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.work.Go(s.accept)
	return s, nil
}

// Close ends the server, and waits for all that it runs.
func (s *SSH) Close() error {
	s.cancel()
	err := s.listener.Close()
	s.work.Wait()
	return err
}

func (s *SSH) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.work.Go(func() { s.serve(conn) })
	}
}

func (s *SSH) serve(conn net.Conn) {
	stop := context.AfterFunc(s.ctx, func() { _ = conn.Close() })
	defer stop()
	defer conn.Close() //nolint:errcheck // it may be closed already
	_, channels, requests, err := ssh.NewServerConn(conn, s.config)
	if err != nil {
		return
	}
	s.work.Go(func() { ssh.DiscardRequests(requests) })
	for wanted := range channels {
		if wanted.ChannelType() != "session" {
			_ = wanted.Reject(ssh.UnknownChannelType, "sessions only")
			continue
		}
		channel, requests, err := wanted.Accept()
		if err != nil {
			return
		}
		s.work.Go(func() { s.session(channel, requests) })
	}
}

// session runs the one command of a session.
func (s *SSH) session(channel ssh.Channel, requests <-chan *ssh.Request) {
	defer channel.Close() //nolint:errcheck // it may be closed already
	env := environment()
	for r := range requests {
		switch r.Type {
		case "env":
			var v struct{ Name, Value string }
			if ssh.Unmarshal(r.Payload, &v) == nil && v.Name == "GIT_PROTOCOL" {
				env = append(env, v.Name+"="+v.Value)
			}
			_ = r.Reply(true, nil)
		case "exec":
			var v struct{ Command string }
			if ssh.Unmarshal(r.Payload, &v) != nil {
				return
			}
			_ = r.Reply(true, nil)
			status := struct{ Status uint32 }{uint32(s.run(channel, env, v.Command))}
			_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(status))
			return
		default:
			_ = r.Reply(false, nil)
		}
	}
}

// run git-upload-pack '/name.git' or git-receive-pack.
func (s *SSH) run(channel ssh.Channel, env []string, command string) int {
	program, path, _ := strings.Cut(command, " ")
	if program != "git-upload-pack" && program != "git-receive-pack" {
		_, _ = io.WriteString(channel.Stderr(), "only git\n")
		return 1
	}
	dir := filepath.Join(s.repos.Dir, filepath.Base(strings.Trim(path, "'")))
	cmd := exec.CommandContext(s.ctx, "git", strings.TrimPrefix(program, "git-"), dir)
	cmd.Env, cmd.Stdout, cmd.Stderr = env, channel, channel.Stderr()
	in, err := cmd.StdinPipe() // not cmd.Stdin: Wait would wait for the client to close it
	if err != nil {
		return 1
	}
	if err := cmd.Start(); err != nil {
		return 1
	}
	s.work.Go(func() {
		_, _ = io.Copy(in, channel)
		_ = in.Close()
	})
	_ = cmd.Wait() // its exit code says it
	return cmd.ProcessState.ExitCode()
}
