// Package recovery takes into the state what earlier applies created and the state does not have, since their
// engine was killed before it wrote the state:
//
//	not in the state                        an import block, which is planned like any change
//	in it is what was replaced, destroyed   the same, on a copy of the state without that
//	in it is what was replaced, still there a copy of the state in which the engine imported the new one, beside the old one,
//	                                        which is deposed: the plan destroys it
//	a destroy                               a copy of the state in which the engine imported it: a plan of a destroy ignores
//	                                        import blocks, and destroys what the state has
//	in it is what a user put there since    none, unless all is to be destroyed: it is left out, and reported
//
// A plan on a copy of the state is equal to one on the state: engines compare serial and lineage, and apply on what
// the plan has in it.
package recovery

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/runnerapi"
)

// Engine is what a recovery has the engine do.
type Engine interface {
	// Import imports a resource into a state and returns the new state, or why the engine did not import it.
	Import(ctx context.Context, m engine.Missing, state []byte) (imported []byte, rejected, err error)
	// Plan plans with some import blocks, on a state in place of the real one unless that is nil.
	Plan(ctx context.Context, imports []engine.Missing, state []byte) error
}

// Options of a recovery.
type Options struct {
	Engine Engine
	// Journal is what earlier applies have done.
	Journal []engine.Done
	// State is what the state has.
	State *engine.Instances
	// Sealed is why no copy of the state is used; empty when one can be.
	Sealed string
	// Destroy: the plan is of a destroy.
	Destroy bool
	// Log is the attempt's log, and Clean returns text that is fit for it and for reports.
	Log   io.Writer
	Clean func(string) string
}

// Recovery is what one plan takes into the state.
type Recovery struct {
	Options
	// copy of the state to plan on; nil to plan on the state itself.
	copy *engine.Instances
	// imports are to be imported by the plan.
	imports []engine.Missing
	// planned are the imports of the last plan that succeeded, and current: no plan failed since.
	planned []engine.Missing
	current bool
	// orphans could not be taken into the state.
	orphans []runnerapi.UntrackedResource
	// missing is how many the state does not have, and copied are those of them that were imported into the copy.
	missing int
	copied  []engine.Missing
}

// Bounds of what a plan takes in: more than an engine creates between two writes of its state. The time that an
// engine needs to plan imports grows with the square of their number: twenty seconds for 500.
const (
	maxImports  = 500
	maxImported = 1 << 20 // bytes of all import blocks together
)

// New compares the journal with the state, and imports what has to be imported into a copy of the state.
func New(ctx context.Context, o Options) (*Recovery, error) {
	r := &Recovery{Options: o}
	if len(o.Journal) == 0 {
		return r, nil
	}
	missing := engine.FindMissing(o.Journal, o.State)
	r.missing = len(missing)
	n := importable(missing)
	for _, m := range missing[:n] {
		if err := r.add(ctx, m); err != nil {
			return nil, err
		}
	}
	for _, m := range missing[n:] {
		r.Orphan(m, fmt.Sprintf("one plan takes in at most %d resources, and at most %d KiB of import blocks",
			maxImports, maxImported>>10))
	}
	return r, nil
}

// importable returns how many of what is missing one plan takes in.
func importable(missing []engine.Missing) (n int) {
	for size := 0; n < min(len(missing), maxImports); n++ {
		if size += engine.ImportSize(missing[n]); size > maxImported {
			break
		}
	}
	return n
}

// method is how a resource is taken into the state.
type method int

const (
	importBlock      method = iota
	importWithoutOld        // an import block, and a copy of the state without what the resource replaced
	importIntoCopy          // the engine imports it into a copy of the state
	leaveOut                // a user has to decide
)

// choose decides how a resource is taken into the state; why is the reason for leaving it out.
func choose(m engine.Missing, destroy bool, sealed string) (how method, why string) {
	intoCopy := destroy || m.Old == engine.OldThere
	switch {
	case m.ID == "":
		return leaveOut, "the engine reported no ID of it"
	case !engine.IsAddress(m.Address):
		return leaveOut, "its address cannot be written as code"
	case m.Old == engine.OldTheirs && !destroy:
		return leaveOut, "the state has another one at its address, which a user put there since"
	case sealed != "" && (intoCopy || m.Old != engine.OldNone):
		return leaveOut, sealed
	case intoCopy:
		return importIntoCopy, ""
	case m.Old == engine.OldGone:
		return importWithoutOld, ""
	}
	return importBlock, ""
}

// add takes in one resource.
func (r *Recovery) add(ctx context.Context, m engine.Missing) error {
	how, why := choose(m, r.Destroy, r.Sealed)
	switch how {
	case leaveOut:
		r.Orphan(m, why)
		return nil
	case importIntoCopy:
		return r.importIntoCopy(ctx, m)
	case importWithoutOld:
		if err := r.begin(); err != nil {
			return err
		}
		r.copy.Drop(m.Address)
	}
	r.logf(m, "it is imported")
	r.imports = append(r.imports, m)
	return nil
}

