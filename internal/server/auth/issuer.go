package auth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/httpapi"
)

// Where an API server publishes how its tokens are signed; every ServiceAccount may read both.
const (
	discoveryPath = "/.well-known/openid-configuration"
	keysPath      = "/openid/v1/jwks"
)

// Issuer verifies runners' tokens with the public keys of the cluster, for an installation that may not create
// TokenReviews. It differs from a TokenReview: a token is valid until it expires, also when its pod or its
// ServiceAccount was deleted. What a request may touch does not rest on that: the pod has to be the one that a Run
// names.
type Issuer struct {
	name   string
	keys   oidc.KeySet
	config oidc.Config
}

// NewIssuer asks the API server once how its tokens are signed, and for its keys whenever it sees a new one. Now is the
// clock.
func NewIssuer(ctx context.Context, config *rest.Config, now func() time.Time) (*Issuer, error) {
	config = rest.CopyConfig(config)
	config.Timeout = 10 * time.Second
	web, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	kube, err := kubernetes.NewForConfigAndClient(config, web)
	if err != nil {
		return nil, err
	}
	api := kube.Discovery().RESTClient()
	data, err := api.Get().AbsPath(discoveryPath).DoRaw(ctx)
	if err != nil {
		return nil, fmt.Errorf("how the cluster signs tokens, %s: %w", discoveryPath, err)
	}
	var says struct {
		Issuer     string   `json:"issuer"`
		Algorithms []string `json:"id_token_signing_alg_values_supported"`
	}
	if err := json.Unmarshal(data, &says); err != nil {
		return nil, fmt.Errorf("how the cluster signs tokens, %s: %w", discoveryPath, err)
	}
	if says.Issuer == "" {
		return nil, fmt.Errorf("how the cluster signs tokens: %s names no issuer", discoveryPath)
	}
	// The keys are asked for where the API server is, whatever address outside the cluster it names.
	at := api.Get().AbsPath(keysPath).URL().String()
	return &Issuer{
		name:   says.Issuer,
		keys:   oidc.NewRemoteKeySet(oidc.ClientContext(context.WithoutCancel(ctx), web), at),
		config: oidc.Config{ClientID: runnerapi.Audience, SupportedSigningAlgs: says.Algorithms, Now: now},
	}, nil
}

// VerifyPod returns the pod that a token was issued for.
func (i *Issuer) VerifyPod(ctx context.Context, token string) (Pod, error) {
	keys := &askedKeys{KeySet: i.keys}
	known, err := oidc.NewVerifier(i.name, keys, &i.config).Verify(ctx, token)
	if keys.away != nil {
		return Pod{}, fmt.Errorf("check a token: %w", keys.away)
	}
	if err != nil {
		return Pod{}, httpapi.Errorf(http.StatusUnauthorized, "the token is not valid: it has expired, is not this "+
			"cluster's, or is not for audience %q", runnerapi.Audience)
	}
	var claims struct {
		Kubernetes struct {
			Namespace string `json:"namespace"`
			Pod       struct {
				Name string    `json:"name"`
				UID  types.UID `json:"uid"`
			} `json:"pod"`
		} `json:"kubernetes.io"`
	}
	if err := known.Claims(&claims); err != nil {
		return Pod{}, httpapi.Errorf(http.StatusUnauthorized, "the token cannot be read")
	}
	k := claims.Kubernetes
	if k.Namespace == "" || !strings.HasPrefix(known.Subject, "system:serviceaccount:"+k.Namespace+":") {
		return Pod{}, httpapi.Errorf(http.StatusForbidden, "the token is not a service account's")
	}
	if k.Pod.Name == "" || k.Pod.UID == "" {
		return Pod{}, httpapi.Errorf(http.StatusForbidden, "the token is not bound to a pod")
	}
	return Pod{Namespace: k.Namespace, Name: k.Pod.Name, UID: k.Pod.UID}, nil
}

// DeletedPods is an Issuer for the tokens of pods that were deleted. It reads how the cluster issues tokens when the
// first of them is shown, and not before: few clusters ever have one. Where no ServiceAccount may read it, such tokens
// are rejected, and nothing else is.
type DeletedPods struct {
	config *rest.Config
	now    func() time.Time

	mu     sync.Mutex
	issuer *Issuer
	// err is why there is no issuer, until it is read again.
	err   error
	until time.Time
}

// askIssuerAgain is how long the cluster's issuer is not read again after a failure.
const askIssuerAgain = 10 * time.Second

// NewDeletedPods creates a DeletedPods that has read nothing yet.
func NewDeletedPods(config *rest.Config, now func() time.Time) *DeletedPods {
	return &DeletedPods{config: config, now: now}
}

// VerifyPod returns the pod that a token was issued for, also after the pod was deleted.
func (g *DeletedPods) VerifyPod(ctx context.Context, token string) (Pod, error) {
	issuer, err := g.open(ctx)
	if apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) {
		return Pod{}, httpapi.Errorf(http.StatusUnauthorized, "the cluster does not publish how it signs tokens: %v",
			err)
	}
	if err != nil {
		return Pod{}, err
	}
	return issuer.VerifyPod(ctx, token)
}

func (g *DeletedPods) open(ctx context.Context) (*Issuer, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.issuer != nil || g.now().Before(g.until) {
		return g.issuer, g.err
	}
	g.issuer, g.err = NewIssuer(context.WithoutCancel(ctx), g.config, g.now)
	g.until = g.now().Add(askIssuerAgain)
	return g.issuer, g.err
}

// askedKeys notes that keys could not be read, so that the token may be valid: the wrapping error does not show that.
type askedKeys struct {
	oidc.KeySet
	away error
}

// VerifySignature checks a signature.
func (a *askedKeys) VerifySignature(ctx context.Context, token string) ([]byte, error) {
	payload, err := a.KeySet.VerifySignature(ctx, token)
	if errors.Unwrap(err) != nil { // a signature that is wrong wraps nothing
		a.away = err
	}
	return payload, err
}
