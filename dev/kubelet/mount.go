package kubelet

import (
	"context"
	"fmt"
	"time"
)

// longestWait is the longest time between two checks for a missing object.
const longestWait = time.Second

// mount puts the pod's volumes in place, however long it takes until all that they need is there. It returns when the
// pod's tokens are to be renewed, and false when the pod has to end first.
func (p *pod) mount(ctx context.Context) (renew time.Time, ok bool) {
	ok = retry(p.term, longestWait, func() bool {
		var err error
		if err = p.inputs.fetch(p.term, p.k.api, p.obj.Namespace, referencesOf(&p.obj.Spec)); err == nil {
			renew, err = p.place(p.term)
		}
		if err == nil {
			return true
		}
		if p.term.Err() == nil {
			p.warn(ctx, "FailedMount", err.Error())
			p.report(urgent)
		}
		return false
	})
	return renew, ok && p.term.Err() == nil
}

// place writes all volumes from what was found, with new tokens.
func (p *pod) place(ctx context.Context) (renew time.Time, err error) {
	tokens, renew, err := requestTokens(ctx, p.k.api, p.obj, tokenRequests(&p.obj.Spec))
	if err != nil {
		return time.Time{}, err
	}
	files := map[string][]file{}
	for i := range p.obj.Spec.Volumes {
		v := &p.obj.Spec.Volumes[i]
		if files[v.Name], err = filesOf(p.obj, v, p.inputs, tokens); err != nil {
			return time.Time{}, fmt.Errorf("MountVolume.SetUp failed for volume %q : %w", v.Name, err)
		}
	}
	return renew, p.dir.place(p.obj, files)
}

// renewTokens writes the volumes anew, with all but the tokens as it was, each time that the tokens have grown old.
func (p *pod) renewTokens(ctx context.Context, renew time.Time) {
	for !renew.IsZero() {
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Until(renew)):
		}
		next, err := p.place(ctx)
		if err != nil {
			if ctx.Err() == nil {
				p.log.Error(err, "Renew the pod's tokens")
			}
			next = time.Now().Add(10 * time.Second)
		}
		renew = next
	}
}
