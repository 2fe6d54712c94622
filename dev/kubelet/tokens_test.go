package kubelet

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// tokenServer is the one call of the API server that renewing needs, without a network, so that its time can be ours.
// Every second call fails.
type tokenServer struct{ calls int }

func (s *tokenServer) RoundTrip(r *http.Request) (*http.Response, error) {
	s.calls++
	if s.calls%2 == 0 {
		return nil, fmt.Errorf("call %d fails", s.calls)
	}
	var ask authenticationv1.TokenRequest
	if err := json.NewDecoder(r.Body).Decode(&ask); err != nil {
		return nil, err
	}
	ask.Status.Token = fmt.Sprintf("token %d for %s", s.calls, ask.Spec.BoundObjectRef.UID)
	ask.Status.ExpirationTimestamp = metav1.NewTime(
		time.Now().Add(time.Duration(*ask.Spec.ExpirationSeconds) * time.Second))
	body, err := json.Marshal(&ask)
	if err != nil {
		return nil, err
	}
	return &http.Response{
		StatusCode: http.StatusCreated, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(string(body))), Request: r,
	}, nil
}

func TestTokensAreRenewedBeforeTheyExpire(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		config := &rest.Config{Host: "http://api", Transport: &tokenServer{}, QPS: -1}
		config.ContentType = "application/json"
		api, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		obj := somePod()
		obj.Spec.Volumes = []corev1.Volume{
			fromYAML[corev1.Volume](t,
				`{name: t, projected: {sources: [{serviceAccountToken: {path: token, audience: cairn, expirationSeconds: 1000}}]}}`)}
		p := newPod(t.Context(), &Kubelet{api: api}, obj, podDir(dir))
		defer p.release()
		want := func(token string) {
			t.Helper()
			synctest.Wait()
			got, err := os.ReadFile(filepath.Join(dir, "volumes", "t", "token"))
			if err != nil || string(got) != token {
				t.Errorf("after %s: %q, %v, want %q", time.Since(p.observed.since.Time), got, err, token)
			}
		}

		renew, ok := p.mount(t.Context())
		if !ok {
			t.Fatal("not mounted")
		}
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.renewTokens(ctx, renew)
		}()
		want("token 1 for uid-1")
		time.Sleep(799 * time.Second)
		want("token 1 for uid-1")
		time.Sleep(2 * time.Second) // a fifth of the time is left: the first try fails
		want("token 1 for uid-1")
		time.Sleep(10 * time.Second)
		want("token 3 for uid-1")
		time.Sleep(811 * time.Second)
		want("token 5 for uid-1")
		stop()
		<-done
	})
}
