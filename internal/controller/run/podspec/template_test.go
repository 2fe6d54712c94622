package podspec

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/controller/run/runtest"

	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/pod-security-admission/api"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
)

func podWith(t *testing.T, text string, change func(*Settings)) (*corev1.Pod, error) {
	t.Helper()
	w, set := podSnapshot(), settings
	if change != nil {
		change(&set)
	}
	return New(w.Run, w.Stack, withTemplate(t, text), v1alpha1.AttemptPlan, 1, set)
}

var template, withTemplate = runtest.Template, runtest.WithTemplate

const fullTemplate = runtest.FullTemplate

func TestTemplate(t *testing.T) {
	pod, err := podWith(t, fullTemplate, nil)
	if err != nil {
		t.Fatal(err)
	}
	runtest.Golden(t, "pod-template", pod)
	if err := CheckTemplate(withTemplate(t, fullTemplate)); err != nil {
		t.Error(err)
	}
}

// A template that changes nothing results in the same pod as no template.
func TestEmptyTemplateDoesNotChangeThePod(t *testing.T) {
	w := podSnapshot()
	want, err := New(w.Run, w.Stack, everything, v1alpha1.AttemptPlan, 1, settings)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`{}`, `{spec: {}}`,
		`{spec: {restartPolicy: Never, automountServiceAccountToken: false, containers: [{name: engine}]}}`} {
		got, err := podWith(t, text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: -want +got:\n%s", text, diff)
		}
	}
}

// The examples of the documentation result in pods.
func TestDocumentedTemplatesAreValid(t *testing.T) {
	tried := 0
	for _, page := range []string{"pod-templates.md", "cloud-credentials.md"} {
		text, err := os.ReadFile("../../../../docs/how-to/" + page)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range strings.Split(string(text), "```") {
			if i%2 == 0 || !strings.Contains(block, "template:") {
				continue
			}
			var stack v1alpha1.Stack
			if err := yaml.Unmarshal([]byte(strings.TrimPrefix(block, "yaml")), &stack); err != nil ||
				stack.Spec.Runner.Template == nil {
				t.Fatalf("%s: %v:\n%s", page, err, block)
			}
			w, set := podSnapshot(), settings
			set.TokenAudiences = []string{"vault"}
			doc := inputs.Document{Template: stack.Spec.Runner.Template}
			if _, err := New(w.Run, w.Stack, doc, v1alpha1.AttemptPlan, 1, set); err != nil {
				t.Errorf("%s: %v:\n%s", page, err, block)
			}
			tried++
		}
	}
	if tried != 3 {
		t.Errorf("%d examples were found", tried)
	}
}