// begin creates the copy, if there is none yet.
func (r *Recovery) begin() (err error) {
	if r.copy == nil {
		var state []byte
		if state, err = r.State.Bytes(r.State); err == nil {
			r.copy, err = engine.ReadInstances(state)
		}
	}
	return err
}

// importIntoCopy lets the engine import a resource into the copy.
func (r *Recovery) importIntoCopy(ctx context.Context, m engine.Missing) error {
	existing := m.Old == engine.OldThere || m.Old == engine.OldTheirs
	if err := r.begin(); err != nil {
		return err
	}
	before, err := r.copy.Bytes(r.State)
	if err != nil {
		return err
	}
	r.copy.Drop(m.Address)
	state, err := r.copy.Bytes(r.State)
	if err != nil {
		return err
	}
	imported, rejected, err := r.Engine.Import(ctx, m, state)
	if err == nil && rejected != nil && mayPass(rejected) {
		imported, rejected, err = r.Engine.Import(ctx, m, state)
	}
	if err != nil {
		return err
	}
	if rejected != nil {
		r.reject(m, rejected)
		if !existing && engine.SaysGone(rejected.Error()) {
			return nil // and the copy is without what it replaced, which is gone too
		}
		r.copy, err = engine.ReadInstances(before)
		return err
	}
	if r.copy, err = engine.ReadInstances(imported); err != nil {
		return err
	}
	if existing {
		r.copy.Depose(m.Address, r.State)
	}
	r.copied = append(r.copied, m)
	r.logf(m, "it is taken into the state that is planned on")
	return nil
}

// mayPass reports whether a retry may cure an engine's error about an import. An import is retried once before the
// resource is left out, after which it may be created a second time.
func mayPass(rejected error) bool {
	text := rejected.Error()
	return !engine.SaysGone(text) && !engine.SaysUndeclared(text)
}

// reject leaves a resource out that the engine did not import. One that does not exist any more is no orphan.
func (r *Recovery) reject(m engine.Missing, rejected error) {
	switch text := rejected.Error(); {
	case engine.SaysGone(text):
		r.logf(m, "it does not exist any more")
	case engine.SaysUndeclared(text):
		r.Orphan(m, "the code does not declare it any more")
	default:
		r.Orphan(m, text)
	}
}

// Orphan leaves out what cannot be taken into the state, and reports it.
func (r *Recovery) Orphan(m engine.Missing, why string) {
	r.orphans = append(r.orphans, runnerapi.UntrackedResource{Address: r.Clean(m.Address),
		Reason: r.Clean(r.withoutIDs(why))})
	r.logf(m, "it cannot be taken into the state: "+why)
}

// shortestID is the length of the shortest ID that reports hide.
const shortestID = 3

// withoutIDs removes IDs from an engine's error: more users may read reports than logs.
func (r *Recovery) withoutIDs(text string) string {
	for _, d := range r.Journal {
		if len(d.ID) >= shortestID {
			text = strings.ReplaceAll(text, d.ID, "…")
		}
	}
	return text
}

// logf logs what becomes of a resource, with its ID.
func (r *Recovery) logf(m engine.Missing, what string) {
	fmt.Fprintf(r.Log, "── journal: an apply that was killed created %s, and the state does not have it: %s ──\n",
		r.Clean(fmt.Sprintf("%s (%s)", m.Address, m.ID)), r.Clean(what))
}

// CheckImported reports the resources that the plan was to import and does not: some engines ignore a module that the
// code does not have.
func (r *Recovery) CheckImported(imported map[string]bool) {
	for _, m := range r.planned {
		if !imported[m.Address] {
			r.Orphan(m, "the engine took no notice of its import, as where the code does not declare it any more")
		}
	}
}

// Orphans returns what could not be taken into the state.
func (r *Recovery) Orphans() []runnerapi.UntrackedResource { return r.orphans }

// Planned returns what the plan takes in.
func (r *Recovery) Planned() []engine.Missing { return slices.Concat(r.planned, r.copied) }

// Settled reports whether the journal is no longer needed. The state has it all; or the rest does not exist any more,
// and no apply follows that would confirm that, since there is nothing to change. Where one follows, it ends the
// journal when it is done: until then no user has agreed that the rest is gone, and a plan that searched in a wrong
// place would find that too.
func (r *Recovery) Settled(changes bool) bool {
	if len(r.orphans) > 0 || len(r.planned) > 0 || len(r.copied) > 0 {
		return false
	}
	return r.missing == 0 || !changes
}
