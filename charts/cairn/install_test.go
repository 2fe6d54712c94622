//go:build envtest

package cairn

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"cairn.dev/cairn/dev"
	"cairn.dev/cairn/test/apiserver"
)

// A site is an API server without Cairn, and an administrator who may install it. No pods run there.
type site struct {
	*testing.T
	kube       client.Client
	discovery  discovery.DiscoveryInterface
	kubeconfig string
}

func newSite(t *testing.T) site {
	t.Helper()
	tools, err := dev.BinDir()
	apiserver.Must(t, err)
	env := &envtest.Environment{BinaryAssetsDirectory: tools, ControlPlaneStartTimeout: patience,
		ControlPlaneStopTimeout: patience}
	config, err := env.Start()
	apiserver.Must(t, err)
	t.Cleanup(func() {
		if err := env.Stop(); err != nil {
			t.Error(err)
		}
	})
	admin, err := env.AddUser(envtest.User{Name: "admin", Groups: []string{"system:masters"}}, nil)
	apiserver.Must(t, err)
	kubeconfig, err := admin.KubeConfig()
	apiserver.Must(t, err)
	s := site{T: t, kubeconfig: filepath.Join(t.TempDir(), "kubeconfig")}
	apiserver.Must(t, os.WriteFile(s.kubeconfig, kubeconfig, 0o600))
	scheme := runtime.NewScheme()
	apiserver.Must(t, clientgoscheme.AddToScheme(scheme))
	apiserver.Must(t, apiextensionsv1.AddToScheme(scheme))
	s.kube, err = client.New(config, client.Options{Scheme: scheme})
	apiserver.Must(t, err)
	s.discovery, err = discovery.NewDiscoveryClientForConfig(config)
	apiserver.Must(t, err)
	for _, kind := range []schema.GroupVersionKind{
		{Group: "monitoring.coreos.com", Version: "v1", Kind: "ServiceMonitor"},
		{Group: "monitoring.coreos.com", Version: "v1", Kind: "PrometheusRule"},
		{Group: "gateway.networking.k8s.io", Version: "v1", Kind: "HTTPRoute"},
		{Group: "cert-manager.io", Version: "v1", Kind: "Certificate"},
		{Group: "metacontroller.k8s.io", Version: "v1alpha1", Kind: "CompositeController"},
		{Group: "metacontroller.k8s.io", Version: "v1alpha1", Kind: "DecoratorController"},
	} {
		s.knows(kind)
	}
	return s
}

// knows installs a kind of others that takes anything.
func (s site) knows(kind schema.GroupVersionKind) {
	s.Helper()
	anything := true
	plural := strings.ToLower(kind.Kind) + "s"
	scope := apiextensionsv1.NamespaceScoped
	if kind.Group == "metacontroller.k8s.io" {
		scope = apiextensionsv1.ClusterScoped
	}
	crd := &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + kind.Group,
			Annotations: map[string]string{"api-approved.kubernetes.io": "unapproved, for a test"}},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: kind.Group, Scope: scope,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Singular: strings.ToLower(kind.Kind),
				Kind: kind.Kind, ListKind: kind.Kind + "List"},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: kind.Version, Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{
					Type: "object", XPreserveUnknownFields: &anything}},
			}},
		},
	}
	apiserver.Must(s.T, s.kube.Create(s.Context(), crd))
}

func (s site) helm(args ...string) string {
	s.Helper()
	text, err := helm(s.T, s.kubeconfig, append(args, "--namespace=cairn-system")...)
	if err != nil {
		s.Fatalf("helm %s: %v: %s", strings.Join(args, " "), err, text)
	}
	return text
}

