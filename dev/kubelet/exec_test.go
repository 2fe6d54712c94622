package kubelet_test

import (
	"errors"
	"os/exec"
	"strings"
	"testing"
)

func TestKubectlExec(t *testing.T) {
	t.Parallel()
	ns := newNamespace(t)
	pod := create(t, ns, "pod", `
containers:
- {name: main, command: [sh, -c, 'echo hello > "$0"; sleep 1000', /data/file], env: [{name: WORD, value: of its own}], volumeMounts: [{name: data, mountPath: /data}]}
volumes: [{name: data, emptyDir: {}}]
`)
	await(t, ns, "pod", "running", isRunning)
	in := func(stdin string, args ...string) (string, int) {
		t.Helper()
		cmd := kubectl(t, append([]string{"exec", "-n", ns}, args...)...)
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		var failed *exec.ExitError
		if err != nil && !errors.As(err, &failed) {
			t.Fatal(err)
		}
		return string(out), cmd.ProcessState.ExitCode()
	}
	poll(t, "the file", func() bool { out, _ := in("", "pod", "--", "cat", "/data/file"); return out == "hello\n" })
	for name, tt := range map[string]struct {
		args  []string
		stdin string
		out   string
		code  int
	}{
		"the container's environment": {args: []string{"pod", "--", "sh", "-c", `echo "$WORD"`}, out: "of its own\n"},
		"what is typed": {args: []string{"-i", "pod", "--", "cat"}, stdin: "some\nlines\n",
			out: "some\nlines\n"},
		"an exit code": {args: []string{"pod", "--", "sh", "-c", "echo out; exit 7"}, out: "out\n",
			code: 7},
		"arguments are not expanded":    {args: []string{"pod", "--", "echo", "$(WORD)"}, out: "$(WORD)\n"},
		"a program that is not there":   {args: []string{"pod", "--", "no-such-program"}, code: 1},
		"a container that is not there": {args: []string{"pod", "-c", "other", "--", "true"}, code: 1},
	} {
		if out, code := in(tt.stdin, tt.args...); out != tt.out || code != tt.code {
			t.Errorf("%s: %q, exit code %d", name, out, code)
		}
	}

	// It ends with the container.
	over := make(chan error, 1)
	endless := kubectl(t, "exec", "-n", ns, "pod", "--", "sh", "-c", "echo > $0; sleep 1000", "/data/in")
	go func() { over <- endless.Run() }()
	poll(t, "the exec", func() bool { _, code := in("", "pod", "--", "test", "-e", "/data/in"); return code == 0 })
	remove(t, pod, 0)
	if err := <-over; err == nil {
		t.Error("it ended well")
	}
}
