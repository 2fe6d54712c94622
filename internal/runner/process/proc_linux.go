package process

import (
	"bytes"
	"fmt"
	"iter"
	"os"
	"slices"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// attributes put a program into a process group of its own, and kill it when the runner is killed: in a pod that
// happens anyway, and an engine without its runner cannot reach the state.
func attributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// HideMemory keeps other processes of the same user from reading the memory and the environment of this one, and from
// tracing it. Programs that it starts are not hidden. A process with CAP_SYS_PTRACE still can.
func HideMemory() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("hide the memory of the process: %w", err)
	}
	return nil
}

// AdoptOrphans has processes whose parent ends become children of this one, if it is among those that started them.
func AdoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt orphans: %w", err)
	}
	return nil
}

// Descendants returns the processes that this one started, and those that they started.
func Descendants() []Process {
	children := map[int][]Process{}
	for p := range processes() {
		children[p.Parent] = append(children[p.Parent], p)
	}
	found := slices.Clone(children[os.Getpid()])
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].PID]...)
	}
	return found
}

// members returns the processes of a group.
func members(group int) []Process {
	var found []Process
	for p, of := range processes() {
		if of == group {
			found = append(found, p)
		}
	}
	return found
}

// processes yields those that have not ended, each with its group.
func processes() iter.Seq2[Process, int] {
	return func(yield func(Process, int) bool) {
		names, err := os.ReadDir("/proc")
		if err != nil {
			return
		}
		for _, entry := range names {
			pid, err := strconv.Atoi(entry.Name())
			if err != nil {
				continue
			}
			stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
			if err != nil {
				continue // it has just ended
			}
			name, parent, group, ok := parseStat(stat)
			if ok && !yield(Process{pid, name, parent}, group) {
				return
			}
		}
	}
}

// parseStat reads the name, the parent and the group from /proc/<pid>/stat: pid (name) state ppid pgrp ...; the name
// may hold spaces and parentheses. It returns !ok for a zombie.
func parseStat(stat []byte) (name string, parent, group int, ok bool) {
	open, closed := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || closed < open {
		return "", 0, 0, false
	}
	fields := bytes.Fields(stat[closed+1:])
	if len(fields) < 3 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return "", 0, 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	group, bad := strconv.Atoi(string(fields[2]))
	return string(stat[open+1 : closed]), parent, group, err == nil && bad == nil
}

// leastFree is how many bytes are free on a disk that is not full: a program that failed may have removed what it
// wrote.
const leastFree = 64 << 10

// DiskFull reports whether the disk with a folder has no space, or no inodes, for another file.
func DiskFull(dir string) bool {
	var disk unix.Statfs_t
	if err := unix.Statfs(dir, &disk); err != nil || disk.Blocks == 0 {
		return false
	}
	return disk.Bavail*uint64(disk.Bsize) < leastFree || disk.Files > 0 && disk.Ffree == 0
}
