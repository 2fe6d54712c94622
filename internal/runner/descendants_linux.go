package runner

import (
	"bytes"
	"os"
	"slices"
	"strconv"
)

// descendants are all processes that this one started, and that those started.
func descendants() []descendant {
	names, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	children := map[int][]descendant{}
	for _, entry := range names {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + entry.Name() + "/stat")
		if err != nil {
			continue // it has just ended
		}
		if name, parent, ok := parseStat(stat); ok {
			children[parent] = append(children[parent], descendant{pid, name})
		}
	}
	found := slices.Clone(children[os.Getpid()])
	for i := 0; i < len(found); i++ {
		found = append(found, children[found[i].pid]...)
	}
	return found
}

// parseStat reads the name and the parent from /proc/<pid>/stat: pid (name) state ppid ...; the name may hold spaces and
// parentheses. One that has ended and that nobody asked about yet is none.
func parseStat(stat []byte) (name string, parent int, ok bool) {
	open, closed := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 0 || closed < open {
		return "", 0, false
	}
	fields := bytes.Fields(stat[closed+1:])
	if len(fields) < 2 || fields[0][0] == 'Z' || fields[0][0] == 'X' {
		return "", 0, false
	}
	parent, err := strconv.Atoi(string(fields[1]))
	return string(stat[open+1 : closed]), parent, err == nil
}
