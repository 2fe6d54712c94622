package dev

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
)

// patience with whatever a test waits for.
const patience = time.Minute

func start(t *testing.T, o Options) *ControlPlane {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	began := time.Now()
	c, err := Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("started in %s", time.Since(began))
	t.Cleanup(func() { stop(t, c) })
	return c
}

func stop(t *testing.T, c *ControlPlane) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	began := time.Now()
	if err := c.Stop(ctx); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > time.Millisecond { // a second Stop does nothing
		t.Logf("stopped in %s", took)
	}
}

func apiOf(t *testing.T, c *ControlPlane) kubernetes.Interface {
	t.Helper()
	api, err := kubernetes.NewForConfig(c.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func TestDataAndTokensPersistAcrossRestarts(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	first := start(t, Options{DataDir: dir})
	api := apiOf(t, first)
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "kept"}, Data: map[string]string{"word": "hello"}}
	if _, err := api.CoreV1().ConfigMaps("default").Create(t.Context(), cm, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	token, err := api.CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "default",
		&authenticationv1.TokenRequest{
			Spec: authenticationv1.TokenRequestSpec{Audiences: []string{"cairn"}},
		}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := first.WriteKubeconfig(kubeconfig); err != nil {
		t.Fatal(err)
	}

	if _, err := Start(t.Context(), Options{DataDir: dir}); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second control plane on the same data: %v", err)
	}

	stop(t, first)
	select {
	case <-first.Done():
	default:
		t.Error("stopped, but not done")
	}
	if err := first.Err(); err != nil {
		t.Errorf("stopped on request, and returns %v", err)
	}

	second := start(t, Options{DataDir: dir})
	if first.RESTConfig().Host != second.RESTConfig().Host {
		t.Errorf("it was at %s and is at %s", first.RESTConfig().Host, second.RESTConfig().Host)
	}
	if out, err := kubectl(t, kubeconfig, "get", "configmap", "kept", "-o", "jsonpath={.data.word}"); err != nil ||
		out != "hello" {
		t.Errorf("kubectl with the kubeconfig from before: %q, %v", out, err)
	}
	review, err := apiOf(t, second).AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token.Status.Token, Audiences: []string{"cairn"}},
	}, metav1.CreateOptions{})
	if err != nil || !review.Status.Authenticated {
		t.Errorf("the token from before: %+v, %v", review, err)
	}
	stop(t, second)
	if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the data folder: %v, %v", info, err)
	}
}

func TestExitOfAComponentIsDetected(t *testing.T) {
	c := start(t, Options{})
	c.running[0].proc.Kill()
	select {
	case <-c.Done():
	case <-time.After(patience):
		t.Fatal("the exit was not detected")
	}
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), "etcd ended (signal: killed)") {
		t.Errorf("it says %v", err)
	}
	stop(t, c) // the rest goes as ever, and a temporary folder is not left behind
	if _, err := os.Stat(c.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the temporary folder: %v", err)
	}
}

func TestStartIsCanceledWithItsContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if c, err := Start(ctx, Options{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, %v", c, err)
	}
}

func TestErrorOfMissingBinariesNamesTheRemedy(t *testing.T) {
	t.Setenv("CAIRN_BIN", t.TempDir())
	if _, err := Start(t.Context(), Options{}); err == nil || !strings.Contains(err.Error(), "run make tools first") {
		t.Errorf("it says %v", err)
	}
}

