package runtest

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
)

// Everything is all that an inputs document can refer to.
var Everything = inputs.Document{
	Source:             "sha256:code",
	Engine:             v1alpha1.Engine{Name: v1alpha1.EngineOpenTofu, Version: "~> 1.12"},
	ServiceAccountName: "net-runner",
	Resources: v1alpha1.Resources{Requests: map[corev1.ResourceName]v1alpha1.Amount{
		corev1.ResourceCPU:    {IntOrString: intstr.FromInt32(2)},
		corev1.ResourceMemory: {IntOrString: intstr.FromString("1.5Gi")},
	}},
	Variables: []v1alpha1.Variable{
		{Name: "servers", Value: &apiextensionsv1.JSON{Raw: []byte("3")}},
		{Name: "password", ValueFrom: &v1alpha1.ValueFrom{Secret: &v1alpha1.KeyRef{Name: "db", Key: "password"}}},
		{Name: "vpc_id", ValueFrom: &v1alpha1.ValueFrom{Stack: &v1alpha1.OutputRef{Name: "vpc", Output: "id"}}},
		{Name: "zone", ValueFrom: &v1alpha1.ValueFrom{ConfigMap: &v1alpha1.KeyRef{Name: "site", Key: "zone"}}},
	},
	VariableFiles: []v1alpha1.VariableFile{
		{Secret: &v1alpha1.ObjectRef{Name: "net-tfvars"}},
		{Path: "envs/./prod.tfvars"},
		{ConfigMap: &v1alpha1.ObjectRef{Name: "common"}},
	},
	ModuleCredentials: []v1alpha1.ModuleCredentials{
		{Host: "git.example.com", Secret: v1alpha1.ObjectRef{Name: "forge"}},
		{Host: "localhost:8443", Secret: v1alpha1.ObjectRef{Name: "other"}},
	},
	Env: []corev1.EnvVar{
		{Name: "AWS_REGION", Value: "eu-west-1"},
		{Name: "AWS_SECRET_ACCESS_KEY",
			ValueFrom: &corev1.EnvVarSource{
				SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "aws"},
					Key: "key"}}},
	},
	EnvFrom: []corev1.EnvFromSource{
		{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "more"}}}},
	Hooks: []inputs.Hook{
		{Step: "init", When: v1alpha1.HookBefore, Script: "echo about to init in $PWD"},
		{Step: "plan", When: v1alpha1.HookAfter, Script: "#!/bin/sh\nexit 1\n", OnFailure: v1alpha1.HookContinue},
	},
	Policies: []inputs.Policy{{Name: "rules", Files: map[string]string{"tags.rego": "package main"}}},
}

// ToBuild is Everything, in an image that is built.
func ToBuild(change ...func(*v1alpha1.Build)) inputs.Document {
	doc := Everything
	doc.Template = &apiextensionsv1.JSON{Raw: []byte(
		`{"metadata":{"labels":{"team":"net","cairn.dev/run":"other"}},"spec":{"nodeSelector":{"pool":"builds"},"tolerations":[{"key":"builds","operator":"Exists"}],
"imagePullSecrets":[{"name":"pull"}],"volumes":[{"name":"v","secret":{"secretName":"theirs"}}],
"containers":[{"name":"engine","env":[{"name":"TOKEN","valueFrom":{"secretKeyRef":{"name":"theirs","key":"k"}}}],"volumeMounts":[{"name":"v","mountPath":"/v"}]}]}}`)}
	spec := &v1alpha1.Build{
		Image: "registry.example.com/acme/terraform", Dockerfile: "images/Dockerfile", Target: "final",
		Cache:      "registry.example.com/acme/cache",
		Args:       []v1alpha1.BuildArg{{Name: "VERSION", Value: "1.2 3"}},
		PushSecret: &v1alpha1.ObjectRef{Name: "registry-push"},
	}
	for _, c := range change {
		c(spec)
	}
	doc.Build = inputs.NewBuild(spec)
	doc.Build.Source = "sha256:context"
	return doc
}

// Committed is a Run that the API server has, of a commit by alice.
func Committed(run *v1alpha1.Run) {
	run.Namespace, run.UID = "infra", "run-uid"
	run.Spec.Revision = "main@sha1:1f3c"
	run.Spec.Cause = v1alpha1.Cause{Type: v1alpha1.CauseCommit, Message: "1f3c Widen the subnet", By: "alice"}
}

var update = flag.Bool("update", false, "rewrite the golden files")

// Golden compares an object with testdata/<name>.yaml.
func Golden(t *testing.T, name string, v any) {
	t.Helper()
	got, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".yaml")
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is another one (run with -update if that is meant):\n%s", path, diff)
	}
}

// Template reads a pod template.
func Template(t *testing.T, text string) *apiextensionsv1.JSON {
	t.Helper()
	raw, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return &apiextensionsv1.JSON{Raw: raw}
}

// WithTemplate is a document that is Everything with a template.
func WithTemplate(t *testing.T, text string) inputs.Document {
	t.Helper()
	doc := Everything
	doc.Template = Template(t, text)
	return doc
}

// FullTemplate uses all that a template is for.
const FullTemplate = `
metadata:
  labels: {azure.workload.identity/use: "true", team: net}
  annotations: {karpenter.sh/do-not-disrupt: "false", owner: net}
spec:
  nodeSelector: {pool: runners}
  tolerations: [{key: runners, operator: Exists, effect: NoSchedule}]
  affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [amd64, arm64]}]}]}}}
  topologySpreadConstraints: [{maxSkew: 1, topologyKey: topology.kubernetes.io/zone, whenUnsatisfiable: ScheduleAnyway}]
  priorityClassName: runners
  runtimeClassName: gvisor
  hostAliases: [{ip: 10.0.0.1, hostnames: [git.internal]}]
  dnsConfig: {searches: [corp.example.com]}
  imagePullSecrets: [{name: registry}]
  terminationGracePeriodSeconds: 900
  securityContext: {runAsUser: 1000, supplementalGroups: [2000]}
  volumes:
  - {name: ca, configMap: {name: corporate-ca}}
  - {name: cache, persistentVolumeClaim: {claimName: plugins}}
  - {name: key, secret: {secretName: signing}}
  - {name: both, projected: {sources: [{secret: {name: extra}}, {configMap: {name: site}}]}}
  - {name: apart, secret: {secretName: proxy, optional: true}}
  - {name: tmp, emptyDir: {}}
  initContainers:
  - name: runner
    resources: {limits: {cpu: 100m, memory: 64Mi}}
  - name: proxy
    image: proxy:1
    restartPolicy: Always
    volumeMounts: [{name: apart, mountPath: /etc/proxy}]
    env: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: proxy-login, key: password}}}]
  containers:
  - name: engine
    imagePullPolicy: Always
    env:
    - {name: SSL_CERT_DIR, value: /etc/corporate}
    - {name: HOME, value: /tmp/home}
    - {name: TOKEN, valueFrom: {secretKeyRef: {name: api, key: token}}}
    - {name: ZONE, valueFrom: {configMapKeyRef: {name: site, key: zone, optional: true}}}
    volumeMounts:
    - {name: ca, mountPath: /etc/corporate, readOnly: true}
    - {name: cache, mountPath: /var/cache/plugins}
    - {name: key, mountPath: /etc/signing}
    - {name: both, mountPath: /etc/both}
    - {name: tmp, mountPath: /tmp}
    securityContext: {readOnlyRootFilesystem: true}
`
