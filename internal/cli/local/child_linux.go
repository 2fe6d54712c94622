package local

import "syscall"

// childAttributes starts a child in its own process group, so that Ctrl-C interrupts only the parent, and kills it when
// the parent ends.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
