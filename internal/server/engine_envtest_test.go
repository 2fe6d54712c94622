//go:build envtest

package server_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/test/apiserver"
)

// engine runs OpenTofu with the store as its http backend.
func (r *runner) engine(dir string, args ...string) (string, error) {
	r.Helper()
	cmd := exec.CommandContext(r.Context(), filepath.Join(binaries(), "tofu"), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TF_IN_AUTOMATION=1", "CHECKPOINT_DISABLE=1")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func (r *runner) code(text string) string {
	r.Helper()
	dir := r.TempDir()
	backend := fmt.Sprintf(`terraform {
  backend "http" {
    address        = "%[1]s/v1/state"
    lock_address   = "%[1]s/v1/state"
    unlock_address = "%[1]s/v1/state"
    lock_method    = "LOCK"
    unlock_method  = "UNLOCK"
    retry_max      = 0
    client_ca_certificate_pem = <<EOT
%[2]sEOT
    headers = { Authorization = "Bearer %[3]s", %[4]s = "%[5]d", %[6]s = "%[7]s" }
  }
}
`, r.url, r.keys.Bundle(), r.token, runnerapi.AttemptHeader, r.attempt, runnerapi.SessionHeader, r.session)
	must(r.T, os.WriteFile(filepath.Join(dir, "backend.tf"), []byte(backend), 0o600))
	must(r.T, os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600))
	return dir
}

func TestEngineStoresItsStateInTheServer(t *testing.T) {
	e := newEnv(t)
	r, run := e.applying()
	dir := r.code(`resource "terraform_data" "a" { count = 3 }
output "ids" { value = terraform_data.a[*].id }`)
	for _, args := range [][]string{
		{"init", "-input=false", "-no-color"}, {"apply", "-auto-approve", "-input=false", "-no-color"},
		{"plan", "-detailed-exitcode", "-input=false", "-no-color"},
	} {
		if out, err := r.engine(dir, args...); err != nil {
			t.Fatalf("tofu %v: %v\n%s", args, err, out)
		}
	}
	st := &v1alpha1.State{}
	key := types.NamespacedName{Namespace: e.namespace, Name: "net"}
	must(t, apiserver.Kube.Get(t.Context(), key, st))
	if s := st.Status; s.Resources != 3 || s.Lock != nil || s.Version < 1 || s.UpdatedBy != "net-1" {
		t.Fatalf("status %+v", s)
	}

	// Another engine that holds the lock is shown to the one that wants it.
	r.lock("someone", 200, "")
	out, err := r.engine(dir, "apply", "-auto-approve", "-input=false", "-no-color")
	if err == nil || !strings.Contains(out, "someone") || !strings.Contains(out, "locked by attempt 1 of Run net-1") {
		t.Fatalf("tofu apply under another's lock: %v\n%s", err, out)
	}
	r.unlock("someone", 200, "")

	// An engine whose attempt was replaced changes nothing.
	e.newPod("net-1-apply-2", run).begin(run, v1alpha1.AttemptApply)
	out, err = r.engine(dir, "destroy", "-auto-approve", "-input=false", "-no-color")
	if err == nil {
		t.Fatalf("a replaced attempt destroyed: %s", out)
	}
	before := st.Status.Version
	must(t, apiserver.Kube.Get(t.Context(), client.ObjectKeyFromObject(st), st))
	if st.Status.Version != before || st.Status.Lock != nil {
		t.Fatalf("status %+v", st.Status)
	}
}
