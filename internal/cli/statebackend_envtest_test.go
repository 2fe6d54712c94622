//go:build envtest

package cli

import (
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
)

func TestStateBackendPrintsTheBackend(t *testing.T) {
	d := newCLIEnv(t)
	d.stack("net")
	moved := d.stack("moved")
	moved.Spec.Backend = &v1alpha1.Backend{Type: "s3"}
	apiserver.Must(t, apiserver.Kube.Update(t.Context(), moved))
	address := d.server.URL + "/api/v1/namespaces/" + d.Namespace + "/states/net/backend"
	out, errOut, code := d.cairn(t.Context(), "", "state", "backend", "net")
	for _, part := range []string{
		"terraform {\n  backend \"http\" {\n    address        = \"" + address + "\"\n    lock_address   = \"" +
			address + "\"\n    unlock_address = \"" + address + "\"\n",
		"lock_method    = \"LOCK\"\n", "unlock_method  = \"UNLOCK\"\n",
		"client_ca_certificate_pem = <<EOT\n-----BEGIN CERTIFICATE-----\n",
		"#   export TF_HTTP_PASSWORD=\"$(cairn state backend net -n " + d.Namespace + " --token)\"\n",
	} {
		if code != 0 || !strings.Contains(out, part) {
			t.Errorf("exit code %d, %s; it lacks %q:\n%s", code, errOut, part, out)
		}
	}
	out, _, code = d.cairn(t.Context(), "", "state", "backend", "stack/net", "--backend-config")
	if code != 0 || strings.Contains(out, "terraform {") || !strings.Contains(out, "\naddress        = \""+address+
		"\"\n") || !strings.Contains(out, "net.tfbackend") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	d.want(1, "did you mean net?", "", "state", "backend", "nett")
	d.want(1, "is in the backend s3 of spec.backend", "", "state", "backend", "moved")
	d.want(0, address, "without-permission-to-read-stacks", "state", "backend", "net")
	d.want(1, "--as", "alice", "state", "backend", "net", "--token")
}
