// Command mutants takes each guard of mutants.yaml out, one at a time, and requires that some test fails: `make
// mutants`.
//
// It changes nothing in the checkout: go is told by an overlay what a file would be without its guard. A mutant that
// does not compile proves nothing, nor does a test that fails anyway, nor one that hangs.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	only := flag.String("only", "", "try the mutants of which name, symbol, file or invariant matches this "+
		"regular expression")
	check := flag.Bool("check", false, "say only whether each guard is where the table says, and all mutants compile")
	jobs := flag.Int("j", runtime.NumCPU(), "try so many at a time")
	timeout := flag.Duration("timeout", 3*time.Minute, "of each test")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := mutants(ctx, *only, *check, *jobs, *timeout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func mutants(ctx context.Context, only string, check bool, jobs int, timeout time.Duration) error {
	wanted, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	rows, err := read(table)
	if err != nil {
		return err
	}
	root, err := checkout(ctx)
	if err != nil {
		return err
	}
	every, err := find(root, rows)
	if err != nil {
		return err
	}
	var chosen []mutant
	for _, m := range every {
		if wanted.MatchString(m.Name + "\n" + m.In + "\n" + m.File + "\n" + m.Breaks) {
			chosen = append(chosen, m)
		}
	}
	if len(chosen) == 0 {
		return fmt.Errorf("no mutant matches %q", only)
	}
	tmp, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp) //nolint:errcheck // nothing of it is needed
	if check {
		return compile(ctx, root, tmp, chosen)
	}
	l, err := newLab(root, tmp, timeout, chosen)
	if err != nil {
		return err
	}
	return tryAll(ctx, l, chosen, max(1, jobs))
}

// checkout is the root of the module.
func checkout(ctx context.Context) (string, error) {
	mod, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	return filepath.Dir(strings.TrimSpace(string(mod))), err
}

// compile makes sure that all guards are where the table says, and that the code compiles without them.
func compile(ctx context.Context, root, tmp string, mutants []mutant) error {
	files, plain, err := weave(root, mutants)
	if err != nil {
		return err
	}
	if err := compileFiles(ctx, root, tmp, files); err != nil {
		return err
	}
	for _, m := range plain {
		content, err := readFile(root, m.File)
		if err == nil {
			err = compileFiles(ctx, root, tmp, map[string]string{m.File: m.apply(content)})
		}
		if err != nil {
			return fmt.Errorf("mutant %q: %w", m.Name, err)
		}
	}
	fmt.Printf("%d mutants fit and compile\n", len(mutants))
	return nil
}

func compileFiles(ctx context.Context, root, tmp string, files map[string]string) error {
	goflags, err := overlay(root, tmp, files)
	if err != nil {
		return err
	}
	packages := map[string]map[string]bool{} // by module
	for file := range files {
		if path.Ext(file) == ".go" {
			module, pkg := moduleOf(path.Dir(file))
			if strings.HasPrefix(file, "api/") { // a module that the checkout's own requires
				pkg = "cairn.dev/cairn/" + path.Dir(file)
			}
			if packages[module] == nil {
				packages[module] = map[string]bool{}
			}
			packages[module][pkg] = true
		}
	}
	for module, names := range packages {
		cmd := exec.CommandContext(ctx, "go", slices.Concat([]string{"build"}, slices.Sorted(maps.Keys(names)))...)
		cmd.Dir, cmd.Env = filepath.Join(root, module), append(os.Environ(), "GOFLAGS="+goflags)
		if output, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("does not compile: %w\n%s", err, output)
		}
	}
	return nil
}

// tryAll tries the mutants and prints what became of each as soon as it is known.
func tryAll(ctx context.Context, l *lab, mutants []mutant, jobs int) error {
	began := time.Now()
	var (
		mu              sync.Mutex
		survived, wrong []string
		wg              sync.WaitGroup
	)
	next := make(chan mutant)
	fmt.Printf("%-8s %-60s %-8s %5s  %s\n", "", "without", "breaks", "s", "test that fails")
	for range jobs {
		wg.Go(func() {
			for m := range next {
				out := l.try(ctx, m)
				mu.Lock()
				word, by := "killed", out.Killed
				switch {
				case out.Wrong != nil:
					word, by = "WRONG", out.Wrong.Error()
					wrong = append(wrong, m.Name)
				case out.Killed == "":
					word, by = "SURVIVES", m.Test.String()
					survived = append(survived, m.Name)
				}
				fmt.Printf("%-8s %-60s %-8s %5.1f  %s\n", word, m.Name, m.Breaks, out.Took.Seconds(), by)
				mu.Unlock()
			}
		})
	}
	for _, m := range mutants {
		if ctx.Err() != nil {
			break
		}
		next <- m
	}
	close(next)
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	fmt.Printf("%d of %d killed in %s\n", len(mutants)-len(survived)-len(wrong), len(mutants),
		time.Since(began).Round(time.Second))
	if len(survived)+len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("nothing tests these guards: %q; these mutants say nothing: %q", survived, wrong)
}
