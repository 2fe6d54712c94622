package scale

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Process is a running process of Cairn.
type Process struct {
	// Name is for logs.
	Name string
	// Metrics, Health and Pprof are addresses.
	Metrics, Health, Pprof string
	// Began is the time of its start.
	Began time.Time

	cmd   *exec.Cmd
	ended chan struct{}
}

// Begin starts a process with arguments; its log goes to a file.
func Begin(name, program, log string, args ...string) (*Process, error) {
	file, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()                                                                         //nolint:errcheck // the process has inherited it
	p := &Process{Name: name, cmd: exec.Command(program, args...), ended: make(chan struct{})} //nolint:noctx // Stop ends it
	p.cmd.Stdout, p.cmd.Stderr = file, file
	p.Began = time.Now()
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = p.cmd.Wait() // interrupted by Stop
		close(p.ended)
	}()
	return p, nil
}

// Stop ends it as Kubernetes does, and waits.
func (p *Process) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	select {
	case <-p.ended:
	case <-time.After(time.Minute):
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
}

// Kill kills it, as a kernel without memory does, and waits.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.ended
}

// Running reports whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}

// Ready waits until the process is ready.
func (p *Process) Ready(ctx context.Context) error {
	for {
		body, err := get(ctx, "http://"+p.Health+"/readyz")
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w: %s", p.Name, err, body)
		case <-p.ended:
			return fmt.Errorf("%s has ended: see its log", p.Name)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

func get(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept-Encoding", "identity") // compression would add load to the measured process
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = errors.New(answer.Status)
	}
	return body, err
}

// Usage is the resource usage of a process.
type Usage struct {
	// CPU is the CPU time since its start.
	CPU time.Duration
	// RSS and its peak in bytes, and Own: without the pages of the program file, which are not charged to a container.
	RSS, Peak, Own int64
	// Files is the number of open files.
	Files int
}

// Usage reads the usage of the process from /proc.
func (p *Process) Usage() (Usage, error) { return UsageOf(p.cmd.Process.Pid) }

// ticksASecond of /proc/PID/stat; the same on every Linux that Go runs on.
const ticksASecond = 100

// UsageOf reads the usage of any process.
func UsageOf(pid int) (u Usage, err error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return u, err
	}
	_, rest, _ := strings.Cut(string(stat), ") ") // the name before may contain any character
	f := strings.Fields(rest)
	for _, i := range []int{11, 12} { // user and system
		ticks, err := strconv.ParseInt(f[i], 10, 64)
		if err != nil {
			return u, err
		}
		u.CPU += time.Duration(ticks) * time.Second / ticksASecond
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return u, err
	}
	for line := range strings.Lines(string(status)) {
		f := strings.Fields(line)
		if len(f) < 2 {
			continue
		}
		kib, _ := strconv.ParseInt(f[1], 10, 64) // other lines have other values
		switch f[0] {
		case "VmRSS:":
			u.RSS = kib << 10
		case "RssAnon:":
			u.Own = kib << 10
		case "VmHWM:":
			u.Peak = kib << 10
		}
	}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	u.Files = len(files)
	return u, err
}

// Values are metrics by name, summed over all series of a name, and by controller and by method: name/stack. Those
// of histograms are _sum and _count.
type Values map[string]float64

// Scrape reads the metrics of a process.
func (p *Process) Scrape(ctx context.Context) (Values, error) {
	body, err := get(ctx, "http://"+p.Metrics+"/metrics")
	if err != nil {
		return nil, err
	}
	values := Values{}
	for line := range strings.Lines(string(body)) {
		series, text, ok := strings.Cut(strings.TrimSpace(line), "} ")
		if !ok {
			series, text, _ = strings.Cut(strings.TrimSpace(line), " ")
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || strings.HasPrefix(series, "#") || strings.Contains(series, `le="`) {
			continue // a comment, or a part of a histogram
		}
		name, labels, _ := strings.Cut(series, "{")
		values[name] += v
		for _, label := range []string{"controller", "method"} {
			if _, rest, ok := strings.Cut(labels, label+`="`); ok {
				of, _, _ := strings.Cut(rest, `"`)
				values[name+"/"+of] += v
			}
		}
	}
	return values, nil
}

// Heap collects garbage, and returns the heap in use and the memory of stacks in bytes.
func (p *Process) Heap(ctx context.Context) (int64, error) {
	body, err := get(ctx, "http://"+p.Pprof+"/debug/pprof/heap?gc=1&debug=1")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(body)) {
		if text, ok := strings.CutPrefix(line, "# HeapAlloc = "); ok {
			return strconv.ParseInt(strings.TrimSpace(text), 10, 64)
		}
	}
	return 0, errors.New("the profile has no heap statistics")
}

// controlPlane returns the processes of the API server, of etcd and of the controllers.
func (i *Install) controlPlane() (pids []int) {
	folder := filepath.Join(i.Data, "controlplane")
	all, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		i.Fatal(err)
	}
	for _, dir := range all {
		if at, err := os.Readlink(dir + "/cwd"); err != nil || at != folder {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(dir)) // the pattern matches numbers only
		pids = append(pids, pid)
	}
	return pids
}
