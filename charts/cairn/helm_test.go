//go:build envtest

package cairn

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/net/http/httpproxy"
	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/dev"
)

var update = flag.Bool("update", false, "write the golden files")

// opened is for go, which takes the result of the last time unless a file that a test opened has changed. helm opens
// the chart in a process of its own.
var opened = sync.OnceValue(func() error {
	return filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		_, err = os.ReadFile(path)
		return err
	})
})

// helm runs helm without configuration of a user.
func helm(t *testing.T, kubeconfig string, args ...string) (string, error) {
	t.Helper()
	if err := opened(); err != nil {
		t.Fatal(err)
	}
	return run(t, "helm", kubeconfig, "", args...)
}

// run runs one of the tools that `make` builds.
func run(t *testing.T, tool, kubeconfig, stdin string, args ...string) (string, error) {
	t.Helper()
	tools, err := dev.BinDir()
	if err != nil {
		t.Fatal(err)
	}
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), filepath.Join(tools, tool), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig, "HOME="+home, "HELM_CACHE_HOME="+home, "HELM_CONFIG_HOME="+
		home, "HELM_DATA_HOME="+home)
	cmd.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err = cmd.Run()
	if err != nil {
		return stderr.String(), err
	}
	return stdout.String(), nil
}

// render gives what helm makes of the chart.
func render(t *testing.T, args ...string) string {
	t.Helper()
	text, err := helm(t, "", append([]string{"template", "cairn", ".", "--namespace=cairn-system"}, args...)...)
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return text
}

// parse gives the objects of a text by kind, namespace and name.
func parse(t *testing.T, text string) map[string]*unstructured.Unstructured {
	t.Helper()
	objects := map[string]*unstructured.Unstructured{}
	for document := range strings.SplitSeq("\n"+text, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), &o.Object); err != nil {
			t.Fatalf("%v in\n%s", err, document)
		}
		if len(o.Object) == 0 {
			continue
		}
		key := id(o)
		if objects[key] != nil {
			t.Errorf("%s is there twice", key)
		}
		objects[key] = o
	}
	return objects
}

func id(o *unstructured.Unstructured) string {
	return strings.Join([]string{o.GetKind(), o.GetNamespace(), o.GetName()}, " ")
}

// fromFiles are the templates that have no text of their own: what they render is compared with files/ instead.
var fromFiles = regexp.MustCompile(`(?s)# Source: cairn/templates/(crds|admission|user-roles)\.yaml\n.*`)

// What is in files/ too is left out: rules, alerts and the dashboard.
var (
	rules     = regexp.MustCompile(`(?m)^rules:\n((-| ).*\n)+`)
	groups    = regexp.MustCompile(`(?m)^  groups:\n(( .*)?\n)+`)
	dashboard = regexp.MustCompile(`(?m)^  cairn.json: \|\n(    .*\n?)+`)
)

// summary is a rendered chart without what is in files/ too.
func summary(t *testing.T, text string) string {
	t.Helper()
	var out strings.Builder
	for document := range strings.SplitSeq("\n"+text, "\n---\n") {
		if fromFiles.MatchString(document) {
			for _, o := range parse(t, document) {
				document = "# " + strings.Join(strings.Fields(id(o)), " ") + " as in files/"
				if o.GetAnnotations()["helm.sh/resource-policy"] == "keep" {
					document += ", kept"
				}
			}
		}
		if document += "\n"; !strings.Contains(document, "# Source: cairn/templates/metacontroller.yaml") {
			document = rules.ReplaceAllString(document, "rules: # as in files/roles\n")
		}
		if strings.Contains(document, "kind: PrometheusRule") {
			document = groups.ReplaceAllString(document, "  groups: # as in files/alerts.yaml\n")
		}
		document = dashboard.ReplaceAllString(document, "  cairn.json: # files/dashboard.json\n")
		if document = strings.TrimSpace(document); document != "" {
			out.WriteString("---\n" + document + "\n")
		}
	}
	return out.String()
}

