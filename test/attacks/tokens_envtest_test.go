//go:build envtest

package attacks

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/devcluster"
)

// loot is what a hook copied out of its pod.
type loot struct {
	server, token, ca string
}

// steal is a hook that copies all that it can read into a folder, and waits.
const steal = `#!/bin/sh
argument() { tr '\0' '\n' <"/proc/$PPID/cmdline" | sed -n "s/^--$1=//p"; }
cp "$(argument token)" %[1]s/token
argument server >%[1]s/server
touch %[1]s/stolen
for i in $(seq 600); do [ -e %[1]s/go ] && exit 0; sleep 0.1; done
exit 1
`

// request sends a request with the stolen token, and returns the status, the reason and the text of the response.
func (l loot) request(s story, key, method, path string, body []byte) (int, string, string) {
	s.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(l.ca))
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}}}
	defer web.CloseIdleConnections()
	request, err := http.NewRequestWithContext(s.Context(), method, l.server+path, bytes.NewReader(body))
	must(s.T, err)
	request.Header.Set("Authorization", "Bearer "+l.token)
	request.Header.Set(runnerapi.AttemptHeader, "2")
	if key != "" {
		request.Header.Set(runnerapi.SessionHeader, key)
	}
	answer, err := web.Do(request)
	must(s.T, err)
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	must(s.T, err)
	return answer.StatusCode, answer.Header.Get(runnerapi.ReasonHeader), string(text)
}

// serverCA returns the certificate authority of the server, as each pod has it.
func (s story) serverCA() string {
	s.Helper()
	pods := &corev1.PodList{}
	must(s.T, s.cluster.List(s.Context(), pods, client.InNamespace(s.namespace)))
	for _, pod := range pods.Items {
		for _, e := range pod.Spec.Containers[0].Env {
			if e.Name == "CAIRN_SERVER_CA_PEM" {
				return e.Value
			}
		}
	}
	s.Fatal("no pod has the certificate authority")
	return ""
}

// useless checks that the token alone changes nothing.
func (l loot) useless(s story) {
	s.Helper()
	for _, key := range []string{"", "a key of the attacker"} {
		for _, route := range []string{"POST /v1/steps", "POST /v1/logs?offset=0", "PUT /v1/rescue",
			"GET /v1/order?wait=1ms"} {
			method, path, _ := strings.Cut(route, " ")
			body := []byte(`{"steps":[{"name":"stolen","state":"Succeeded"}],"done":{}}`)
			if code, reason, text := l.request(s, key, method, path, body); code != http.StatusForbidden ||
				reason != runnerapi.ReasonOtherSession {
				s.Errorf("%s with key %q: %d %s %s", route, key, code, reason, text)
			}
		}
	}
}

// A hook copies the token of its pod, and an attacker uses it from elsewhere: while the pod runs, after a restart of
// the server, and after the end of the attempt.
func TestStolenTokenIsRejected(t *testing.T) {
	t.Parallel()
	c := devcluster.Shared(t)

	runStory(t, c, "a hook of an apply sends the token to an attacker", func(s story) {
		dir := s.TempDir()
		net := stack(func(spec *v1alpha1.StackSpec) {
			spec.Apply = v1alpha1.ApplyAutomatic
			spec.Hooks = []v1alpha1.Hook{{Step: "apply", When: v1alpha1.HookBefore, Script: fmt.Sprintf(steal, dir)}}
		})
		s.creates("bob", net)
		s.until("the token is stolen", func(context.Context) (bool, error) {
			_, err := os.Stat(filepath.Join(dir, "stolen"))
			return err == nil, nil
		})
		read := func(name string) string {
			data, err := os.ReadFile(filepath.Join(dir, name))
			must(s.T, err)
			return strings.TrimSpace(string(data))
		}
		stolen := loot{server: read("server"), token: read("token"), ca: s.serverCA()}
		stolen.useless(s)
		must(s.T, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
		run := s.run("net-1", v1alpha1.PhaseSucceeded)
		stolen.useless(s)
		s.until("the attack is recorded on the Run", func(ctx context.Context) (bool, error) {
			all := &eventsv1.EventList{}
			err := c.List(ctx, all, client.InNamespace(s.namespace))
			for _, event := range all.Items {
				if event.Reason == v1alpha1.EventTokenMisused && event.Regarding.UID == run.UID &&
					event.Type == "Warning" {
					return true, err
				}
			}
			return false, err
		})
		for _, a := range run.Status.Attempts {
			for _, step := range a.Steps {
				if step.Name == "stolen" {
					s.Errorf("attempt %d has the step of the attacker", a.Number)
				}
			}
		}
	})
}
