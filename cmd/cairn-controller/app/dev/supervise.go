package dev

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"

	"cairn.dev/cairn/dev/ports"
	children "cairn.dev/cairn/dev/process"
)

// A process is a process of Cairn as a child of this one, restarted when it ends, as by a Deployment.
type process struct {
	group *children.Group
	// name is the subcommand.
	name    string
	program string
	args    []string
	health  string
	pidFile string
	log     logr.Logger
}

// addProcesses adds Cairn's processes: `cairn-controller serve` or, with --split, `cairn-controller operator` and
// `cairn-controller server`. Their arguments differ only in the kubeconfig and the health address.
func (c *cluster) addProcesses(ctx context.Context, o options, data string, kubeconfigs map[string]string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	store, err := ports.Free(ctx, "127.0.0.1")
	if err != nil {
		return err
	}
	web, err := ports.Free(ctx, "127.0.0.1")
	if err != nil {
		return err
	}
	for i, arg := range o.serveArgs { // the last one counts, as for the process
		if address, ok := strings.CutPrefix(arg, "--web-listen="); ok {
			web = address
		} else if arg == "--web-listen" && i+1 < len(o.serveArgs) {
			web = o.serveArgs[i+1]
		}
	}
	bucket := url.URL{Scheme: "file", Path: filepath.Join(data, "bucket")}
	args := []string{
		"--namespace=" + systemNamespace,
		"--bucket=" + bucket.String(),
		"--cache=" + filepath.Join(data, "cache"),
		"--listen=" + store,
		"--server-url=https://" + store,
		"--web-listen=" + web,
		"--allowed-address=127.0.0.0/8,::1", // git servers and registries on the developer's machine
		"--log-level=" + o.level.String(),
		"--runner-image=cairn:dev", "--engine-image=cairn-tools:dev",
		"--runner-command=" + filepath.Join(filepath.Dir(program), "cairn-runner"),
	}
	if len(o.namespaces) > 0 {
		args = append(args, "--namespaces="+strings.Join(o.namespaces, ","), "--runner-tokens=jwks")
	} else if here := onThisMachine(web); here != "" {
		// with namespaces alone, Cairn has no permission to review tokens
		c.webURL, c.links = "http://"+here, filepath.Join(data, linksDir)
		args = append(args, "--web-url="+c.webURL, "--signin-links="+c.links)
		if err := os.RemoveAll(c.links); err != nil { // links of an earlier start
			return err
		}
	}
	args = append(args, o.serveArgs...)
	for _, name := range o.processes() {
		health, err := ports.Free(ctx, "127.0.0.1")
		if err != nil {
			return err
		}
		c.processes = append(c.processes, &process{
			group:   c.group,
			name:    name,
			program: program,
			args:    append([]string{name, "--kubeconfig=" + kubeconfigs[name], "--health-address=" + health}, args...),
			health:  "http://" + health + "/readyz",
			pidFile: filepath.Join(data, name+".pid"),
			log:     o.log.WithName("supervisor"),
		})
	}
	return nil
}

// onThisMachine returns the loopback address for a listener, or "" if it does not listen on one: without TLS, the web
// UI is for this machine only.
func onThisMachine(address string) string {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	} else if host != "localhost" && host != "127.0.0.1" && host != "::1" {
		return ""
	}
	return net.JoinHostPort(host, port)
}

// run restarts the process until ctx is done, and stops it then.
func (p *process) run(ctx context.Context) {
	const first, longest = 200 * time.Millisecond, 10 * time.Second
	for pause := first; ; pause = min(2*pause, longest) {
		started := time.Now()
		err := p.once(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(started) > time.Minute {
			pause = first
		}
		p.log.Error(err, "A process of Cairn ended; restarting", "process", p.name, "after", pause)
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// stopTimeout is the time to stop before a process is killed.
const stopTimeout = 10 * time.Second

// once runs the process until it ends.
func (p *process) once(ctx context.Context) error {
	cmd := exec.Command(p.program, p.args...) //nolint:noctx // it is stopped below, not killed
	cmd.Stderr = os.Stderr
	child, err := p.group.Start(cmd)
	if err != nil {
		return err
	}
	if err := os.WriteFile(p.pidFile, fmt.Appendln(nil, child.Pid()), 0o600); err != nil {
		p.log.Error(err, "write the pid file", "process", p.name)
	}
	select {
	case <-child.Done():
		return errors.New(child.Exit().String())
	case <-ctx.Done():
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
		defer cancel()
		child.Stop(stopping)
		return ctx.Err()
	}
}

// ready waits until the readiness probe of the process succeeds.
func (p *process) ready(ctx context.Context) error {
	return wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.health, nil)
			if err != nil {
				return false, err
			}
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				return false, nil // not listening yet
			}
			return answer.StatusCode == http.StatusOK, answer.Body.Close()
		})
}