// Some clusters choose the user, as OpenShift does.
func TestPodWithoutAUser(t *testing.T) {
	pod, err := podWith(t, `{spec: {securityContext: {runAsUser: null, runAsGroup: null, fsGroup: null}}}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if c := pod.Spec.SecurityContext; c.RunAsUser != nil || c.RunAsGroup != nil || c.FSGroup != nil ||
		!*c.RunAsNonRoot {
		t.Errorf("the pod has %v", c)
	}
}

// These fields are rejected whatever the installation allows.
func TestTemplateCannotChangeFieldsOfCairn(t *testing.T) {
	engine := func(text string) string {
		return fmt.Sprintf(`{spec: {volumes: [{name: mine, emptyDir: {}}], containers: [{name: engine, %s}]}}`, text)
	}
	for name, tt := range map[string]struct{ template, want string }{
		"an unknown field":        {`{spec: {nodeSelektor: {a: b}}}`, `unknown field "spec.nodeSelektor"`},
		"a field in another case": {`{spec: {NodeSelector: {a: b}}}`, `unknown field "spec.NodeSelector"`},
		"a whole PodTemplate":     {`{template: {spec: {}}}`, `unknown field "template"`},
		"a patch that deletes": {`{spec: {volumes: [{name: token, $patch: delete}]}}`,
			`unknown field "spec.volumes[0].$patch"`},
		"a patch that replaces":  {`{spec: {$patch: replace}}`, `unknown field "spec.$patch"`},
		"a wrong type":           {`{spec: {tolerations: none}}`, "spec.tolerations"},
		"a wrong type deep down": {`{spec: {priority: high}}`, "spec.priority"},
		"a quantity that is none": {`{spec: {volumes: [{name: a, emptyDir: {sizeLimit: much}}]}}`,
			"quantities must match"},
		"a template that is too large": {`{metadata: {annotations: {a: ` + strings.Repeat("x", largestTemplate) +
			`}}}`, "at most 65536 are taken"},
		"the priority of the cluster": {`{spec: {priorityClassName: system-node-critical}}`,
			"system-node-critical is for components of the cluster"},
		"a container without a name": {`{spec: {containers: [{env: []}]}}`, "name"},
		"the pod's name":             {`{metadata: {name: other}}`, "metadata.name is Cairn's own"},
		"another namespace":          {`{metadata: {namespace: other}}`, "metadata.namespace is Cairn's own"},
		"another owner": {
			`{metadata: {ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: a, uid: b}]}}`,
			"metadata.ownerReferences is Cairn's own"},
		"a finalizer": {`{metadata: {finalizers: [example.com/keep]}}`,
			"metadata.finalizers is Cairn's own"},
		"another Run's label": {`{metadata: {labels: {cairn.dev/run: net-6}}}`,
			"metadata.labels[cairn.dev/run] is Cairn's own"},
		"a label of Cairn's, new": {`{metadata: {labels: {x.cairn.dev/a: b}}}`,
			"metadata.labels[x.cairn.dev/a] is Cairn's own"},
		"no label":    {`{metadata: {labels: null}}`, "is Cairn's own"},
		"no metadata": {`{metadata: null}`, "is Cairn's own"},
		"another manager": {`{metadata: {labels: {app.kubernetes.io/managed-by: me}}}`,
			"metadata.labels[app.kubernetes.io/managed-by] is Cairn's own"},
		"an annotation of Cairn's": {`{metadata: {annotations: {cairn.dev/a: b}}}`,
			"metadata.annotations[cairn.dev/a] is Cairn's own"},
		"no spec": {`{spec: null}`, "is Cairn's own"},
		"restarts": {`{spec: {restartPolicy: OnFailure}}`,
			"spec.restartPolicy is Cairn's own"},
		"a deadline": {`{spec: {activeDeadlineSeconds: 60}}`, "spec.timeout of the Stack"},
		"another account": {`{spec: {serviceAccountName: admin}}`,
			"set spec.runner.serviceAccountName of the Stack"},
		"another account, as it was called": {`{spec: {serviceAccount: admin}}`,
			"set spec.runner.serviceAccountName of the Stack"},
		"a node":  {`{spec: {nodeName: a}}`, "spec.nodeName is Cairn's own"},
		"Windows": {`{spec: {os: {name: windows}}}`, "spec.os is Cairn's own"},
		"a debugger": {`{spec: {ephemeralContainers: [{name: a, image: b}]}}`,
			"spec.ephemeralContainers is Cairn's own"},
		"the processes of the runner": {`{spec: {shareProcessNamespace: true}}`,
			"spec.shareProcessNamespace is Cairn's own: other containers would have access"},
		"the processes of the node": {`{spec: {hostPID: true}}`,
			"spec.hostPID is Cairn's own: other containers would have access"},
		"the memory of the node": {`{spec: {hostIPC: true}}`,
			"spec.hostIPC is Cairn's own: other containers would have access"},
		"devices": {`{spec: {resourceClaims: [{name: gpu, resourceClaimTemplateName: gpu}]}}`,
			"spec.resourceClaims is Cairn's own"},
		"devices in a container": {engine(`resources: {claims: [{name: gpu}]}`),
			"spec.containers[0].resources.claims is not supported in templates"},
		"a group of pods": {`{spec: {schedulingGroup: {podGroupName: a}}}`,
			"spec.schedulingGroup is Cairn's own"},
		"a part that is not listed": {`{spec: {securityContext: {windowsOptions: {runAsUserName: a}}}}`,
			"spec.securityContext.windowsOptions is not supported"},
		"a volume that is not listed": {`{spec: {volumes: [{name: v, gitRepo: {repository: a}}]}}`,
			".gitRepo is not supported in templates"},
		"no time to end": {`{spec: {terminationGracePeriodSeconds: 30}}`, "may not be less than 600"},
		"any time to end": {`{spec: {terminationGracePeriodSeconds: null}}`,
			"may not be less than 600"},
		"another container": {`{spec: {containers: [{name: proxy, image: b}]}}`,
			"spec.containers[proxy]: only engine may exist"},
		"no container": {`{spec: {containers: null}}`, "spec.containers may not be null"},
		"no runner":    {`{spec: {initContainers: null}}`, "spec.initContainers may not be null"},
		"another runner": {`{spec: {initContainers: [{name: runner, image: mine}]}}`,
			"spec.initContainers[runner] is Cairn's own"},
		"a runner that does more": {`{spec: {initContainers: [{name: runner, command: [sh]}]}}`,
			"spec.initContainers[runner] is Cairn's own"},
		"another command": {engine(`command: [sh]`), "spec.containers[engine].command is Cairn's own"},
		"no command":      {engine(`command: null`), "spec.containers[engine].command is Cairn's own"},
		"arguments":       {engine(`args: [a]`), "spec.containers[engine].args is Cairn's own"},
		"an image":        {engine(`image: mine`), "set spec.runner.image of the Stack"},
		"an environment from elsewhere": {engine(`envFrom: [{secretRef: {name: a}}]`),
			"set spec.envFrom of the Stack"},
		"a probe that kills": {engine(`livenessProbe: {exec: {command: ["false"]}}`),
			"livenessProbe is Cairn's own"},
		"a hook that delays the end": {engine(`lifecycle: {preStop: {exec: {command: [sleep, "600"]}}}`),
			"lifecycle is Cairn's own"},
		"a variable of Cairn's": {engine(`env: [{name: CAIRN_SERVER_CA_PEM, value: mine}]`),
			"env CAIRN_SERVER_CA_PEM of container engine is Cairn's own"},
		"a variable of Cairn's, new": {engine(`env: [{name: CAIRN_NEW, value: mine}]`),
			"env CAIRN_NEW of container engine is Cairn's own"},
		"a variable of spec.env": {engine(`env: [{name: AWS_REGION, value: us}]`),
			"env AWS_REGION of container engine is in spec.env of the Stack already"},
		"no variables": {engine(`env: null`), "env"},
		"another token": {
			`{spec: {volumes: [{name: token, projected: {sources: [{secret: {name: a}}]}}]}}`,
			"spec.volumes[token] is Cairn's own"},
		"the work elsewhere": {`{spec: {volumes: [{name: work, persistentVolumeClaim: {claimName: a}}]}}`,
			"spec.volumes[work] is Cairn's own"},
		"the runner from elsewhere": {`{spec: {volumes: [{name: bin, configMap: {name: a}}]}}`,
			"spec.volumes[bin] is Cairn's own"},
		"other inputs": {`{spec: {volumes: [{name: inputs-0, secret: {secretName: a}}]}}`,
			"spec.volumes[inputs-0] is Cairn's own"},
		"inputs that may come": {`{spec: {volumes: [{name: inputs-99, emptyDir: {}}]}}`,
			"spec.volumes[inputs-99] is Cairn's own"},
		"no volumes": {`{spec: {volumes: null}}`, "spec.volumes may not be null"},
		"no mounts": {`{spec: {containers: [{name: engine, volumeMounts: null}]}}`,
			"volumeMounts of container engine may not be null"},
		"a mount over the runner": {engine(`volumeMounts: [{name: mine, mountPath: /cairn/bin}]`),
			"volume mine cannot be mounted at /cairn/bin"},
		"a mount over it by another path": {engine(`volumeMounts: [{name: mine, mountPath: cairn//x/../bin/}]`),
			"cannot be mounted"},
		"a mount over its parent folder": {engine(`volumeMounts: [{name: mine, mountPath: /cairn}]`),
			"cannot be mounted"},
		"a mount over the root": {engine(`volumeMounts: [{name: mine, mountPath: /}]`), "cannot be mounted"},
		"a mount in the working folder": {engine(`volumeMounts: [{name: mine, mountPath: /cairn/work/home}]`),
			"cannot be mounted"},
		"the token twice": {engine(`volumeMounts: [{name: token, mountPath: /token}]`),
			"volume token is Cairn's own"},
		"a token to write to": {
			engine(`volumeMounts: [{name: token, mountPath: /cairn/token, readOnly: false}]`),
			"volume token is Cairn's own"},
		"the token in another container": {
			`{spec: {initContainers: [{name: a, image: b, volumeMounts: [{name: token, mountPath: /t}]}]}}`,
			"volume token is Cairn's own, and container a may not mount it"},
		"inputs in another container": {
			`{spec: {initContainers: [{name: a, image: b, volumeMounts: [{name: inputs-0, mountPath: /t}]}]}}`,
			"volume inputs-0 is Cairn's own"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := podWith(t, tt.template, func(s *Settings) { s.AllowUnrestricted = true })
			expectUnfit(t, err, "spec.runner.template: ", tt.want)
			expectUnfit(t, CheckTemplate(withTemplate(t, tt.template)), "spec.runner.template: ", tt.want)
		})
	}
}