func TestManifests(t *testing.T) {
	for name, args := range map[string][]string{
		"default":    nil,
		"split-s3":   {"-f", "testdata/split-s3.yaml"},
		"namespaced": {"-f", "testdata/namespaced.yaml"},
		"everything": {"-f", "testdata/everything.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			text := render(t, args...)
			parse(t, text) // says what is there twice
			got, golden := summary(t, text), filepath.Join("testdata", name+".golden")
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("go test -tags envtest ./charts/cairn -run TestManifests -update writes what is meant:\n%s",
					diff)
			}
		})
	}
}

// What is in files/ gets the chart's labels and is as it is otherwise: helm reads YAML and writes it again.
func TestFilesAreInstalledUnchanged(t *testing.T) {
	rendered := parse(t, render(t, "--set=metrics.prometheusRule.enabled=true,metrics.dashboard.enabled=true"))
	for _, pattern := range []string{"files/crds/*.yaml", "files/policies/*.yaml", "files/rbac/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatal(pattern, err)
		}
		for _, path := range paths {
			for key, want := range parse(t, read(t, path)) {
				got := rendered[key]
				if got == nil {
					t.Errorf("%s: %s is not in the chart", path, key)
					continue
				}
				added := got.GetLabels()
				for name, value := range want.GetLabels() {
					if added[name] != value {
						t.Errorf("%s: label %s is %q", key, name, added[name])
					}
				}
				if kept := got.GetAnnotations()["helm.sh/resource-policy"] == "keep"; kept !=
					(want.GetKind() == "CustomResourceDefinition") {
					t.Errorf("%s: kept: %v", key, kept)
				}
				for _, o := range []*unstructured.Unstructured{want, got} {
					o.SetLabels(nil)
					annotations := o.GetAnnotations()
					for _, name := range []string{"helm.sh/resource-policy", "argocd.argoproj.io/sync-options",
						"kustomize.toolkit.fluxcd.io/prune"} {
						delete(annotations, name)
					}
					o.SetAnnotations(annotations)
				}
				if diff := cmp.Diff(want.Object, got.Object); diff != "" {
					t.Errorf("%s:\n%s", key, diff)
				}
			}
		}
	}

	var alerts map[string]any
	if err := yaml.Unmarshal([]byte(read(t, "files/alerts.yaml")), &alerts); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any(alerts), rendered["PrometheusRule cairn-system cairn"].Object["spec"]); diff != "" {
		t.Error(diff)
	}
	data, _, _ := unstructured.NestedStringMap(rendered["ConfigMap cairn-system cairn-dashboard"].Object, "data")
	if strings.TrimSpace(data["cairn.json"]) != strings.TrimSpace(read(t, "files/dashboard.json")) ||
		!json.Valid([]byte(data["cairn.json"])) {
		t.Error("the dashboard is another one than files/dashboard.json")
	}

	for file, key := range map[string]string{
		"operator": "ClusterRole  cairn-operator", "operator-own": "Role cairn-system cairn-operator-own",
		"server": "ClusterRole  cairn-server", "server-own": "Role cairn-system cairn-server-own",
		"server-cluster":     "ClusterRole  cairn-server-cluster",
		"server-kube-system": "Role kube-system cairn-server-kube-system",
		"server-kube-public": "Role kube-public cairn-server-kube-public",
	} {
		var role map[string]any
		if err := yaml.Unmarshal([]byte(read(t, "files/roles/"+file+".yaml")), &role); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(role["rules"], rendered[key].Object["rules"]); diff != "" {
			t.Errorf("%s:\n%s", key, diff)
		}
	}
	files, err := filepath.Glob("files/roles/*.yaml")
	if err != nil || len(files) != 7 {
		t.Errorf("%v, %v: is each of them in templates/rbac.yaml and in this test?", files, err)
	}
}

// A user who installs the chart for single namespaces may have permissions in these only.
func TestNamespacedInstallationHasNoOtherObjects(t *testing.T) {
	in := map[string]bool{"cairn-system": true, "shop": true, "payments": true}
	const provider = "--set=publicURL=https://cairn.example.com,oidc.issuerURL=https://id.example.com," +
		"oidc.clientID=cairn"
	for name, args := range map[string][]string{
		"without a provider": nil, "with one": {provider, "--kube-version=1.36.0"},
		"with one before Kubernetes 1.36": {provider, "--kube-version=1.35.3"},
	} {
		for key, o := range parse(t, render(t, append(args, "-f", "testdata/namespaced.yaml")...)) {
			if !in[o.GetNamespace()] {
				t.Errorf("%s: %s is in %q", name, key, o.GetNamespace())
			}
		}
	}
}

