package tools

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// builder is a copy of tools/build with its own checksums, and a curl and a go that only record that they are called.
type builder struct {
	*testing.T
	dir string
}

const official = "#!/bin/sh\necho official\n"

func newBuilder(t *testing.T, checksum, curl string) builder {
	t.Helper()
	b := builder{t, t.TempDir()}
	for name, content := range map[string]string{
		"tools/build":               b.read("../../tools/build"),
		"tools/checksums":           checksum + " kubectl v1.0.0 test/test https://example.com/kubectl\n",
		"tools/controlplane/go.mod": "module x\n\nrequire k8s.io/kubernetes v1.0.0\n",
		"tools/controlplane/go.sum": "",
		"official":                  official,
		"path/curl":                 "#!/bin/bash\necho curl >>" + b.dir + "/calls\n" + curl,
		"path/go": `#!/bin/bash
case $1 in
env) for _ in "${@:2}"; do echo test; done ;;
build) echo build >>` + b.dir + `/calls; while [[ $1 != -o ]]; do shift; done; echo built >"$2"; chmod +x "$2" ;;
esac
`,
	} {
		path := filepath.Join(b.dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func (b builder) read(path string) string {
	b.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	return string(data)
}

// calls builds a tool, and returns which programs were called for it and the tool.
func (b builder) calls(env ...string) (calls, tool string) {
	b.Helper()
	for _, old := range []string{"calls", "bin/kubectl"} {
		_ = os.Remove(filepath.Join(b.dir, old))
	}
	cmd := exec.CommandContext(b.Context(), filepath.Join(b.dir, "tools", "build"), "kubectl",
		filepath.Join(b.dir, "bin"))
	cmd.Env = append(os.Environ(), "PATH="+b.dir+"/path:"+os.Getenv("PATH"), "CAIRN_DOWNLOAD=")
	cmd.Env = append(cmd.Env, env...)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return strings.Join(strings.Fields(b.read(filepath.Join(b.dir, "calls"))), " "),
		b.read(filepath.Join(b.dir, "bin", "kubectl"))
}

func TestToolIsDownloadedOnlyWithItsPinnedChecksum(t *testing.T) {
	const download = `while [[ $1 != -o ]]; do shift; done; cp "${0%/*}/../official" "$2"`
	sum := sha256.Sum256([]byte(official))
	right, wrong := hex.EncodeToString(sum[:]), strings.Repeat("0", 64)

	if calls, tool := newBuilder(t, right, download).calls(); calls != "curl" || tool != official {
		t.Errorf("with the right checksum: %s, and the tool is %q", calls, tool)
	}
	if calls, tool := newBuilder(t, wrong, download).calls(); calls != "curl build" || tool != "built\n" {
		t.Errorf("with a wrong checksum: %s, and the tool is %q", calls, tool)
	}
	if calls, _ := newBuilder(t, right, download).calls("CAIRN_DOWNLOAD=0"); calls != "build" {
		t.Errorf("with CAIRN_DOWNLOAD=0: %s", calls)
	}
	offline := newBuilder(t, right, "exit 6")
	if calls, _ := offline.calls(); calls != "curl build" {
		t.Errorf("without the internet: %s", calls)
	}
	if calls, _ := offline.calls(); calls != "build" {
		t.Errorf("without the internet, the second time: %s", calls)
	}
}