func (s site) namespaces(names ...string) {
	s.Helper()
	for _, name := range names {
		apiserver.Must(s.T, s.kube.Create(s.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
}

var (
	keysKey   = client.ObjectKey{Namespace: "cairn-system", Name: "cairn-keys"}
	leaseKey  = client.ObjectKey{Namespace: "cairn-system", Name: "cairn-operator"}
	publicKey = client.ObjectKey{Namespace: "kube-public", Name: "cairn"}
)

// fill writes into what the chart made what Cairn does: the whole object, as it was read.
func (s site) fill() {
	s.Helper()
	secret, lease, public := &corev1.Secret{}, &coordinationv1.Lease{}, &corev1.ConfigMap{}
	apiserver.Must(s.T, s.kube.Get(s.Context(), keysKey, secret))
	apiserver.Must(s.T, s.kube.Get(s.Context(), leaseKey, lease))
	apiserver.Must(s.T, s.kube.Get(s.Context(), publicKey, public))
	if len(secret.Data)+len(public.Data) > 0 || lease.Spec.HolderIdentity != nil {
		s.Fatal("what Cairn fills in is not empty")
	}
	holder := "cairn-1"
	secret.Data = map[string][]byte{"identity.age": []byte("AGE-SECRET-KEY-1")}
	lease.Spec.HolderIdentity = &holder
	public.Data = map[string]string{"url": "https://cairn.example.com"}
	public.Labels["cairn.dev/published"] = "true"
	for _, o := range []client.Object{secret, lease, public} {
		apiserver.Must(s.T, s.kube.Update(s.Context(), o))
	}
}

// filled says that all of it is there still.
func (s site) filled(when string) {
	s.Helper()
	s.keysAreThere(when)
	lease, public := &coordinationv1.Lease{}, &corev1.ConfigMap{}
	apiserver.Must(s.T, s.kube.Get(s.Context(), leaseKey, lease))
	apiserver.Must(s.T, s.kube.Get(s.Context(), publicKey, public))
	if lease.Spec.HolderIdentity == nil || public.Data["url"] == "" || public.Labels["cairn.dev/published"] == "" {
		s.Errorf("%s: what Cairn wrote is gone: %+v %+v", when, lease.Spec, public)
	}
}

func (s site) keysAreThere(when string) {
	s.Helper()
	secret := &corev1.Secret{}
	apiserver.Must(s.T, s.kube.Get(s.Context(), keysKey, secret))
	if string(secret.Data["identity.age"]) != "AGE-SECRET-KEY-1" {
		s.Fatalf("%s: the keys are gone: %v", when, secret.Data)
	}
}

// ours are all objects of the release that are there and not on their way out, of every kind that the API server knows.
func (s site) ours() []string {
	s.Helper()
	lists, err := s.discovery.ServerPreferredResources()
	apiserver.Must(s.T, err)
	var found []string
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		apiserver.Must(s.T, err)
		for _, resource := range list.APIResources {
			if !slices.Contains(resource.Verbs, "list") {
				continue
			}
			objects := &unstructured.UnstructuredList{}
			objects.SetGroupVersionKind(group.WithKind(resource.Kind + "List"))
			err := s.kube.List(s.Context(), objects, client.MatchingLabels{"app.kubernetes.io/instance": "cairn"})
			if client.IgnoreNotFound(err) != nil {
				s.Fatalf("%s: %v", resource.Kind, err)
			}
			for i := range objects.Items {
				if o := &objects.Items[i]; o.GetDeletionTimestamp() == nil {
					found = append(found, id(o))
				}
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

func (s site) has(when string, want ...string) {
	s.Helper()
	slices.Sort(want)
	if diff := cmp.Diff(want, s.ours()); diff != "" {
		s.Errorf("%s:\n%s", when, diff)
	}
}

// crds are those of the chart.
func crds(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("files/crds/cairn.dev_*.yaml")
	apiserver.Must(t, err)
	var all []string
	for _, file := range files {
		plural := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), "cairn.dev_"), ".yaml")
		all = append(all, "CustomResourceDefinition  "+plural+".cairn.dev")
	}
	return all
}

// volume is what everything.yaml says of it: a claim cannot be changed.
const volume = "--set=bucket.persistence.size=100Gi,bucket.persistence.storageClass=nfs," +
	"bucket.persistence.accessModes={ReadWriteMany}"

// Both ways in which helm writes: as the API server merges (helm 4), and as it merges itself (helm 3).
func TestInstallUpgradeUninstall(t *testing.T) {
	for _, serverSide := range []bool{true, false} {
		t.Run(fmt.Sprintf("server-side %v", serverSide), func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			s.namespaces("payments", "closed")
			how := fmt.Sprintf("--server-side=%v", serverSide)
			all := []string{"-f", "testdata/everything.yaml", "--set=createNamespace=false"}

			s.helm("install", "cairn", ".", "--create-namespace", how, volume)
			s.fill()
			s.helm("upgrade", "cairn", ".", how, volume)
			s.filled("after an upgrade that changes nothing")
			s.helm(append([]string{"upgrade", "cairn", ".", how, "--set=keys.keep=true,crds.keep=true"}, all...)...)
			s.filled("after an upgrade that changes all")
			var want []string
			for key, o := range parse(t, render(t, all...)) {
				if o.GetLabels()["app.kubernetes.io/instance"] != "cairn" {
					t.Errorf("%s has no label that says whose it is", key)
				}
				want = append(want, key)
			}
			s.has("after an upgrade that changes all", want...)
			s.helm("rollback", "cairn", "1", how)
			s.filled("after a rollback")

			s.helm("upgrade", "cairn", ".", how, "-f", "testdata/everything.yaml",
				"--set=createNamespace=false,bucket.persistence.keep=true,keys.keep=true,crds.keep=true")
			s.helm("uninstall", "cairn")
			const alustans = "CustomResourceDefinition  terraforms.alustan.io" // metacontroller.crds.keep
			kept := append([]string{"Secret cairn-system cairn-keys", "PersistentVolumeClaim cairn-system cairn-bucket",
				alustans, "Namespace  builds", "Namespace  shop"}, crds(t)...)
			s.has("after uninstall", kept...)
			s.keysAreThere("after uninstall")

			s.helm("install", "cairn", ".", how, volume,
				"--set=keys.keep=false,crds.keep=false,bucket.persistence.keep=false")
			s.keysAreThere("installed again")
			s.helm("uninstall", "cairn")
			s.has("after uninstall, with nothing of this install to be kept", alustans, "Namespace  builds",
				"Namespace  shop")
		})
	}
}

// What does not come by helm, but by kubectl and what works like it.
func TestStaticManifest(t *testing.T) {
	s := newSite(t)
	s.namespaces("payments", "closed")
	kubectl := func(stdin string, args ...string) {
		t.Helper()
		if text, err := run(t, "kubectl", s.kubeconfig, stdin, args...); err != nil {
			t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, text)
		}
	}
	first, then := render(t, "--set=createNamespace=true", volume), render(t, "-f", "testdata/everything.yaml")
	kubectl(first, "apply", "-f", "-")
	s.fill()
	kubectl(first, "apply", "-f", "-")
	s.filled("applied again")
	kubectl(then, "apply", "-f", "-")
	s.filled("applied with all that can be set")
	kubectl(first, "apply", "--server-side", "--force-conflicts", "-f", "-")
	s.filled("applied by the API server")
}

// Cairn's own pods fit what its namespace asks for.
func TestPodSecurity(t *testing.T) {
	s := newSite(t)
	for _, args := range [][]string{nil, {"-f", "testdata/split-s3.yaml"},
		{"-f", "testdata/everything.yaml", "--set=createNamespace=false"}} {
		for _, o := range parse(t, render(t, args...)) {
			if o.GetKind() != "Deployment" {
				continue
			}
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "restricted-",
				Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}}}
			apiserver.Must(t, s.kube.Create(t.Context(), namespace))
			template, _, err := unstructured.NestedMap(o.Object, "spec", "template")
			apiserver.Must(t, err)
			pod := &unstructured.Unstructured{Object: template}
			pod.SetAPIVersion("v1")
			pod.SetKind("Pod")
			pod.SetNamespace(namespace.Name)
			pod.SetName("pod")
			account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace.Name,
				Name: strings.TrimSpace(fmt.Sprint(template["spec"].(map[string]any)["serviceAccountName"]))}}
			apiserver.Must(t, s.kube.Create(t.Context(), account))
			unstructured.RemoveNestedField(pod.Object, "spec", "priorityClassName")
			if err := s.kube.Create(t.Context(), pod); err != nil {
				t.Errorf("%v %s: %v", args, o.GetName(), err)
			}
		}
	}
}