func TestUnsupportedPoliciesAreOmitted(t *testing.T) {
	has := func(kind string, args ...string) bool {
		return strings.Contains(render(t, args...), "\nkind: "+kind+"\n")
	}
	for name, tt := range map[string]struct {
		args             []string
		mutate, validate bool
	}{
		"an API server that fills in names": {[]string{"--kube-version=1.36.0"}, true, true},
		"one that cannot":                   {[]string{"--kube-version=1.35.3"}, false, true},
		"one that can, by what it says it has": {
			[]string{"--kube-version=1.35.3", "--api-versions=admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"},
			true, true},
		"users set their names": {
			[]string{"--kube-version=1.36.0", "--set=admissionPolicies.names=false"}, false, true},
		"another install has all of them": {
			[]string{"--kube-version=1.36.0", "--set=admissionPolicies.enabled=false"}, false, false},
		"a version of a vendor's, such as GKE's": {[]string{"--kube-version=v1.36.1-gke.1"}, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := has("MutatingAdmissionPolicy", tt.args...); got != tt.mutate {
				t.Errorf("policies that fill in names: %v", got)
			}
			if got := has("ValidatingAdmissionPolicy", tt.args...); got != tt.validate {
				t.Errorf("policies that refuse: %v", got)
			}
		})
	}
	images := []string{"template", "cairn", ".", "--set=providers.images={a:1,b:1}"}
	if text, err := helm(t, "", append(images, "--kube-version=1.34.9")...); err == nil ||
		!strings.Contains(text, "providers.images requires Kubernetes 1.35") {
		t.Errorf("images of providers in an old cluster: %v\n%s", err, text)
	}
	if text, err := helm(t, "", append(images, "--kube-version=v1.35.0-gke.1")...); err != nil ||
		!strings.Contains(text, "--provider-image=a:1,b:1\n") {
		t.Errorf("images of providers: %v\n%s", err, text)
	}
	if _, err := helm(t, "", "template", "cairn", ".", "--kube-version=1.29.9"); err == nil {
		t.Error("a cluster without ValidatingAdmissionPolicy is taken")
	}
}

// YAML takes no for false and 123 for a number, and both are names that Kubernetes has: namespaces by country, say.
func TestNamesAreQuoted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "values.yaml")
	values := `
tenants: [{namespace: "no", create: true, runnerServiceAccount: {name: "123"}, quota: {pods: "1"}, roleBindings: [{role: "on", subjects: [{kind: ServiceAccount, name: "1"}]}]}]
watchNamespaces: ["no"]
priorityClassName: "null"
bucket: {secretName: "1", persistence: {existingClaim: "2"}}
publicURL: https://cairn.example.com
tls: {secretName: "3"}
oidc: {issuerURL: "https://id.example.com", clientID: cairn, clientSecret: {name: "4", key: "5"}, caConfigMap: {name: "6", key: "7"}}
publicService: {enabled: true, loadBalancerClass: "8"}
ingress: {enabled: true, className: "9", host: hooks.example.com}
metacontroller: {enabled: true, serviceAccount: {name: "10", namespace: "11"}}
`
	if err := os.WriteFile(file, []byte(values), 0o600); err != nil {
		t.Fatal(err)
	}
	names := []string{"name", "namespace", "secretName", "claimName", "key", "priorityClassName", "ingressClassName",
		"loadBalancerClass"}
	var walk func(of string, value any)
	walk = func(of string, value any) {
		switch value := value.(type) {
		case map[string]any:
			for name, in := range value {
				if _, isText := in.(string); slices.Contains(names, name) && !isText &&
					reflect.ValueOf(in).Kind() != reflect.Map {
					t.Errorf("%s: %s is %v, which is no text", of, name, in)
				}
				walk(of, in)
			}
		case []any:
			for _, in := range value {
				walk(of, in)
			}
		}
	}
	for of, object := range parse(t, render(t, "-f", file, "--namespace=456")) {
		if object.GetKind() != "CustomResourceDefinition" { // whose fields may be called so
			walk(of, object.Object)
		}
	}
}

