package runner

import (
	"bytes"
	"iter"
	"os"
	"slices"
	"strconv"
)

// descendants are all processes that this one started, and that those started.
func descendants() []descendant {
	children := map[int][]descendant{}
	for d := range processes() {
		children[d.parent] = append(children[d.parent], d)
	}
	found := slices.Clone(children[os.Getpid()])
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].pid]...)
	}
	return found
}

// members are the processes of a group.
func members(group int) []descendant {
	var found []descendant
	for d, of := range processes() {
		if of == group {
			found = append(found, d)
		}
	}
	return found
}

// processes are all that have not ended, each with its group.
func processes() iter.Seq2[descendant, int] {
	return func(yield func(descendant, int) bool) {
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
			if ok && !yield(descendant{pid, name, parent}, group) {
				return
			}
		}
	}
}

// parseStat reads the name, the parent and the group from /proc/<pid>/stat: pid (name) state ppid pgrp ...; the name may hold spaces and
// parentheses. One that has ended and that nobody asked about yet is none.
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
