package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
)

// lab tries mutants in one checkout.
type lab struct {
	root, tmp string
	timeout   time.Duration
	// files are those with mutants woven into them; plain are the mutants that are in none, by name.
	files map[string]string
	plain map[string]bool

	mu     sync.Mutex
	builds map[target]func() (built, error)
	proofs map[command]func() error
}

// target is a test binary: of a package, with tags, for one mutant that could not be woven or for all that could.
type target struct{ dir, tags, plain string }

// built is a test binary, and the GOFLAGS that it was built with.
type built struct{ binary, goflags string }

// outcome is what became of a mutant.
type outcome struct {
	// Killed by this test; empty when none failed.
	Killed string
	// Wrong is why nothing can be said: the mutant does not compile, say.
	Wrong error
	Took  time.Duration
}

func newLab(root, tmp string, timeout time.Duration, mutants []mutant) (*lab, error) {
	files, rest, err := weave(root, mutants)
	if err != nil {
		return nil, err
	}
	plain := map[string]bool{}
	for _, m := range rest {
		plain[m.Name] = true
	}
	return &lab{
		root: root, tmp: tmp, timeout: timeout, files: files, plain: plain,
		builds: map[target]func() (built, error){}, proofs: map[command]func() error{},
	}, nil
}

func (l *lab) try(ctx context.Context, m mutant) (out outcome) {
	if err := l.passes(ctx, m.Test); err != nil {
		return outcome{Wrong: fmt.Errorf("without the mutant: %w", err)}
	}
	of := target{dir: m.Test.Dir, tags: m.Test.Tags}
	files := l.files
	if l.plain[m.Name] {
		content, err := readFile(l.root, m.File)
		if err != nil {
			return outcome{Wrong: err}
		}
		of.plain, files = m.Name, map[string]string{m.File: m.apply(content)}
	}
	b, err := l.binary(ctx, of, files)
	if err != nil {
		return outcome{Wrong: err}
	}
	began := time.Now()
	output, err := l.run(ctx, m.Test, b, m.Name)
	killed, wrong := verdict(output, err, m.Hangs)
	return outcome{Killed: killed, Wrong: wrong, Took: time.Since(began)}
}

// passes says whether a test passes with all guards in; each is asked once.
func (l *lab) passes(ctx context.Context, c command) error {
	return once(&l.mu, l.proofs, c, func() error {
		b, err := l.binary(ctx, target{dir: c.Dir, tags: c.Tags}, l.files)
		if err != nil {
			return err
		}
		output, err := l.run(ctx, c, b, "")
		if err != nil {
			return fmt.Errorf("%s: %w\n%s", c, err, output[max(0, len(output)-4096):])
		}
		return nil
	})
}

// binary builds a test binary, once. What does not compile is no mutant.
func (l *lab) binary(ctx context.Context, of target, files map[string]string) (built, error) {
	l.mu.Lock()
	f, ok := l.builds[of]
	if !ok {
		f = sync.OnceValues(func() (built, error) { return l.build(ctx, of, files) })
		l.builds[of] = f
	}
	l.mu.Unlock()
	return f()
}

func (l *lab) build(ctx context.Context, of target, files map[string]string) (built, error) {
	dir, err := os.MkdirTemp(l.tmp, "")
	if err != nil {
		return built{}, err
	}
	b := built{binary: filepath.Join(dir, "test")}
	if b.goflags, err = overlay(l.root, dir, files); err != nil {
		return built{}, err
	}
	// those of the Makefile too, for what is compiled already
	tags := strings.Trim(of.tags+","+os.Getenv("GO_TAGS"), ",")
	module, pkg := moduleOf(of.dir)
	//nolint:gosec // what is built comes from the table and the Makefile
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w", "-tags="+tags, "-o",
		b.binary, pkg)
	build.Dir, build.Env = filepath.Join(l.root, module), append(os.Environ(), "GOFLAGS="+b.goflags)
	if output, err := build.CombinedOutput(); err != nil {
		return built{}, fmt.Errorf("does not compile: %w\n%s", err, output)
	}
	return b, nil
}

func (l *lab) run(ctx context.Context, c command, b built, without string) (string, error) {
	test := exec.CommandContext(ctx, b.binary, "-test.run="+c.Run, "-test.v", "-test.failfast", "-test.timeout="+
		l.timeout.String())
	test.Dir, test.Env = filepath.Join(l.root, c.Dir), append(os.Environ(), "GOFLAGS="+b.goflags, variable+"="+without,
		patience)
	test.WaitDelay = 10 * time.Second // for what a test leaves behind that holds its output
	var output bytes.Buffer
	test.Stdout, test.Stderr = &output, &output
	err := test.Start()
	if err == nil {
		over := make(chan struct{})
		go bound(test.Process, over)
		err = test.Wait()
		close(over)
	}
	if ctx.Err() != nil {
		err = ctx.Err()
	}
	return output.String(), err
}

// mostMemory is what a test may take. Without what ends a search it takes all there is, and the machine with it.
const mostMemory = 6 << 30

// bound kills a process that takes more.
func bound(p *os.Process, over <-chan struct{}) {
	for {
		select {
		case <-over:
			return
		case <-time.After(200 * time.Millisecond):
		}
		var size, resident int
		pages, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.Pid))
		if err != nil {
			continue // not on Linux, or it has ended
		}
		if _, err := fmt.Sscan(string(pages), &size, &resident); err == nil && resident*os.Getpagesize() > mostMemory {
			_ = p.Kill() // or it has ended
		}
	}
}

// patience is what API servers get to start on a machine that is busy.
const patience = "KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=2m"

// once gives the answer to a question that is worked on once.
func once[K comparable](mu *sync.Mutex, known map[K]func() error, key K, work func() error) error {
	mu.Lock()
	f, ok := known[key]
	if !ok {
		f = sync.OnceValue(work)
		known[key] = f
	}
	mu.Unlock()
	return f()
}

var (
	passed   = regexp.MustCompile(`(?m)^PASS$`)
	failed   = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	running  = regexp.MustCompile(`(?m)^=== RUN\s+(\S+)`)
	timedOut = regexp.MustCompile(`(?m)^panic: test timed out after `)
)

// verdict names the test that failed: the most particular one of the first.
func verdict(output string, err error, hangs bool) (killed string, wrong error) {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return "", nil
	case !errors.As(err, &exit):
		return "", err
	case timedOut.MatchString(output) && !hangs:
		return "", errors.New("the test ran into its timeout, which does not show that it notices (hangs: true " +
			"if it does)")
	case passed.MatchString(output): // and something was left behind, which a busy machine may do as well
		return "", fmt.Errorf("the test passed, and its program failed:\n%s", output)
	}
	for _, name := range failed.FindAllStringSubmatch(output, -1) {
		if killed == "" || strings.HasPrefix(name[1], killed+"/") {
			killed = name[1]
		}
	}
	if killed != "" {
		return killed, nil
	}
	if all := running.FindAllStringSubmatch(output, -1); len(all) > 0 { // it panicked, or hung
		return all[len(all)-1][1], nil
	}
	return "", fmt.Errorf("the test did not even begin: %w", err)
}
