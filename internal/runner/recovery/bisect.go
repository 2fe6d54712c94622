package recovery

import (
	"context"
	"fmt"
	"slices"

	"cairn.dev/cairn/internal/engine"
)

// maxPlans is how many plans may be used to find out which imports cause a failure. Each may take minutes.
const maxPlans = 100

// Plan plans with what is missing taken in. When that fails, and a plan without imports does not, the imports that
// cause it are found by bisection and left out: nothing of a journal may stop a Stack for ever.
func (r *Recovery) Plan(ctx context.Context) error {
	err := r.planWith(ctx, r.imports)
	if err == nil || ctx.Err() != nil || len(r.imports) == 0 {
		return err
	}
	fmt.Fprintf(r.Log, "\n── journal: the plan failed; planning without the imports, to find out whether they are to "+
		"blame ──\n")
	if err := r.planWith(ctx, nil); err != nil {
		return err
	}
	left := maxPlans
	good := r.bisectImports(ctx, r.imports, &left, err)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if r.current && slices.Equal(r.planned, good) {
		return nil
	}
	for tries := 0; tries < 2 && len(good) > 0; tries++ {
		if err = r.planWith(ctx, good); err == nil || ctx.Err() != nil {
			return err
		}
	}
	for _, m := range good { // each may be imported, and not all of them
		r.reject(m, err)
	}
	return r.planWith(ctx, nil)
}

// bisectImports returns those of some imports that cause no failure, and leaves out the others. All of them
// together failed with why. It uses only the plans that are left, and leaves out what it does not get to.
func (r *Recovery) bisectImports(ctx context.Context, imports []engine.Missing, left *int, why error) []engine.Missing {
	if *left <= 0 {
		for _, m := range imports {
			r.Orphan(m, fmt.Sprintf("%d plans did not show which imports cause the failure, and this may be one",
				maxPlans))
		}
		return nil
	}
	if len(imports) == 1 {
		if mayPass(why) {
			*left--
			why = r.planWith(ctx, imports)
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case why == nil:
			return imports
		}
		r.reject(imports[0], why)
		return nil
	}
	var good []engine.Missing
	for _, half := range [][]engine.Missing{imports[:len(imports)/2], imports[len(imports)/2:]} {
		if *left <= 0 {
			r.bisectImports(ctx, half, left, why)
			continue
		}
		*left--
		err := r.planWith(ctx, half)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil:
			good = append(good, half...)
		default:
			good = append(good, r.bisectImports(ctx, half, left, err)...)
		}
	}
	return good
}

// planWith plans with some imports.
func (r *Recovery) planWith(ctx context.Context, imports []engine.Missing) error {
	var state []byte
	if r.copy != nil {
		var err error
		if state, err = r.copy.Bytes(r.State); err != nil {
			return err
		}
	}
	err := r.Engine.Plan(ctx, imports, state)
	if r.current = err == nil; r.current {
		r.planned = imports
	}
	return err
}
