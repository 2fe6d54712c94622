package kubelet

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/dev/process"
)

// runContainer starts a container, keeps its state up to date, and returns when it has ended, or cannot start, or must
// not any more. when says how urgently to report that it runs.
func (p *pod) runContainer(ctx context.Context, c *corev1.Container, state *corev1.ContainerState, when urgency) {
	env, ok := p.environment(ctx, c, state)
	if !ok {
		return
	}
	defer close(p.openLog(c.Name))
	defer p.inside(c, env)()
	proc, err := p.startContainer(c, env)
	if err != nil {
		at := metav1.Now()
		p.set(state, corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{
			ExitCode: 128, Reason: "StartError", Message: err.Error(), StartedAt: at, FinishedAt: at,
			ContainerID: containerID(p.obj, c.Name),
		}})
		return
	}
	p.log.V(1).Info("Container started", "container", c.Name, "pid", proc.Pid())
	p.set(state, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(proc.Started)}})
	p.report(when)

	select {
	case <-proc.Done():
	case <-p.term.Done():
		p.interrupt()
		proc.Stop(p.kill)
	}
	exit := proc.Exit()
	p.log.V(1).Info("Container ended", "container", c.Name, "exit", exit.String())
	p.set(state, corev1.ContainerState{Terminated: p.terminated(c, proc.Started, exit)})
}

// environment makes the container's environment, however long it takes until all that it needs is there. It returns
// false when the pod has to end first.
func (p *pod) environment(ctx context.Context, c *corev1.Container,
	state *corev1.ContainerState) (env map[string]string, ok bool) {
	names := references{}
	names.environment(c)
	ok = retry(p.term, longestWait, func() bool {
		var err error
		if env, err = environ(p.obj, c, p.inputs); err == nil || p.term.Err() != nil {
			return true
		}
		// It may have come since the pod was looked at.
		if fetched := p.inputs.fetch(p.term, p.k.api, p.obj.Namespace, names); fetched != nil {
			err = fetched
		} else if env, err = environ(p.obj, c, p.inputs); err == nil {
			return true
		}
		if p.term.Err() == nil {
			p.warn(ctx, "Failed", "Error: "+err.Error())
			p.set(state, corev1.ContainerState{
				Waiting: &corev1.ContainerStateWaiting{Reason: "CreateContainerConfigError", Message: err.Error()}})
			p.report(urgent)
		}
		return false
	})
	return env, ok && p.term.Err() == nil
}

// startContainer starts the container's process.
func (p *pod) startContainer(c *corev1.Container, env map[string]string) (*process.Process, error) {
	cmd, err := p.command(c, env, append(append([]string{}, c.Command...), c.Args...), true)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(p.dir.log(c.Name), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() { _ = log.Close() }() // the process has its own
	cmd.Stdout, cmd.Stderr = log, log
	return p.k.group.Start(cmd)
}

// command makes a process of a container, with its environment, in its folder. The arguments of its own are expanded,
// those that an exec request has are not.
func (p *pod) command(c *corev1.Container, env map[string]string, args []string, expanded bool) (*exec.Cmd, error) {
	onHost := func(path string) bool { _, err := os.Stat(path); return err == nil }
	paths := pathsOf(c, string(p.dir), layout(&p.obj.Spec), onHost)

	work, tmp := p.dir.workDir(c.Name), p.dir.tmpDir(c.Name)
	if c.WorkingDir != "" {
		work = paths.rewrite(c.WorkingDir)
	}
	for _, dir := range []string{work, tmp} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	if mounted := paths.rewrite("/tmp"); mounted != "/tmp" {
		tmp = mounted
	}
	searched := searchPath(env["PATH"], paths, p.k.o.PathPrefix)
	cmd := &exec.Cmd{Dir: work}
	for _, arg := range args {
		if expanded {
			arg = expand(arg, env)
		}
		cmd.Args = append(cmd.Args, paths.rewrite(arg))
	}
	var err error
	if cmd.Path, err = program(cmd.Args[0], searched, p.k.o.PathPrefix); err != nil {
		return nil, err
	}
	// the container's own come later and win
	cmd.Env = []string{"HOME=" + work, "TMPDIR=" + tmp, "HOSTNAME=" + p.obj.Name}
	for name, value := range env {
		if name != "PATH" {
			cmd.Env = append(cmd.Env, name+"="+paths.rewrite(value))
		}
	}
	cmd.Env = append(cmd.Env, "PATH="+searched)
	return cmd, nil
}

// searchPath is the PATH of a container: its own, where there is one, with PathPrefix last as the rest of the image; or
// this machine's, with PathPrefix first.
func searchPath(own string, paths paths, prefix string) string {
	list := []string{prefix, os.Getenv("PATH")}
	if own != "" {
		list = []string{paths.rewrite(own), prefix}
	}
	return strings.Trim(strings.Join(list, ":"), ":")
}

// program finds what a command names.
func program(name, searched, prefix string) (string, error) {
	if strings.Contains(name, "/") {
		if executable(name) || prefix == "" {
			return name, nil // starting it says best what is wrong with it
		}
		if other := filepath.Join(prefix, filepath.Base(name)); executable(other) {
			return other, nil
		}
		return name, nil
	}
	for _, dir := range filepath.SplitList(searched) {
		if path := filepath.Join(dir, name); filepath.IsAbs(dir) && executable(path) {
			return path, nil
		}
	}
	return "", fmt.Errorf("exec: %q: %w in $PATH", name, exec.ErrNotFound)
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// terminated is the state of a container whose process has ended.
func (p *pod) terminated(c *corev1.Container, started time.Time, exit process.Exit) *corev1.ContainerStateTerminated {
	t := &corev1.ContainerStateTerminated{
		ExitCode:    int32(exit.Code),
		Reason:      "Completed",
		StartedAt:   metav1.NewTime(started),
		FinishedAt:  metav1.NewTime(exit.At),
		ContainerID: containerID(p.obj, c.Name),
	}
	if exit.Code == 0 {
		return t
	}
	t.Reason = "Error"
	if c.TerminationMessagePolicy == corev1.TerminationMessageFallbackToLogsOnError {
		t.Message = lastWords(p.dir.log(c.Name))
	}
	return t
}
