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

// system is where `cairn dev` keeps Cairn.
const system = "cairn-system"

// unseen are the permissions that a day may pass without, and why Cairn has them all the same.
var unseen = map[string]string{
	"operator update stacks.cairn.dev/finalizers": "nothing asks for it; the admission policies look whether the operator has it (files/policies)",
	"operator update secrets cairn-keys":          "whichever half is there first makes the keys",
	"server update secrets cairn-keys":            "whichever half is there first makes the keys",
	"operator create states.cairn.dev":            "etcd was restored, has forgotten the State, and its Stack is deleted",
	"operator create leases.coordination.k8s.io":  "the Lease is there, as the chart makes it; Argo CD leaves it out",
	"operator patch events.events.k8s.io":         "client-go counts an event that is told again of the same version of an object",
	"server patch events.events.k8s.io":           "client-go counts an event that is told again of the same version of an object",
}

// A day's work with Cairn as two processes, each with the permissions of its half and no others. None of what they ask is
// refused, and each permission is used.
func TestEachHalfHasThePermissionsThatItNeedsAndNoOthers(t *testing.T) {
	hooks := devcluster.FreeAddress(t)
	c := devcluster.StartDev(t, []string{"--split", "--audit-reads"}, "--leader-elect", "--web-listen="+hooks)
	t.Run("day", func(t *testing.T) { testscript.Run(t, tell(c, "http://"+hooks, "testdata/day")) })

	all, err := All()
	if err != nil {
		t.Fatal(err)
	}
	used := map[Permission]bool{}
	requests, err := dev.Requests(c.AuditLog(), time.Time{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	for _, r := range requests {
		half, ok := strings.CutPrefix(r.User, "system:serviceaccount:"+system+":cairn-")
		if !ok {
			continue
		}
		asked++
		if r.Code == http.StatusForbidden || r.Code == http.StatusUnauthorized {
			t.Errorf("the %s was refused: %s %s (%d)", half, r.Verb, r.Path, r.Code)
		}
		for _, p := range all {
			if p.Half == half && p.Allows(r, system) {
				used[p] = true
			}
		}
	}
	if asked < 100 {
		t.Fatalf("%d requests of Cairn in the audit log: that is no day's work", asked)
	}
	for _, p := range all {
		if !used[p] && unseen[p.String()] == "" && !used[watching(p)] {
			t.Errorf("nothing needs this: %s", p)
		}
	}
	for name := range unseen {
		if !slices.ContainsFunc(all, func(p Permission) bool { return p.String() == name }) {
			t.Errorf("on the list, and no permission: %s", name)
		}
	}
}

// watching is what stands for a list: who watches begins with a list wherever the API server cannot stream the beginning.
func watching(p Permission) Permission {
	if p.Verb == "list" {
		p.Verb = "watch"
	}
	return p
}

// tell makes the scripts of a folder run on a cluster, each in a namespace of its own.
func tell(c *devcluster.Cluster, hooks, dir string) testscript.Params {
	teller := story.Teller{Kubeconfig: c.Kubeconfig, Tools: c.Tools, Bin: c.Bin, Root: c.Root, Hooks: hooks, Audit: c.AuditLog(), Host: "127.0.0.1"}
	commands := teller.Commands()
	maps.Copy(commands, map[string]func(*testscript.TestScript, bool, []string){
		"ghost": func(ts *testscript.TestScript, _ bool, _ []string) {
			ts.Check(ghost(c, ts.Getenv("NAMESPACE"), ts.Logf))
		},
		"browse": func(ts *testscript.TestScript, _ bool, args []string) {
			ts.Check(browse(c, ts.Getenv("NAMESPACE"), args[0]))
		},
	})
	return testscript.Params{Dir: dir, Cmds: commands, Setup: func(env *testscript.Env) error {
		name := story.Namespace(env)
		if err := c.Create(context.Background(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			return err
		}
		return teller.Setup(env, name)
	}}
}

// browse has the administrator's browser look at a Stack, as the page does.
func browse(c *devcluster.Cluster, namespace, stack string) error {
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
	if err := c.Get(ctx, types.NamespacedName{Namespace: userapi.PublicNamespace, Name: userapi.PublicName}, public); err != nil {
		return err
	}
	web := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true, Certificates: []tls.Certificate{own}}}}
	defer web.CloseIdleConnections()
	for _, what := range []string{"", "/events", "/access"} {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, public.Data[userapi.PublicURL]+"/api/v1/namespaces/"+namespace+"/stacks/"+stack+what, nil)
		if err != nil {
			return err
		}
		answer, err := web.Do(request)
		if err != nil {
			return err
		}
		answer.Body.Close()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("%s: the browser is answered %s", request.URL.Path, answer.Status)
		}
	}
	return nil
}

// ghost has a pod whose Run is gone ask the server for something, and wants it to be refused.
func ghost(c *devcluster.Cluster, namespace string, log func(string, ...any)) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: "ghost", Finalizers: []string{"example.com/stay"}, // the garbage collector is quick
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "cairn.dev/v1alpha1", Kind: "Run", Name: "gone-1", UID: "u", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{NodeName: "nowhere", ServiceAccountName: "default", Containers: []corev1.Container{{Name: "it", Image: "it"}}},
	}
	if err := c.Create(ctx, pod); err != nil {
		return err
	}
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		Audiences: []string{runnerapi.Audience}, BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID},
	}}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "default"}}
	if err := c.SubResource("token").Create(ctx, account, token); err != nil {
		return err
	}
	public := &corev1.ConfigMap{}
	if err := c.Get(ctx, types.NamespacedName{Namespace: userapi.PublicNamespace, Name: userapi.PublicName}, public); err != nil {
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
	log("the ghost is answered %s", answer.Status)
	if answer.StatusCode != http.StatusForbidden {
		return fmt.Errorf("the ghost is answered %s", answer.Status)
	}
	return c.Patch(ctx, pod, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))
}