func expectUnfit(t *testing.T, err error, want ...string) {
	t.Helper()
	var unfit *InvalidError
	if !errors.As(err, &unfit) {
		t.Fatalf("got %v, want a rejection", err)
	}
	for _, part := range want {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("got %q, want one with %q", err, part)
		}
	}
}

// No pod may have these fields unless the installation allows them.
func TestUnrestrictedPods(t *testing.T) {
	own := func(text string) string { return fmt.Sprintf(`{spec: {containers: [{name: engine, %s}]}}`, text) }
	sidecar := func(text string) string {
		return fmt.Sprintf(`{spec: {initContainers: [{name: a, image: b, %s}]}}`, text)
	}
	volume := func(text string) string { return fmt.Sprintf(`{spec: {volumes: [{name: v, %s}]}}`, text) }
	for name, tt := range map[string]struct{ template, want string }{
		"the node's network": {`{spec: {hostNetwork: true}}`, "hostNetwork=true"},
		"all rights": {
			own(`securityContext: {privileged: true, allowPrivilegeEscalation: true}`), "privileged"},
		"more rights than at the start": {own(`securityContext: {allowPrivilegeEscalation: true}`),
			"allowPrivilegeEscalation != false"},
		"a capability": {own(`securityContext: {capabilities: {add: [SYS_ADMIN]}}`), "SYS_ADMIN"},
		"capabilities kept": {own(`securityContext: {capabilities: {drop: [NET_RAW]}}`),
			"unrestricted capabilities"},
		"no rules": {own(`securityContext: null`), "allowPrivilegeEscalation != false"},
		"root":     {`{spec: {securityContext: {runAsUser: 0}}}`, "runAsUser=0"},
		"root in a container": {
			sidecar(`securityContext: {runAsUser: 0, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}`),
			`container "a" must not set runAsUser=0`},
		"perhaps root": {`{spec: {securityContext: {runAsNonRoot: false}}}`,
			"runAsNonRoot != true"},
		"root in a namespace of users": {
			`{spec: {hostUsers: false, securityContext: {runAsUser: 0, runAsNonRoot: false}}}`, "runAsUser=0"},
		"no seccomp": {`{spec: {securityContext: {seccompProfile: {type: Unconfined}}}}`,
			"seccompProfile"},
		"no pod rules":              {`{spec: {securityContext: null}}`, "runAsNonRoot != true"},
		"all of /proc":              {own(`securityContext: {procMount: Unmasked}`), "procMount"},
		"a port of the node":        {sidecar(`ports: [{containerPort: 1, hostPort: 80}]`), "hostPort"},
		"a folder of the node":      {volume(`hostPath: {path: /}`), "hostPath"},
		"a volume that is a client": {volume(`nfs: {server: a, path: /}`), "nfs"},
		"a kernel setting": {
			`{spec: {securityContext: {sysctls: [{name: kernel.msgmax, value: "1"}]}}}`, "kernel.msgmax"},
		"a token for the API": {`{spec: {automountServiceAccountToken: true}}`,
			"spec.automountServiceAccountToken would add a token for the Kubernetes API"},
		"a token, by default": {`{spec: {automountServiceAccountToken: null}}`,
			"spec.automountServiceAccountToken would add a token"},
		"a token in a volume": {volume(`projected: {sources: [{serviceAccountToken: {path: a}}]}`),
			"volume v would add a token for the Kubernetes API"},
		"a token among others": {
			volume(`projected: {sources: [{configMap: {name: a}}, {serviceAccountToken: {path: a, audience: ""}}]}`),
			"volume v would add a token"},
		"a token by the API's audience": {
			volume(`projected: {sources: [{serviceAccountToken: {path: a, audience: "https://kubernetes.default.svc"}}]}`), `for the audience "https://kubernetes.default.svc"`},
		"a certificate for the API": {
			volume(`projected: {sources: [{podCertificate: {signerName: kubernetes.io/kube-apiserver-client-pod, keyType: ED25519, credentialBundlePath: a}}]}`), "volume v would add a certificate for the Kubernetes API"},
		"rights in an annotation of old": {
			`{metadata: {annotations: {container.apparmor.security.beta.kubernetes.io/engine: unconfined}}}`,
			"AppArmor"},
		"a container with rights of its own": {sidecar(`securityContext: {readOnlyRootFilesystem: true}`),
			`container "a" must set securityContext.allowPrivilegeEscalation=false`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := podWith(t, tt.template, nil)
			expectUnfit(t, err, tt.want, "change spec.runner.template, or allow it in the installation "+
				"(--allow-unrestricted-runners)")
			if _, err := podWith(t, tt.template, func(s *Settings) { s.AllowUnrestricted = true }); err != nil {
				t.Errorf("where the installation allows it: %v", err)
			}
			if err := CheckTemplate(withTemplate(t, tt.template)); err != nil {
				t.Errorf("the check of the Stack depends on what the installation allows: %v", err)
			}
		})
	}
}

