//go:build !linux

package policy

import (
	"os"
	"syscall"
)

func thisProgram() (string, error) { return os.Executable() }

// attributes keep signals for this process's group from another one.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// confine does nothing: servers run on Linux.
func confine(uint64) error { return nil }
