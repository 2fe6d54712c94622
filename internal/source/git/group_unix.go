//go:build unix

package git

import (
	"io/fs"
	"os"
	"syscall"
)

// groupAttributes starts a child as the head of its own process group.
func groupAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// terminateGroup asks all processes of a group to end.
func terminateGroup(head *os.Process) error { return syscall.Kill(-head.Pid, syscall.SIGTERM) }

// killGroup ends all processes of a group that still run.
func killGroup(head *os.Process) { _ = syscall.Kill(-head.Pid, syscall.SIGKILL) }

// diskUsage returns the bytes that a file takes on the disk.
func diskUsage(info fs.FileInfo) int64 {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Blocks * 512
	}
	return 0
}
