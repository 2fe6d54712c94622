package convert

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestCommandsAreQuoted checks commands with names from manifests, which users paste into a shell.
func TestCommandsAreQuoted(t *testing.T) {
	got := CreateSecret("n", "a; rm -rf /", "identity", FileFromSecret("n", "it's $(x)", "key\"}}"), "known_hosts",
		KnownHosts("-o ProxyCommand=x"))
	want := `kubectl -n n create secret generic 'a; rm -rf /' --from-file=identity=<(kubectl -n n get secret 'it'\''s $(x)' -o go-template='{{index .data "key\"}}" | base64decode}}') --from-file=known_hosts=<(ssh-keyscan '-o ProxyCommand=x')`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestSecretValuesAreRemoved checks that values of Secrets are removed when the input is read.
func TestSecretValuesAreRemoved(t *testing.T) {
	var u unstructured.Unstructured
	err := yaml.Unmarshal([]byte(
		`{apiVersion: v1, kind: Secret, metadata: {name: s, annotations: {kubectl.kubernetes.io/last-applied-configuration: shh}}, data: {a: c2ho}, stringData: {b: shh}}`), &u.Object)
	if err != nil {
		t.Fatal(err)
	}
	o := (&Conversion{}).newInput(u)
	if got := fmt.Sprint(o.Root.Value); strings.Contains(got, "shh") || strings.Contains(got, "c2ho") {
		t.Error(got)
	}
	c := &Conversion{byKey: map[Key]*Object{{Kind: "Secret", Name: "s"}: o}}
	keys, _ := c.Keys("Secret", "", "s")
	if diff := cmp.Diff([]string{"a", "b"}, keys); diff != "" {
		t.Error(diff)
	}
	if u.Object["stringData"].(map[string]any)["b"] != "shh" {
		t.Error("the input was modified")
	}
}
