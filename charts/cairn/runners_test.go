//go:build envtest

package cairn

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/test/apiserver"
)

// withTemplate is a Stack whose runner has a template.
func withTemplate(t *testing.T, template string) *unstructured.Unstructured {
	t.Helper()
	o := object(t, "Stack", fmt.Sprintf(`{source: {inline: {main.tf: ""}}, runner: {template: %s}}`, template))
	o.SetName(name())
	return o
}

// refuses waits until the policy for runners is in force, or is not any more.
func refuses(t *testing.T, want bool) {
	t.Helper()
	bad := withTemplate(t, `{spec: {hostNetwork: true}}`)
	apiserver.Must(t, wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, patience, true,
		func(ctx context.Context) (bool, error) {
			err := apiserver.Kube.Create(ctx, bad.DeepCopy(), client.DryRunAll)
			if err != nil && !strings.Contains(err.Error(), "spec.runner.template") {
				return false, err
			}
			return (err != nil) == want, nil
		}))
}

// A template with a forbidden field is rejected at admission, and one with allowed fields is accepted.
func TestRunnerTemplatesAreValidated(t *testing.T) {
	c := as(t, "alice")
	refuses(t, true)
	engine := func(text string) string { return fmt.Sprintf(`{spec: {containers: [{name: engine, %s}]}}`, text) }
	sidecar := func(text string) string {
		return fmt.Sprintf(`{spec: {initContainers: [{name: a, image: b, restartPolicy: Always, %s}]}}`, text)
	}
	volume := func(text string) string {
		return fmt.Sprintf(`{spec: {volumes: [{name: fine, emptyDir: {}}, {name: bad, %s}]}}`, text)
	}
	for title, tt := range map[string]struct{ template, want string }{
		"nothing": {`{}`, ""},
		"no text": {`just text`, "spec.runner.template: Invalid value"},
		"nulls": {
			`{spec: {containers: null, initContainers: null, volumes: null, securityContext: {runAsUser: null, fsGroup: null}}}`, ""},
		"no spec": {`{spec: null}`, ""},
		"a node pool": {`{spec: {nodeSelector: {pool: runners}, tolerations: [{operator: Exists}]}}`,
			""},
		"another user": {
			`{spec: {securityContext: {runAsUser: 1000, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}}}`,
			""},
		"a sidecar": {
			sidecar(`securityContext: {allowPrivilegeEscalation: false, capabilities: {drop: [ALL], add: [NET_BIND_SERVICE]}}, ports: [{containerPort: 80}]`), ""},
		"volumes": {
			`{spec: {volumes: [{name: a, configMap: {name: a}}, {name: b, secret: {secretName: b}}, {name: c, persistentVolumeClaim: {claimName: c}}, {name: d, csi: {driver: d}}, {name: e, image: {reference: e}}, {name: f, ephemeral: {}}, {name: g, projected: {sources: [{configMap: {name: a}}]}}]}}`, ""},
		"a token for another audience": {
			volume(`projected: {sources: [{serviceAccountToken: {path: a, audience: vault}}]}`), ""},
		"a certificate of a signer": {
			volume(`projected: {sources: [{podCertificate: {signerName: spiffe.example.com/x}}]}`), ""},
		"labels of a cloud":    {`{metadata: {labels: {azure.workload.identity/use: "true"}}}`, ""},
		"the node's network":   {`{spec: {hostNetwork: true}}`, "hostNetwork"},
		"the node's processes": {`{spec: {hostPID: true}}`, "hostPID"},
		"the node's IPC":       {`{spec: {hostIPC: true}}`, "hostIPC"},
		"the runner's processes": {`{spec: {shareProcessNamespace: true}}`,
			"remove spec.shareProcessNamespace"},
		"no processes":             {`{spec: {shareProcessNamespace: null}}`, ""},
		"all rights":               {engine(`securityContext: {privileged: true}`), "cannot be privileged"},
		"all rights for a sidecar": {sidecar(`securityContext: {privileged: true}`), "cannot be privileged"},
		"more rights": {engine(`securityContext: {allowPrivilegeEscalation: true}`),
			"allowPrivilegeEscalation"},
		"a capability": {engine(`securityContext: {capabilities: {add: [SYS_ADMIN]}}`),
			"no capabilities other than NET_BIND_SERVICE"},
		"capabilities kept": {engine(`securityContext: {capabilities: {drop: [NET_RAW]}}`),
			"no capabilities other than NET_BIND_SERVICE"},
		"root":                {`{spec: {securityContext: {runAsUser: 0}}}`, "cannot run as root"},
		"root in a container": {engine(`securityContext: {runAsUser: 0}`), "cannot run as root"},
		"perhaps root":        {sidecar(`securityContext: {runAsNonRoot: false}`), "cannot run as root"},
		"no seccomp": {`{spec: {securityContext: {seccompProfile: {type: Unconfined}}}}`,
			"seccompProfile"},
		"no seccomp for the engine": {engine(`securityContext: {seccompProfile: {type: Unconfined}}`),
			"seccompProfile"},
		"all of /proc":       {engine(`securityContext: {procMount: Unmasked}`), "procMount"},
		"a port of the node": {sidecar(`ports: [{containerPort: 80, hostPort: 80}]`), "hostPort"},
		"a folder of the node": {volume(`hostPath: {path: /}`),
			"volume bad is a hostPath: allowed types are configMap, csi"},
		"a volume that is a client":    {volume(`nfs: {server: a, path: /}`), "volume bad is a nfs"},
		"an account":                   {`{spec: {serviceAccountName: admin}}`, "spec.runner.serviceAccountName"},
		"an account, as it was called": {`{spec: {serviceAccount: admin}}`, "spec.runner.serviceAccountName"},
		"a token": {`{spec: {automountServiceAccountToken: true}}`,
			"cannot have a token for the Kubernetes API"},
		"a token, by default": {`{spec: {automountServiceAccountToken: null}}`,
			"cannot have a token for the Kubernetes API"},
		"a token in a volume": {volume(`projected: {sources: [{serviceAccountToken: {path: a}}]}`),
			"cannot have a token for the Kubernetes API"},
		"a token for the server": {
			volume(`projected: {sources: [{configMap: {name: a}}, {serviceAccountToken: {path: a, audience: cairn}}]}`),
			"the audience cairn is for the token of the runner"},
		"a token by the API's audience": {
			volume(`projected: {sources: [{configMap: {name: a}}, {serviceAccountToken: {path: a, audience: "https://kubernetes.default.svc.cluster.local"}}]}`), "cannot have a token for the Kubernetes API"},
		"a certificate": {
			volume(`projected: {sources: [{podCertificate: {signerName: kubernetes.io/kube-apiserver-client-pod}}]}`),
			"cannot have a certificate for the Kubernetes API"},
		"a priority":  {`{spec: {priorityClassName: runners}}`, ""},
		"no priority": {`{spec: {priorityClassName: null}}`, ""},
		"the priority of the cluster": {`{spec: {priorityClassName: system-cluster-critical}}`,
			"cannot have the priority of components of the cluster"},
		"a debugger": {`{spec: {ephemeralContainers: [{name: a}]}}`, "kubectl debug"},
		// the operator does
		"what the policy does not know": {`{spec: {securityContext: {sysctls: [{name: kernel.msgmax, value: "1"}]}}}`,
			""},
		"what is no template, some way":  {`{spec: {nodeSelektor: {a: b}}}`, ""}, // so the Stack says it
		"what is no template, otherwise": {`{spec: {volumes: none}}`, "cairn-runners"},
	} {
		t.Run(title, func(t *testing.T) {
			check(t, c.Create(t.Context(), withTemplate(t, tt.template), client.DryRunAll), tt.want)
		})
	}
}

