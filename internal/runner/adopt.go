package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/store"
)

// adoption is what a plan takes into the state: what applies have made, as the journal says, and a state does not have, since
// their engine was killed before it wrote it down.
//
//	not in the state                        an import block, which is planned like any change
//	in it is what was replaced, destroyed   the same, on a copy of the state without that
//	in it is what was replaced, still there a copy of the state in which the engine imported the new one, beside the old one,
//	                                        which is deposed: the plan destroys it
//	a destroy                               a copy of the state in which the engine imported it: a plan of a destroy knows no
//	                                        import blocks, and destroys what the state has
//	in it is what a person put there since  none, unless all is to be destroyed: it is left out, and told
//
// A plan that is made on a copy of the state is as good as one made on the state: engines compare serial and lineage, and
// apply on what the plan has in it.
type adoption struct {
	was *engine.Instances
	// copy of the state to plan on; nil to plan on the state itself.
	copy *engine.Instances
	// blocks are to be imported by the plan.
	blocks []engine.Missing
	// sealed says why no copy of the state is made; empty when it can be.
	sealed string
	// planned are those blocks with which the last plan was made that went well, and fresh says that none was made since.
	planned []engine.Missing
	fresh   bool
	// orphans could not be taken into the state.
	orphans []store.Orphan
	// missing is how many there are that the state does not have, and taken are those of them that are in the copy.
	missing int
	taken   []engine.Missing
}

// Bounds of what a plan takes in: more than an engine makes between two writes of its state. What it takes an engine to plan imports
// grows with the square of their number: twenty seconds for 500.
const (
	mostAdopted    = 500
	largestAdopted = 1 << 20 // bytes of all import blocks together
	// mostSifts is how many plans may be made to find out which imports make one fail. Each may take minutes.
	mostSifts = 100
)

// settles says that nobody needs the journal any more that was read. The state has it all; or the rest of it is gone, and no apply
// follows that would say so, since there is nothing to change. Where one follows, it ends the journal when it is done: until then
// nobody has agreed that it is gone, and a plan that looked in a wrong place would find that too.
func (d *adoption) settles(changes bool) bool {
	if len(d.orphans) > 0 || len(d.planned) > 0 || len(d.taken) > 0 {
		return false
	}
	return d.missing == 0 || !changes
}

// fetchJournal asks what earlier applies have done.
func (a *attempt) fetchJournal(ctx context.Context) error {
	a.journaled, a.journalEnd = nil, ""
	if a.order.Kind != store.OrderPlan {
		return nil
	}
	journal, err := a.client.Journal(ctx)
	var said *store.Error
	if errors.As(err, &said) && (said.Code == http.StatusConflict || said.Code == http.StatusBadRequest) { // and would say so again
		return &engine.Refused{Reason: said.Message}
	}
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	a.journalEnd = journal.UpTo
	for _, e := range journal.Entries {
		a.journaled = append(a.journaled, engine.Done{Address: e.Address, Type: e.Type, Action: e.Action, IDKey: e.IDKey, ID: e.ID})
	}
	return nil
}

// findMissing finds out what is missing in the state, and makes all ready to take it in.
func (a *attempt) findMissing(ctx context.Context) (*adoption, error) {
	d := &adoption{}
	if len(a.journaled) == 0 {
		return d, nil
	}
	if a.backend().Own() {
		d.sealed = "the engine keeps the state in a backend of its own, so that Cairn cannot prepare it"
	}
	state, err := a.proxy.current(ctx)
	if err != nil {
		return nil, err
	}
	var refused *engine.Refused
	if d.was, err = engine.ReadInstances(state); errors.As(err, &refused) {
		d.sealed = "the engine encrypts the state, so that Cairn cannot prepare it"
		d.was, err = a.pullInstances(ctx)
	}
	if err != nil {
		return nil, err
	}
	missing := engine.FindMissing(a.journaled, d.was)
	d.missing = len(missing)
	n := adoptable(missing)
	for _, m := range missing[:n] {
		if err := a.adoptOne(ctx, d, m); err != nil {
			return nil, err
		}
	}
	for _, m := range missing[n:] {
		a.orphan(d, m, fmt.Sprintf("one plan takes in no more than %d resources, and no more than %d KiB of import blocks", mostAdopted, largestAdopted>>10))
	}
	return d, nil
}

// adoptable is how many of what is missing one plan takes in.
func adoptable(missing []engine.Missing) (n int) {
	for size := 0; n < min(len(missing), mostAdopted); n++ {
		if size += engine.ImportSize(missing[n]); size > largestAdopted {
			break
		}
	}
	return n
}

// pullInstances asks the engine for a state that it encrypts.
func (a *attempt) pullInstances(ctx context.Context) (*engine.Instances, error) {
	var answer bytes.Buffer
	ended, err := a.launch(ctx, call{args: a.engine.Pull(a.files.paths()), answer: &limited{&answer, store.LargestState}})
	if err != nil {
		return nil, err
	}
	if ended.code != 0 {
		return nil, &programError{class: engine.Transient, message: explain(a.engine.Name(), ended, engine.Events{}), exitCode: ended.code}
	}
	return engine.ReadInstances(answer.Bytes())
}

