package process

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cgroupDir is the folder of the container's own control group.
const cgroupDir = "/sys/fs/cgroup"

// memory reads what the kernel records about the container's memory. Most often the kernel kills the whole container
// when it uses too much, and its node reports that. Where the kernel kills a single process, that may be the engine
// or a provider, and only the runner can report why.
type memory struct{ dir string }

func (l *Launcher) memory() memory { return memory{cmp.Or(l.Cgroup, cgroupDir)} }

// kills returns how many processes the kernel killed for the container's memory; -1 when that cannot be read.
func (m memory) kills() int64 {
	for _, name := range []string{"memory.events", "memory/memory.oom_control"} { // of version 2, of version 1
		data, err := os.ReadFile(filepath.Join(m.dir, name))
		if err != nil {
			continue
		}
		for line := range bytes.Lines(data) {
			key, value, _ := strings.Cut(strings.TrimSpace(string(line)), " ")
			if n, err := strconv.ParseInt(value, 10, 64); key == "oom_kill" && err == nil {
				return n
			}
		}
	}
	return -1
}

// unlimited is the lowest value that version 1 shows when there is no limit.
const unlimited = 1 << 60

// limit formats the container's memory limit; empty when there is none, or it cannot be read.
func (m memory) limit() string {
	for _, name := range []string{"memory.max", "memory/memory.limit_in_bytes"} {
		data, err := os.ReadFile(filepath.Join(m.dir, name))
		if err != nil {
			continue
		}
		n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
		if err != nil || n >= unlimited {
			return ""
		}
		for _, unit := range []struct {
			bytes int64
			name  string
		}{{1 << 30, "Gi"}, {1 << 20, "Mi"}, {1 << 10, "Ki"}} {
			if n%unit.bytes == 0 {
				return fmt.Sprintf("%d%s", n/unit.bytes, unit.name)
			}
		}
		return strconv.FormatInt(n, 10)
	}
	return ""
}

// outOfMemory returns what to do when the kernel killed processes of the container since it had killed that many;
// empty when it killed none, or that is unknown.
func (m memory) outOfMemory(before int64) string {
	if now := m.kills(); before < 0 || now <= before {
		return ""
	}
	return "the container ran out of memory" + m.advice()
}

// advice returns what a user can do about too little memory.
func (m memory) advice() string {
	const raise = ": raise spec.runner.resources.limits.memory"
	if limit := m.limit(); limit != "" {
		return " (its limit is " + limit + ")" + raise
	}
	return raise
}
