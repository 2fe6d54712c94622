package local

import "syscall"

// childAttributes give a child a process group of its own, so that Ctrl-C reaches only the parent, and let it end with
// the parent however that ends.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
