package runner

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	buckets "github.com/aws/aws-sdk-go-v2/service/s3"

	"cairn.dev/cairn/internal/runnerapi"
)

// shellIn runs a script in a shell of an order's Stack, and gives what it printed and the shell's last report.
func shellIn(t *testing.T, s *testServer, order runnerapi.Order, inputs map[string]string, script string) (string,
	runnerapi.Report) {
	t.Helper()
	order.Kind, order.Operation = runnerapi.OrderShell, "Shell"
	p := startPod(t, s, inputs)
	s.orders <- order
	wait(t, func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		all := s.reports[order.Attempt]
		return len(all) > 0 && strings.HasPrefix(allSteps(all[len(all)-1]), "fetch= init= shell?")
	})
	cmd := enter(p.work, "sh", "-ec", script)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Errorf("%v\n%s", err, &out)
	}
	done := waitDone(t, s, order.Attempt)
	s.orders <- runnerapi.Order{Kind: runnerapi.OrderExit}
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	return out.String(), done
}

// The shell works on the state in its backend, and the copy of Cairn follows. A user can remove a lock there that a
// killed engine left.
func TestShellOfAStackWithAnOwnBackend(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	server, b, inputs := aBucket(t, true)
	order := s.inBackend(1, two, b)
	s.applied(order, inputs)
	order.Attempt = 3
	said, done := shellIn(t, s, order, inputs, "tofu state list; tofu state mv terraform_data.a terraform_data.c")
	if steps(done) != "fetch= init= shell= state=" || done.Done.Failure != nil || s.lock != nil ||
		!strings.Contains(said, "terraform_data.b") {
		t.Errorf("%s %+v %s\n%s", steps(done), done.Done.Failure, s.lock, said)
	}
	there := strings.TrimSuffix(tofu(t, plain(t, server, two), "state", "pull"), "\n")
	if got := strings.Join(s.resources(), " "); got != "b c" || there != string(s.state) {
		t.Errorf("%s\n%s\n%s", got, there, s.state)
	}

	const lock = `{"ID":"0c9d8a1e-0000-0000-0000-000000000000","Operation":"OperationTypeApply","Info":"","Who":"pod@gone","Version":"1.12.6","Created":"2026-01-01T00:00:00Z","Path":"states/net.tfstate"}`
	_, err := objects(server).PutObject(t.Context(), &buckets.PutObjectInput{Bucket: aws.String("states"),
		Key: aws.String("net.tfstate.tflock"), Body: strings.NewReader(lock)})
	if err != nil {
		t.Fatal(err)
	}
	order.Attempt = 4
	if _, done = shellIn(t, s, order, inputs,
		"tofu force-unlock -force 0c9d8a1e-0000-0000-0000-000000000000"); done.Done.Failure != nil {
		t.Errorf("%+v", done.Done.Failure)
	}
	order.Attempt = 5
	s.applied(order, inputs)
	if got := strings.Join(s.resources(), " "); got != "a b" {
		t.Errorf("after the lock was removed: %s", got)
	}
}

// A state that the backend rejected, and that a user has put there from the file that the engine left, is not lost: a
// rescue of the file would not follow the current version, and need a user to merge the two.
func TestStateThatAShellPutIntoItsBackendIsNotRescued(t *testing.T) {
	t.Parallel()
	const apply = "! tofu apply -auto-approve -no-color && "
	for name, test := range map[string]struct {
		script  string
		rescued bool
	}{
		"put back": {apply + "tofu state push errored.tfstate", false},
		"lost":     {apply + "test -e errored.tfstate", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var state []byte
			writes := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost {
					if writes++; writes == 2 {
						w.WriteHeader(http.StatusConflict)
						return
					}
					state, _ = io.ReadAll(r.Body)
				}
				if state == nil {
					w.WriteHeader(http.StatusNotFound)
				}
				w.Write(state)
			}))
			t.Cleanup(server.Close)
			s := newTestServer(t)
			b := &runnerapi.Backend{Type: "http",
				Config: map[string]json.RawMessage{"address": json.RawMessage(`"` + server.URL + `"`)}}
			order := s.inBackend(1, two, b)
			s.applied(order, nil)
			order.Attempt, order.Source = 3, s.put(file("main.tf", two+`resource "terraform_data" "c" {}`))
			said, done := shellIn(t, s, order, nil, test.script)
			if (s.rescued != nil) != test.rescued || done.Done.Failure != nil ||
				!test.rescued && strings.Join(s.resources(), " ") != "a b c" {
				t.Errorf("rescued %s, %v, %s %+v\n%s", s.rescued, s.resources(), steps(done), done.Done.Failure, said)
			}
		})
	}
}
