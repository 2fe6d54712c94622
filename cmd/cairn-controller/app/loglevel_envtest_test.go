//go:build envtest

package app

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"cairn.dev/cairn/dev/ports"
	"cairn.dev/cairn/test/apiserver"
)

func TestMain(m *testing.M) { apiserver.Main(m, "../../../charts/cairn/files/crds") }

// A process logs what --log-level says and what is worse, and nothing else. A webhook that is rejected is logged at
// level debug, what starts is logged at level info.
func TestLogLevel(t *testing.T) {
	w := apiserver.New(t)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	c := apiserver.Config
	apiserver.Must(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"test": {Server: c.Host, CertificateAuthorityData: c.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"test": {ClientCertificateData: c.CertData,
			ClientKeyData: c.KeyData, Token: c.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: "test"}},
		CurrentContext: "test",
	}, kubeconfig))
	for level, want := range map[string][]string{
		"debug": {"DEBUG", "INFO"},
		"info":  {"INFO"},
		"warn":  nil,
		"error": nil,
	} {
		t.Run(level, func(t *testing.T) {
			web, health, store := freePort(t), freePort(t), freePort(t)
			log := logOf(t, func(ctx context.Context) error {
				cmd := serverCommand()
				cmd.SetArgs([]string{
					"--kubeconfig=" + kubeconfig, "--namespace=" + w.Namespace, "--bucket=file://" + t.TempDir(),
					"--cache=" + t.TempDir(),
					"--listen=" + store, "--server-url=https://" + store, "--web-listen=" + web,
					"--health-address=" + health,
					"--publish-endpoint=false", "--client-certificates=false", "--provider-mirror=false",
					"--log-level=" + level,
				})
				cmd.SetOut(io.Discard)
				return cmd.ExecuteContext(ctx)
			}, func() {
				await(t, "http://"+health+"/readyz")
				answer, err := http.Post("http://"+web+"/hooks/unknown/unknown", "application/json",
					strings.NewReader("{}"))
				apiserver.Must(t, err)
				_ = answer.Body.Close()
			})
			var got []string
			for _, one := range []string{"DEBUG", "INFO"} {
				if strings.Contains(log, "level="+one+" ") {
					got = append(got, one)
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("-want +got:\n%s\n%s", diff, log)
			}
			if rejected := strings.Contains(log, `msg="webhook refused"`); rejected != (level == "debug") {
				t.Errorf("the webhook is logged: %v\n%s", rejected, log)
			}
		})
	}
}

// logOf is what a process writes to standard error while a function runs.
func logOf(t *testing.T, process func(context.Context) error, do func()) string {
	t.Helper()
	file, err := os.Create(filepath.Join(t.TempDir(), "log"))
	apiserver.Must(t, err)
	stderr := os.Stderr
	os.Stderr = file
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- process(ctx) }()
	do()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("the process: %v", err)
	}
	os.Stderr = stderr
	apiserver.Must(t, file.Close())
	data, err := os.ReadFile(file.Name())
	apiserver.Must(t, err)
	return string(bytes.TrimSpace(data))
}

// await waits until an address answers with OK.
func await(t *testing.T, url string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(50 * time.Millisecond) {
		answer, err := http.Get(url)
		if err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return
			}
		}
		if time.Now().After(end) {
			t.Fatalf("%s does not answer: %v", url, err)
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	address, err := ports.Free(t.Context(), "127.0.0.1")
	apiserver.Must(t, err)
	return address
}
