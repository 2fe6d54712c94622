//go:build !linux

package runner

import "syscall"

// attributes put the engine into a process group of its own. Only Linux can also end it with the runner.
func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
