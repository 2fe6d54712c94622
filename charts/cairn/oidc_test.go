//go:build envtest

package cairn

import (
	"fmt"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
)

// The chart allows the server to impersonate users only with OIDC, and limits this as far as the version of Kubernetes
// allows.
func TestServerImpersonationRules(t *testing.T) {
	const provider = "--set=publicURL=https://cairn.example.com,oidc.issuerURL=https://id.example.com," +
		"oidc.clientID=cairn"
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"no provider": {[]string{"--kube-version=1.36.0"}, ""},
		"these writes alone": {[]string{provider, "--kube-version=1.36.0"},
			"impersonate-on:user-info:patch impersonate:user-info"},
		"all, before that was": {[]string{provider, "--kube-version=1.35.3"}, "impersonate"},
		"all, where it is wanted": {[]string{provider, "--kube-version=1.36.0", "--set=oidc.impersonation=Full"},
			"impersonate"},
		"without RBAC objects": {[]string{provider, "--kube-version=1.36.0", "--set=rbac.create=false"}, ""},
		"in single namespaces": {[]string{provider, "--kube-version=1.36.0", "--set=watchNamespaces={a}"},
			"impersonate-on:user-info:patch impersonate:user-info"},
		"single, by Roles alone": {[]string{provider, "--kube-version=1.36.0",
			"--set=watchNamespaces={a},rbac.clusterWide=false"}, "impersonate-on:user-info:patch"},
		"the same, before that": {[]string{provider, "--kube-version=1.35.3",
			"--set=watchNamespaces={a},rbac.clusterWide=false"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			found := map[string]bool{}
			for key, o := range parse(t, render(t, tt.args...)) {
				rules, ok := granted(t, o).([]rbacv1.PolicyRule)
				if !ok || !strings.HasSuffix(o.GetKind(), "Role") {
					continue
				}
				for _, rule := range rules {
					for _, verb := range rule.Verbs {
						if !strings.HasPrefix(verb, "impersonate") {
							continue
						}
						found[verb] = true
						if strings.HasPrefix(verb, "impersonate-on:") &&
							strings.Contains(name, "single") != (o.GetNamespace() == "a") {
							t.Errorf("%s allows %s", key, verb)
						}
					}
				}
			}
			for verb := range strings.FieldsSeq(tt.want) {
				if !found[verb] {
					t.Errorf("%s is not allowed", verb)
				}
				delete(found, verb)
			}
			if len(found) > 0 {
				t.Errorf("%v is allowed, too", found)
			}
		})
	}
}

// With the role of the chart, the server can patch a Stack as a user who can, and cannot do anything else as a user.
func TestServerImpersonatesUsersToPatchOnly(t *testing.T) {
	const namespace = "default"
	var rules []rbacv1.PolicyRule
	all := parse(t, render(t, "--kube-version=1.36.0",
		"--set=publicURL=https://cairn.example.com,oidc.issuerURL=https://id.example.com,oidc.clientID=cairn"))
	rules = granted(t, all["ClusterRole  cairn-server-impersonation"]).([]rbacv1.PolicyRule)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "server-impersonation"}}
	stack := &v1alpha1.Stack{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "impersonation"},
		Spec:       v1alpha1.StackSpec{Source: v1alpha1.Source{Inline: map[string]string{"main.tf": ""}}},
	}
	for _, o := range []client.Object{
		account, stack,
		&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "server-impersonation"}, Rules: rules},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "server-impersonation"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "server-impersonation"},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: account.Name}},
		},
		&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "impersonation"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName,
				Kind: "ClusterRole", Name: "cluster-admin"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "oidc:ops"}},
		},
	} {
		apiserver.Must(t, apiserver.Kube.Create(t.Context(), o))
		t.Cleanup(func() { _ = apiserver.Kube.Delete(t.Context(), o) })
	}
	request := &authenticationv1.TokenRequest{}
	apiserver.Must(t, apiserver.Kube.SubResource("token").Create(t.Context(), account, request))
	as := func(user string, groups ...string) client.Client {
		config := rest.AnonymousClientConfig(apiserver.Config)
		config.BearerToken = request.Status.Token
		config.Impersonate = rest.ImpersonationConfig{UserName: user, Groups: groups}
		c, err := client.New(config, client.Options{Scheme: apiserver.Kube.Scheme(),
			Mapper: apiserver.Kube.RESTMapper()})
		apiserver.Must(t, err)
		return c
	}
	asks := func(c client.Client, by string) error {
		patch := client.RawPatch(types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"annotations":{"cairn.dev/requested-at":%q,"cairn.dev/requested-operation":"Plan","cairn.dev/requested-by":%q}}}`,
				time.Now().UTC().Format(time.RFC3339Nano), by))
		return c.Patch(t.Context(), stack.DeepCopy(), patch)
	}
	alice := as("oidc:alice", "oidc:ops")
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) { // until the roles are known
		err := asks(alice, "oidc:alice")
		if err == nil {
			break
		}
		if !apierrors.IsForbidden(err) || time.Now().After(end) {
			t.Fatal(err)
		}
	}
	for name, err := range map[string]error{
		"who may not, writes":             asks(as("oidc:bob", "oidc:devs"), "oidc:bob"),
		"an account writes":               asks(as("system:serviceaccount:"+namespace+":"+account.Name), "x"),
		"alice reads a Stack":             alice.Get(t.Context(), client.ObjectKeyFromObject(stack), &v1alpha1.Stack{}),
		"alice reads Secrets":             alice.List(t.Context(), &corev1.SecretList{}),
		"alice deletes a Stack":           alice.Delete(t.Context(), stack.DeepCopy()),
		"the administrators read Secrets": as("admin", "system:masters").List(t.Context(), &corev1.SecretList{}),
	} {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
