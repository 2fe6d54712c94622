package auth

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/httpapi"
)

// TokenReview verifies the tokens of runners with a TokenReview.
type TokenReview struct{ Client client.Client }

// VerifyPod returns the pod that a token was issued for. The token of a pod that was deleted is not valid.
func (r TokenReview) VerifyPod(ctx context.Context, token string) (Pod, error) {
	review := &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{runnerapi.Audience}},
	}
	if err := r.Client.Create(ctx, review); err != nil {
		return Pod{}, fmt.Errorf("review a token: %w", err)
	}
	return podOf(review.Status)
}

// podOf reads a review. A token that is not bound to a pod could be used by every pod of its ServiceAccount.
func podOf(s authenticationv1.TokenReviewStatus) (Pod, error) {
	if s.Error != "" && !s.Authenticated {
		return Pod{}, httpapi.Errorf(http.StatusUnauthorized,
			"the token is not valid: it has expired, its pod is gone, or it is not "+
				"for audience %q", runnerapi.Audience)
	}
	if !s.Authenticated || !slices.Contains(s.Audiences, runnerapi.Audience) {
		return Pod{}, httpapi.Errorf(http.StatusUnauthorized, "the token is not for audience %q", runnerapi.Audience)
	}
	account, ok := strings.CutPrefix(s.User.Username, "system:serviceaccount:")
	namespace, _, both := strings.Cut(account, ":")
	if !ok || !both {
		return Pod{}, httpapi.Errorf(http.StatusForbidden, "the token is not a service account's")
	}
	name, uid := one(s.User.Extra, "authentication.kubernetes.io/pod-name"), one(s.User.Extra,
		"authentication.kubernetes.io/pod-uid")
	if name == "" || uid == "" {
		return Pod{}, httpapi.Errorf(http.StatusForbidden, "the token is not bound to a pod")
	}
	return Pod{Namespace: namespace, Name: name, UID: types.UID(uid)}, nil
}

func one(extra map[string]authenticationv1.ExtraValue, key string) string {
	if values := extra[key]; len(values) == 1 {
		return values[0]
	}
	return ""
}
