//go:build envtest

package run

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"cairn.dev/cairn/internal/controller/run/runtest"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/run/podspec"
	"cairn.dev/cairn/test/apiserver"
)

// setInputs stores an inputs document for the Stack.
func (r *testEnv) setInputs(doc inputs.Document) {
	r.Helper()
	digest, err := r.Inputs.Put(r.Context(), doc)
	apiserver.Must(r.T, err)
	r.stack.Status.InputsDigest, r.stack.Status.LastRun = digest, "net-2"
	apiserver.Must(r.T, r.Env.Client.Status().Update(r.Context(), r.stack))
	r.Seen(r.stack)
	first := r.run
	r.run = &v1alpha1.Run{ObjectMeta: metav1.ObjectMeta{Name: "net-2", OwnerReferences: first.OwnerReferences},
		Spec: *first.Spec.DeepCopy()}
	r.run.Spec.InputsDigest = digest
	apiserver.Must(r.T, r.Env.Client.Delete(r.Context(), first))
	r.Gone(first)
	r.Make(r.run)
}

// A pod with all that Cairn and a template can put into one is taken where Pod Security is enforced, and others are
// not.
func TestPodsFitANamespaceThatIsRestricted(t *testing.T) {
	r := newTestEnv(t)
	namespace := &corev1.Namespace{}
	apiserver.Must(t, r.Env.Live.Get(t.Context(), client.ObjectKey{Name: r.Namespace}, namespace))
	namespace.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	namespace.Labels["pod-security.kubernetes.io/enforce-version"] = "latest"
	apiserver.Must(t, r.Env.Client.Update(t.Context(), namespace))
	apiserver.Must(t, client.IgnoreAlreadyExists(r.Env.Client.Create(t.Context(),
		&schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "runners"}, Value: 10})))
	apiserver.Must(t, client.IgnoreAlreadyExists(r.Env.Client.Create(t.Context(),
		&nodev1.RuntimeClass{ObjectMeta: metav1.ObjectMeta{Name: "gvisor"}, Handler: "runsc"})))

	bad := podspec.BuildPod(r.run, r.stack, inputs.Document{}, v1alpha1.AttemptPlan, 99, settings)
	bad.Spec.HostNetwork = true
	apiserver.Must(t, wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 2*time.Minute, true,
		func(ctx context.Context) (bool, error) {
			err := apiserver.Kube.Create(ctx, bad.DeepCopy(), client.DryRunAll)
			return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "PodSecurity"), ignoreForbidden(err)
		}))

	r.setInputs(runtest.WithTemplate(t, runtest.FullTemplate))
	r.reconcile()
	r.expectAttempts("Plan")
	if pods := r.pods(); len(pods) != 1 || pods[0].Spec.NodeSelector["pool"] != "runners" ||
		pods[0].Labels["team"] != "net" {
		t.Errorf("pods are %v, and the Run says %v", pods, r.run.Status.Conditions)
	}
}

func ignoreForbidden(err error) error {
	if apierrors.IsForbidden(err) {
		return nil
	}
	return err
}

// The message of the failed Run says what to change.
func TestRunFailsWhenItsPodIsNotPermitted(t *testing.T) {
	r := newTestEnv(t)
	r.setInputs(runtest.WithTemplate(t, `{spec: {hostNetwork: true}}`))
	r.reconcile()
	r.expectAttempts()
	c := r.run.Status.Conditions
	if r.run.Status.Phase != v1alpha1.PhaseFailed || len(c) == 0 || c[0].Reason != "ConfigurationError" ||
		!strings.Contains(c[0].Message, "hostNetwork=true") || !strings.Contains(c[0].Message, "spec.runner.template") {
		t.Errorf("the Run is %s: %v", r.run.Status.Phase, c)
	}
	if pods := r.pods(); len(pods) > 0 {
		t.Errorf("pods are %v", pods)
	}
}