// documented are the blocks of commands in a section of a page.
func documented(t *testing.T, page, section string) []string {
	t.Helper()
	_, text, found := strings.Cut(read(t, "../../docs/"+page), "\n"+section+"\n")
	if !found {
		t.Fatalf("%s has no %s", page, section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	var blocks []string
	for _, block := range regexp.MustCompile("(?s)```sh\n(.*?)```").FindAllStringSubmatch(text, -1) {
		blocks = append(blocks, block[1])
	}
	return blocks
}

// sh runs commands of a page in a folder.
func (s site) sh(folder, commands string) error {
	s.Helper()
	tools, err := dev.BinDir()
	apiserver.Must(s.T, err)
	cmd := exec.CommandContext(s.Context(), "sh", "-ec", commands)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "PATH="+tools+":"+os.Getenv("PATH"), "KUBECONFIG="+s.kubeconfig, "HOME="+folder,
		"HELM_CACHE_HOME="+folder, "HELM_CONFIG_HOME="+folder, "HELM_DATA_HOME="+folder)
	output, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	return nil
}

// The commands of the documentation back up the keys, and restore them into a Secret that was emptied or deleted. The
// release can be upgraded after that.
func TestKeysAreRestoredFromABackup(t *testing.T) {
	s := newSite(t)
	folder := t.TempDir()
	s.helm("install", "cairn", ".", "--create-namespace")
	s.fill()
	backUp, restore := documented(t, "how-to/install.md", "## Steps"), documented(t, "how-to/upgrade.md",
		"## Lost keys")[0]
	restore, _, _ = strings.Cut(restore, "kubectl -n cairn-system rollout status") // no pods run here
	apiserver.Must(t, s.sh(folder, backUp[slices.IndexFunc(backUp, func(block string) bool {
		return strings.Contains(block, "cairn-keys")
	})]))
	for lost, lose := range map[string]string{
		"emptied": `kubectl -n cairn-system patch secret cairn-keys --type=json -p '[{"op":"remove","path":"/data"}]'`,
		"deleted": `kubectl -n cairn-system delete secret cairn-keys`,
	} {
		apiserver.Must(t, s.sh(folder, lose))
		if err := s.sh(folder, restore); err != nil {
			t.Fatalf("%s: %v", lost, err)
		}
		s.keysAreThere("restored after they were " + lost)
		s.helm("upgrade", "cairn", next(t, "0.2.0-"+lost))
		s.keysAreThere("after an upgrade")
	}
}

// next packages the chart as another version.
func next(t *testing.T, version string) string {
	t.Helper()
	folder := t.TempDir()
	if text, err := helm(t, "", "package", ".", "--version="+version, "--app-version="+version, "--destination="+
		folder); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return filepath.Join(folder, "cairn-"+version+".tgz")
}

// Each `helm upgrade` of the documentation takes the image of the chart that it upgrades to, as a release names it by
// its digest.
func TestDocumentedUpgradesTakeTheImageOfTheChart(t *testing.T) {
	pages, err := filepath.Glob("../../docs/how-to/*.md")
	apiserver.Must(t, err)
	commands := map[string]string{}
	for _, page := range pages {
		text := strings.ReplaceAll(read(t, page), "\\\n", "")
		for _, command := range regexp.MustCompile(`(?m)^ *helm upgrade cairn oci://.*$`).FindAllString(text, -1) {
			commands[strings.Join(strings.Fields(strings.Replace(command, "--version NEW", "", 1)), " ")] = page
		}
	}
	if len(commands) == 0 {
		t.Fatal("the pages have no upgrade")
	}
	s, folder := newSite(t), t.TempDir()
	s.namespaces("cairn-system")
	older, newer := strings.Repeat("a", 64), strings.Repeat("b", 64)
	pinned := func(digest string) string {
		chart := filepath.Join(folder, digest)
		apiserver.Must(t, os.CopyFS(chart, os.DirFS(".")))
		values := strings.Replace(read(t, "values.yaml"), `digest: ""`, `digest: "sha256:`+digest+`"`, 1)
		apiserver.Must(t, os.WriteFile(filepath.Join(chart, "values.yaml"), []byte(values), 0o600))
		return chart
	}
	from, to := pinned(older), pinned(newer)
	apiserver.Must(t, os.WriteFile(filepath.Join(folder, "values.yaml"), []byte(`bucket: {url: "s3://cairn"}`), 0o600))
	for command, page := range commands {
		s.helm("upgrade", "cairn", from, "--install", "--reset-values", "-f", filepath.Join(folder, "values.yaml"))
		command = strings.Replace(command, "oci://ghcr.io/cairn-dev/charts/cairn", to, 1)
		if err := s.sh(folder, command); err != nil {
			t.Errorf("%s: %s: %v", page, command, err)
		}
		deployments := &appsv1.DeploymentList{}
		apiserver.Must(t, s.kube.List(t.Context(), deployments, client.InNamespace("cairn-system")))
		if len(deployments.Items) == 0 {
			t.Errorf("%s: %s: there is no Deployment", page, command)
		}
		for _, d := range deployments.Items {
			if image := d.Spec.Template.Spec.Containers[0].Image; !strings.HasSuffix(image, newer) {
				t.Errorf("%s: %s: %s has the image %s", page, command, d.Name, image)
			}
		}
	}
}