// A tenant can have Kubernetes' own role and Cairn's role of the same name, for different subjects. Each has its own
// binding.
func TestRolesOfTenantsHaveTheirOwnBindings(t *testing.T) {
	const tenant = `tenants[0].namespace=shop,tenants[0].roleBindings[0].role=edit,tenants[0].roleBindings[0].subjects[0].kind=Group,tenants[0].roleBindings[0].subjects[0].name=developers,` +
		`tenants[0].roleBindings[1].role=cairn-edit,tenants[0].roleBindings[1].subjects[0].kind=Group,tenants[0].roleBindings[1].subjects[0].name=planners`
	bound := map[string]string{}
	for _, o := range parse(t, render(t, "--set="+tenant)) {
		if o.GetKind() == "RoleBinding" && o.GetNamespace() == "shop" {
			binding := granted(t, o).(rbacv1.RoleBinding)
			bound[binding.RoleRef.Name] = binding.Subjects[0].Name
		}
	}
	if diff := cmp.Diff(map[string]string{"edit": "developers", "cairn-edit": "planners"}, bound); diff != "" {
		t.Error(diff)
	}
}

// A role that is not aggregated is not part of view, edit or admin after the next upgrade either, so that the owners of
// a namespace are not its approvers.
func TestRolesOfUsersCanBeKeptSeparate(t *testing.T) {
	const prefix = "rbac.authorization.k8s.io/aggregate-to-"
	for values, want := range map[string][]string{
		"userRoles.create=true": {"cairn-apply edit", "cairn-approve admin",
			"cairn-cancel edit", "cairn-destroy admin", "cairn-edit edit", "cairn-partial admin",
			"cairn-pipelines admin", "cairn-plan edit", "cairn-promote admin", "cairn-stackpolicies admin",
			"cairn-state admin", "cairn-view view"},
		"userRoles.notAggregated={cairn-approve,cairn-state}": {"cairn-apply edit", "cairn-cancel edit",
			"cairn-destroy admin", "cairn-edit edit", "cairn-partial admin", "cairn-pipelines admin", "cairn-plan edit",
			"cairn-promote admin", "cairn-stackpolicies admin", "cairn-view view"},
	} {
		var aggregated []string
		for _, o := range parse(t, render(t, "--set="+values)) {
			for label := range o.GetLabels() {
				if to, ok := strings.CutPrefix(label, prefix); ok {
					aggregated = append(aggregated, o.GetName()+" "+to)
				}
			}
		}
		slices.Sort(aggregated)
		if diff := cmp.Diff(want, aggregated); diff != "" {
			t.Errorf("%s:\n%s", values, diff)
		}
	}
}

// The hooks are of use to metacontroller only if the policy of Cairn's pods lets it connect, wherever it runs.
func TestMetacontrollerReachesTheHooks(t *testing.T) {
	for values, want := range map[string]any{
		`{"enabled":true}`: peersIn("metacontroller"),
		`{"enabled":true,"serviceAccount":{"namespace":"controllers"}}`: peersIn("controllers"),
	} {
		if diff := cmp.Diff(want, peersOfHooks(t, "--set-json=metacontroller="+values)); diff != "" {
			t.Errorf("%s:\n%s", values, diff)
		}
	}
	for peers, want := range map[string]any{
		`[{"namespaceSelector":{"matchLabels":{"kubernetes.io/metadata.name":"other"}}}]`: peersIn("other"),
		`[]`: nil, // all
	} {
		if diff := cmp.Diff(want, peersOfHooks(t, "--set=metacontroller.enabled=true",
			"--set-json=networkPolicy.metacontroller="+peers)); diff != "" {
			t.Errorf("%s:\n%s", peers, diff)
		}
	}
}

