package main

import (
	"context"
	"fmt"
	"sync"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/cloud"
	"cairn.dev/cairn/test/faults/proxy"
)

// restores has etcd restored to a moment ago, while the cloud, the bucket and the machines go on from now. The person takes the step that is
// lost once more.
var restores = suite{name: "restores", lanes: 1, points: restorePoints}

// A restore is from when to when it goes back.
type restore struct {
	name string
	// keeps is the step at whose end the copy is made; or arm has it made by a hook of its own.
	keeps string
	arm   func(ctx context.Context, l *lane, kept func(error))
	// back is the step at whose end the copy is put back.
	back string
	// known is what is known to go wrong.
	known string
}

// What was made after the copy is in no state then, and the journal of an apply goes with its end: nobody knows of it any more.
const madeAgain = "I3: made more than once"

func restorePoints(baseline) []point {
	var all []point
	for _, r := range []restore{
		{name: "from changed to made", keeps: "made", back: "changed"},
		{name: "from deleted to changed", keeps: "changed", back: "deleted"},
		{name: "from made to before", arm: func(_ context.Context, l *lane, kept func(error)) { kept(l.keep()) }, back: "made", known: madeAgain},
		{name: "from made to the plan", arm: keepAtPlan, back: "made", known: madeAgain},
		{name: "from made to the middle of the apply", arm: keepAtApply, back: "made", known: madeAgain},
	} {
		for _, anew := range []bool{true, false} {
			fault := "etcd restored, Cairn goes on"
			if anew {
				fault = "etcd restored, Cairn is started anew"
			}
			all = append(all, point{
				name: r.name + ": " + fault, fault: fault, known: r.known,
				try: func(ctx context.Context, l *lane) (bool, error) { return l.restored(ctx, r, anew) },
			})
		}
	}
	return all
}

// restored tells a story in which etcd is restored once. How often things were changed and which Runs there were may differ from what it is
// without; that all is Ready, made once and in the end gone may not.
func (l *lane) restored(ctx context.Context, r restore, anew bool) (bool, error) {
	s, done, kept := stories[0], false, make(chan error, 1)
	_, err := l.tell(ctx, s, hooks{
		begin: func() {
			if r.arm != nil {
				r.arm(ctx, l, func(err error) { kept <- err })
			}
		},
		ended: func(ctx context.Context, step string) error {
			if step == r.keeps {
				kept <- l.keep()
			}
			if step != r.back || done {
				return nil
			}
			done = true
			if err := <-kept; err != nil {
				return err
			}
			return l.goBack(ctx, s, step, anew)
		},
	})
	return done, err
}

// goBack restores etcd, and has the person take the step again, which may be in what was restored or not.
func (l *lane) goBack(ctx context.Context, s story, step string, anew bool) error {
	if err := l.restore(ctx); err != nil {
		return err
	}
	l.witness.begin() // what it saw is no more
	if anew {
		for _, c := range l.cairns() {
			c.kill()
		}
		for _, c := range l.cairns() {
			if err := c.ready(ctx); err != nil {
				return err
			}
		}
	}
	if err := l.take(ctx, s, step); err != nil {
		return err
	}
	if step == "deleted" {
		if err := l.letGo(ctx); err != nil {
			return err
		}
	}
	if err := l.arrive(ctx, s, step); err != nil {
		return err
	}
	return l.rest(ctx, held)
}

// letGo waits until the Stack says that it cannot be destroyed, since what its destroy needs went with its first end, and does what it advises.
func (l *lane) letGo(ctx context.Context) error {
	stack := &v1alpha1.Stack{}
	key := client.ObjectKey{Namespace: l.space, Name: "net"}
	err := until(ctx, patience, func(ctx context.Context) error {
		if err := l.Get(ctx, key, stack); err != nil {
			return client.IgnoreNotFound(err)
		}
		if c := apimeta.FindStatusCondition(stack.Status.Conditions, "Ready"); c == nil || c.Reason != "DestroyFailed" {
			return fmt.Errorf("the Stack does not say that it cannot be destroyed: %s", standing(stack))
		}
		return nil
	})
	if err != nil || stack.Name == "" {
		return err
	}
	if err := l.Patch(ctx, stack, client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"deletion":"Orphan"}}`))); err != nil {
		return err
	}
	if err := until(ctx, patience, func(ctx context.Context) error {
		err := l.Get(ctx, key, stack)
		if err == nil {
			err = fmt.Errorf("an orphaned Stack stays: %s", standing(stack))
		}
		return client.IgnoreNotFound(err)
	}); err != nil {
		return err
	}
	// Its State is left, as Orphan says.
	state := &v1alpha1.State{}
	state.Namespace, state.Name = key.Namespace, key.Name
	return client.IgnoreNotFound(l.Delete(ctx, state))
}

// keepAtPlan makes the copy when the runner has said that it plans.
func keepAtPlan(_ context.Context, l *lane, kept func(error)) {
	var once sync.Once
	l.server.OnWrite(func(call *proxy.Call) {
		call.Pass()
		if call.Resource == "runs/status" {
			once.Do(func() { kept(l.keep()) })
		}
	})
}

// keepAtApply makes the copy when the first thing is made and the second one is not yet.
func keepAtApply(ctx context.Context, l *lane, kept func(error)) {
	gate := l.cloud.Load().Inject(cloud.Fault{Verb: cloud.Create, Name: "b", Hold: true})
	go func() {
		err := gate.Held(ctx, 1)
		if err == nil {
			err = l.keep()
		}
		gate.End()
		kept(err)
	}()
}
