//go:build e2e

package e2e

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/crypto/bcrypt"
)

// registry starts an image registry on this machine, at $REGISTRY for pods and the node, that requires the password
// $REGISTRY_PASSWORD, and pushes archives of bin/images to it: registry ARCHIVE... . $REGISTRY_AUTH is the content of a
// pull Secret. It stops with the script.
func (c cluster) registry(ts *testscript.TestScript, _ bool, args []string) {
	const password = "canary-registry-password"
	free, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", net.JoinHostPort(c.Node.Host, "0"))
	ts.Check(err)
	address := free.Addr().String()
	ts.Check(free.Close())
	dir := filepath.Join(ts.Getenv("WORK"), ".registry")
	ts.Check(os.MkdirAll(dir, 0o700))
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	ts.Check(err)
	ts.Check(os.WriteFile(filepath.Join(dir, "users"), []byte("pusher:"+string(hash)+"\n"), 0o600))
	ts.Check(os.WriteFile(filepath.Join(dir, "config.yaml"), fmt.Appendf(nil,
		"version: 0.1\nlog: {level: error}\nstorage: {filesystem: {rootdirectory: %s/data}}\nhttp: {addr: %q, "+
			"secret: x}\nauth: {htpasswd: {realm: test, path: %s/users}}\n", dir, address, dir), 0o600))
	server := exec.Command("docker-registry", "serve", filepath.Join(dir, "config.yaml"))
	server.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	ts.Check(server.Start())
	ts.Defer(func() { _ = server.Process.Kill(); _ = server.Wait() })
	await(ts, "http://"+address+"/v2/")
	ts.Check(c.Plain(address))
	for _, archive := range args {
		out, err := exec.Command("skopeo", "copy", "--quiet", "--dest-tls-verify=false", "--dest-creds=pusher:"+
			password,
			"oci-archive:"+filepath.Join(c.Root, "bin", "images", archive+".tar"), "docker://"+address+"/"+archive+
				":e2e").CombinedOutput()
		if err != nil {
			ts.Fatalf("push %s: %v\n%s", archive, err, out)
		}
	}
	ts.Setenv("REGISTRY", address)
	ts.Setenv("REGISTRY_PASSWORD", password)
	ts.Setenv("REGISTRY_AUTH", fmt.Sprintf(`{"auths":{%q:{"auth":%q}}}`, address,
		base64.StdEncoding.EncodeToString([]byte("pusher:"+password))))
}

// await waits until a server responds.
func await(ts *testscript.TestScript, url string) {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	limit := time.After(30 * time.Second)
	for {
		if answer, err := http.Get(url); err == nil {
			_ = answer.Body.Close()
			return
		}
		select {
		case <-tick.C:
		case <-limit:
			ts.Fatalf("%s does not respond", url)
		}
	}
}
