package runner

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"cairn.dev/cairn/internal/runnerapi"
)

// smallDisk mounts a file system of so many bytes as the workspace of the pods that follow.
func (s *testServer) smallDisk(bytes int) {
	s.t.Helper()
	s.work = s.t.TempDir()
	err := syscall.Mount("tmpfs", s.work, "tmpfs", 0, fmt.Sprintf("size=%d", bytes))
	if errors.Is(err, syscall.EPERM) && os.Getenv("CI") == "" {
		s.t.Skip("only root mounts a file system, which CI is:", err)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { _ = syscall.Unmount(s.work, syscall.MNT_DETACH) })
}

// The failure names the full disk, and not the file that an engine could not read.
func TestFullDiskIsReported(t *testing.T) {
	big := file("big.bin", strings.Repeat("0123456789abcdef", 6<<16))
	fill := "head -c 20000000 /dev/zero > fill; exit 1"
	for name, test := range map[string]struct {
		code []entry
		hook string
	}{
		"the code does not fit":    {[]entry{file("main.tf", two), big, file("more.bin", string(big.Content))}, ""},
		"a hook fills it":          {[]entry{file("main.tf", two)}, fill},
		"there is none for a plan": {[]entry{file("main.tf", two)}, "head -c 20000000 /dev/zero > fill; true"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestServer(t)
			s.smallDisk(8 << 20)
			order := s.plan(1, s.put(test.code...))
			if test.hook != "" {
				order.Hooks = []runnerapi.Hook{{Step: "init", When: "Before", Script: test.hook}}
			}
			p := run(t, s, nil, order)
			report := s.done(1)
			failure := report.Done.Failure
			if failure == nil || failure.Class != "Transient" || failure.Reason != runnerapi.ReasonDiskFull ||
				!strings.Contains(failure.Message, "the pod's disk is full: ") {
				t.Errorf("%+v %s\n%s", failure, steps(report), p.output)
			}
		})
	}
}

// An apply that fills the disk saves its state, which never was on that disk.
func TestApplyOnAFullDiskSavesTheState(t *testing.T) {
	s := newTestServer(t)
	s.smallDisk(8 << 20)
	order := s.planned(s.plan(1, s.put(file("main.tf", `
		resource "terraform_data" "a" {
			provisioner "local-exec" { command = "head -c 20000000 /dev/zero > fill; true" }
		}
		resource "terraform_data" "b" {
			depends_on = [terraform_data.a]
			provisioner "local-exec" { command = "echo b > b && test -s b" }
		}
	`))), nil)
	p := run(t, s, nil, order)
	report := s.done(2)
	failure := report.Done.Failure
	if failure == nil || failure.Class != "Transient" || failure.Reason != runnerapi.ReasonDiskFull {
		t.Errorf("%+v %s\n%s", failure, steps(report), p.output)
	}
	if state := string(s.state); !strings.Contains(state, `"name":"a"`) || !strings.Contains(state, "tainted") {
		t.Errorf("the state after the apply: %s", state)
	}
	if s.rescued != nil || s.lock != nil {
		t.Errorf("rescued %q, lock %q", s.rescued, s.lock)
	}
}
