package runner

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/internal/engine/providers"
	"cairn.dev/cairn/internal/runnerapi"
)

// waitForMessage waits until a report has a message for a step.
func (s *testServer) waitForMessage(step, message string) {
	s.t.Helper()
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
		s.mu.Lock()
		for _, report := range s.reports[1] {
			for _, one := range report.Steps {
				if one.Name == step && one.State == "Running" && one.Message == message {
					s.mu.Unlock()
					return
				}
			}
		}
		s.mu.Unlock()
	}
	s.t.Errorf("step %s does not say %q", step, message)
}

// The message of the step and the log report the progress.
func TestDownloadOfAnEngineIsReported(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.keep("OpenTofu", "tofu", "1.12.6")
	s.downloads = []runnerapi.Download{
		{What: "the list of versions of OpenTofu", From: "https://get.example.com/api.json"},
		{What: "OpenTofu 1.12.6", From: "https://get.example.com/tofu.zip", Received: 12_340_000, Total: 87_000_000},
	}
	want := []string{
		"downloads the list of versions of OpenTofu from https://get.example.com/api.json",
		"downloads OpenTofu 1.12.6 from https://get.example.com/tofu.zip: 12.3 MB of 87.0 MB",
	}
	asked := 0
	s.refuse = func(r *http.Request) int {
		if r.URL.Path == "/v1/engines/OpenTofu" {
			if r.URL.Query().Get("wait") != "2s" {
				t.Errorf("the request is %s", r.URL)
			}
			if asked++; asked > 1 {
				s.waitForMessage("engine", want[asked-2])
			}
		}
		return 0
	}
	p := startPod(t, s, nil, empty)
	s.orders <- s.plan(1, s.put(file("main.tf", two)))
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	report := s.done(1)
	if report.Done.Failure != nil || asked != 3 || report.Steps[1].Message != "OpenTofu 1.12.6" {
		t.Errorf("%d requests, %+v %+v", asked, report.Done.Failure, report.Steps)
	}
	for _, line := range want {
		if !strings.Contains(string(s.logs[1]), line+"\n") {
			t.Errorf("the log has no %q:\n%s", line, s.logs[1])
		}
	}
}

// The source is named at once, and the attempt fails soon: the failure may be transient.
func TestUnreachableEngineSourceIsReported(t *testing.T) {
	t.Parallel()
	s := newTestServer(t)
	s.keep("OpenTofu", "tofu", "1.12.6")
	const away = "the releases cannot be reached: https://get.example.com: i/o timeout; name a mirror"
	s.downloads = []runnerapi.Download{{What: "OpenTofu", Unreachable: away}}
	p := startPod(t, s, nil, empty)
	order := s.plan(1, s.put(file("main.tf", two)))
	order.Patience = time.Second
	began := time.Now()
	s.orders <- order
	close(s.orders)
	if err := p.wait(); err != nil {
		t.Fatal(err)
	}
	report := s.done(1)
	if f := report.Done.Failure; steps(report) != "fetch= engine!" || f.Class != "Transient" ||
		f.Message != "there is no program tofu in this image; "+away {
		t.Errorf("%s %+v", steps(report), f)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %s", took)
	}
	if !strings.Contains(string(s.logs[1]), away+"\n") {
		t.Errorf("%s", s.logs[1])
	}
}

// The progress is reported while the engine waits, and a registry that does not answer is named.
func TestDownloadOfAProviderIsReported(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		suffix string
		answer runnerapi.Download
		says   string
		failed string
	}{
		"an archive": {
			".zip", runnerapi.Download{What: timeHost + "/hashicorp/time 0.14.2", From: "https://r/time.zip",
				Received: 1_000_000, Total: 9_500_000},
			"downloads " + timeHost + "/hashicorp/time 0.14.2 from https://r/time.zip: 1.0 MB of 9.5 MB", "",
		},
		"a registry that is away": {
			"index.json", runnerapi.Download{What: "the list",
				Unreachable: "ask https://registry.example.com: i/o timeout"},
			"ask https://registry.example.com: i/o timeout", "ask https://registry.example.com: i/o timeout",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestServer(t)
			s.mirror(newMirror(t, newTimeRegistry(t), providers.Options{}))
			next, asked := s.server.Config.Handler, 0
			s.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.HasPrefix(r.URL.Path, "/v1/providers/") && strings.HasSuffix(r.URL.Path, test.suffix) {
					if asked++; asked == 1 || test.failed != "" {
						w.WriteHeader(http.StatusAccepted)
						_ = json.NewEncoder(w).Encode(test.answer)
						return
					}
					s.waitForMessage("init", test.says)
				}
				next.ServeHTTP(w, r)
			})
			run(t, s, nil, s.planProviders(1, file("main.tf", clock())))
			report := s.done(1)
			if !strings.Contains(string(s.logs[1]), test.says+"\n") {
				t.Errorf("the log has no %q:\n%s", test.says, s.logs[1])
			}
			if f := report.Done.Failure; (f == nil) != (test.failed == "") ||
				f != nil && !strings.Contains(f.Message, test.failed) {
				t.Errorf("%s %+v", steps(report), f)
			}
		})
	}
}
