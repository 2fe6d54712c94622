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
var security = sync.OnceValues(func() (policy.Evaluator, error) {
	return policy.NewEvaluator(policy.DefaultChecks(), nil)
})

// unrestrictedReason returns what a pod has that a runner is not to have; empty when there is nothing. Audiences are
// those for which it may have tokens of its account, beside the server's.
func unrestrictedReason(pod *corev1.Pod, audiences []string) string {
	if on := pod.Spec.AutomountServiceAccountToken; on == nil || *on {
		return "spec.automountServiceAccountToken would add a token for the Kubernetes API to the pod"
	}
	for _, v := range pod.Spec.Volumes {
		if why := credentialViolation(v, audiences); why != "" && v.Name != tokenVolumeName {
			return fmt.Sprintf("volume %s %s", v.Name, why)
		}
	}
	return podSecurityViolation(api.LevelRestricted, pod)
}

// credentialViolation returns which credential for the Kubernetes API a volume would add to the pod.
func credentialViolation(v corev1.Volume, audiences []string) string {
	if v.Projected == nil {
		return ""
	}
	for _, s := range v.Projected.Sources {
		switch token, certificate := s.ServiceAccountToken, s.PodCertificate; {
		case token != nil && token.Audience == "":
			return "would add a token for the Kubernetes API to the pod"
		case token != nil && !slices.Contains(audiences, token.Audience):
			// only the installation knows the API server's own audiences
			return fmt.Sprintf("asks for a token for the audience %q, and the installation does not allow that for "+
				"templates (--runner-token-audience)", token.Audience)
		case certificate != nil && strings.HasPrefix(certificate.SignerName, "kubernetes.io/"):
			return "would add a certificate for the Kubernetes API to the pod"
		}
	}
	return ""
}

// podSecurityViolation returns why a pod does not fit a level of Pod Security, of the newest version; empty when it
// does. Two fields are not checked: they relax what is asked for, and a cluster that does not know hostUsers would
// leave it out.
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
