package scale

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// asked are the requests of the web UI: its lists by default, searched, filtered and sorted by the usual columns.
var asked = []string{
	"stacks", "stacks?sort=-changed", "stacks?q=stack+9", "stacks?ready=False&sort=name", "stacks?namespace=" +
		firstNamespace,
	"stacks?group=namespace", "stacks?group=label:team&label=env=prod",
	"stacks?facet=namespace&facet=label&ready=False",
	"runs?sort=-created", "runs?phase=Failed&phase=AwaitingApproval&sort=-created", "runs?q=net", "states?sort=-size",
}

// pageRounds is how often each of them is requested.
const pageRounds = 30

// Pages requests pages of 50 rows from the server as a user who can list all, and returns the durations by request.
func (i *Install) Pages() map[string][]time.Duration {
	i.Helper()
	ctx := context.Background()
	viewer, _ := i.viewer(ctx)
	took := map[string][]time.Duration{}
	for range pageRounds {
		for _, what := range asked {
			at, err := url.Parse(i.store + "/api/v1/" + what)
			if err != nil {
				i.Fatal(err)
			}
			query := at.Query()
			query.Set("limit", "50")
			at.RawQuery = query.Encode()
			began := time.Now()
			if err := page(ctx, viewer, at.String()); err != nil {
				i.Fatal(err)
			}
			took[what] = append(took[what], time.Since(began))
		}
	}
	return took
}

func page(ctx context.Context, viewer *http.Client, at string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	answer, err := viewer.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s: %s", at, answer.Status, data)
	}
	return err
}

// Paint measures in a browser when the list of a number of Stacks is first painted and when its rows are, or returns
// why not: without a browser or the built web UI.
func (i *Install) Paint(stacks int) (paint, rows time.Duration, why error) {
	i.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	_, token := i.viewer(ctx)
	cmd := exec.CommandContext(ctx, "node", "paint.mjs", NameOf(0), strconv.Itoa(stacks))
	cmd.Dir, cmd.Env = filepath.Join(i.Root, "test", "browser"), append(os.Environ(), "CAIRN_URL="+i.store,
		"CAIRN_TOKEN="+token)
	out, err := cmd.CombinedOutput()
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	var found struct{ Paint, Rows int64 }
	if err != nil || json.Unmarshal([]byte(lines[len(lines)-1]), &found) != nil {
		return 0, 0, fmt.Errorf("%w: %s", cmp.Or(err, errors.New("no figures")), out)
	}
	return time.Duration(found.Paint) * time.Millisecond, time.Duration(found.Rows) * time.Millisecond, nil
}

// viewer returns a user who can list all, and their token.
func (i *Install) viewer(ctx context.Context) (*http.Client, string) {
	i.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: systemNamespace, Name: "viewer"}}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "scale-viewer"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName,
			Kind: "ClusterRole", Name: "cairn-view"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account.Namespace, Name: account.Name}},
	}
	for _, o := range []client.Object{account, binding} {
		if err := client.IgnoreAlreadyExists(i.Create(ctx, o)); err != nil {
			i.Fatal(err)
		}
	}
	token := &authenticationv1.TokenRequest{}
	if err := i.SubResource("token").Create(ctx, account, token); err != nil {
		i.Fatal(err)
	}
	found := &corev1.ConfigMap{}
	i.Until("where the server is", func() bool {
		return i.Get(ctx, client.ObjectKey{Namespace: metav1.NamespacePublic, Name: "cairn"}, found) == nil &&
			found.Data["url"] == i.store
	})
	transport, err := rest.TransportFor(&rest.Config{
		Host: i.store, BearerToken: token.Status.Token,
		TLSClientConfig: rest.TLSClientConfig{CAData: []byte(found.Data["ca.crt"])},
	})
	if err != nil {
		i.Fatal(err)
	}
	return &http.Client{Transport: transport, Timeout: time.Minute}, token.Status.Token
}
