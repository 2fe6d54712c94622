//go:build !linux

package local

import "syscall"

// childAttributes give a child a process group of its own, so that Ctrl-C reaches only the parent.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
