// Package webui opens the web UI of an installation as the user of the kubeconfig.
package webui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/userapi"
)

// options are the flags of the command.
type options struct {
	port   int
	noOpen bool
}

// Command returns the command ui.
func Command(s *session.Session) *cobra.Command {
	var o options
	cmd := &cobra.Command{
		Use:   "ui [STACK|RUN|repo/NAME|stackset/NAME|pr/NUMBER]",
		Short: "Open the web UI as the user of your kubeconfig",
		Long: `Serves the web UI of the installation on a loopback address of this machine, as the user of your kubeconfig, until
Ctrl-C, and opens it in a browser. It needs no address of the server outside of the cluster and no sign-in: it connects
as all commands do, and adds your credentials to each request. The browser gets only a cookie, which is valid as long
as the command runs.

Standard output has the link that signs a browser in. Without a terminal, or without a desktop, no browser is opened.`,
		Example: s.Examples(`
			cairn ui
			cairn ui net
			cairn ui net-7 --no-open --port 8080`),
		Args:              session.Args(cobra.MaximumNArgs(1)),
		ValidArgsFunction: s.Complete(session.CompleteDescribed),
		RunE: func(cmd *cobra.Command, args []string) error {
			page := "/"
			if len(args) == 1 {
				var err error
				if page, err = pageOf(cmd.Context(), s, args[0]); err != nil {
					return err
				}
			}
			return serve(cmd.Context(), s, page, o)
		},
	}
	f := cmd.Flags()
	f.IntVar(&o.port, "port", 0, "port of this machine; default: a free one")
	f.BoolVar(&o.noOpen, "no-open", false, "only print the link, and open no browser")
	return cmd
}

// pageOf returns the path of the page of an object.
func pageOf(ctx context.Context, s *session.Session, arg string) (string, error) {
	path := func(view, namespace, name string) string {
		return "/" + view + "/" + url.PathEscape(namespace) + "/" + url.PathEscape(name)
	}
	kind, name := session.SplitKind(arg)
	switch kind {
	case "pullrequest":
		pull, err := s.PullRequest(ctx, arg)
		if err != nil {
			return "", err
		}
		return path("pullrequests", pull.Namespace, pull.Name), nil
	case "repository":
		r, err := s.Repository(ctx, arg)
		if err != nil {
			return "", err
		}
		return path("repositories", r.Namespace, r.Name), nil
	case "stackset":
		set, err := s.StackSet(ctx, arg)
		if err != nil {
			return "", err
		}
		return path("stacksets", set.Namespace, set.Name), nil
	}
	stack, run, err := s.StackOrRun(ctx, arg)
	switch {
	case err != nil:
		return "", err
	case kind == "run" || stack == nil || stack.Name != name:
		return path("runs", run.Namespace, run.Name), nil
	}
	return path("stacks", stack.Namespace, stack.Name), nil
}

// serve serves the web UI until ctx is done.
func serve(ctx context.Context, s *session.Session, page string, o options) error {
	address, to, err := s.ServerTransport(ctx)
	if err != nil {
		return err
	}
	me, err := userapi.New(address, to).Me(ctx)
	if err != nil {
		return s.ExplainServer(err)
	}
	server, err := url.Parse(address)
	if err != nil {
		return err
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(o.port)))
	if err != nil {
		return fmt.Errorf("serve the web UI: %w; choose another port with --port", err)
	}
	proxy := NewProxy(listener.Addr().String(), server, to, s.ExplainServer)
	web := &http.Server{
		Handler: proxy, ReadHeaderTimeout: 10 * time.Second, ErrorLog: log.New(io.Discard, "", 0), // of the browser
	}
	served := make(chan error, 1)
	go func() { served <- web.Serve(listener) }()
	s.Note("The web UI of %s as %s, until Ctrl-C:", address, screen.Clean(me.Name))
	fmt.Fprintln(s.Out, proxy.Link(page, false))
	if command := browserCommand(runtime.GOOS, os.Getenv); !o.noOpen && s.TTY && command != nil {
		if err := open(ctx, append(command, proxy.Link(page, true))); err != nil {
			s.Note("No browser opened (%v): open the link above.", err)
		}
	}
	select {
	case <-ctx.Done(): // Ctrl-C; streams of browsers do not end by themselves
		err = web.Close()
		<-served //nolint:errcheck // http.ErrServerClosed, after Close
		return err
	case err := <-served:
		return fmt.Errorf("serve the web UI: %w", err)
	}
}

// browserCommand returns the command that opens an address in the browser of a desktop; nil without a desktop.
func browserCommand(system string, env func(string) string) []string {
	switch system {
	case "darwin":
		return []string{"open"}
	case "windows":
		return []string{"rundll32", "url.dll,FileProtocolHandler"}
	}
	if env("DISPLAY") == "" && env("WAYLAND_DISPLAY") == "" {
		return nil
	}
	return []string{"xdg-open"}
}

// open starts a command, and returns an error if it fails within a second: some continue as long as the browser.
func open(ctx context.Context, command []string) error {
	path, err := exec.LookPath(command[0])
	if err != nil {
		return err
	}
	// A command of browserCommand; the browser outlives this command.
	cmd := exec.CommandContext(context.WithoutCancel(ctx), path, command[1:]...)
	if err := cmd.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case err := <-ended:
		return err
	case <-time.After(time.Second):
		return nil
	case <-ctx.Done():
		return errors.New("interrupted")
	}
}
