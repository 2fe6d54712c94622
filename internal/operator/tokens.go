package operator

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/server/auth"
)

// RunnerTokens is how runners' tokens are checked. It is a flag's value.
type RunnerTokens string

// How runners' tokens are checked.
const (
	// ReviewTokens sends each to the API server, which takes the permission to create TokenReviews in the whole
	// cluster. It is the default.
	ReviewTokens RunnerTokens = "review"
	// JWKSTokens takes the cluster's public keys, which every service account may read.
	JWKSTokens RunnerTokens = "jwks"
)

// Set takes one of the above.
func (t *RunnerTokens) Set(text string) error {
	if *t = RunnerTokens(text); *t != ReviewTokens && *t != JWKSTokens {
		return fmt.Errorf("it is %s or %s", ReviewTokens, JWKSTokens)
	}
	return nil
}

// String is the value.
func (t *RunnerTokens) String() string { return string(*t) }

// Type is the word for it in help.
func (t *RunnerTokens) Type() string { return "string" }

// open returns what checks them and, where that minds whether their pod is gone, a second one that accepts them
// anyway.
func (t *RunnerTokens) open(
	ctx context.Context, config *rest.Config, c client.Client,
) (tokens, gone auth.PodVerifier, err error) {
	if *t != JWKSTokens {
		return auth.TokenReview{Client: c}, auth.NewDeletedPods(config, time.Now), nil
	}
	issuer, err := auth.NewIssuer(ctx, config, time.Now)
	if err != nil { // not as it is: nil in an interface is not nil
		return nil, nil, err
	}
	return issuer, nil, nil
}