// peersOfHooks are those that the chart lets connect to the hooks for metacontroller.
func peersOfHooks(t *testing.T, args ...string) any {
	t.Helper()
	policy := parse(t, render(t, args...))["NetworkPolicy cairn-system cairn-metacontroller"]
	rules, _, _ := unstructured.NestedSlice(policy.Object, "spec", "ingress")
	for _, rule := range rules {
		if rule := rule.(map[string]any); fmt.Sprint(rule["ports"]) == "[map[port:8082]]" {
			return rule["from"]
		}
	}
	t.Fatalf("%v: no rule for port 8082 in %v", args, rules)
	return nil
}

// peersIn are all pods of a namespace.
func peersIn(namespace string) []any {
	return []any{map[string]any{
		"namespaceSelector": map[string]any{"matchLabels": map[string]any{"kubernetes.io/metadata.name": namespace}}}}
}

// Cairn takes an address with a scheme only; tracing.insecure says which one it is where none is named.
func TestCollectorURLHasAScheme(t *testing.T) {
	for values, want := range map[string]string{
		"tracing.endpoint=http://collector:4318":                        "http://collector:4318",
		"tracing.endpoint=https://collector:4318,tracing.insecure=true": "https://collector:4318",
		"tracing.endpoint=collector:4318":                               "https://collector:4318",
		"tracing.endpoint=collector:4318,tracing.insecure=true":         "http://collector:4318",
	} {
		if text := render(t, "--set="+values); !strings.Contains(text, "{name: OTEL_EXPORTER_OTLP_ENDPOINT, value: \""+
			want+"\"}") || strings.Contains(text, "OTLP_INSECURE") {
			t.Errorf("%s: no %s", values, want)
		}
	}
}

// With the values of the documentation for a proxy, Cairn reaches the API server without it: a proxy does not know the
// networks of a cluster.
func TestDocumentedProxyIsNotForTheCluster(t *testing.T) {
	values := regexp.MustCompile("(?s)```yaml\n(extraEnv:.*?)```").FindStringSubmatch(
		read(t, "../../docs/how-to/engines.md"))
	if values == nil {
		t.Fatal("there are no values for a proxy")
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, []byte(values[1]), 0o600); err != nil {
		t.Fatal(err)
	}
	deployment := &appsv1.Deployment{}
	object := parse(t, render(t, "-f", file))["Deployment cairn-system cairn"].Object
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, deployment); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{}
	for _, v := range deployment.Spec.Template.Spec.Containers[0].Env {
		env[v.Name] = strings.ReplaceAll(v.Value, "$(KUBERNETES_SERVICE_HOST)", "10.96.0.1") // as a kubelet does
	}
	proxy := (&httpproxy.Config{HTTPSProxy: env["HTTPS_PROXY"], NoProxy: env["NO_PROXY"]}).ProxyFunc()
	for address, proxied := range map[string]bool{
		"https://10.96.0.1:443": false, "https://minio.storage.svc:9000": false, "https://get.opentofu.org": true,
	} {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		if through, err := proxy(u); err != nil || (through != nil) != proxied {
			t.Errorf("%s: %v, %v", address, through, err)
		}
	}
}

// The runner in an image is this release's only while nothing says that the image is of another one. A digest counts in
// place of the tag, so an image that is pinned by it stays what it was when the chart is upgraded.
func TestRunnerOfAnotherReleaseIsNotUsed(t *testing.T) {
	digest := "sha256:" + strings.Repeat("a", 64)
	for values, want := range map[string]bool{
		"runner.image.tag=":                                         true,
		"runner.image.tag=v0":                                       false,
		"runner.image.tag=v0,image.tag=v0":                          true,
		"runner.image.digest=" + digest:                             false,
		"image.digest=" + digest:                                    false,
		"runner.image.hasRunner=false":                              false,
		"image.digest=" + digest + ",runner.image.digest=" + digest: true, // from images.txt of one release
		// The chart of a release has a digest for image, so that a user's own image by a digest says nothing of its
		// release.
		"image.digest=" + digest + ",runner.image.repository=acme/tools,runner.image.digest=" + digest:         false,
		"image.digest=" + digest + ",runner.image.repository=mirror/cairn-tools,runner.image.digest=" + digest: true,
	} {
		if got := strings.Contains(render(t, "--set="+values), "--engine-image-has-runner"); got != want {
			t.Errorf("%s: it is used: %v", values, got)
		}
	}
}

