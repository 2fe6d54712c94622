//go:build unix && !linux

package local

import "syscall"

// childAttributes starts a child in its own process group, so that Ctrl-C interrupts only the parent.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
