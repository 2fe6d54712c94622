//go:build envtest

package permissions

import (
	"context"
	"crypto/tls"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/dev"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/userapi"
	"cairn.dev/cairn/test/devcluster"
	"cairn.dev/cairn/test/story"
)

// system is the namespace of Cairn in `cairn dev`.
const system = "cairn-system"

// unused are the permissions that the scripts do not use, and why Cairn has them.
var unused = map[string]string{
	"operator update stacks.cairn.dev/finalizers": "no request needs it; the admission policies check whether the " +
		"operator has it (files/policies)",
	"operator update secrets cairn-keys":         "the component that starts first creates the keys",
	"server update secrets cairn-keys":           "the component that starts first creates the keys",
	"operator create states.cairn.dev":           "etcd was restored without the State, and its Stack is deleted",
	"operator create leases.coordination.k8s.io": "the chart creates the Lease; Argo CD excludes it",
	"operator create stacks.cairn.dev": "the server-side apply that creates a Stack requires it, and is " +
		"recorded as a patch",
	"operator get pods": "the cache does not have the pod of an attempt: it was lost, or another " +
		"operator created it",
	"operator patch events.events.k8s.io": "client-go increments the count of a repeated event for the same version " +
		"of an object",
	// Pull requests need a Git provider: test/gitea runs them with the same roles, and checks that no request is
	// denied.
	"operator create localsubjectaccessreviews.authorization.k8s.io": "pull requests",
	"operator create pullrequests.cairn.dev":                         "pull requests",
	"operator get pullrequests.cairn.dev":                            "pull requests",
	"operator delete pullrequests.cairn.dev":                         "pull requests",
	"operator patch pullrequests.cairn.dev":                          "pull requests",
	"operator patch pullrequests.cairn.dev/status":                   "pull requests",
	"operator patch runs.cairn.dev":                                  "pull requests",
	"operator cancel runs.cairn.dev": "the admission policies check it when a Run of " +
		"a pull request is canceled",
	"server patch events.events.k8s.io": "client-go increments the count of a repeated event for the same version " +
		"of an object",
}

// The scripts use Cairn as two processes, each with the permissions of its component only. No request is denied, and
// each permission is used.
func TestComponentsHaveExactlyThePermissionsThatTheyUse(t *testing.T) {
	hooks := devcluster.FreeAddress(t)
	c := devcluster.StartDev(t, []string{"--split", "--audit-reads"}, "--leader-elect", "--web-listen="+hooks)
	t.Run("usage", func(t *testing.T) { testscript.Run(t, scripts(c, "http://"+hooks, "testdata/usage")) })

	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	used := map[Permission]bool{}
	requests, err := dev.Requests(c.AuditLog(), time.Time{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, r := range requests {
		half, ok := strings.CutPrefix(r.User, "system:serviceaccount:"+system+":cairn-")
		if !ok {
			continue
		}
		count++
		if r.Code == http.StatusForbidden || r.Code == http.StatusUnauthorized {
			t.Errorf("the %s was denied: %s %s (%d)", half, r.Verb, r.Path, r.Code)
		}
		for _, p := range all {
			if p.Half == half && p.Allows(r, system) {
				used[p] = true
			}
		}
	}
	if count < 100 {
		t.Fatalf("the audit log has only %d requests of Cairn", count)
	}
	for _, p := range all {
		if !used[p] && unused[p.String()] == "" && !used[watching(p)] {
			t.Errorf("no request uses permission %s", p)
		}
	}
	for name := range unused {
		if !slices.ContainsFunc(all, func(p Permission) bool { return p.String() == name }) {
			t.Errorf("the list of unused permissions has %s, which does not exist", name)
		}
	}
}

// watching is the permission to watch instead of to list: a client lists before it watches where the API server cannot
// stream the initial list.
func watching(p Permission) Permission {
	if p.Verb == "list" {
		p.Verb = "watch"
	}
	return p
}

// scripts returns the parameters to run the scripts of a folder on a cluster, each in its own namespace.
func scripts(c *devcluster.Cluster, hooks, dir string) testscript.Params {
	environment := story.Environment{Kubeconfig: c.Kubeconfig, Tools: c.Tools, Bin: c.Bin, Root: c.Root, Hooks: hooks,
		Audit: c.AuditLog(), Host: "127.0.0.1"}
	commands := environment.Commands()
	maps.Copy(commands, map[string]func(*testscript.TestScript, bool, []string){
		"orphaned-pod": func(ts *testscript.TestScript, _ bool, _ []string) {
			ts.Check(orphanedPod(c, ts.Getenv("NAMESPACE"), ts.Logf))
		},
		"browse": func(ts *testscript.TestScript, _ bool, args []string) {
			ts.Check(browse(c, ts.Getenv("NAMESPACE"), args[0]))
		},
	})
	return testscript.Params{Dir: dir, Cmds: commands, Setup: func(env *testscript.Env) error {
		name := story.Namespace(env)
		if err := c.Create(context.Background(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
		return environment.Setup(env, name)
	}}
}

// browse sends the requests of the web UI for an object, as the administrator. Example of a path: stacks/network.
func browse(c *devcluster.Cluster, namespace, path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	admin, err := clientcmd.BuildConfigFromFlags("", c.Kubeconfig)
	if err != nil {
		return err
	}
	own, err := tls.X509KeyPair(admin.CertData, admin.KeyData)
	if err != nil {
		return err
	}
	public := &corev1.ConfigMap{}
	if err := c.Get(ctx, types.NamespacedName{Namespace: userapi.PublicNamespace, Name: userapi.PublicName},
		public); err != nil {
		return err
	}
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true,
		Certificates: []tls.Certificate{own}}}}
	defer web.CloseIdleConnections()
	for _, what := range []string{"", "/events", "/access"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, public.Data[userapi.PublicURL]+
			"/api/v1/namespaces/"+namespace+"/"+path+what, nil)
		if err != nil {
			return err
		}
		answer, err := web.Do(request)
		if err != nil {
			return err
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: the response is %s", request.URL.Path, answer.Status)
		}
	}
	return nil
}

// orphanedPod sends a request to the server as a pod whose Run is deleted, and returns an error unless it is denied.
func orphanedPod(c *devcluster.Cluster, namespace string, log func(string, ...any)) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			// against the garbage collector
			Namespace: namespace, Name: "orphaned", Finalizers: []string{"example.com/stay"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "cairn.dev/v1alpha1", Kind: "Run", Name: "deleted-1",
				UID: "u", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{NodeName: "none", ServiceAccountName: "default",
			Containers: []corev1.Container{{Name: "it", Image: "it"}}},
	}
	if err := c.Create(ctx, pod); err != nil {
		return err
	}
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: []string{runnerapi.Audience}, BoundObjectRef: &authenticationv1.BoundObjectReference{
			APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
	serviceAccount := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
	if err := c.SubResource("token").Create(ctx, serviceAccount, token); err != nil {
		return err
	}
	public := &corev1.ConfigMap{}
	if err := c.Get(ctx, types.NamespacedName{Namespace: userapi.PublicNamespace, Name: userapi.PublicName},
		public); err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, public.Data[userapi.PublicURL]+"/v1/state", nil)
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+token.Status.Token)
	request.Header.Set(runnerapi.AttemptHeader, "1")
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	answer, err := web.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	log("the response to the orphaned pod is %s", answer.Status)
	if answer.StatusCode != http.StatusForbidden {
		return fmt.Errorf("the response to the orphaned pod is %s", answer.Status)
	}
	return c.Patch(ctx, pod, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
}
