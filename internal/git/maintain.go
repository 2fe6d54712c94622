package git

import (
	"context"
	"os"
	"path/filepath"
	"time"
)

// unused is how long files of LFS are kept after an archive had them, and mirrors of submodules after they were opened.
const unused = 14 * 24 * time.Hour

// maintain packs what many fetches left, each in a pack of its own, and drops what has been unreachable for two weeks. git
// knows itself whether there is enough to do, and mostly there is not; what is large already stays as it is. Readers need not stop for it. What fails here is tried
// again after the next fetch.
func (m *Mirror) maintain() {
	ctx, cancel := context.WithTimeout(m.ctx, m.o.Timeout)
	defer cancel()
	_, _ = m.run(ctx, command{
		args:     []string{"gc", "--auto", "--quiet"},
		settings: []setting{{"gc.auto", "6700"}, {"gc.autoPackLimit", "50"}, {"gc.bigPackThreshold", "100m"}, {"gc.autoDetach", "false"}},
	})
	m.forgetObjects(time.Now().Add(-unused))
	m.forgetBeside(time.Now().Add(-unused))
}

// forgetObjects removes files of LFS that were not used since.
func (m *Mirror) forgetObjects(since time.Time) {
	entries, err := os.ReadDir(m.path(lfsObjects))
	if err != nil {
		return
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.ModTime().Before(since) {
			_ = os.Remove(filepath.Join(m.path(lfsObjects), entry.Name()))
		}
	}
}

// forgetBeside removes mirrors of submodules that were not opened since: who writes .gitmodules names as many as they like. Those that
// are open stay open until the Mirror is closed.
func (m *Mirror) forgetBeside(since time.Time) {
	m.besideMu.Lock()
	defer m.besideMu.Unlock()
	entries, err := os.ReadDir(m.path(modules))
	if err != nil {
		return
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && info.ModTime().Before(since) && m.beside[entry.Name()] == nil {
			_ = os.RemoveAll(filepath.Join(m.path(modules), entry.Name()))
		}
	}
}
