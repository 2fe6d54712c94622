//go:build envtest

package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/cookiejar"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/userapi"
	"cairn.dev/cairn/test/apiserver"
)

// lockedBuffer is output that is read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

// TestWebUIOpensOnThePageOfAnObject signs in with the link of the command, reads a page as its user, and interrupts it.
func TestWebUIOpensOnThePageOfAnObject(t *testing.T) {
	d := newCLIEnv(t)
	d.stack("net")
	d.run("net-7", v1alpha1.PhaseSucceeded)
	d.mux.HandleFunc("GET /api/v1/me", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(userapi.Me{Name: "alice"})
	})
	d.mux.HandleFunc("GET /stacks/", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "page "+r.URL.Path)
	})
	d.mux.HandleFunc("GET /runs/", func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "page "+r.URL.Path)
	})
	d.want(1, "there is no Stack and no Run ne in namespace "+d.Namespace, "", "ui", "ne")
	for arg, want := range map[string]string{
		"net": "page /stacks/" + d.Namespace + "/net", "net-7": "page /runs/" + d.Namespace + "/net-7",
		"run/net-7": "page /runs/" + d.Namespace + "/net-7",
	} {
		ctx, interrupt := context.WithCancel(t.Context())
		s, _, errOut := quiet()
		out := &lockedBuffer{}
		s.Out = out
		cmd := root(s)
		cmd.SetArgs(append([]string{"ui", arg}, d.flags()...))
		ended := make(chan int, 1)
		go func() { ended <- session.ExitCode(errOut, "cairn", cmd.ExecuteContext(ctx)) }()
		d.until(func() bool { return strings.HasSuffix(out.String(), "\n") || len(ended) > 0 })
		link := strings.TrimSpace(out.String())
		jar, err := cookiejar.New(nil)
		apiserver.Must(t, err)
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
		apiserver.Must(t, err)
		answer, err := (&http.Client{Jar: jar, Timeout: 10 * time.Second}).Do(request)
		apiserver.Must(t, err)
		page, err := io.ReadAll(answer.Body)
		apiserver.Must(t, err)
		apiserver.Must(t, answer.Body.Close())
		if string(page) != want {
			t.Errorf("%s leads to %d %q, want %q", arg, answer.StatusCode, page, want)
		}
		interrupt()
		if code := <-ended; code != 0 || !strings.Contains(errOut.String(), "as alice, until Ctrl-C") {
			t.Errorf("%s: exit code %d after Ctrl-C: %s", arg, code, errOut)
		}
	}
}

func TestVersionOfTheServer(t *testing.T) {
	d := newCLIEnv(t)
	d.want(1, "Client: "+version.Version+"\ncairn: the version of the server cannot be read: it is older than "+
		"this program", "", "version")
	d.mux.HandleFunc("GET /api/v1/version", func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(userapi.Build{Version: "v9.8.7"})
	})
	d.want(0, "Client: "+version.Version+"\nServer: v9.8.7\n", "", "version")
	d.server.Close()
	d.want(1, "cannot be read: Cairn's server "+d.server.URL+" does not answer", "", "version")
	d.want(0, version.Version+"\n", "", "version", "--client")
}

// TestFetch checks that a fetch waits for its own result.
func TestFetch(t *testing.T) {
	d := newCLIEnv(t)
	repo := &v1alpha1.Repository{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: "infra"}}
	repo.Spec.URL = "https://git.example.com/infra.git"
	apiserver.Must(t, apiserver.Kube.Create(t.Context(), repo))
	d.want(1, "did not end within 1s: `cairn describe repo/infra` shows why", "", "fetch", "infra", "--timeout=1s")
	answer := func(status metav1.ConditionStatus, reason, message string) {
		d.until(func() bool {
			now := &v1alpha1.Repository{}
			apiserver.Must(t, apiserver.Kube.Get(t.Context(), client.ObjectKeyFromObject(repo), now))
			asked := now.Annotations[v1alpha1.RequestedAtAnnotation]
			if asked == "" || runinfo.Settled(now.Status.LastHandledRequest, asked) ||
				asked == repo.Annotations[v1alpha1.RequestedAtAnnotation] {
				return false
			}
			now.Status.LastHandledRequest = runinfo.Handled(nil, asked, false, time.Now())
			now.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason,
				Message: message, LastTransitionTime: metav1.Now()}}
			return apiserver.Kube.Status().Update(t.Context(), now) == nil
		})
	}
	for _, test := range []struct {
		status          metav1.ConditionStatus
		reason, message string
		code            int
		want            string
	}{
		{metav1.ConditionTrue, "Fetched", "main is 1f3c22a", 0, "Repository infra is fetched: main is 1f3c22a.\n"},
		{metav1.ConditionFalse, "AuthenticationFailed", "the password is wrong", 1,
			"cairn: the Repository infra is not ready: AuthenticationFailed: the password is wrong\n"},
	} {
		apiserver.Must(t, apiserver.Kube.Get(t.Context(), client.ObjectKeyFromObject(repo), repo))
		done := make(chan struct{})
		go func() { defer close(done); answer(test.status, test.reason, test.message) }()
		d.want(test.code, test.want, "", "fetch", "infra")
		<-done
	}
	d.want(1, "there is no Repository infr in namespace "+d.Namespace+": did you mean infra?", "", "fetch", "infr")
	d.want(1, "Repository infra in "+d.Namespace+"  not Ready: AuthenticationFailed", "", "describe", "repo/infra",
		"repo/infr")
	d.want(0, "infra\n", "", "__complete", "fetch", "")
	d.want(0, "repo/infra\n", "", "__complete", "describe", "repo")
	d.allow("bob", "repositories", "get")
	d.until(func() bool {
		_, errOut, _ := d.cairn(t.Context(), "bob", "fetch", "infra")
		return strings.Contains(errOut, "ClusterRole cairn-edit allows it")
	})
}