// Clouds give a pod its identity with a webhook that reads its ServiceAccount or labels and adds a token and variables.
// Cairn keeps them.
func TestPodChangedByAWebhookStaysThePodOfItsAttempt(t *testing.T) {
	r := newTestEnv(t)
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "identity-" + r.Namespace},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionregistrationv1.MatchResources{
				ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
					RuleWithOperations: admissionregistrationv1.RuleWithOperations{
						Operations: []admissionregistrationv1.OperationType{"CREATE"},
						Rule: admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"},
							Resources: []string{"pods"}},
					},
				}}},
			MatchConditions: []admissionregistrationv1.MatchCondition{
				{Name: "account", Expression: "object.metadata.namespace == '" + r.Namespace +
					"' && object.spec.serviceAccountName == 'net-runner'"}},
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeJSONPatch,
				JSONPatch: &admissionregistrationv1.JSONPatch{Expression: `[
					JSONPatch{op: "add", path: "/spec/volumes/-", value: Object.spec.volumes{
						name: "aws-iam-token", projected: Object.spec.volumes.projected{sources: [Object.spec.volumes.projected.sources{
							serviceAccountToken: Object.spec.volumes.projected.sources.serviceAccountToken{audience: "sts.amazonaws.com", path: "token", expirationSeconds: 86400}}]}}},
					JSONPatch{op: "add", path: "/spec/containers/0/volumeMounts/-", value: Object.spec.containers.volumeMounts{
						name: "aws-iam-token", mountPath: "/var/run/secrets/eks.amazonaws.com/serviceaccount", readOnly: true}},
					JSONPatch{op: "add", path: "/spec/containers/0/env/-", value: Object.spec.containers.env{
						name: "AWS_WEB_IDENTITY_TOKEN_FILE", value: "/var/run/secrets/eks.amazonaws.com/serviceaccount/token"}}
				]`},
			}},
		},
	}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: policy.Name},
		Spec:       admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: policy.Name},
	}
	doc := inputs.Document{Source: "sha256:code", ServiceAccountName: "net-runner",
		Template: runtest.Template(t, `{metadata: {labels: {azure.workload.identity/use: "true"}}}`)}
	for _, o := range []client.Object{policy, binding} {
		apiserver.Must(t, apiserver.Kube.Create(t.Context(), o))
		t.Cleanup(func() { apiserver.Must(t, apiserver.Kube.Delete(context.WithoutCancel(t.Context()), o)) })
	}
	apiserver.Must(t, wait.PollUntilContextTimeout(t.Context(), 20*time.Millisecond, 2*time.Minute, true,
		func(ctx context.Context) (bool, error) {
			probe := podspec.BuildPod(r.run, r.stack, doc, v1alpha1.AttemptPlan, 99, settings)
			err := apiserver.Kube.Create(ctx, probe, client.DryRunAll)
			return slices.ContainsFunc(probe.Spec.Volumes, func(v corev1.Volume) bool {
				return v.Name == "aws-iam-token"
			}), err
		}))

	r.setInputs(doc)
	r.reconcile()
	r.reconcile()
	r.expectAttempts("Plan")
	pods := r.pods()
	if len(pods) != 1 || pods[0].UID != r.run.Status.Attempts[0].PodUID {
		t.Fatalf("pods are %v", pods)
	}
	engine := pods[0].Spec.Containers[0]
	if !slices.ContainsFunc(engine.Env, func(e corev1.EnvVar) bool {
		return e.Name == "AWS_WEB_IDENTITY_TOKEN_FILE"
	}) ||
		!slices.ContainsFunc(engine.VolumeMounts, func(m corev1.VolumeMount) bool {
			return m.Name == "aws-iam-token"
		}) {
		t.Errorf("the engine has %v and %v", engine.Env, engine.VolumeMounts)
	}
	if labels := slices.Sorted(maps.Keys(pods[0].Labels)); !slices.Contains(labels, "azure.workload.identity/use") {
		t.Errorf("labels are %v", labels)
	}
}
