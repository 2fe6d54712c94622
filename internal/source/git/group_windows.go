package git

import (
	"io/fs"
	"os"
	"syscall"
)

// groupAttributes returns nil: Windows has no process groups. Only the command line runs there, which has no Mirror.
func groupAttributes() *syscall.SysProcAttr { return nil }

// terminateGroup ends the process.
func terminateGroup(head *os.Process) error { return head.Kill() }

// killGroup does nothing: the process has ended.
func killGroup(*os.Process) {}

// diskUsage returns the size of a file.
func diskUsage(info fs.FileInfo) int64 { return info.Size() }
