package command

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/dev/ports"
)

// TestHooksAreServed starts the command with the arguments of the chart, and addresses of this machine.
func TestHooksAreServed(t *testing.T) {
	hooks, about := address(t), address(t)
	var log bytes.Buffer
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	cmd := hooksCommand()
	cmd.SetErr(&log)
	cmd.SetArgs(append(chartArgs(t)[1:], "--listen="+hooks, "--metrics-address="+about))
	go func() { ended <- cmd.ExecuteContext(ctx) }()

	await(t, "http://"+about+"/healthz")
	body, err := os.ReadFile("../metacontroller/testdata/recorded/composite/create.json")
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Post("http://"+hooks+"/sync?apply=Automatic", "application/json", bytes.NewReader(body))
	if text := read(t, answer, err); !strings.Contains(text, `"apply":"Automatic"`) {
		t.Errorf("the hook responds %s", text)
	}
	answer, err = http.Get("http://" + about + "/metrics")
	text := read(t, answer, err)
	for _, want := range []string{
		`cairn_metacontroller_hooks_total{hook="composite",result="answered"} 1`, "go_goroutines ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if strings.Count(log.String(), "listening") != 2 {
		t.Errorf("it logs %s", &log)
	}
}

func TestHooksEndWhenAnAddressIsInUse(t *testing.T) {
	used := address(t)
	cmd := hooksCommand()
	cmd.SetErr(io.Discard)
	cmd.SetArgs([]string{"--listen=" + used, "--metrics-address=" + used})
	if err := cmd.ExecuteContext(t.Context()); err == nil || !strings.Contains(err.Error(), "listen on "+used) {
		t.Errorf("got %v", err)
	}
}

// chartArgs returns the arguments with which the chart starts cairn-migrate.
func chartArgs(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../charts/cairn/testdata/everything.golden")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(text), "---\n") {
		var deployment appsv1.Deployment
		if !strings.Contains(document, "\nkind: Deployment\n") || !strings.Contains(document, "/cairn-migrate]") {
			continue
		}
		if err := yaml.UnmarshalStrict([]byte(document), &deployment); err != nil {
			t.Fatal(err)
		}
		return deployment.Spec.Template.Spec.Containers[0].Args
	}
	t.Fatal("the chart does not start cairn-migrate")
	return nil
}

func address(t *testing.T) string {
	t.Helper()
	free, err := ports.Free(t.Context(), "127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	return free
}

// await waits until an address responds.
func await(t *testing.T, url string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		answer, err := http.Get(url)
		if err == nil {
			_ = answer.Body.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// read returns the body of a response with status 200.
func read(t *testing.T, answer *http.Response, err error) string {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("%s: %v", answer.Status, err)
	}
	return string(text)
}
