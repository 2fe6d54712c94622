//go:build envtest

package migrate

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/dev"
	"cairn.dev/cairn/test/apiserver"
)

func TestMain(m *testing.M) { apiserver.Main(m, "../charts/cairn/files/crds") }

// documented returns the object of a kind in docs/how-to/migrate-states.md, for another Stack and namespace.
func documented(t *testing.T, kind, stack, namespace string, into any) {
	t.Helper()
	text, err := os.ReadFile("../docs/how-to/migrate-states.md")
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(text)
	if block == nil {
		t.Fatal("no manifests in docs/how-to/migrate-states.md")
	}
	for _, document := range strings.Split(string(block[1]), "---\n") {
		document = strings.NewReplacer("net-state", stack+"-state", "tfstate-default-net", "tfstate-default-"+stack,
			"namespace: infra", "namespace: "+namespace).Replace(document)
		if strings.Contains(document, "\nkind: "+kind+"\n") {
			apiserver.Must(t, yaml.UnmarshalStrict([]byte(document), into))
			return
		}
	}
	t.Fatalf("no %s in docs/how-to/migrate-states.md", kind)
}

// run runs an engine in a folder and returns its exit code.
func run(t *testing.T, program, dir string, args ...string) (out string, code int) {
	t.Helper()
	bin, err := dev.BinDir()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, program), append([]string{"-chdir=" + dir}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1"}
	text, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return string(text), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(text), 0
}

// TestMigratedStackUsesTheExistingState checks that the engine reads the Secret of the other system, with the backend
// of the Stack and a ServiceAccount with the permissions of docs/how-to/migrate-states.md.
func TestMigratedStackUsesTheExistingState(t *testing.T) {
	for _, program := range []string{"tofu", "terraform"} {
		t.Run(program, func(t *testing.T) { checkMigratedState(t, program) })
	}
}

func checkMigratedState(t *testing.T, program string) {
	env := apiserver.New(t)
	ctx, ns := context.Background(), env.Namespace
	const code = "resource \"terraform_data\" \"a\" {\n  input = \"kept\"\n}\n"
	const backend = "terraform {\n  backend \"kubernetes\" {\n    secret_suffix     = \"demo\"\n    " +
		"in_cluster_config = true\n    namespace         = %q\n  }\n}\n"

	// The state of the other system, created with its own permissions.
	old := t.TempDir()
	c := apiserver.Config
	kubeconfig := filepath.Join(old, "kubeconfig")
	apiserver.Must(t, clientcmd.WriteToFile(clientcmdapi.Config{
		Clusters: map[string]*clientcmdapi.Cluster{"test": {Server: c.Host, CertificateAuthorityData: c.CAData}},
		AuthInfos: map[string]*clientcmdapi.AuthInfo{"test": {ClientCertificateData: c.CertData,
			ClientKeyData: c.KeyData, Token: c.BearerToken}},
		Contexts:       map[string]*clientcmdapi.Context{"test": {Cluster: "test", AuthInfo: "test"}},
		CurrentContext: "test",
	}, kubeconfig))
	theirs := strings.Replace(fmt.Sprintf(backend, ns), "in_cluster_config = true",
		fmt.Sprintf("config_path = %q", kubeconfig), 1)
	apiserver.Must(t, os.WriteFile(filepath.Join(old, "main.tf"), []byte(code+theirs), 0o600))
	for _, args := range [][]string{{"init", "-no-color"}, {"apply", "-no-color", "-auto-approve"}} {
		if out, code := run(t, program, old, args...); code != 0 {
			t.Fatal(out)
		}
	}

	// The converted objects.
	quoted, err := yaml.Marshal(map[string]any{
		"apiVersion": "tf.galleybytes.com/v1beta1", "kind": "Terraform",
		"metadata": map[string]any{"name": "demo", "namespace": ns},
		"spec": map[string]any{"terraformVersion": "1.5.5", "terraformModule": map[string]any{"inline": code},
			"backend": fmt.Sprintf(backend, ns)},
	})
	apiserver.Must(t, err)
	r := convertText(t, quoted)
	b := r.Stacks[0].Spec.Backend
	if b == nil || b.Type != "kubernetes" || len(b.ConfigFrom) != 1 || b.ConfigFrom[0].Secret.Name != "demo-backend" {
		t.Fatalf("%+v", b)
	}

	// The ServiceAccount of the documentation, and the content of Secret demo-backend.
	var serviceAccount corev1.ServiceAccount
	var role rbacv1.Role
	var binding rbacv1.RoleBinding
	documented(t, "ServiceAccount", "demo", ns, &serviceAccount)
	documented(t, "Role", "demo", ns, &role)
	documented(t, "RoleBinding", "demo", ns, &binding)
	binding.Subjects[0].Namespace = ns
	apiserver.Must(t, env.Client.Create(ctx, &serviceAccount))
	apiserver.Must(t, env.Client.Create(ctx, &role))
	apiserver.Must(t, env.Client.Create(ctx, &binding))
	token := &authenticationv1.TokenRequest{}
	apiserver.Must(t, env.Client.SubResource("token").Create(ctx, &serviceAccount, token))

	// The arguments as a file, as the runner writes it.
	var file strings.Builder
	for _, name := range slices.Sorted(maps.Keys(b.Config)) {
		fmt.Fprintf(&file, "%s = %s\n", name, b.Config[name].Raw)
	}
	fmt.Fprintf(&file, "host = %q\ntoken = %q\ncluster_ca_certificate = %q\n", c.Host, token.Status.Token, c.CAData)
	here := t.TempDir()
	apiserver.Must(t, os.WriteFile(filepath.Join(here, "main.tf"),
		[]byte(code+"terraform {\n  backend \"kubernetes\" {}\n}\n"), 0o600))
	apiserver.Must(t, os.WriteFile(filepath.Join(here, "arguments"), []byte(file.String()), 0o600))
	if out, code := run(t, program, here, "init", "-no-color", "-backend-config=arguments"); code != 0 {
		t.Fatal(out)
	}
	if out, code := run(t, program, here, "plan", "-no-color", "-detailed-exitcode"); code != 0 {
		t.Errorf("exit code %d: the first plan is not empty:\n%s", code, out)
	}
	// Apply and destroy work too.
	if out, code := run(t, program, here, "apply", "-no-color", "-auto-approve", "-replace=terraform_data.a"); code !=
		0 {
		t.Error(out)
	}
	if out, code := run(t, program, here, "destroy", "-no-color", "-auto-approve"); code != 0 {
		t.Error(out)
	}
}
