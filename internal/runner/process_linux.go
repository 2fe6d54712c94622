package runner

import "syscall"

// attributes put the engine into a process group of its own, and end it when the runner is ended by force: in a pod that
// is so anyway, and an engine without its runner has no way to the state.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
