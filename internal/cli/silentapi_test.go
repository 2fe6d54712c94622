package cli

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"cairn.dev/cairn/internal/cli/session"
)

// silent returns a kubeconfig of an API server that accepts connections and never responds; asked receives its
// requests.
func silent(t *testing.T) (kubeconfig string, asked chan net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	asked = make(chan net.Conn, 100)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer close(asked)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close() //nolint:gocritic // it is silent to the end of the test
			asked <- c
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters:  map[string]*clientcmdapi.Cluster{"test": {Server: "http://" + l.Addr().String()}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"test": {}},
		Contexts: map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: "test",
			Namespace: "default"}},
		CurrentContext: "test",
	}, kubeconfig); err != nil {
		t.Fatal(err)
	}
	return kubeconfig, asked
}

// TestInterruptWithoutAnAnswerOfTheAPIServer checks that Ctrl-C ends the discovery, which has no context of the
// command.
func TestInterruptWithoutAnAnswerOfTheAPIServer(t *testing.T) {
	for _, args := range [][]string{{"get"}, {"approve", "net"}, {"logs", "net"}} {
		t.Run(args[0], func(t *testing.T) {
			kubeconfig, asked := silent(t)
			ctx, interrupt := context.WithCancel(t.Context())
			s, _, _ := quiet()
			s.Timeout = time.Hour
			cmd := root(s)
			cmd.SetArgs(append(args, "--kubeconfig="+kubeconfig))
			ended := make(chan error, 1)
			go func() { ended <- cmd.ExecuteContext(ctx) }()
			<-asked
			interrupt()
			if err := <-ended; err == nil { // without an end the test runs into its timeout
				t.Error("it went well")
			}
		})
	}
}

func TestTimeoutOfTheAPIServer(t *testing.T) {
	kubeconfig, _ := silent(t)
	s, _, _ := quiet()
	s.Timeout = 50 * time.Millisecond
	cmd := root(s)
	cmd.SetArgs([]string{"get", "--kubeconfig=" + kubeconfig})
	if err := cmd.ExecuteContext(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "does not answer: no answer within 50ms") {
		t.Errorf("got %v", err)
	}
}

// TestInterruptOfStandardInput checks that Ctrl-C ends a read of a terminal or a pipe.
func TestInterruptOfStandardInput(t *testing.T) {
	for name, args := range map[string][]string{"state push": {"state", "push", "net", "-", "--yes"}} {
		t.Run(name, func(t *testing.T) {
			s, out, _ := quiet()
			in, open := io.Pipe()
			defer open.Close()
			s.In = in
			ctx, interrupt := context.WithCancel(t.Context())
			cmd := root(s)
			cmd.SetArgs(args)
			ended := make(chan error, 1)
			go func() { ended <- cmd.ExecuteContext(ctx) }()
			if _, err := open.Write([]byte("{")); err != nil { // it reads
				t.Fatal(err)
			}
			interrupt()
			select {
			case err := <-ended:
				var exit session.ExitError
				if !errors.As(err, &exit) || exit.Code != session.ExitInterrupted || out.Len() > 0 {
					t.Errorf("%v, and the output is %s", err, out)
				}
			case <-time.After(time.Minute):
				t.Fatal("the read does not end")
			}
		})
	}
}