// An unknown value, or one that cannot be, is refused with words that say which.
func TestInvalidValuesAreRejected(t *testing.T) {
	for name, tt := range map[string]struct {
		values string
		want   string
	}{
		"a name that is not known": {`{modee: split}`, "additional properties 'modee' not allowed"},
		"one in a tenant": {`{tenants: [{namespace: a, serviceAccount: x}]}`,
			"additional properties 'serviceAccount' not allowed"},
		"a mode that is none":        {`{mode: both}`, "value must be one of 'serve', 'split'"},
		"an address without https":   {`{publicURL: "http://cairn.example.com"}`, "/publicURL"},
		"a bucket that is none":      {`{bucket: {url: "ftp://a"}}`, "/bucket/url"},
		"no limit by less than none": {`{limits: {runs: -1}}`, "/limits/runs"},
		"a number as a label":        {`{podLabels: {a: 1}}`, "/podLabels/a"},
		"a size that is none":        {`{bucket: {persistence: {size: much}}}`, "/bucket/persistence/size"},
		"an engine that is none":     {`{engines: {mirrors: {Pulumi: "https://a"}}}`, "/engines/mirrors"},
		"a key that is none":         {`{engines: {keys: {Terraform: a}}}`, "/engines/keys/Terraform"},
		"a role without anybody": {
			`{tenants: [{namespace: a, roleBindings: [{role: cairn-view, subjects: []}]}]}`,
			"/tenants/0/roleBindings/0/subjects"},
		"a digest that is none":       {`{image: {digest: abc}}`, "/image/digest"},
		"sessions that end at once":   {`{sessionLifetime: 0h0m}`, "/sessionLifetime"},
		"sampling of more than all":   {`{tracing: {sampling: 2}}`, "/tracing/sampling"},
		"an argument that is no flag": {`{extraArgs: [serve]}`, "/extraArgs/0"},
		"a folder that is on no volume": {`{bucket: {url: "file:///var/lib/cairnival"}}`,
			"only /var/lib/cairn is on a volume"},
		"garbage is collected too soon":   {`{bucket: {gcAfter: 23h59m}}`, "bucket.gcAfter is 23h59m"},
		"two halves and one pod's bucket": {`{mode: split}`, "mode split requires a bucket that all pods can access"},
		"two halves and no volume at all": {
			`{mode: split, bucket: {persistence: {enabled: false, accessModes: [ReadWriteMany]}}}`,
			"mode split requires a bucket"},
		"a certificate for no host": {`{certManager: {enabled: true, issuerRef: {name: a}}}`,
			"such as https://cairn.example.com"},
		"a certificate of no issuer": {`{publicURL: "https://a.example", certManager: {enabled: true}}`,
			"certManager.issuerRef.name"},
		"one for the host of runners": {`{publicURL: "https://cairn.cairn-system.svc", tls: {secretName: a}}`,
			"set another host for users"},
		"two certificates": {
			`{publicURL: "https://a.example", tls: {secretName: a}, certManager: {enabled: true, issuerRef: {name: a}}}`, "are mutually exclusive"},
		"an Ingress of no host":           {`{ingress: {enabled: true}}`, "ingress.host"},
		"an Ingress for users of no host": {`{ingress: {ui: {enabled: true}}}`, "ingress.ui.host"},
		"a route of no Gateway":           {`{httpRoute: {enabled: true}}`, "httpRoute.parentRefs"},
		"a provider of no client": {
			`{publicURL: "https://a.example", oidc: {issuerURL: "https://id.example"}}`, "oidc.clientID"},
		"a provider that leads nowhere": {`{oidc: {issuerURL: "https://id.example", clientID: cairn}}`, "publicURL"},
		"a provider without https": {`{oidc: {issuerURL: "http://id.example", clientID: cairn}}`,
			"/oidc/issuerURL"},
		"a route for users of no address": {`{httpRoute: {parentRefs: [{name: a}], ui: {enabled: true}}}`,
			"publicURL"},
		"Roles alone in no namespace": {`{rbac: {clusterWide: false}}`, "watchNamespaces"},
		"a tenant in Cairn's own":     {`{tenants: [{namespace: cairn-system}]}`, "can read the encryption keys"},
		"a tenant twice":              {`{tenants: [{namespace: a}, {namespace: a}]}`, "tenant a is listed twice"},
		"a tenant in no watched namespace": {`{watchNamespaces: [a], tenants: [{namespace: b}]}`,
			"would not run its Stacks"},
		"a role that is none": {`{userRoles: {notAggregated: [approve]}}`, "/userRoles/notAggregated/0"},
		"a role that is bound twice": {
			`{tenants: [{namespace: a, roleBindings: [{role: edit, subjects: [{kind: User, name: a}]}, {role: edit, subjects: [{kind: User, name: b}]}]}]}`,
			"tenant a: role edit is bound twice",
		},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "values.yaml")
			if err := os.WriteFile(file, []byte(tt.values), 0o600); err != nil {
				t.Fatal(err)
			}
			text, err := helm(t, "", "template", "cairn", ".", "--namespace=cairn-system", "-f", file)
			if err == nil || !strings.Contains(text, tt.want) {
				t.Errorf("%v: %q does not say %q", err, text, tt.want)
			}
		})
	}
}

