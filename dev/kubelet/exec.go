package kubelet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/cri-streaming/pkg/streaming/remotecommand"
	utilexec "k8s.io/utils/exec"
)

// What is exec'd is a process like the container's own: in its folder, with its environment, as the same user. It ends
// with the container.

// Limits that real kubelets have too.
const (
	execIdle   = 4 * time.Hour
	execCreate = 30 * time.Second
)

// inside is a container that runs.
type inside struct {
	container *corev1.Container
	env       map[string]string
	over      context.Context
	execs     sync.WaitGroup
}

// inside lets others into a container until what it gives is called, which ends them.
func (p *pod) inside(c *corev1.Container, env map[string]string) (end func()) {
	over, cancel := context.WithCancel(context.Background())
	in := &inside{container: c, env: env, over: over}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.running[c.Name] = in
	return func() {
		p.mu.Lock()
		delete(p.running, c.Name)
		p.mu.Unlock()
		cancel()
		in.execs.Wait()
	}
}

// enter finds a container that runs, and keeps it from being over before leave is called.
func (p *pod) enter(container string) (in *inside, leave func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if in = p.running[container]; in == nil {
		return nil, nil
	}
	in.execs.Add(1)
	return in, in.execs.Done
}

func (k *Kubelet) serveExec(w http.ResponseWriter, r *http.Request) {
	p, name := k.asked(w, r)
	if p == nil {
		return
	}
	command := r.URL.Query()["command"]
	options, err := remotecommand.NewOptions(r)
	if err == nil && len(command) == 0 {
		err = errors.New("there is no command")
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	remotecommand.ServeExec(w, r, executor{p}, p.obj.Name, string(p.obj.UID), name, command, options, execIdle,
		execCreate, remotecommand.SupportedStreamingProtocols)
}

// executor runs what is exec'd in a pod.
type executor struct{ pod *pod }

// ExecInContainer returns when the command has ended.
func (e executor) ExecInContainer(_ context.Context, _, _, container string, args []string, in io.Reader, out,
	errOut io.WriteCloser, tty bool, resize <-chan remotecommand.TerminalSize, _ time.Duration) error {
	inside, leave := e.pod.enter(container)
	if inside == nil {
		return fmt.Errorf("container %q does not run", container)
	}
	defer leave()
	cmd, err := e.pod.command(inside.container, inside.env, args, false)
	if err != nil {
		return err
	}
	attach := attachPipes
	if tty {
		attach = attachTerminal
	}
	streams, err := attach(cmd, in, out, errOut, resize)
	if err != nil {
		return err
	}
	defer streams.close()
	proc, err := e.pod.k.group.Start(cmd)
	if err != nil {
		return err
	}
	streams.copy()
	select {
	case <-proc.Done():
	case <-inside.over.Done():
		proc.Kill()
	}
	exit := proc.Exit()
	streams.drain()
	if exit.Code != 0 {
		return utilexec.CodeExitError{Err: errors.New(exit.String()), Code: exit.Code}
	}
	return nil
}

// streams are the ways between a client and a process.
type streams struct {
	ours, theirs []*os.File
	in           func()
	out          []func()
	copied       sync.WaitGroup
}

// attachPipes gives a process a pipe for each stream.
func attachPipes(cmd *exec.Cmd, in io.Reader, out, errOut io.WriteCloser,
	_ <-chan remotecommand.TerminalSize) (*streams, error) {
	s := &streams{}
	if in != nil {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, err
		}
		s.ours, s.theirs = append(s.ours, w), append(s.theirs, r)
		cmd.Stdin = r
		s.in = func() {
			_, _ = io.Copy(w, in)
			_ = w.Close()
		}
	}
	for _, stream := range []struct {
		to   io.Writer
		file *io.Writer
	}{{out, &cmd.Stdout}, {errOut, &cmd.Stderr}} {
		if stream.to == nil {
			continue
		}
		r, w, err := os.Pipe()
		if err != nil {
			s.close()
			return nil, err
		}
		s.ours, s.theirs = append(s.ours, r), append(s.theirs, w)
		*stream.file = w
		s.out = append(s.out, func() { copyAll(stream.to, r) })
	}
	return s, nil
}

// attachTerminal gives a process a terminal.
func attachTerminal(cmd *exec.Cmd, in io.Reader, out, _ io.WriteCloser,
	resize <-chan remotecommand.TerminalSize) (*streams, error) {
	ours, theirs, err := pty.Open()
	if err != nil {
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setctty: true}
	cmd.Env = append(cmd.Env, "TERM=xterm")
	s := &streams{ours: []*os.File{ours}, theirs: []*os.File{theirs}}
	if out != nil {
		s.out = append(s.out, func() { copyAll(out, ours) })
	}
	if in != nil {
		s.in = func() {
			_, _ = io.Copy(ours, in)
			_ = ours.Close() // the client has disconnected: hang up
		}
	}
	go func() {
		for size := range resize {
			_ = pty.Setsize(ours, &pty.Winsize{Rows: size.Height, Cols: size.Width}) // one that is closed has none
		}
	}()
	return s, nil
}

// copyAll copies to the end, also for a client that has left: what a process prints must not stop it.
func copyAll(to io.Writer, from io.Reader) {
	if _, err := io.Copy(to, from); err != nil {
		_, _ = io.Copy(io.Discard, from)
	}
}

// copy begins to copy, once the process has its own ends.
func (s *streams) copy() {
	for _, f := range s.theirs {
		_ = f.Close()
	}
	if s.in != nil {
		go s.in()
	}
	for _, f := range s.out {
		s.copied.Go(f)
	}
}

// drain waits for the rest of what the process printed.
func (s *streams) drain() { s.copied.Wait() }

func (s *streams) close() {
	for _, f := range append(s.ours, s.theirs...) {
		_ = f.Close()
	}
}
