package kubelet

import (
	"context"
	"fmt"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// tokenRequest is what a projected token is asked for.
type tokenRequest struct {
	audience string
	seconds  int64
}

func requestOf(p *corev1.ServiceAccountTokenProjection) tokenRequest {
	r := tokenRequest{audience: p.Audience, seconds: 3600}
	if p.ExpirationSeconds != nil {
		r.seconds = *p.ExpirationSeconds
	}
	return r
}

// tokenRequests lists the tokens in a pod's volumes, each once.
func tokenRequests(spec *corev1.PodSpec) []tokenRequest {
	var list []tokenRequest
	seen := map[tokenRequest]bool{}
	for _, v := range spec.Volumes {
		if v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			if s.ServiceAccountToken == nil {
				continue
			}
			if r := requestOf(s.ServiceAccountToken); !seen[r] {
				seen[r] = true
				list = append(list, r)
			}
		}
	}
	return list
}

// requestTokens asks for tokens that are bound to the pod, and says when they should be asked for anew: when a fifth of
// the time of the shortest is left.
func requestTokens(ctx context.Context, api kubernetes.Interface, pod *corev1.Pod,
	requests []tokenRequest) (map[tokenRequest]string, time.Time, error) {
	tokens := map[tokenRequest]string{}
	var renew time.Time
	for _, r := range requests {
		ask := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
			ExpirationSeconds: &r.seconds,
			BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name,
				UID: pod.UID},
		}}
		if r.audience != "" {
			ask.Spec.Audiences = []string{r.audience}
		}
		asked := time.Now()
		got, err := api.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(ctx, pod.Spec.ServiceAccountName, ask,
			metav1.CreateOptions{})
		if err != nil {
			return nil, time.Time{}, fmt.Errorf("fetch token: %w", err)
		}
		tokens[r] = got.Status.Token
		if at := asked.Add(got.Status.ExpirationTimestamp.Sub(asked) * 4 / 5); renew.IsZero() || at.Before(renew) {
			renew = at
		}
	}
	return tokens, renew, nil
}
