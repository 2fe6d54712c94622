package runner

import (
	"encoding/base64"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/internal/runnerapi"
)

const pushed = "sha256:5ae2c3d1f9a1b2c3d4e5f60718293a4b5c6d7e8f9a0b1c2d3e4f5a6b7c8d9e0f"

func buildOf(builder string) runnerapi.Build {
	return runnerapi.Build{Builder: builder, Image: "registry.example.com/acme/terraform", Tag: "cairn-0123",
		Dockerfile: "images/Dockerfile", Context: "images"}
}

// dockerConfig is what the Secret to push with holds.
func dockerConfig(password string) map[string]string {
	return map[string]string{"push/config.json": fmt.Sprintf(`{"auths":{"registry.example.com":{"auth":%q}}}`,
		base64.StdEncoding.EncodeToString([]byte("pusher:"+password)))}
}

// building runs an order to build with a script in the place of buildah, and gives its last report and its log.
func building(t *testing.T, script string, inputs map[string]string, change ...func(*testServer, *runnerapi.Order)) (
	runnerapi.Report, string) {
	t.Helper()
	s := newTestServer(t)
	programs := t.TempDir()
	executable(t, filepath.Join(programs, "buildah"), "#!/bin/sh\n"+script)
	build := buildOf("Buildah")
	build.PushDir, build.PushSecret = "push", "registry-push"
	order := s.plan(1, s.put(file("images/Dockerfile", "FROM scratch\n"), file("images/greeting", "hello\n")))
	order.Kind, order.Build = runnerapi.OrderBuild, &build
	for _, c := range change {
		c(s, &order)
	}
	p := startPod(t, s, inputs, "PATH="+programs+":/usr/bin:/bin")
	s.orders <- order
	s.orders <- runnerapi.Order{Kind: runnerapi.OrderExit}
	if err := p.wait(); err != nil {
		t.Fatalf("%v\n%s", err, p.output)
	}
	s.mu.Lock()
	for _, request := range s.requests {
		if strings.HasSuffix(request, "/v1/state") || strings.HasSuffix(request, "/v1/journal") {
			t.Errorf("a build asks for %s", request)
		}
	}
	s.mu.Unlock()
	report := s.done(1)
	return report, lastLog(s, 1) + p.output.String()
}

// pushes is a script that is called twice: to build, and to push.
const pushes = `
case " $* " in
*" build "*) for last; do :; done; echo "STEP 1: $(cat "$last/Dockerfile")"; cat "$last/greeting" ;;
*" push "*)
	while [ "$1" != --digestfile ]; do shift; done
	echo ` + pushed + ` >"$2" ;;
esac
`

func TestImageIsBuilt(t *testing.T) {
	t.Parallel()
	report, log := building(t, pushes+`cat "$DOCKER_CONFIG/config.json"; echo; env | grep -c '^CAIRN_'; true`,
		dockerConfig("a-password-to-push"))
	if allSteps(report) != "fetch= build=" || report.Done.Failure != nil || report.Done.Image != pushed {
		t.Fatalf("%s %+v\n%s", allSteps(report), report.Done, log)
	}
	if got := step(t, report, "build"); got.Message != "registry.example.com/acme/terraform@"+pushed ||
		*got.ExitCode != 0 {
		t.Errorf("%+v", got)
	}
	inOrder(t, log, "── fetch ──", "── build ──", "STEP 1: FROM scratch", "hello")
	if !strings.Contains(log, "\n0\n") {
		t.Errorf("the builder has variables of Cairn's:\n%s", log)
	}
}

// They are redacted in whichever form a builder prints them.
func TestCredentialsToPushAreSecret(t *testing.T) {
	t.Parallel()
	const password = "a-password-to-push"
	auth := base64.StdEncoding.EncodeToString([]byte("pusher:" + password))
	report, log := building(t, `echo "with `+password+` and `+auth+`"; echo "denied for `+password+`" >&2; exit 1`,
		dockerConfig(password))
	if report.Done.Failure == nil || report.Done.Image != "" {
		t.Fatalf("%+v", report.Done)
	}
	for _, secret := range []string{password, auth} {
		if strings.Contains(log, secret) || strings.Contains(report.Done.Failure.Message, secret) {
			t.Errorf("%s is in the log or the report:\n%s\n%s", secret, log, report.Done.Failure.Message)
		}
	}
}