// Every value is in the schema and the other way round, so that neither is forgotten.
func TestSchemaHasAllValues(t *testing.T) {
	var values, schema map[string]any
	for path, into := range map[string]any{"values.yaml": &values, "values.schema.json": &schema} {
		if err := yaml.Unmarshal([]byte(read(t, path)), into); err != nil {
			t.Fatal(err)
		}
	}
	definitions := schema["definitions"].(map[string]any)
	var compare func(path string, value any, schema map[string]any)
	compare = func(path string, value any, schema map[string]any) {
		if name, ok := schema["$ref"].(string); ok {
			schema = definitions[strings.TrimPrefix(name, "#/definitions/")].(map[string]any)
		}
		properties, ok := schema["properties"].(map[string]any)
		if !ok {
			return
		}
		if schema["additionalProperties"] != false {
			t.Errorf("%s: the schema takes names that are not known", path)
		}
		at, _ := value.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(properties)) {
			if _, ok := at[name]; !ok {
				t.Errorf("%s.%s is in the schema and not in values.yaml", path, name)
			}
			compare(path+"."+name, at[name], properties[name].(map[string]any))
		}
	}
	delete(schema["properties"].(map[string]any), "global")
	compare("", values, schema)
}

func TestLint(t *testing.T) {
	for _, args := range [][]string{nil, {"-f", "testdata/everything.yaml"}, {"-f", "testdata/namespaced.yaml"},
		{"-f", "testdata/split-s3.yaml"}} {
		if text, err := helm(t, "", append([]string{"lint", "--strict", ".", "--namespace=cairn-system"},
			args...)...); err != nil {
			t.Errorf("%v: %v: %s", args, err, text)
		}
	}
}

// Nothing of the tests is in the package, and all that the templates read is.
func TestPackage(t *testing.T) {
	folder := t.TempDir()
	if text, err := helm(t, "", "package", ".", "--destination="+folder); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	paths, err := filepath.Glob(filepath.Join(folder, "cairn-*.tgz"))
	if err != nil || len(paths) != 1 {
		t.Fatal(paths, err)
	}
	list, err := exec.CommandContext(t.Context(), "tar", "-tzf", paths[0]).Output()
	if err != nil {
		t.Fatal(err)
	}
	if other := regexp.MustCompile(`(?m)^.*(\.go|testdata|\.gotmpl|\.golden).*$`).FindString(string(list)); other !=
		"" {
		t.Errorf("%s is in the package", other)
	}
	packed, err := helm(t, "", "template", "cairn", paths[0], "--namespace=cairn-system")
	if err != nil {
		t.Fatalf("%v: %s", err, packed)
	}
	if diff := cmp.Diff(render(t), packed); diff != "" {
		t.Errorf("the package renders other manifests:\n%s", diff)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