// TestCompletionOffersWhatTheActionAppliesTo checks each command that applies to some Stacks or Runs only.
func TestCompletionOffersWhatTheActionAppliesTo(t *testing.T) {
	d := newCLIEnv(t)
	waits := d.stack("waits")
	ofWaits := func(r *v1alpha1.RunSpec) { r.Stack.Name = "waits" }
	d.run("waits-1", v1alpha1.PhaseSucceeded, ofWaits)
	d.run("waits-2", v1alpha1.PhaseAwaitingApproval, ofWaits)
	waits.Status.CurrentRun, waits.Status.LastRun = "waits-2", "waits-2"
	apiserver.Must(t, apiserver.Kube.Status().Update(t.Context(), waits))
	failed := d.stack("failed")
	failed.Status.Retry = &v1alpha1.StackRetry{Operation: v1alpha1.OperationApply, Run: "failed-1"}
	apiserver.Must(t, apiserver.Kube.Status().Update(t.Context(), failed))
	quiet := d.stack("quiet")
	quiet.Spec.Suspend, quiet.Spec.DeletionPolicy = true, v1alpha1.DeletionProtect
	apiserver.Must(t, apiserver.Kube.Update(t.Context(), quiet))
	for command, want := range map[string]string{
		"approve": "waits waits-2", "reject": "waits waits-2", "cancel": "waits waits-2", "retry": "failed",
		"suspend": "failed waits",
		"resume":  "quiet", "apply": "failed waits", "destroy": "failed waits",
		"describe": "failed quiet waits waits-1 waits-2",
	} {
		out, _, _ := d.cairn(t.Context(), "", "__complete", command, "")
		words, _, _ := strings.Cut(out, ":")
		if got := strings.Join(strings.Fields(words), " "); got != want {
			t.Errorf("%s completes %q, want %q", command, got, want)
		}
	}
	d.want(0, "waits\n", "", "__complete", "suspend", "failed", "") // a second name
}

// TestCheck checks a real cluster: its CRDs are of no Helm release, and it has neither nodes nor a StorageClass.
func TestCheck(t *testing.T) {
	d := newCLIEnv(t)
	for _, line := range []string{
		`OK +Kubernetes +v1\.\d+`, `OK +permissions +you have all`, `error +CRDs +Cairn's are installed without Helm`,
		`warning +nodes +none of 0 is ready`, `error +storage +there is no StorageClass\n +-> create one`,
		`OK +webhooks`,
		`cairn: the cluster is not ready for Cairn: 2 errors, 1 warnings`,
	} {
		out, errOut, code := d.cairn(t.Context(), "", "check")
		if code != 1 || !regexp.MustCompile(line).MatchString(out+errOut) {
			t.Errorf("exit code %d, and no line %q in:\n%s%s", code, line, out, errOut)
		}
	}
	d.want(1, "the cluster is not ready for Cairn: 1 errors", "", "check", "--bucket=s3://acme")
	out, _, code := d.cairn(t.Context(), "bob", "check")
	if code != 1 || !strings.Contains(out, "you may not create customresourcedefinitions.apiextensions.k8s.io, ") ||
		!regexp.MustCompile(`warning +CRDs +not verified: you do not have permission`).MatchString(out) {
		t.Errorf("without permissions: exit code %d:\n%s", code, out)
	}
}