func TestTokensForAudiences(t *testing.T) {
	text := `{spec: {volumes: [{name: v, projected: {sources: [{serviceAccountToken: {path: a, audience: vault}}]}}]}}`
	if _, err := podWith(t, text, func(s *Settings) {
		s.TokenAudiences = []string{"sts.amazonaws.com", "vault"}
	}); err != nil {
		t.Errorf("one that the installation allows in templates: %v", err)
	}
	_, err := podWith(t, text, func(s *Settings) { s.TokenAudiences = []string{"vaults"} })
	expectUnfit(t, err, `volume v asks for a token for the audience "vault"`)
	_, err = podWith(t, strings.ReplaceAll(text, "vault", `""`), func(s *Settings) { s.TokenAudiences = []string{""} })
	expectUnfit(t, err, "volume v would add a token for the Kubernetes API to the pod")
}

// A container that starts before the runner would use it first.
func TestTemplateCannotHaveATokenForTheServer(t *testing.T) {
	text := `{spec: {volumes: [{name: v, projected: {sources: [{configMap: {name: a}}, {serviceAccountToken: {path: a, audience: cairn}}]}}]}}`
	_, err := podWith(t, text, func(s *Settings) { s.AllowUnrestricted, s.TokenAudiences = true, []string{"cairn"} })
	expectUnfit(t, err, `spec.volumes[v] asks for a token for the audience "cairn", which is Cairn's own`)
	expectUnfit(t, CheckTemplate(withTemplate(t, text)), `spec.volumes[v] asks for a token`)
}