func (a *attempt) adoptOne(ctx context.Context, d *adoption, m engine.Missing) error {
	onCopy := a.order.Destroy || m.Old == engine.OldThere
	switch {
	case m.ID == "":
		a.orphan(d, m, "the engine told no ID of it")
	case !engine.IsAddress(m.Address):
		a.orphan(d, m, "its address cannot be written as code")
	case m.Old == engine.OldTheirs && !a.order.Destroy:
		a.orphan(d, m, "the state has another one at its address, which somebody put there since")
	case d.sealed != "" && (onCopy || m.Old != engine.OldNone):
		a.orphan(d, m, d.sealed)
	case onCopy:
		return a.adoptOnCopy(ctx, d, m)
	default:
		if m.Old == engine.OldGone {
			if err := d.begin(); err != nil {
				return err
			}
			d.copy.Drop(m.Address)
		}
		a.tell(m, "it is imported")
		d.blocks = append(d.blocks, m)
	}
	return nil
}

// begin makes the copy, if there is none yet.
func (d *adoption) begin() (err error) {
	if d.copy == nil {
		var state []byte
		if state, err = d.was.Bytes(d.was); err == nil {
			d.copy, err = engine.ReadInstances(state)
		}
	}
	return err
}

// adoptOnCopy lets the engine import a resource into the copy.
func (a *attempt) adoptOnCopy(ctx context.Context, d *adoption, m engine.Missing) error {
	there := m.Old == engine.OldThere || m.Old == engine.OldTheirs
	if err := d.begin(); err != nil {
		return err
	}
	before, err := d.copy.Bytes(d.was)
	if err != nil {
		return err
	}
	d.copy.Drop(m.Address)
	state, err := d.copy.Bytes(d.was)
	if err != nil {
		return err
	}
	made, said, err := a.importOne(ctx, m, state)
	if err == nil && said != nil && mayPass(said) {
		made, said, err = a.importOne(ctx, m, state)
	}
	if err != nil {
		return err
	}
	if said != nil {
		a.leaveOut(d, m, said)
		if !there && engine.SaysGone(said.Error()) {
			return nil // and the copy is without what it replaced, which is gone too
		}
		d.copy, err = engine.ReadInstances(before)
		return err
	}
	if d.copy, err = engine.ReadInstances(made); err != nil {
		return err
	}
	if there {
		d.copy.Depose(m.Address, d.was)
	}
	d.taken = append(d.taken, m)
	a.tell(m, "it is taken into the state that is planned on")
	return nil
}

// importOne lets the engine import a resource into a state, and gives that, or what the engine said against it.
func (a *attempt) importOne(ctx context.Context, m engine.Missing, state []byte) (made []byte, said, err error) {
	a.proxy.enter(state)
	ended, err := a.launch(ctx, call{args: a.engine.Adopt(engine.Adopt{VariableFiles: a.files.paths(), Address: m.Address, ID: m.ID})})
	made = a.proxy.leave()
	if err == nil {
		err = ctx.Err()
	}
	if err == nil && ended.code != 0 {
		said = errors.New(explain(a.engine.Name(), ended, engine.Events{Errors: engine.ReadErrors(ended.last)}))
	}
	return made, said, err
}

// mayPass says that what an engine says against an import may be different the next time: it is tried once more before the
// resource is left out, after which it may be made a second time.
func mayPass(why error) bool {
	text := why.Error()
	return !engine.SaysGone(text) && !engine.SaysUndeclared(text)
}

// leaveOut tells why a resource is not taken into the state. One that does not exist any more is no orphan.
func (a *attempt) leaveOut(d *adoption, m engine.Missing, why error) {
	switch text := why.Error(); {
	case engine.SaysGone(text):
		a.tell(m, "it does not exist any more")
	case engine.SaysUndeclared(text):
		a.orphan(d, m, "the code does not declare it any more")
	default:
		a.orphan(d, m, text)
	}
}

// orphan leaves out what cannot be taken into the state, and tells people.
func (a *attempt) orphan(d *adoption, m engine.Missing, why string) {
	d.orphans = append(d.orphans, store.Orphan{Address: a.clean(m.Address), Reason: a.clean(a.withoutIDs(why))})
	a.tell(m, "it cannot be taken into the state: "+why)
}

// shortestID is that of one which may say something to somebody who is not to know it.
const shortestID = 3

// withoutIDs takes IDs out of what an engine says: more people read what a Run says of itself than logs.
func (a *attempt) withoutIDs(text string) string {
	for _, d := range a.journaled {
		if len(d.ID) >= shortestID {
			text = strings.ReplaceAll(text, d.ID, "…")
		}
	}
	return text
}

// tell says in the log what becomes of a resource. Its ID is for those who may read logs.
func (a *attempt) tell(m engine.Missing, what string) {
	fmt.Fprintf(a.text, "── journal: an apply that was killed made %s, and the state does not have it: %s ──\n",
		a.clean(fmt.Sprintf("%s (%s)", m.Address, m.ID)), a.clean(what))
}

// check finds those that were to be imported and that the plan does not import: some engines take no notice of a module that
// the code does not have.
func (a *attempt) check(d *adoption, imported map[string]bool) {
	for _, m := range d.planned {
		if !imported[m.Address] {
			a.orphan(d, m, "the engine took no notice of its import, as where the code does not declare it any more")
		}
	}
}
