package policy

import (
	"fmt"
	"os"
	"strconv"
	"syscall"
)

// thisProgram is the one that runs, also where the file has another one in it by now.
func thisProgram() (string, error) { return "/proc/self/exe", nil }

// attributes let a process end with this one however that ends, and keep signals for this one's group from it.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// confine takes from this process what evaluating does not need: memory past a limit, and all files and connections but
// the standard ones. It ends before others where the machine's memory does, and leaves no dump of it.
func confine(data uint64) error {
	if err := closeInherited(); err != nil {
		return err
	}
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0o600) // not where /proc is read-only
	for _, limit := range []struct {
		name  string
		which int
		most  uint64
	}{
		{"memory", syscall.RLIMIT_DATA, data},
		{"dumps", syscall.RLIMIT_CORE, 0},
		{"open files", syscall.RLIMIT_NOFILE, 0},
	} {
		var now syscall.Rlimit
		if err := syscall.Getrlimit(limit.which, &now); err != nil {
			return fmt.Errorf("%s: %w", limit.name, err)
		}
		most := min(limit.most, now.Max)
		if err := syscall.Setrlimit(limit.which, &syscall.Rlimit{Cur: most, Max: most}); err != nil {
			return fmt.Errorf("%s: %w", limit.name, err)
		}
	}
	return nil
}

// closeInherited closes what the parent of the server has left open. Go opens nothing that a child would have; so what
// this process has opened itself is marked, and what is not comes from there.
func closeInherited() error {
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	for _, entry := range open {
		fd, err := strconv.Atoi(entry.Name())
		if err != nil || fd <= 2 {
			continue
		}
		flags, _, failed := syscall.Syscall(syscall.SYS_FCNTL, uintptr(fd), syscall.F_GETFD, 0)
		if failed == 0 && flags&syscall.FD_CLOEXEC == 0 {
			_ = syscall.Close(fd)
		}
	}
	return nil
}