// A template is kept as it was written, with what the API server does not know.
func TestUnknownFieldsOfTemplatesAreKept(t *testing.T) {
	settled(t)
	refuses(t, true)
	stack := withTemplate(t, `{spec: {later: {a: 1}}, metadata: {labels: {a: b}}}`)
	apiserver.Must(t, client.WithFieldValidation(apiserver.Kube, "Strict").Create(t.Context(), stack, client.DryRunAll))
	if _, ok, _ := unstructured.NestedMap(stack.Object, "spec", "runner", "template", "spec", "later"); !ok {
		t.Errorf("it is %v", stack.Object["spec"])
	}
}

// A Stack from before the policy can be changed and deleted, but its template cannot become another forbidden one.
func TestStackWithAnOldTemplateCanBeChanged(t *testing.T) {
	c := as(t, "alice")
	binding := &admissionregistrationv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "cairn-runners"}}
	apiserver.Must(t, apiserver.Kube.Delete(t.Context(), binding))
	refuses(t, false)
	stack := withTemplate(t, `{spec: {hostNetwork: true}}`)
	stack.SetFinalizers([]string{"cairn.dev/test"})
	apiserver.Must(t, c.Create(t.Context(), stack))
	apiserver.Must(t, applyManifests(t.Context(), "policies"))
	refuses(t, true)

	patch := func(text string) error { return c.Patch(t.Context(), stack, merge(text)) }
	apiserver.Must(t, patch(`{"spec":{"suspend":true}}`))
	check(t, patch(`{"spec":{"runner":{"template":{"spec":{"hostPID":true}}}}}`), "hostPID")
	apiserver.Must(t, patch(`{"spec":{"runner":{"template":{"spec":{"hostNetwork":null}}}}}`))
	check(t, patch(`{"spec":{"runner":{"template":{"spec":{"hostNetwork":true}}}}}`), "hostNetwork")
	apiserver.Must(t, c.Delete(t.Context(), stack))
	apiserver.Must(t, patch(`{"metadata":{"finalizers":null}}`))
}
