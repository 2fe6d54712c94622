package runner

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// cgroupDir is where a container finds its own control group.
const cgroupDir = "/sys/fs/cgroup"

// memory is what the kernel tells a container about its memory. Most often a container that takes too much is killed as a
// whole, and its node tells of that. But where the kernel takes only one process, that may be the engine or a provider, and
// the runner is the one who can still say why.
type memory struct{ dir string }

func (r *runner) memory() memory { return memory{cmp.Or(r.Cgroup, cgroupDir)} }

// kills counts the processes that were killed for what they took; -1 when that cannot be read.
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

// unlimited is what version 1 has for no limit, or more.
const unlimited = 1 << 60

// limit words how much memory the container may take; empty when there is no limit, or it cannot be read.
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

// outOfMemory says what to do when processes of the container were killed for its memory since there were that many of them;
// empty when none was, or nobody knows.
func (m memory) outOfMemory(before int64) string {
	if now := m.kills(); before < 0 || now <= before {
		return ""
	}
	return "the container ran out of memory" + m.advice()
}

// advice is what a person can do about too little memory.
func (m memory) advice() string {
	const raise = ": raise spec.runner.resources.limits.memory"
	if limit := m.limit(); limit != "" {
		return " (its limit is " + limit + ")" + raise
	}
	return raise
}