func TestControlPlane(t *testing.T) {
	c := start(t, Options{Audit: true})
	api := apiOf(t, c)

	t.Run("the admin is known by a token too, which no other user can read", func(t *testing.T) {
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: c.AdminToken()}}
		review, err := api.AuthenticationV1().TokenReviews().Create(t.Context(), review, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if who := review.Status.User; who.Username != Admin || !slices.Contains(who.Groups, "system:masters") {
			t.Errorf("it is %+v", who)
		}
		about, err := os.Stat(filepath.Join(c.dir, tokensFile))
		if err != nil {
			t.Fatal(err)
		}
		if about.Mode().Perm() != 0o600 {
			t.Errorf("its file is %s", about.Mode())
		}
	})

	t.Run("namespaces get what pods need, and end", func(t *testing.T) {
		ns := newNamespace(t, api)
		await(t, func(o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", "kube-root-ca.crt").String()
			return api.CoreV1().ConfigMaps(ns).Watch(t.Context(), o)
		}, watch.Added)
		if err := api.CoreV1().Namespaces().Delete(t.Context(), ns, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		await(t, func(o metav1.ListOptions) (watch.Interface, error) {
			o.FieldSelector = fields.OneTermEqualSelector("metadata.name", ns).String()
			return api.CoreV1().Namespaces().Watch(t.Context(), o)
		}, watch.Deleted)
	})

	t.Run("owners take with them what they own", func(t *testing.T) {
		ns := newNamespace(t, api)
		owner, err := api.CoreV1().ConfigMaps(ns).Create(t.Context(),
			&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		owned := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "owned", OwnerReferences: []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID},
		}}}
		if owned, err = api.CoreV1().Secrets(ns).Create(t.Context(), owned, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := api.CoreV1().ConfigMaps(ns).Delete(t.Context(), owner.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		await(t, func(o metav1.ListOptions) (watch.Interface, error) {
			o.ResourceVersion = owned.ResourceVersion
			return api.CoreV1().Secrets(ns).Watch(t.Context(), o)
		}, watch.Deleted)
	})

	t.Run("roles decide, and writes are counted for who made them", func(t *testing.T) {
		ns := newNamespace(t, api)
		config, err := c.RESTConfigFor("alice", "users")
		if err != nil {
			t.Fatal(err)
		}
		config.UserAgent = "alice's"
		alice, err := kubernetes.NewForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "hers"}}
		if _, err := alice.CoreV1().ConfigMaps(ns).Create(t.Context(), cm,
			metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
			t.Errorf("not forbidden: %v", err)
		}
		if _, err := alice.CoreV1().ConfigMaps(ns).List(t.Context(), metav1.ListOptions{}); !apierrors.IsForbidden(
			err) {
			t.Errorf("not forbidden: %v", err)
		}
		var writes []Write
		poll(t, "her write in the audit log", func() bool { // where it comes a moment after its answer
			writes, err = Writes(c.AuditLog(), began, func(w Write) bool { return w.User == "alice" })
			return err != nil || len(writes) > 0
		})
		if err != nil {
			t.Fatal(err)
		}
		if len(writes) != 1 || writes[0].UserAgent != "alice's" || writes[0].Code != 403 ||
			writes[0].Resource != "configmaps" || writes[0].Namespace != ns {
			t.Errorf("got %+v", writes)
		}
	})

	t.Run("roles gather their rules", func(t *testing.T) {
		poll(t, "rules of edit", func() bool {
			edit, err := api.RbacV1().ClusterRoles().Get(t.Context(), "edit", metav1.GetOptions{})
			return err == nil && len(edit.Rules) > 0
		})
	})
}

func newNamespace(t *testing.T, api kubernetes.Interface) string {
	t.Helper()
	ns, err := api.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	await(t, func(o metav1.ListOptions) (watch.Interface, error) {
		return api.CoreV1().ServiceAccounts(ns.Name).Watch(t.Context(), o)
	}, watch.Added)
	return ns.Name
}

// await waits for an event of that type.
func await(t *testing.T, open func(metav1.ListOptions) (watch.Interface, error), want watch.EventType) {
	t.Helper()
	seconds := int64(patience.Seconds())
	w, err := open(metav1.ListOptions{TimeoutSeconds: &seconds})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		if e.Type == want {
			return
		}
	}
	t.Fatalf("no event %s", want)
}

// poll waits for what has no event.
func poll(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func kubectl(t *testing.T, kubeconfig string, args ...string) (string, error) {
	t.Helper()
	bin, err := BinDir()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(bin, "kubectl"), args...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig)
	out, err := cmd.Output()
	return string(out), err
}
