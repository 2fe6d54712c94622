package userhandler

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/authentication/user"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket/buckettest"
	"cairn.dev/cairn/internal/server/artifact"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/httpapi"
)

// A proxy cuts what is silent for a minute, and a reader cannot distinguish a silent log from a dead connection.
func TestSilentLogSendsHeartbeats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := httptest.NewRecorder()
		f := &follower{pieces: &logPieces{events: newEventStream(w)}}
		if err := f.send([]byte("plan\n")); err != nil {
			t.Fatal(err)
		}
		for began := time.Now(); time.Since(began) < time.Minute; {
			if err := f.wait(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if beats := strings.Count(w.Body.String(), ":\n\n"); beats != 2 {
			t.Errorf("%d beats in %q", beats, w.Body.String())
		}
	})
}

func TestAttemptIsOver(t *testing.T) {
	now := metav1.NowMicro()
	run := func(phase v1alpha1.RunPhase, attempts ...v1alpha1.Attempt) *v1alpha1.Run {
		return &v1alpha1.Run{Status: v1alpha1.RunStatus{Phase: phase, Attempts: attempts}}
	}
	for name, test := range map[string]struct {
		run  *v1alpha1.Run
		want bool
	}{
		"not before it begins":    {run(v1alpha1.PhaseQueued), false},
		"not while it is at work": {run(v1alpha1.PhasePlanning, v1alpha1.Attempt{Number: 2}), false},
		"when it is finished": {run(v1alpha1.PhasePlanning, v1alpha1.Attempt{Number: 2, FinishedAt: &now}),
			true},
		"when there is a later one": {run(v1alpha1.PhasePlanning, v1alpha1.Attempt{Number: 2},
			v1alpha1.Attempt{Number: 3}), true},
		"when the Run is finished": {run(v1alpha1.PhaseCanceled), true},
		"not when an earlier one finished": {run(v1alpha1.PhasePlanning, v1alpha1.Attempt{Number: 1, FinishedAt: &now}),
			false},
	} {
		if got := isOver(test.run, 2); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// A user of a namespace can create many ServiceAccounts in it.
func TestServiceAccountsOfOneNamespaceCannotUseAllFollowers(t *testing.T) {
	var f following
	begun := 0
	for account := range mostFollowers {
		for range mostFollowed {
			if _, err := f.begin(fmt.Sprintf("system:serviceaccount:hostile:ci-%d", account)); err == nil {
				begun++
			}
		}
	}
	if begun > mostFollowers/5 {
		t.Errorf("they follow %d logs", begun)
	}
	for _, name := range []string{"alice", "system:serviceaccount:shop:ci"} {
		end, err := f.begin(name)
		if err != nil {
			t.Fatal(err)
		}
		end()
	}
	if len(f.logs) > mostFollowers {
		t.Errorf("%d users that follow nothing are stored", len(f.logs))
	}
}

// deadlines is a recorder that takes deadlines.
type deadlines struct{ *httptest.ResponseRecorder }

func (deadlines) SetReadDeadline(time.Time) error  { return nil }
func (deadlines) SetWriteDeadline(time.Time) error { return nil }

// A log may go on for hours, and have contents that a user who lost access must not read.
func TestFollowedLogEndsWhenPermissionIsLost(t *testing.T) {
	for name, takeAway := range map[string]func(allowed, known, away *bool){
		"the right is taken away": func(allowed, _, _ *bool) { *allowed = false },
		"the token is no more":    func(_, known, _ *bool) { *known = false },
		"the API server is away":  func(_, _, away *bool) { *away = true },
	} {
		t.Run(name, func(t *testing.T) {
			allowed, known, away := true, true, false
			kube := interceptor.NewClient(nil, interceptor.Funcs{
				Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object,
					_ ...client.GetOption) error {
					o.(*v1alpha1.Run).Status.Phase = v1alpha1.PhasePlanning
					return nil
				},
				Create: func(_ context.Context, _ client.WithWatch, o client.Object, _ ...client.CreateOption) error {
					if away {
						return errors.New("no answer")
					}
					switch o := o.(type) {
					case *authorizationv1.LocalSubjectAccessReview:
						o.Status.Allowed = allowed
					case *authenticationv1.TokenReview:
						o.Status = authenticationv1.TokenReviewStatus{Authenticated: known,
							User: authenticationv1.UserInfo{Username: "alice"}}
					}
					return nil
				},
			})
			// Their caches have goroutines without end.
			authorizer := auth.NewAuthorizer(kube)
			users, err := auth.NewUserAuthenticator(auth.UserOptions{
				Client: kube, Authorizer: authorizer, Now: time.Now, DeriveKey: func(string) ([]byte, error) {
					return make([]byte, 32), nil
				},
			})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				s := New(Options{
					Users: users, Authorizer: authorizer, Live: kube, Cache: kube,
					Logs: artifact.NewLogs(buckettest.New(t)), Stopping: ctx,
				})
				alice := auth.User{Info: &user.DefaultInfo{Name: "alice"}, Token: "alice's"}
				r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/?follow=true", nil)
				ended := make(chan error, 1)
				go func() {
					ended <- s.showLogs(deadlines{httptest.NewRecorder()}, r,
						ask{User: alice, NamespacedName: types.NamespacedName{Namespace: "shop", Name: "net-1"}})
				}()
				time.Sleep(20 * time.Minute)
				takeAway(&allowed, &known, &away)
				time.Sleep(2 * askAgain)
				select {
				case err := <-ended:
					var no *httpapi.Error
					if !errors.As(err, &no) || away {
						t.Errorf("it ends with %v", err)
					}
				default:
					if !away {
						t.Error("it goes on")
					}
				}
				cancel()
				time.Sleep(time.Second)
			})
		})
	}
}