// The runner redacts the values of all Secrets in the pod, wherever they come from.
func TestRunnerReceivesTheSecretsOfATemplate(t *testing.T) {
	w := podSnapshot()
	runtest.Planned(w.Run)
	doc := inputs.Document{Template: template(t, fullTemplate)}
	var order runnerapi.Order
	VolumesOf(w.Run, doc).AddTo(&order)
	if diff := cmp.Diff([]string{"TOKEN"}, order.SecretEnv); diff != "" {
		t.Errorf("variables: -want +got:\n%s", diff)
	}
	pod, err := New(w.Run, w.Stack, doc, v1alpha1.AttemptPlan, 1, settings)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, dir := range order.SecretDirs {
		for _, m := range pod.Spec.Containers[0].VolumeMounts {
			i := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
			if m.MountPath == dirInputs+"/"+dir && pod.Spec.Volumes[i].Secret != nil {
				names = append(names, pod.Spec.Volumes[i].Secret.SecretName)
			}
		}
	}
	if diff := cmp.Diff([]string{"extra", "signing"}, names); diff != "" {
		t.Errorf("Secrets: -want +got:\n%s", diff)
	}
}

func TestTemplateReads(t *testing.T) {
	var got []string
	for _, r := range TemplateReads(template(t, fullTemplate)) {
		got = append(got, fmt.Sprintf("%s %s (%s) optional=%t decides=%t", r.Kind, r.Name, r.Why, r.Optional,
			r.Decides))
	}
	want := []string{
		"Secret api (spec.runner.template: env TOKEN of container engine) optional=false decides=true",
		"ConfigMap site (spec.runner.template: env ZONE of container engine) optional=true decides=true",
		"Secret proxy-login (spec.runner.template: env PASSWORD of container proxy) optional=false decides=false",
		"ConfigMap corporate-ca (spec.runner.template: volume ca) optional=false decides=false",
		"Secret signing (spec.runner.template: volume key) optional=false decides=false",
		"Secret extra (spec.runner.template: volume both) optional=false decides=false",
		"ConfigMap site (spec.runner.template: volume both) optional=false decides=false",
		"Secret proxy (spec.runner.template: volume apart) optional=true decides=false",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if reads := TemplateReads(template(t, `{spec: {volumes: 1}}`)); reads != nil {
		t.Errorf("of one that cannot be read: %v", reads)
	}
	var missing []string
	for _, n := range References(inputs.Document{Template: template(t, fullTemplate)}) {
		missing = append(missing, n.Name)
	}
	if diff := cmp.Diff([]string{"api", "proxy-login", "corporate-ca", "signing", "extra", "site"},
		missing); diff != "" {
		t.Errorf("what a destroy waits for: -want +got:\n%s", diff)
	}
}

func TestImagesArePulledAsTheInstallationConfigures(t *testing.T) {
	w, set := podSnapshot(), settings
	set.RunnerPullPolicy, set.EnginePullPolicy, set.ImagePullSecrets = corev1.PullNever, corev1.PullAlways, []string{
		"registry", "other"}
	doc := inputs.Document{Template: template(t, `{spec: {imagePullSecrets: [{name: mine}]}}`)}
	pod, err := New(w.Run, w.Stack, doc, v1alpha1.AttemptPlan, 1, set)
	if err != nil {
		t.Fatal(err)
	}
	if runner, engine := pod.Spec.InitContainers[0].ImagePullPolicy, pod.Spec.Containers[0].ImagePullPolicy; runner !=
		corev1.PullNever || engine != corev1.PullAlways {
		t.Errorf("the runner's image is pulled %s, the engine's %s", runner, engine)
	}
	if diff := cmp.Diff([]corev1.LocalObjectReference{{Name: "registry"}, {Name: "other"}, {Name: "mine"}},
		pod.Spec.ImagePullSecrets); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	doc.Image = "mine:1"
	if pod, _ = New(w.Run, w.Stack, doc, v1alpha1.AttemptPlan, 1, set); pod.Spec.Containers[0].ImagePullPolicy != "" {
		t.Errorf("a Stack's own image is pulled %s", pod.Spec.Containers[0].ImagePullPolicy)
	}
}

// Whatever a template says: Cairn does not panic on it, and what is made of it holds what a runner's pod holds.
func FuzzTemplate(f *testing.F) {
	for _, text := range []string{fullTemplate, `{}`, `{spec: null}`, `{spec: {containers: [null], volumes: [{}]}}`,
		`{spec: {initContainers: [{name: runner}]}}`} {
		raw, err := yaml.YAMLToJSON([]byte(text))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		if !json.Valid(raw) {
			t.Skip("the API server keeps none that is not JSON")
		}
		w := podSnapshot()
		doc := everything
		doc.Template = &apiextensionsv1.JSON{Raw: raw}
		pod, err := New(w.Run, w.Stack, doc, v1alpha1.AttemptPlan, 1, settings)
		if err != nil {
			return
		}
		if why := podSecurityViolation(api.LevelRestricted, pod); why != "" {
			t.Error(why)
		}
		if engine := pod.Spec.Containers[0]; len(pod.Spec.Containers) != 1 || engine.Name != runinfo.ShellContainer ||
			engine.Command[0] != runinfo.DirBin+"/cairn-runner" {
			t.Errorf("the containers are %v", pod.Spec.Containers)
		}
		if pod.Spec.InitContainers[0].Image != settings.RunnerImage || *pod.Spec.AutomountServiceAccountToken ||
			pod.Spec.ServiceAccountName != "net-runner" || pod.Labels[runinfo.LabelRun] != "net-7" {
			t.Error("it is not a runner's pod")
		}
		TemplateReads(doc.Template)
	})
}

