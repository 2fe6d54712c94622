package server

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/store"
)

const (
	// trustFor is how long a token is believed without asking again. The fence does not rest on it: whether a pod is a
	// Run's current one is looked up for each request.
	trustFor = time.Minute
	// longestToken is longer than any that a cluster hands out.
	longestToken = 16 << 10
	// knownTokens is how many tokens are remembered.
	knownTokens = 10_000
)

// Pod is who a token was made for.
type Pod struct {
	Namespace, Name string
	UID             types.UID
}

// tokens finds out who a token was made for. Answers are remembered for a moment, by the token's digest, for a review
// is a round trip to the API server.
type tokens struct {
	client client.Client
	now    func() time.Time
	known  *lru.Cache[[sha256.Size]byte, knownToken]
}

type knownToken struct {
	pod   Pod
	until time.Time
}

func newTokens(c client.Client, now func() time.Time) *tokens {
	known, err := lru.New[[sha256.Size]byte, knownToken](knownTokens)
	if err != nil {
		panic(err) // only for a size below one
	}
	return &tokens{client: c, now: now, known: known}
}

// pod tells which pod sends a request.
func (t *tokens) pod(r *http.Request) (Pod, error) {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !ok || token == "" || len(token) > longestToken {
		return Pod{}, refusef(http.StatusUnauthorized, "no bearer token: the pod's token for audience %q is needed", store.Audience)
	}
	sum := sha256.Sum256([]byte(token))
	if k, ok := t.known.Get(sum); ok && t.now().Before(k.until) {
		return k.pod, nil
	}
	pod, err := t.review(r.Context(), token)
	if err != nil {
		return Pod{}, err
	}
	t.known.Add(sum, knownToken{pod, t.now().Add(trustFor)})
	return pod, nil
}

func (t *tokens) review(ctx context.Context, token string) (Pod, error) {
	review := &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: []string{store.Audience}},
	}
	if err := t.client.Create(ctx, review); err != nil {
		return Pod{}, fmt.Errorf("review a token: %w", err)
	}
	return podOf(review.Status)
}

// podOf reads a review. A token that is not bound to a pod could be anybody's of the same account.
func podOf(s authenticationv1.TokenReviewStatus) (Pod, error) {
	if s.Error != "" && !s.Authenticated {
		return Pod{}, refusef(http.StatusUnauthorized, "the token is not valid: it has expired, its pod is gone, or it is not "+
			"for audience %q", store.Audience)
	}
	if !s.Authenticated || !slices.Contains(s.Audiences, store.Audience) {
		return Pod{}, refusef(http.StatusUnauthorized, "the token is not for audience %q", store.Audience)
	}
	account, ok := strings.CutPrefix(s.User.Username, "system:serviceaccount:")
	namespace, _, both := strings.Cut(account, ":")
	if !ok || !both {
		return Pod{}, refusef(http.StatusForbidden, "the token is not a service account's")
	}
	name, uid := one(s.User.Extra, "authentication.kubernetes.io/pod-name"), one(s.User.Extra, "authentication.kubernetes.io/pod-uid")
	if name == "" || uid == "" {
		return Pod{}, refusef(http.StatusForbidden, "the token is not bound to a pod")
	}
	return Pod{Namespace: namespace, Name: name, UID: types.UID(uid)}, nil
}

func one(extra map[string]authenticationv1.ExtraValue, key string) string {
	if values := extra[key]; len(values) == 1 {
		return values[0]
	}
	return ""
}
