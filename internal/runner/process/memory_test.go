package process

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMemory(t *testing.T) {
	events := func(n string) string {
		return "low 0\nhigh 0\nmax 7\noom 1\noom_kill " + n + "\noom_group_kill 0\n"
	}
	for name, tt := range map[string]struct {
		files map[string]string
		kills int64
		limit string
	}{
		"nothing can be read": {nil, -1, ""},
		"version 2": {map[string]string{"memory.events": events("3"), "memory.max": "536870912\n"},
			3, "512Mi"},
		"version 2 without a limit": {map[string]string{"memory.events": events("0"), "memory.max": "max\n"}, 0,
			""},
		"version 1": {
			map[string]string{"memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
				"memory/memory.limit_in_bytes": "2147483648\n"}, 2, "2Gi"},
		"version 1 without a limit": {map[string]string{"memory/memory.oom_control": "oom_kill 0\n",
			"memory/memory.limit_in_bytes": "9223372036854771712\n"}, 0, ""},
		"a kernel that does not count": {
			map[string]string{"memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\n"}, -1, ""},
		"what is not to be expected": {map[string]string{"memory.events": "oom_kill many\n", "memory.max": "some\n"},
			-1, ""},
		"a limit that is no round one":  {map[string]string{"memory.max": "1000001\n"}, -1, "1000001"},
		"a limit in the smallest units": {map[string]string{"memory.max": "300032\n"}, -1, "293Ki"},
	} {
		t.Run(name, func(t *testing.T) {
			m := memory{t.TempDir()}
			write(t, m.dir, tt.files)
			if kills, limit := m.kills(), m.limit(); kills != tt.kills || limit != tt.limit {
				t.Errorf("%d killed, limit %q; want %d, %q", kills, limit, tt.kills, tt.limit)
			}
		})
	}
}

// write writes files into a folder.
func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}
