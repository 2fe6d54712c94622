//go:build envtest

package state_test

import (
	"encoding/json"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"

	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/test/apiserver"
)

// TestKubectlShowsThatResourcesOfAnEncryptedStateAreUnknown reads the columns that kubectl gets.
func TestKubectlShowsThatResourcesOfAnEncryptedStateAreUnknown(t *testing.T) {
	env := newTestEnv(t, state.Options{})
	apply := env.attempt()
	env.lock(apply, "a")
	for serial, tt := range []struct {
		file []byte
		want string
	}{
		{[]byte(`{"serial":1,"lineage":"L","encrypted_data":"c2VjcmV0","encryption_version":"v0"}`), "unknown"},
		{stateFile(2, "L", "x", 2), "2"},
	} {
		must(t, env.store.Write(t.Context(), env.key, apply, "a", tt.file))
		if got := resourcesColumn(t, env); got != tt.want {
			t.Errorf("serial %d: %q, want %q", serial+1, got, tt.want)
		}
	}
}

func resourcesColumn(t *testing.T, env *testEnv) string {
	t.Helper()
	c, err := discovery.NewDiscoveryClientForConfig(apiserver.Config)
	must(t, err)
	path := fmt.Sprintf("/apis/cairn.dev/v1alpha1/namespaces/%s/states/%s", env.key.Namespace, env.key.Name)
	data, err := c.RESTClient().Get().AbsPath(path).SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").
		DoRaw(t.Context())
	must(t, err)
	var table metav1.Table
	must(t, json.Unmarshal(data, &table))
	for i, column := range table.ColumnDefinitions {
		if column.Name == "Resources" {
			return fmt.Sprint(table.Rows[0].Cells[i])
		}
	}
	return "no such column"
}
