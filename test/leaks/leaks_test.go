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

// leaves says to the process that a test starts what it is to leave behind.
const leaves = "CAIRN_TEST_LEAVES"

func TestMain(m *testing.M) {
	if os.Getenv(leaves) != "" {
		patience = time.Second // what it leaves never ends
	}
	Main(m)
}

func TestLeavesSomething(t *testing.T) {
	switch os.Getenv(leaves) {
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

func TestWhatIsLeftIsFound(t *testing.T) {
	if runtime.GOOS != "linux" { // where CI runs, and Cairn
		t.Skip("only Linux tells which files a process has open")
	}
	for what, want := range map[string]string{
		"nothing": "ok", "a goroutine": "goroutines behind", "a file": "files open: [/dev/null]", "a socket": "files open: [socket:",
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestLeavesSomething$")
			cmd.Env = append(os.Environ(), leaves+"="+what)
			said, err := cmd.CombinedOutput()
			if (err == nil) != (what == "nothing") || what != "nothing" && !strings.Contains(string(said), want) {
				t.Errorf("%v: %s", err, said)
			}
		})
	}
}