// Labels and annotations with a domain are for systems of the cluster, so the installation lists them.
func TestKeysOfMetadata(t *testing.T) {
	for name, tt := range map[string]struct {
		key     string
		allowed []string
		taken   bool
	}{
		"no domain":                     {"team", nil, true},
		"one for every installation":    {"sidecar.istio.io/inject", nil, true},
		"a recommended one":             {"app.kubernetes.io/part-of", nil, true},
		"one that begins as another":    {"sidecar.istio.io/inject-volumes", nil, false},
		"one of a company":              {"example.com/owner", nil, false},
		"one that is listed":            {"example.com/owner", []string{"example.com/owner"}, true},
		"one of a domain that is":       {"example.com/owner", []string{"example.com/"}, true},
		"one of a domain that ends so":  {"not-example.com/owner", []string{"example.com/"}, false},
		"one of a domain that is not":   {"example.com.evil/owner", []string{"example.com/"}, false},
		"one longer than a listed one":  {"example.com/owners", []string{"example.com/owner"}, false},
		"a domain without a slash":      {"example.com/owner", []string{"example.com"}, false},
		"one where nothing is required": {"example.com/owner", []string{""}, false},
	} {
		for _, kind := range []string{"labels", "annotations"} {
			t.Run(name+" of "+kind, func(t *testing.T) {
				text := fmt.Sprintf(`{metadata: {%s: {%s: "1"}}}`, kind, tt.key)
				pod, err := podWith(t, text, func(s *Settings) { s.MetadataKeys = tt.allowed })
				if !tt.taken {
					expectUnfit(t, err, "metadata."+kind+"["+tt.key+"] is not allowed in this installation",
						"--runner-metadata-key")
				} else if err != nil || pod.Labels[tt.key]+pod.Annotations[tt.key] != "1" {
					t.Errorf("got %v", err)
				}
			})
		}
	}
}
