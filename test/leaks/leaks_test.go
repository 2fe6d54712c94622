package leaks

import (
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// leaks is the variable that selects the leak of a child process.
const leaks = "CAIRN_TEST_LEAKS"

func TestMain(m *testing.M) {
	if os.Getenv(leaks) != "" {
		timeout = time.Second // the leaks never end
	}
	Main(m)
}

func TestLeak(t *testing.T) {
	switch os.Getenv(leaks) {
	case "a goroutine":
		go func() { select {} }()
	case "a file":
		if _, err := os.Open("/dev/null"); err != nil {
			t.Fatal(err)
		}
	case "a socket":
		if _, err := net.Listen("tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
}

func TestLeaksAreDetected(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc")
	}
	for what, want := range map[string]string{
		"nothing": "ok", "a goroutine": "leak goroutines", "a file": "files open: [/dev/null]",
		"a socket": "files open: [socket:",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLeak$")
			cmd.Env = append(os.Environ(), leaks+"="+what)
			out, err := cmd.CombinedOutput()
			if (err == nil) != (what == "nothing") || what != "nothing" && !strings.Contains(string(out), want) {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}
