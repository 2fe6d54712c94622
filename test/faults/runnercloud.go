package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"cairn.dev/cairn/test/cloud"
)

// A call is one of an engine to the cloud, at which it is held.
type call struct {
	verb     cloud.Verb
	resource string
	// after holds it when it has taken effect and has no response.
	after bool
}

func (c call) String() string {
	when := "before"
	if c.after {
		when = "after"
	}
	return fmt.Sprintf("%s %s, %s", c.verb, c.resource, when)
}

// calls are before the first creation, in the middle, and so on to the end of a destroy.
var calls = []call{
	{cloud.Create, "a", false}, {cloud.Create, "a", true}, {cloud.Create, "b", false}, {cloud.Create, "b", true},
	{cloud.Read, "a", false}, {cloud.Read, "b", true}, {cloud.Update, "a", false}, {cloud.Update, "a", true},
	{cloud.Delete, "b", false}, {cloud.Delete, "b", true}, {cloud.Delete, "a", false}, {cloud.Delete, "a", true},
}

// A cloudBlow is a fault of a runner or an engine while the cloud holds a call of it.
type cloudBlow struct {
	name   string
	deadly bool
	do     func(ctx context.Context, l *lane, d *door, runner, engine int, release func()) error
}

var cloudBlows = []cloudBlow{
	{"runner SIGKILL", true, func(ctx context.Context, l *lane, _ *door, runner, _ int, release func()) error {
		defer release()
		return errors.Join(syscall.Kill(runner, syscall.SIGKILL), l.ended(ctx, runner))
	}},
	{"runner SIGTERM", false, func(_ context.Context, _ *lane, _ *door, runner, _ int, release func()) error {
		defer release()
		return syscall.Kill(runner, syscall.SIGTERM)
	}},
	{"runner SIGSTOP, SIGCONT", false, func(ctx context.Context, l *lane, _ *door, runner, _ int,
		release func()) error {
		defer release()
		err := signalAll(runner, syscall.SIGSTOP)
		if err == nil {
			err = until(ctx, patience, func(context.Context) error { return l.rested(held) })
		}
		return errors.Join(err, signalAll(runner, syscall.SIGCONT))
	}},
	{"engine SIGKILL", true, func(ctx context.Context, _ *lane, _ *door, runner, engine int, release func()) error {
		defer release()
		err := syscall.Kill(engine, syscall.SIGKILL)
		return errors.Join(err, until(ctx, patience, func(context.Context) error {
			if provider, err := processBy(func(dir string) bool {
				program, state, session := statOf(dir)
				// the kernel truncates the name
				return session == runner && state != "Z" && program == "terraform-provi"
			}); err == nil {
				return fmt.Errorf("I1: the provider %d goes on though its engine was killed", provider)
			}
			return nil
		}))
	}},
	{"engine SIGTERM", false, func(_ context.Context, _ *lane, _ *door, _, engine int, release func()) error {
		defer release()
		return syscall.Kill(engine, syscall.SIGTERM)
	}},
}

func cloudPoints(b baseline) []point {
	var all []point
	for _, c := range calls {
		for _, f := range cloudBlows {
			if f.deadly && c.after && c.verb == cloud.Create {
				continue // the creation was never reported, and cannot be (docs/how-to/state-backup.md)
			}
			all = append(all, point{name: "cloud, " + c.String() + ": " + f.name, fault: "at a call of the cloud's: " +
				f.name, try: func(ctx context.Context, l *lane) (bool, error) {
				return l.heldUp(ctx, b, c, f)
			}})
		}
	}
	return all
}

// heldUp runs a story with a fault while the cloud holds a call.
func (l *lane) heldUp(ctx context.Context, b baseline, c call, f cloudBlow) (reached bool, err error) {
	d, err := l.guarded(ctx)
	if err != nil {
		return false, err
	}
	d.begin(nil)
	ctx, cancel := context.WithCancel(ctx)
	dealt := make(chan error, 1)
	var unknown []string
	var but []func([]ending) []ending
	if c.verb == cloud.Update {
		but = append(but, unread)
	}
	err = l.alike(ctx, b, stories[0], hooks{begin: func() {
		gate := l.cloud.Load().Inject(cloud.Fault{Verb: c.verb, Name: c.resource, After: c.after, Times: 1, Hold: true})
		go func() {
			defer gate.End()
			err := gate.Held(ctx, 1)
			if err == nil {
				reached = true
				var runner, engine int
				if runner, engine, err = d.working(); err == nil {
					err = f.do(ctx, l, d, runner, engine, gate.End)
				}
			}
			if f.deadly {
				// The client is gone, and the cloud may still apply the call: only after that is it known what was not
				// reported.
				err = errors.Join(err, until(ctx, patience, func(context.Context) error {
					if !l.cloud.Load().Quiet() {
						return errors.New("the cloud has not ended the call whose caller was killed")
					}
					return nil
				}))
				unknown = l.unknown(d)
			}
			dealt <- err
		}()
	}}, but...)
	cancel()
	wrong := <-dealt
	if !reached {
		return false, err
	}
	if err = errors.Join(err, wrong); err != nil && f.deadly {
		return l.excused(context.WithoutCancel(ctx), stories[0], unknown, err)
	}
	return true, err
}

// unread removes the attributes of the state. A change without a response exists at the next plan, which has no changes
// then, so that the engine writes nothing. A call that is held before it takes effect is such a change, too, if its
// caller cancels it when it is released.
func unread(all []ending) []ending {
	all = slices.Clone(all)
	for i := range all {
		all[i].State = slices.Clone(all[i].State)
		for j, text := range all[i].State {
			all[i].State[j], _, _ = strings.Cut(text, " map[")
		}
	}
	return all
}

// working returns the runner of the lane with a running engine, and the engine.
func (d *door) working() (runner, engine int, err error) {
	_, err = processBy(func(dir string) bool {
		program, state, session := statOf(dir)
		if program != "tofu" || state == "Z" {
			return false
		}
		for _, pod := range d.podsSeen() {
			if pid, err := d.runnerOf(pod); err == nil && pid == session {
				runner = pid
				_, _ = fmt.Sscanf(dir, "/proc/%d", &engine)
				return true
			}
		}
		return false
	})
	return runner, engine, err
}
