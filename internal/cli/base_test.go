package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/userapi"
)

// quiet is a session whose output can be read, with nobody at a terminal.
func quiet() (s *session, out, errOut *bytes.Buffer) {
	out, errOut = &bytes.Buffer{}, &bytes.Buffer{}
	return &session{
		IOStreams: genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: errOut},
		flags:     connectionFlags(), program: "cairn", now: time.Now,
	}, out, errOut
}

func TestExitCodes(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		code int
		says string
	}{
		"what went well says nothing":              {nil, 0, ""},
		"any error is a failure":                   {errors.New("no"), 1, "cairn: no\n"},
		"changes that wait are no error":           {exitError{code: exitChanges}, 2, ""},
		"an exit code may come with an error":      {exitError{exitInterrupted, errors.New("goes on")}, 130, "cairn: goes on\n"},
		"what it quotes does not steer a terminal": {errors.New("Stack a\x1b[2J\u202e:\n  no"), 1, "cairn: Stack a\ufffd[2J\ufffd:\n  no\n"},
		"a wrapped one keeps code and what it is":  {fmt.Errorf("apply: %w", exitError{exitChanges, errors.New("waits")}), 2, "cairn: apply: waits\n"},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if code := exitCode(&out, "cairn", tt.err); code != tt.code {
				t.Errorf("code %d, want %d", code, tt.code)
			}
			if diff := cmp.Diff(tt.says, out.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A script that mistypes it would else take the help for a state.
func TestACommandThatIsNoneIsRefused(t *testing.T) {
	for line, want := range map[string]string{
		"state pul net":            `unknown command "pul" for "cairn state": did you mean pull, push?`,
		"state -n a everything":    `unknown command "everything" for "cairn state": see cairn state --help`,
		"state remote --stack net": "unknown flag: --stack",
		"sttae":                    `unknown command "sttae" for "cairn"`,
		"state":                    "",
	} {
		s, out, _ := quiet()
		cmd := root(s)
		cmd.SetArgs(strings.Fields(line))
		switch err := cmd.Execute(); {
		case want == "" && (err != nil || !strings.Contains(out.String(), "Usage:")):
			t.Errorf("%s: %v, and it says %s", line, err, out)
		case want != "" && (err == nil || !strings.HasPrefix(err.Error(), want) || out.Len() > 0):
			t.Errorf("%s: %v, and it says %s", line, err, out)
		}
	}
}

func TestAPluginOfKubectlIsCalledThat(t *testing.T) {
	for argv0, want := range map[string]string{
		"cairn": "cairn", "/usr/bin/kubectl-cairn": "kubectl cairn", "kubectl-cairn.exe": "kubectl cairn", "./kubectl-cairn-2": "cairn",
	} {
		if got := programName(argv0); got != want {
			t.Errorf("%s: %q, want %q", argv0, got, want)
		}
	}
	s, out, _ := quiet()
	s.program = "kubectl cairn"
	cmd := root(s)
	cmd.SetArgs([]string{"plan", "--help"})
	if err := cmd.Execute(); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"kubectl cairn plan STACK", "  kubectl cairn plan net --raw"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
}

// TestEveryCommandHelps: each says what it is for, and those for people give examples and complete names.
func TestEveryCommandHelps(t *testing.T) {
	s, _, _ := quiet()
	for _, c := range root(s).Commands() {
		if c.Short == "" {
			t.Errorf("%s says nothing", c.Name())
		}
		if c.GroupID != groupStacks || c.HasSubCommands() {
			continue
		}
		if c.Example == "" {
			t.Errorf("%s has no example", c.Name())
		}
		if c.ValidArgsFunction == nil {
			t.Errorf("%s completes nothing", c.Name())
		}
	}
}

func TestNamesThatMayHaveBeenMeant(t *testing.T) {
	names := []string{"database", "net", "net-1", "net-2", "network", "vpc"}
	for name, want := range map[string][]string{
		"nett":     {"net"},
		"databas":  {"database"},
		"netw":     {"net", "network"},
		"ne":       {"net", "net-1", "net-2"},
		"frontend": nil,
	} {
		if diff := cmp.Diff(want, similar(name, names)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestKindsBeforeNames(t *testing.T) {
	for arg, want := range map[string][2]string{
		"net": {"", "net"}, "stack/net": {"stack", "net"}, "Run/net-7": {"run", "net-7"}, "runs.cairn.dev/net-7": {"run", "net-7"}, "pod/x": {"", "pod/x"},
	} {
		kind, name := splitKind(arg)
		if diff := cmp.Diff(want, [2]string{kind, name}); diff != "" {
			t.Errorf("%s: %s", arg, diff)
		}
	}
}

func TestTheLogOfOneStep(t *testing.T) {
	const log = "before\n── init ──\nInitializing\n── init ── not a step\n── plan ──\nplanned\n── after-plan ──\nhook\n── init ──\nagain, cut"
	for step, want := range map[string]string{
		"init":       "── init ──\nInitializing\n── init ── not a step\n── init ──\nagain, cut",
		"plan":       "── plan ──\nplanned\n",
		"after-plan": "── after-plan ──\nhook\n",
		"apply":      "",
	} {
		for _, size := range []int{1, 7, len(log)} {
			var out bytes.Buffer
			only := &stepOnly{out: &out, step: step}
			if _, err := io.CopyBuffer(only, struct{ io.Reader }{strings.NewReader(log)}, make([]byte, size)); err != nil {
				t.Fatal(err)
			}
			only.flush()
			if diff := cmp.Diff(want, out.String()); diff != "" {
				t.Errorf("%s by %d: %s", step, size, diff)
			}
		}
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	s, _, _ := quiet()
	t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "none"))
	said := func(code int, message string) error { return &userapi.Error{Code: code, Message: message} }
	gone := func() error {
		server := httptest.NewServer(http.NotFoundHandler())
		server.Close()
		_, err := http.Get(server.URL)
		return err
	}()
	for name, tt := range map[string]struct{ err, want string }{
		"what an admission policy says is said alone": {s.explain(&apierrors.StatusError{ErrStatus: metav1.Status{
			Reason: metav1.StatusReasonForbidden, Code: 403, Message: "runs.cairn.dev \"net-1\" is forbidden: ValidatingAdmissionPolicy 'x' with binding 'x' denied request: by has to be you",
		}}).Error(), "by has to be you"},
		"no right is said with the verb": {s.explain(apierrors.NewForbidden(v1alpha1.GroupVersion.WithResource("stacks").GroupResource(), "net",
			errors.New(`User "bob" cannot patch resource "stacks"`))).Error(), "cannot patch resource"},
		"an unknown person logs in":         {s.explain(apierrors.NewUnauthorized("who")).Error(), "log in"},
		"a cluster that is away is named":   {s.explain(gone).Error(), "does not answer"},
		"a server that is away is named":    {s.explainServer(gone).Error(), "--server"},
		"the server's refusal is shown":     {s.explainServer(said(409, "the lock is held")).Error(), "the lock is held"},
		"the server's verb is shown":        {s.explainServer(said(403, "needs get on runs/plan")).Error(), "needs get on runs/plan"},
		"who the server does not know":      {s.explainServer(said(401, "no")).Error(), "log in"},
		"another error stays as it is":      {s.explain(io.ErrUnexpectedEOF).Error(), "unexpected EOF"},
		"a format that is none names those": {checkFormat("xml", formatJSON, formatYAML).Error(), "json, yaml"},
	} {
		if !strings.Contains(tt.err, tt.want) {
			t.Errorf("%s: %q has no %q", name, tt.err, tt.want)
		}
	}
	if _, err := s.kubernetes(); err == nil {
		if _, _, err = s.stackOrRun(t.Context(), "net"); err == nil || err.Error() != noKubeconfig {
			t.Errorf("without a kubeconfig: %v", err)
		}
	} else if err.Error() != noKubeconfig {
		t.Errorf("without a kubeconfig: %v", err)
	}
}

// TestCredentialsGoToHTTPSOnly: what is sent to the server opens the cluster.
func TestCredentialsGoToHTTPSOnly(t *testing.T) {
	s, _, _ := quiet()
	for _, address := range []string{"http://cairn", "cairn:8443", "https://", "file:///x", "https://a b"} {
		s.url = address
		if _, _, err := s.address(t.Context()); err == nil || !strings.Contains(err.Error(), "no https:// URL") {
			t.Errorf("%s: %v", address, err)
		}
	}
	s.url, s.ca = "https://cairn/", filepath.Join(t.TempDir(), "ca")
	if err := os.WriteFile(s.ca, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.address(t.Context()); err == nil || !strings.Contains(err.Error(), "no certificate") {
		t.Error(err)
	}
}

// TestTheServerIsTrustedByItsOwnAuthorities, whatever the kubeconfig says of the API server.
func TestTheServerIsTrustedByItsOwnAuthorities(t *testing.T) {
	kube := &rest.Config{
		Host: "https://kubernetes", BearerToken: "token", Impersonate: rest.ImpersonationConfig{UserName: "bob"},
		TLSClientConfig: rest.TLSClientConfig{Insecure: true, ServerName: "kubernetes", CAData: []byte("kubernetes"), CertData: []byte("cert"), KeyData: []byte("key")},
	}
	got := serverConfig(kube, "https://cairn", []byte("cairn"))
	if diff := cmp.Diff(rest.TLSClientConfig{CAData: []byte("cairn"), CertData: []byte("cert"), KeyData: []byte("key")}, got.TLSClientConfig); diff != "" {
		t.Error(diff)
	}
	if got.Host != "https://cairn" || got.BearerToken != "token" || got.Impersonate.UserName != "bob" {
		t.Errorf("%v", got)
	}
}

func TestAsking(t *testing.T) {
	for name, tt := range map[string]struct {
		answer string
		tty    bool
		want   bool
	}{
		"the answer that is wanted":    {"yes\n", true, true},
		"spaces around it":             {" yes \n", true, true},
		"another one":                  {"y\n", true, false},
		"none":                         {"", true, false},
		"nobody is there to be asked":  {"yes\n", false, false},
		"an answer without a line end": {"yes", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, _ := quiet()
			s.tty, s.In = tt.tty, strings.NewReader(tt.answer)
			got, err := s.ask(t.Context(), "Really?", "yes")
			if err != nil || got != tt.want {
				t.Errorf("%v, %v", got, err)
			}
		})
	}
	t.Run("an interrupt ends it", func(t *testing.T) {
		s, _, _ := quiet()
		reader, writer := io.Pipe()
		defer writer.Close()
		s.tty, s.In = true, reader
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if ok, err := s.ask(ctx, "Really?", "yes"); ok || !errors.Is(err, context.Canceled) {
			t.Errorf("%v, %v", ok, err)
		}
	})
}

func TestProgress(t *testing.T) {
	s, _, errOut := quiet()
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	s.now = func() time.Time { return now }
	stack := &v1alpha1.Stack{ObjectMeta: metav1.ObjectMeta{Name: "net"}}
	run := &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Name: "net-1"}, Spec: v1alpha1.RunSpec{Operation: v1alpha1.OperationApply, Cause: v1alpha1.Cause{Message: "new"}}}
	run.Status.Phase = v1alpha1.PhasePlanning
	run.Status.Attempts = []v1alpha1.Attempt{{Number: 1, Phase: v1alpha1.AttemptPlan, Pod: "net-1-plan-1", Steps: []v1alpha1.Step{
		{Name: "init", State: v1alpha1.StepRunning, StartedAt: &metav1.MicroTime{Time: now.Add(-3 * time.Second)}},
	}}}
	t.Run("a request is pending in silence, unless it takes long", func(t *testing.T) {
		p := s.progress()
		p.pending(stack)
		if errOut.Len() > 0 {
			t.Errorf("%q", errOut)
		}
		now = now.Add(patience)
		p.draw()
		p.draw()
		if diff := cmp.Diff("Stack net: not reconciled yet\n", errOut.String()); diff != "" {
			t.Error(diff)
		}
		now = now.Add(-patience)
	})
	t.Run("line by line, each thing once, also when it is followed twice", func(t *testing.T) {
		errOut.Reset()
		for range 2 {
			p := s.progress()
			p.run(run)
			p.run(run)
			p.end()
		}
		if diff := cmp.Diff("Run net-1 (Apply): new\nplan in pod net-1-plan-1\n", errOut.String()); diff != "" {
			t.Error(diff)
		}
	})
	t.Run("on a terminal one line that is drawn over and goes in the end", func(t *testing.T) {
		errOut.Reset()
		s.redraw = true
		p := s.progress()
		p.run(run)
		now = now.Add(time.Second)
		p.draw()
		p.end()
		want := "\r\x1b[?7lRun net-1 plans: init 3.0s\x1b[K\x1b[?7h" + "\r\x1b[?7lRun net-1 plans: init 4.0s\x1b[K\x1b[?7h" + "\r\x1b[K"
		if diff := cmp.Diff(want, errOut.String()); diff != "" {
			t.Error(diff)
		}
	})
}

// TestAnEnginesTextDoesNotSteerATerminal, whether colors are wanted or not.
func TestAnEnginesTextDoesNotSteerATerminal(t *testing.T) {
	const text = "Plan: 1 to add\n  + name = \"\x1b]0;you\a\"\n\xc2\x9b2Jlast"
	for name, tt := range map[string]struct {
		color, screen bool
		want          string
	}{
		"a terminal without color": {false, true, "Plan: 1 to add\n  + name = \"�]0;you�\"\n�2Jlast"},
		"a terminal with color":    {true, true, "\x1b[1mPlan: 1 to add\x1b[0m\n  \x1b[32m+\x1b[0m name = \"\\u001b]0;you\\u0007\"\n\\u009b2Jlast"},
		"a pipe gets it as it is":  {false, false, text},
	} {
		s, out, _ := quiet()
		s.color, s.screen = tt.color, tt.screen
		if err := s.writeRaw(strings.NewReader(text)); err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff(tt.want, out.String()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestConsentIsForWhatWasAskedFor, and for no Run that came between.
func TestConsentIsForWhatWasAskedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		asked, made v1alpha1.Operation
		cause       v1alpha1.CauseType
		apply       v1alpha1.ApplyPolicy
		want        bool
	}{
		"the Run that was asked for":              {v1alpha1.OperationApply, v1alpha1.OperationApply, v1alpha1.CauseManual, "", true},
		"a destroy that was asked for":            {v1alpha1.OperationDestroy, v1alpha1.OperationDestroy, v1alpha1.CauseManual, "", true},
		"a plan where nothing is applied":         {v1alpha1.OperationApply, v1alpha1.OperationPlan, v1alpha1.CauseManual, v1alpha1.ApplyNever, true},
		"a plan where it is":                      {v1alpha1.OperationApply, v1alpha1.OperationPlan, v1alpha1.CauseManual, v1alpha1.ApplyManual, false},
		"a Run for another reason":                {v1alpha1.OperationApply, v1alpha1.OperationApply, v1alpha1.CauseSpec, "", false},
		"a destroy in place of an apply":          {v1alpha1.OperationApply, v1alpha1.OperationDestroy, v1alpha1.CauseManual, "", false},
		"a destroy since the Stack was deleted":   {v1alpha1.OperationDestroy, v1alpha1.OperationDestroy, v1alpha1.CauseDeletion, "", false},
		"an apply in place of a plan to be shown": {v1alpha1.OperationPlan, v1alpha1.OperationApply, v1alpha1.CauseManual, "", false},
	} {
		made := &v1alpha1.Run{Spec: v1alpha1.RunSpec{Operation: tt.made, Cause: v1alpha1.Cause{Type: tt.cause}}}
		if got := answers(made, &v1alpha1.Stack{Spec: v1alpha1.StackSpec{Apply: tt.apply}}, tt.asked); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestWhoIsOneTooManyWaitsLongerEachTime(t *testing.T) {
	full := fmt.Errorf("logs: %w", &userapi.Error{Code: http.StatusTooManyRequests})
	wait := askAgain
	for _, want := range []time.Duration{2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, longestWait, longestWait} {
		if wait = waitAfter(full, wait); wait != want {
			t.Errorf("%s, want %s", wait, want)
		}
	}
	if wait = waitAfter(&userapi.Error{Code: http.StatusServiceUnavailable}, wait); wait != askAgain {
		t.Errorf("after another error: %s", wait)
	}
}
