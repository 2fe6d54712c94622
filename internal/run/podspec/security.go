package podspec

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// security is what the API server itself checks pods with, where a namespace asks for it.
var security = sync.OnceValues(func() (policy.Evaluator, error) { return policy.NewEvaluator(policy.DefaultChecks(), nil) })

// tooMuch says what a pod has that a runner is not to have; empty when there is nothing. Audiences are those for which it
// may have tokens of its account, beside the store's.
func unrestrictedReason(pod *corev1.Pod, audiences []string) string {
	if on := pod.Spec.AutomountServiceAccountToken; on == nil || *on {
		return "spec.automountServiceAccountToken would bring a token for the Kubernetes API into the pod"
	}
	for _, v := range pod.Spec.Volumes {
		if why := credentialViolation(v, audiences); why != "" && v.Name != tokenVolumeName {
			return fmt.Sprintf("volume %s %s", v.Name, why)
		}
	}
	return podSecurityViolation(api.LevelRestricted, pod)
}

// credentialIn says what a volume would bring by which the pod could be somebody to the Kubernetes API.
func credentialViolation(v corev1.Volume, audiences []string) string {
	if v.Projected == nil {
		return ""
	}
	for _, s := range v.Projected.Sources {
		switch token, certificate := s.ServiceAccountToken, s.PodCertificate; {
		case token != nil && token.Audience == "":
			return "would bring a token for the Kubernetes API into the pod"
		case token != nil && !slices.Contains(audiences, token.Audience): // which audiences the API server takes for its own, only the install knows
			return fmt.Sprintf("asks for a token for the audience %q, and the install lets templates have none for it (--runner-token-audience)", token.Audience)
		case certificate != nil && strings.HasPrefix(certificate.SignerName, "kubernetes.io/"):
			return "would bring a certificate for the Kubernetes API into the pod"
		}
	}
	return ""
}

// beyond says why a pod does not fit a level of Pod Security, of the newest version; empty when it does. Two things
// are not looked at: they relax what is asked for, and a cluster that does not know hostUsers would leave it out.
func podSecurityViolation(level api.Level, pod *corev1.Pod) string {
	evaluator, err := security()
	if err != nil {
		return err.Error() // never: the checks are built in
	}
	spec := pod.Spec.DeepCopy()
	spec.HostUsers, spec.OS = nil, nil
	newest := api.LevelVersion{Level: level, Version: api.LatestVersion()}
	if all := policy.AggregateCheckResults(evaluator.EvaluatePod(newest, &pod.ObjectMeta, spec)); !all.Allowed {
		return fmt.Sprintf("the pod does not fit Pod Security %q: %s", level, all.ForbiddenDetail())
	}
	return ""
}
