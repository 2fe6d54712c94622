//go:build envtest

package command

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/test/apiserver"
)

func TestMain(m *testing.M) { apiserver.Main(m, "../../charts/cairn/files/crds") }

// cluster is an API server, and a kubeconfig of its administrator.
type cluster struct {
	apiserver.Env
	kubeconfig string
}

func newCluster(t *testing.T) *cluster {
	d := &cluster{apiserver.New(t), filepath.Join(t.TempDir(), "kubeconfig")}
	c := apiserver.Config
	apiserver.Must(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"test": {Server: c.Host, CertificateAuthorityData: c.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"test": {ClientCertificateData: c.CertData,
			ClientKeyData: c.KeyData, Token: c.BearerToken}},
		Contexts: map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: "test",
			Namespace: d.Namespace}},
		CurrentContext: "test",
	}, d.kubeconfig))
	return d
}

// cairn runs a command as a user.
func (d *cluster) cairn(as string, args ...string) (out, errOut string, code int) {
	d.Helper()
	s, o, e := quiet(strings.NewReader(""))
	cmd := New(s)
	cmd.SetArgs(append(args, "--kubeconfig="+d.kubeconfig, "--as="+as))
	code = session.ExitCode(e, "cairn", cmd.ExecuteContext(d.Context()))
	return o.String(), e.String(), code
}

func (d *cluster) until(done func() bool) {
	d.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); {
		if time.Now().After(deadline) {
			d.Fatal("it never came to be")
		}
	}
}

// burritosKind is a CRD of burrito.
func burritosKind(plural, kind string) *apiextensionsv1.CustomResourceDefinition {
	anything := &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + ".config.terraform.padok.cloud"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: "config.terraform.padok.cloud", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind, ListKind: kind + "List",
				Singular: strings.ToLower(kind)},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1alpha1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: anything},
			}},
		},
	}
}

// TestMigrateFromTheCluster checks that objects are listed by the CRDs that exist. The command needs list on those, get
// on the objects that they name, and nothing on Secrets.
func TestMigrateFromTheCluster(t *testing.T) {
	d := newCluster(t)
	if _, err := envtest.InstallCRDs(apiserver.Config,
		envtest.CRDInstallOptions{CRDs: []*apiextensionsv1.CustomResourceDefinition{
			burritosKind("terraformlayers", "TerraformLayer"),
			burritosKind("terraformrepositories", "TerraformRepository"),
		}}); err != nil {
		t.Fatal(err)
	}
	object := func(kind, name string, spec map[string]any) {
		o := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "config.terraform.padok.cloud/v1alpha1",
			"kind": kind, "spec": spec}}
		o.SetName(name)
		o.SetNamespace(d.Namespace)
		apiserver.Must(t, d.Client.Create(t.Context(), o))
	}
	object("TerraformRepository", "code",
		map[string]any{"repository": map[string]any{"url": "https://git.example.com/acme/infra.git"},
			"terraform": map[string]any{"enabled": true}})
	object("TerraformLayer", "net", map[string]any{"path": "net", "branch": "main",
		"repository": map[string]any{"name": "code"}})
	object("TerraformLayer", "lost", map[string]any{"path": "lost", "branch": "main",
		"repository": map[string]any{"name": "gone"}})
	apiserver.Must(t, d.Client.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: "s"}, StringData: map[string]string{"a": "shh"},
	}))
	var out, errOut string
	var code int
	d.until(func() bool { // the API server discovers new CRDs and roles in the background
		out, errOut, code = d.cairn("mover", "migrate", "--from-cluster")
		return strings.Contains(errOut, "terraformlayers")
	})
	if code != 1 || out != "" || !strings.Contains(errOut, "terraformlayers") {
		t.Errorf("without rights: %d %q %q", code, out, errOut)
	}
	apiserver.Must(t, d.Client.Create(t.Context(), &rbacv1.Role{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: "mover"},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{"config.terraform.padok.cloud"}, Resources: []string{"terraformlayers"},
				Verbs: []string{"list"}},
			{APIGroups: []string{"config.terraform.padok.cloud"}, Resources: []string{"terraformrepositories"},
				Verbs: []string{"get"}},
		},
	}))
	apiserver.Must(t, d.Client.Create(t.Context(), &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: "mover"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "mover"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: "mover"}},
	}))
	d.until(func() bool {
		out, errOut, code = d.cairn("mover", "migrate", "--from-cluster")
		return code == 0
	})
	for _, want := range []string{"kind: Repository\nmetadata:\n  name: code",
		"url: https://git.example.com/acme/infra.git", "kind: Stack\nmetadata:\n  name: lost", "  name: net",
		"name: Terraform"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if !strings.Contains(errOut, "TerraformRepository "+d.Namespace+"/gone is not read") ||
		strings.Contains(out+errOut, "not known") {
		t.Error(errOut)
	}
	var left unstructured.UnstructuredList
	left.SetAPIVersion("cairn.dev/v1alpha1")
	left.SetKind("StackList")
	if err := d.Client.List(t.Context(), &left, client.InNamespace(d.Namespace)); err != nil || len(left.Items) > 0 {
		t.Error("it created Stacks", err, left.Items)
	}
}
