package process

import (
	_ "embed"
	"fmt"
	"io"
	"os/exec"
	"syscall"
)

//go:embed warden.sh
var wardenScript string

// warden kills sessions when this process is gone without having ended them.
type warden struct {
	cmd  *exec.Cmd
	pipe io.WriteCloser
}

func startWarden() (*warden, error) {
	cmd := &exec.Cmd{
		Path: "/bin/sh", Args: []string{"sh", "-c", wardenScript, "cairn-warden"},
		Dir: "/", Env: []string{},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start warden: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start warden: %w", err)
	}
	return &warden{cmd: cmd, pipe: pipe}, nil
}

// A line is written in one write, so those of several children do not mix. A killed warden is not replaced:
// it is the second line of defense.
func (w *warden) add(sid int)    { _, _ = fmt.Fprintf(w.pipe, "+ %d\n", sid) }
func (w *warden) remove(sid int) { _, _ = fmt.Fprintf(w.pipe, "- %d\n", sid) }

func (w *warden) close() error {
	_ = w.pipe.Close()
	if err := w.cmd.Wait(); err != nil {
		return fmt.Errorf("warden: %w", err)
	}
	return nil
}