func TestFailedBuild(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		script  string
		inputs  map[string]string
		change  func(*testServer, *runnerapi.Order)
		class   string
		message string
		steps   string
	}{
		"a step of the Dockerfile": {
			script: `echo 'STEP 2/2: RUN no-such-program'; echo '/bin/sh: 1: no-such-program: not found' >&2; echo 'subprocess exited with status 127' >&2; echo 'subprocess exited with status 127' >&2; echo >&2
echo 'Error: building at STEP "RUN no-such-program": exit status 127' >&2; exit 127`,
			class: "ConfigurationError", steps: "fetch= build!",
			message: `buildah ended with exit code 127: STEP 2/2: RUN no-such-program; /bin/sh: 1: no-such-program: not found; Error: building at STEP "RUN no-such-program": exit status 127`,
		},
		"a registry that is away": {
			script: `echo 'Error: pinging container registry: Get "https://registry.example.com/v2/": dial tcp 192.0.2.1:443: i/o timeout' >&2; exit 125`,
			class:  "Transient", steps: "fetch= build!", message: "buildah ended with exit code 125: Error: pinging",
		},
		"killed": {
			script: `kill -KILL $$`, class: "Transient", steps: "fetch= build!",
			message: "buildah was killed (SIGKILL)",
		},
		"nothing said": {
			script: `exit 3`, class: "ConfigurationError", steps: "fetch= build!",
			message: "buildah ended with exit code 3 and printed nothing",
		},
		"no digest": {
			script: `true`, class: "Transient", steps: "fetch= build!",
			message: "Buildah pushed an image and did not report its digest",
		},
		"no credentials": {
			script: `exit 0`, inputs: map[string]string{"other/x": ""}, class: "ConfigurationError",
			steps: "fetch= build!",
			message: "Secret registry-push was not found, or has no key .dockerconfigjson: it has to be of type " +
				"kubernetes.io/dockerconfigjson",
		},
		"credentials that are none": {
			script: `exit 0`, inputs: map[string]string{"push/config.json": "x"}, class: "ConfigurationError",
			steps: "fetch= build!", message: "Secret registry-push: .dockerconfigjson is not what docker login writes",
		},
		"no Dockerfile": {
			script: `exit 0`, change: func(_ *testServer, o *runnerapi.Order) {
				o.Build.Dockerfile = "images/Other"
			}, class: "ConfigurationError", steps: "fetch! build-", message: "images/Other is not in the code",
		},
		"no such builder": {
			script: `exit 0`, change: func(_ *testServer, o *runnerapi.Order) {
				o.Build.Builder = "BuildKit"
			}, class: "ConfigurationError", steps: "fetch= build!",
			message: "the builder's image has no buildctl-daemonless.sh: name one that has BuildKit in " +
				"spec.runner.build.builderImage",
		},
		"canceled": {
			script: `echo begun; sleep 60 & wait`, change: func(s *testServer, _ *runnerapi.Order) {
				s.cancels <- "canceled by alice"
			}, class: "Canceled", message: "canceled by alice",
		},
		"no time left": {
			script: `sleep 60 & wait`, change: func(_ *testServer, o *runnerapi.Order) {
				o.Timeout = time.Second
			}, class: "Transient", message: "timed out after 1s",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.inputs == nil {
				tt.inputs = dockerConfig("a-password-to-push")
			}
			if tt.change == nil {
				tt.change = func(*testServer, *runnerapi.Order) {}
			}
			report, log := building(t, tt.script, tt.inputs, tt.change)
			failure := report.Done.Failure
			if failure == nil || failure.Class != tt.class || !strings.HasPrefix(failure.Message, tt.message) ||
				report.Done.Image != "" {
				t.Fatalf("%+v %+v\n%s", report.Done, failure, log)
			}
			if tt.steps != "" && allSteps(report) != tt.steps {
				t.Errorf("%s, want %s", allSteps(report), tt.steps)
			}
		})
	}
}
