// Command faults injects faults around the real binaries of Cairn, one at a time, and expects the same result as
// without: `make faults`.
//
// A cluster is a real etcd and kube-apiserver and a simulated kubelet, which runs Cairn's runners as processes with a
// real OpenTofu; they create resources in package cloud. A lane is an installation of Cairn in it: the operator and the
// server, each with its own proxy to the API server, which names each write and each event (package proxy). A story is
// the life of a Stack in a lane. It runs once without a fault; then once for each point, which is a fault at one place
// of it, and has to end with the same result.
//
// A new kind of fault is a suite in its own file, and a line in suites.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

// A suite has faults of one kind.
type suite struct {
	name string
	// lane is the kind of lane of its points, lanes how many run concurrently; 0 is the number of -j.
	lane  laneOptions
	lanes int
	// points returns all points, by the baseline of the stories, in a stable order.
	points func(b baseline) []point
}

// A point is a fault at one place of a story.
type point struct {
	name string
	// fault is its row in the table of results, within its suite.
	fault string
	// try runs it. reached reports that the fault happened, err is a violation.
	try func(ctx context.Context, l *lane) (reached bool, err error)
}

// suites are all kinds of faults in the order of their run.
var suites = []suite{writes, watches, managers, outages, restores, gits, runners, stores, strandings, buckets, fields}

// A baseline has the result of each story without a fault, by its name.
type baseline map[string]outcome

type options struct {
	only     *regexp.Regexp
	jobs     int
	stride   int
	bin, dir string
	list     bool
}

func main() {
	only := flag.String("only", "", "try the points whose names match this regular expression")
	var o options
	flag.IntVar(&o.jobs, "j", 2*runtime.NumCPU()+1, "live through so many stories at a time")
	flag.IntVar(&o.stride, "stride", 1, "try one point in so many")
	flag.StringVar(&o.bin, "bin", "bin", "folder with cairn and cairn-runner")
	flag.StringVar(&o.dir, "dir", "", "keep everything in this folder; default: a temporary one, which stays "+
		"after a failure")
	flag.BoolVar(&o.list, "list", false, "say only what points there are")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	var err error
	if o.only, err = regexp.Compile(*only); err == nil {
		err = run(ctx, o, os.Stdout)
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "faults:", err)
		os.Exit(1)
	}
}

// run tries all selected points. The error names those that failed.
func run(ctx context.Context, o options, out *os.File) (err error) {
	log.SetLogger(logr.Discard()) // logs of libraries
	if o.bin, err = filepath.Abs(o.bin); err != nil {
		return err
	}
	dir := o.dir
	if dir == "" {
		if dir, err = os.MkdirTemp("", "cairn-faults-"); err != nil {
			return err
		}
	}
	began := time.Now()
	r := &report{out: out, dir: dir}
	c, err := startCluster(ctx, dir, o.bin)
	if err != nil {
		return err
	}
	defer func() {
		if stopped := c.stop(ctx); err == nil {
			err = stopped
		}
		if err == nil && o.dir == "" {
			err = os.RemoveAll(dir)
		}
	}()
	b, err := c.baseline(ctx, max(1, o.jobs))
	if err != nil {
		return fmt.Errorf("without any fault: %w (see %s)", err, dir)
	}
	for name, t := range b {
		fmt.Fprintf(out, "story %s: %d writes and %d events of watches without a fault\n", name, len(t.Writes),
			len(t.Events))
	}
	at := 0
	for _, s := range suites {
		var chosen []point
		for _, p := range s.points(b) {
			p.name = s.name + ": " + p.name
			if !o.only.MatchString(p.name) {
				continue
			}
			if at++; at%o.stride == 0 {
				chosen = append(chosen, p)
			}
		}
		if o.list {
			for _, p := range chosen {
				fmt.Fprintln(out, p.name)
			}
			continue
		}
		c.try(ctx, s, chosen, max(1, o.jobs), r)
	}
	if o.list {
		return nil
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.secrets(); err != nil {
		r.failed = append(r.failed, err.Error())
	}
	return r.sum(time.Since(began))
}

// baseline runs each story without a fault, twice: they have to end with the same result. Each runs in its own lane,
// some concurrently.
func (c *cluster) baseline(ctx context.Context, jobs int) (baseline, error) {
	b := baseline{}
	var mu sync.Mutex
	telling, ctx := errgroup.WithContext(ctx)
	telling.SetLimit(jobs)
	for _, s := range stories {
		telling.Go(func() error {
			t, err := c.twice(ctx, s)
			if err != nil {
				return fmt.Errorf("story %s: %w", s.name, err)
			}
			mu.Lock()
			defer mu.Unlock()
			b[s.name] = t
			return nil
		})
	}
	return b, telling.Wait()
}

// twice runs a story without a fault, and again.
func (c *cluster) twice(ctx context.Context, s story) (outcome, error) {
	l, err := c.open(ctx, laneOptions{})
	if err != nil {
		return outcome{}, err
	}
	defer l.close()
	t, err := l.runStory(ctx, s, hooks{})
	if err != nil {
		return t, err
	}
	again, err := l.runStory(ctx, s, hooks{})
	if err != nil {
		return t, err
	}
	return t, baseline{s.name: t}.same(s, again)
}

// try tries points concurrently, each in a lane in which no point has failed.
func (c *cluster) try(ctx context.Context, s suite, points []point, jobs int, r *report) {
	if s.lanes > 0 {
		jobs = s.lanes
	}
	next := make(chan point)
	var wg sync.WaitGroup
	for range min(jobs, len(points)) {
		wg.Go(func() {
			var l *lane
			defer func() {
				if l != nil {
					l.close()
				}
			}()
			for p := range next {
				began := time.Now()
				var err error
				var reached bool
				if l == nil {
					l, err = c.open(ctx, s.lane)
				}
				if err == nil {
					reached, err = p.try(ctx, l)
				}
				if ctx.Err() != nil {
					return
				}
				r.line(s, p, l, reached, err, time.Since(began))
				if err != nil && l != nil {
					l.close()
					l = nil
				}
			}
		})
	}
	for _, p := range points {
		select {
		case next <- p:
		case <-ctx.Done():
		}
	}
	close(next)
	wg.Wait()
}
