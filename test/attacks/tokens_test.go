package attacks

import (
	"bytes"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"cairn.dev/cairn/internal/runnerapi"
)

// spy is the argument with which this test program reads what it can of another process.
const spy = "spy-on-process"

func init() {
	if len(os.Args) == 3 && os.Args[1] == spy {
		spyOn(os.Args[2])
		os.Exit(0)
	}
}

// spyOn prints for each way to read the secrets of a process whether it is open.
func spyOn(pid string) {
	var number int
	_, _ = fmt.Sscan(pid, &number)
	for _, file := range []string{"environ", "mem", "maps", "auxv"} {
		_, err := os.ReadFile("/proc/" + pid + "/" + file)
		open := err == nil
		if file == "mem" { // reading at offset 0 fails in any case
			f, err := os.Open("/proc/" + pid + "/" + file)
			if open = err == nil; open {
				_ = f.Close()
			}
		}
		fmt.Println(file, open)
	}
	links, err := os.ReadDir("/proc/" + pid + "/fd")
	fmt.Println("fd", err == nil && len(links) > 0)
	var word [8]byte
	_, err = unix.ProcessVMReadv(number, []unix.Iovec{{Base: &word[0], Len: 8}},
		[]unix.RemoteIovec{{Base: 0x400000, Len: 8}}, 0)
	fmt.Println("process_vm_readv", err != unix.EPERM) //nolint:errorlint // an errno
	err = unix.PtraceSeize(number)
	fmt.Println("ptrace", err == nil)
}

// orderServer is a server that sends one order to plan, and records the keys that it receives.
type orderServer struct {
	*httptest.Server
	order runnerapi.Order
	mu    sync.Mutex
	sent  bool
	keys  map[string]bool
}

func (s *orderServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keys[r.Header.Get(runnerapi.SessionHeader)] = true
	switch r.URL.Path {
	case "/v1/order":
		order := runnerapi.Order{Kind: runnerapi.OrderExit}
		if !s.sent {
			order, s.sent = s.order, true
		}
		_ = json.NewEncoder(w).Encode(order)
	case "/v1/steps", "/v1/logs", "/v1/operations", "/v1/interrupt":
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// hooked is the real runner, which runs hooks of an attacker.
type hooked struct {
	*testing.T
	// program is the runner, in a folder that all users can read.
	program string
}

// runs lets an unprivileged user run the runner, with a hook before its first step. It returns the log of the pod and
// the key of the session.
func (h hooked) runs(script string, env ...string) (log, key string) {
	h.Helper()
	t, dir := h.T, public(h.T)
	s := &orderServer{keys: map[string]bool{}, order: runnerapi.Order{
		Kind: runnerapi.OrderPlan, Attempt: 1, Namespace: "prod", Stack: "net", Run: "net-1",
		Hooks: []runnerapi.Hook{{Step: "fetch", When: "Before", Script: script}},
	}}
	s.Server = httptest.NewUnstartedServer(s)
	s.EnableHTTP2 = true
	s.StartTLS()
	defer s.Close()
	write(t, filepath.Join(dir, "token"), "token-of-the-pod")
	for _, folder := range []string{"work", "inputs"} {
		if err := os.Mkdir(filepath.Join(dir, folder), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(filepath.Join(dir, folder), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), h.program, "run", "--server="+s.URL, "--token="+filepath.Join(dir, "token"),
		"--work="+filepath.Join(dir, "work"), "--inputs="+filepath.Join(dir, "inputs"))
	cmd.Env = append([]string{
		"PATH=/usr/bin:/bin", "CAIRN_SERVER_CA_PEM=" +
			string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})),
	}, env...)
	cmd.Dir = dir
	unprivileged(cmd)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	if len(s.keys) != 1 {
		t.Fatalf("%d keys\n%s", len(s.keys), out.String())
	}
	for key = range s.keys {
	}
	if len(key) < 26 {
		t.Fatalf("the key is %q", key)
	}
	return out.String(), key
}

// unprivileged runs a command as a user that is not root: root can read everything.
func unprivileged(cmd *exec.Cmd) {
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65532, Gid: 65532}}
	}
}

// public is a folder that all users can read. Those of t.TempDir are private.
func public(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "cairn-attack-")
	if err == nil {
		t.Cleanup(func() { _ = os.RemoveAll(dir) })
		err = os.Chmod(dir, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// The key of its session is all that a program in the pod lacks for that.
func TestHookCannotActAsTheRunner(t *testing.T) {
	dir := public(t)
	program := filepath.Join(dir, "cairn-runner")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "cairn.dev/cairn/cmd/cairn-runner").
		CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for name, attack := range map[string]func(hooked){
		"it reads the memory of the runner":                                   readsMemory,
		"it searches its environment, the arguments of the runner, and files": searchesPod,
		"the Stack switches on the debug output of net/http":                  switchesOnDebugOutput,
	} {
		t.Run(name, func(t *testing.T) { attack(hooked{t, program}) })
	}
}

func readsMemory(h hooked) {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		h.Fatal(err)
	}
	spyProgram := filepath.Join(public(h.T), "spy")
	if err := os.WriteFile(spyProgram, self, 0o755); err != nil {
		h.Fatal(err)
	}
	log, key := h.runs(fmt.Sprintf("#!/bin/sh\necho 'runner:'; %[1]s %[2]s $PPID\nsleep 60 & echo 'another "+
		"process:'; %[1]s %[2]s $!; kill $!\n", spyProgram, spy))
	_, rest, _ := strings.Cut(log, "runner:\n")
	ofRunner, ofOther, found := strings.Cut(rest, "another process:\n")
	if !found {
		h.Fatal(log)
	}
	if strings.Contains(ofRunner, "true") {
		h.Errorf("a hook can read the runner:\n%s", ofRunner)
	}
	for _, way := range []string{"environ", "mem", "maps", "fd"} { // the spy reads what can be read
		if !strings.Contains(ofOther, way+" true") {
			h.Errorf("the test cannot read %s of a process that does not hide it:\n%s", way, ofOther)
		}
	}
	if strings.Contains(log, key) {
		h.Error("the key is in the log of the pod")
	}
}

func searchesPod(h hooked) {
	log, key := h.runs("#!/bin/sh\nenv >found; tr '\\0' '\\n' </proc/$PPID/cmdline >>found; cat found; find " +
		"\"$HOME/../..\" -type f -size -64k -exec cat {} + 2>/dev/null\n")
	if strings.Contains(log, key) {
		h.Error("a hook can read the key")
	}
	if !strings.Contains(log, "CAIRN_RUN=net-1") || !strings.Contains(log, "--token=") {
		h.Errorf("the hook did not read its environment and the arguments of the runner:\n%s", log)
	}
}

// net/http prints the headers of each request then.
func switchesOnDebugOutput(h hooked) {
	log, key := h.runs("true", "GODEBUG=http2debug=2")
	for _, secret := range []string{key, "token-of-the-pod"} {
		if strings.Contains(log, secret) {
			h.Errorf("the log of the pod has %s:\n%s", secret, log)
		}
	}
}
