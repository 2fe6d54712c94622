package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A report prints the result of each point when it is known, and a summary at the end.
type report struct {
	out io.Writer
	dir string

	mu sync.Mutex
	// kinds are the kinds of faults in their order, and their results.
	kinds  []string
	counts map[string]*count
	failed []string
}

type count struct{ passed, failed, missed int }

func (r *report) line(s suite, p point, l *lane, reached bool, err error, took time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts == nil {
		r.counts = map[string]*count{}
	}
	k := s.name + ": " + p.fault
	if r.counts[k] == nil {
		r.counts[k] = &count{}
		r.kinds = append(r.kinds, k)
	}
	word := "PASS"
	switch n := r.counts[k]; {
	case err != nil:
		n.failed++
		word = "FAIL"
		r.failed = append(r.failed, p.name)
	case !reached:
		n.missed++
		word = "miss" // the story succeeded in another way, without the place of the fault
	default:
		n.passed++
	}
	fmt.Fprintf(r.out, "%s %6.1fs  %s\n", word, took.Seconds(), p.name)
	if err != nil {
		where := r.dir
		if l != nil {
			where = l.dir
		}
		fmt.Fprintf(r.out, "    %s\n    see %s\n", strings.ReplaceAll(err.Error(), "\n", "\n    "), where)
	}
}

// sum prints the table.
func (r *report) sum(took time.Duration) error {
	fmt.Fprintf(r.out, "\n%-50s %6s %6s %6s\n", "", "passed", "failed", "missed")
	var all count
	for _, k := range r.kinds {
		n := r.counts[k]
		fmt.Fprintf(r.out, "%-50s %6d %6d %6d\n", k, n.passed, n.failed, n.missed)
		all.passed, all.failed, all.missed = all.passed+n.passed, all.failed+n.failed, all.missed+n.missed
	}
	fmt.Fprintf(r.out, "%-50s %6d %6d %6d  in %s\n", "all", all.passed, all.failed, all.missed, took.Round(time.Second))
	if len(r.failed) > 0 {
		return fmt.Errorf("%d failed (see %s):\n%s", len(r.failed), r.dir, strings.Join(r.failed, "\n"))
	}
	return nil
}

// same compares the ending of a story with its baseline, and limits its cost (I9).
func (b baseline) same(s story, t outcome) error {
	want := b[s.name]
	if diff := cmp.Diff(want.Endings, t.Endings); diff != "" {
		return fmt.Errorf("-without the fault +with it:\n%s", diff)
	}
	if most := 2*len(want.Writes) + 20; len(t.Writes) > most {
		return fmt.Errorf("I9: %d writes, without the fault %d", len(t.Writes), len(want.Writes))
	}
	return nil
}

// secrets checks that no file of Cairn or its runners has the secret in clear text (I7).
func (c *cluster) secrets() error {
	var found []error
	err := filepath.WalkDir(c.dir, func(path string, entry fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry.IsDir() && (path == c.etcdData() || path == c.snapshot() || entry.Name() == "fs") {
			return filepath.SkipDir // it has Secrets, and the input of a pod
		}
		if !entry.Type().IsRegular() {
			return nil
		}
		data, err := os.ReadFile(path) //nolint:gosec // below our own folder
		if err == nil && bytes.Contains(data, []byte(canary)) {
			found = append(found, fmt.Errorf("I7: the secret is in %s", path))
		}
		return nil
	})
	return errors.Join(append(found, err)...)
}
