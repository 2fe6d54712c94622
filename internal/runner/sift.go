package runner

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"cairn.dev/cairn/internal/engine"
)

// planning runs the engine's plan with what is missing taken in. When it fails, and does not without that, those imports that
// make it fail are looked for, and left out: nothing of a journal stops a Stack for ever.
func (a *attempt) planning(ctx context.Context, d *adoption, plan func() error) error {
	err := a.planWith(d, d.blocks, plan)
	if err == nil || ctx.Err() != nil || len(d.blocks) == 0 {
		return err
	}
	fmt.Fprintf(a.text, "\n── journal: the plan failed; it is made without the imports, to find out whether they are to blame ──\n")
	if err := a.planWith(d, nil, plan); err != nil {
		return err
	}
	left := mostSifts
	good := a.sift(ctx, d, d.blocks, func() error { left--; return plan() }, &left, err)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if d.fresh && slices.Equal(d.planned, good) {
		return nil
	}
	for tries := 0; tries < 2 && len(good) > 0; tries++ {
		if err = a.planWith(d, good, plan); err == nil || ctx.Err() != nil {
			return err
		}
	}
	for _, m := range good { // each may be imported, and not all of them
		a.leaveOut(d, m, err)
	}
	return a.planWith(d, nil, plan)
}

// sift gives those of some imports that make no plan fail, and leaves out the others. All of them together did: why. It makes no more
// plans than are left, and leaves out what it does not get to.
func (a *attempt) sift(ctx context.Context, d *adoption, blocks []engine.Missing, plan func() error, left *int, why error) []engine.Missing {
	if *left <= 0 {
		for _, m := range blocks {
			a.orphan(d, m, fmt.Sprintf("%d plans did not tell which imports make a plan fail, and this may be one", mostSifts))
		}
		return nil
	}
	if len(blocks) == 1 {
		if mayPass(why) {
			why = a.planWith(d, blocks, plan)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case why == nil:
			return blocks
		}
		a.leaveOut(d, blocks[0], why)
		return nil
	}
	var good []engine.Missing
	for _, half := range [][]engine.Missing{blocks[:len(blocks)/2], blocks[len(blocks)/2:]} {
		if *left <= 0 {
			a.sift(ctx, d, half, plan, left, why)
			continue
		}
		err := a.planWith(d, half, plan)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			good = append(good, half...)
		default:
			good = append(good, a.sift(ctx, d, half, plan, left, err)...)
		}
	}
	return good
}

// planWith plans with some imports.
func (a *attempt) planWith(d *adoption, blocks []engine.Missing, plan func() error) error {
	file := filepath.Join(a.module(), engine.ImportFile)
	if err := os.RemoveAll(file); err != nil {
		return err
	}
	if len(blocks) > 0 {
		if err := os.WriteFile(file, engine.ImportBlocks(blocks), 0o600); err != nil {
			return err
		}
	}
	if d.copy != nil {
		state, err := d.copy.Bytes(d.was)
		if err != nil {
			return err
		}
		a.proxy.enter(state)
		defer a.proxy.leave()
	}
	err := plan()
	if d.fresh = err == nil; d.fresh {
		d.planned = blocks
	}
	return err
}
