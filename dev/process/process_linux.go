package process

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }

// killSession ends all that is left of a session, and returns when nothing of it runs any more. It goes by session, not
// by process group, since an engine that was given a group of its own is still part of the container.
func killSession(sid int) {
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		left := session(sid)
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
		time.Sleep(wait) // a killed process takes a moment to be gone, and there is no event for it
	}
}

// session lists the processes of a session that are not zombies.
func session(sid int) []int {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer func() { _ = proc.Close() }()
	names, _ := proc.Readdirnames(-1)
	var pids []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has just ended
		}
		if state, s := parseStat(stat); s == sid && state != 'Z' && state != 'X' {
			pids = append(pids, pid)
		}
	}
	return pids
}

// parseStat reads the state and the session from /proc/<pid>/stat: pid (comm) state ppid pgrp session ...; comm may
// hold spaces and parentheses.
func parseStat(stat []byte) (state byte, sid int) {
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < 4 {
		return 0, 0
	}
	sid, _ = strconv.Atoi(string(fields[3]))
	return fields[0][0], sid
}
