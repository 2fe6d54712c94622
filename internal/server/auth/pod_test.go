package auth

import (
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"

	"cairn.dev/cairn/internal/server/httpapi"
)

func TestPodOf(t *testing.T) {
	const namesPod, namesUID = "authentication.kubernetes.io/pod-name", "authentication.kubernetes.io/pod-uid"
	bound := map[string]authenticationv1.ExtraValue{namesPod: {"net-1-plan-1"}, namesUID: {"u-1"}}
	good := func(change func(*authenticationv1.TokenReviewStatus)) authenticationv1.TokenReviewStatus {
		s := authenticationv1.TokenReviewStatus{Authenticated: true, Audiences: []string{"cairn"},
			User: authenticationv1.UserInfo{Username: "system:serviceaccount:team:default", Extra: bound}}
		change(&s)
		return s
	}
	tests := map[string]struct {
		status authenticationv1.TokenReviewStatus
		code   int
		says   string
	}{
		"a pod's token is that pod's": {status: good(func(*authenticationv1.TokenReviewStatus) {})},
		"a token that is not valid": {good(func(s *authenticationv1.TokenReviewStatus) {
			s.Authenticated, s.Error = false, "expired"
		}), 401, "not valid"},
		"a token that is unknown": {authenticationv1.TokenReviewStatus{}, 401, "audience"},
		"a token for another audience": {good(func(s *authenticationv1.TokenReviewStatus) {
			s.Audiences = []string{"api"}
		}), 401, "audience"},
		"a user's token": {good(func(s *authenticationv1.TokenReviewStatus) {
			s.User.Username = "alice"
		}), 403, "service account"},
		"a token that is bound to nothing": {good(func(s *authenticationv1.TokenReviewStatus) {
			s.User.Extra = nil
		}), 403, "bound to a pod"},
		"a token that is bound to no one pod": {good(func(s *authenticationv1.TokenReviewStatus) {
			s.User.Extra = map[string]authenticationv1.ExtraValue{namesPod: {"a"}, namesUID: {"1", "2"}}
		}), 403, "bound to a pod"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			pod, err := podOf(test.status)
			if test.code == 0 {
				if err != nil || pod != (Pod{"team", "net-1-plan-1", "u-1"}) {
					t.Fatalf("got %+v, %v", pod, err)
				}
				return
			}
			if code, text := httpapi.StatusOf(err); code != test.code || !strings.Contains(text, test.says) {
				t.Fatalf("got %d %s", code, text)
			}
		})
	}
}
