package pullrequest

import (
	"context"
	"slices"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/pullrequest/command"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// maxRequested is the maximum number of Stacks that comments request.
const maxRequested = 200

// A result is what a command changes, and the reaction to its comment.
type result struct {
	comment  int64
	reaction pulls.Reaction
}

// readAgain is when comments are read a second time: an update of a pull request has a time in seconds, so a comment
// within the same second is no update.
const readAgain = 3 * time.Second

// reading is the first time when comments were read after an update of a pull request.
type reading struct{ updated, at time.Time }

// commands reads the comments that are new since the last time, and records in the status of the snapshot what their
// commands request. It returns the reactions that are due once that is written, and when to read again; 0 for never.
func (r *Reconciler) commands(ctx context.Context, w *Snapshot, provider Provider) (results []result,
	again time.Duration, err error) {
	pull := w.PullRequest
	state := &pull.Status.Commands
	switch {
	case w.Merge == nil || state.ReadAt.Equal(&pull.Spec.UpdatedAt):
		// the affected Stacks are not known, or there is no new comment
		return nil, 0, nil
	case pull.Status.Head != pull.Spec.Head.Commit: // the head is recorded first
		return nil, time.Millisecond, nil
	}
	since := pull.Status.HeadSince.Time // by the clock of the Git provider
	if !state.ReadAt.IsZero() {
		since = state.ReadAt.Add(-time.Minute)
	}
	comments, err := provider.Comments(ctx, int(pull.Spec.Number), since)
	if err != nil {
		return nil, 0, err
	}
	if isNew := func(c pulls.Comment) bool { return c.ID > state.LastComment }; w.Restricted != "" &&
		slices.ContainsFunc(comments, isNew) {
		// A command may name a newer head than is known here, and would be rejected.
		switch p, err := provider.Get(ctx, int(pull.Spec.Number)); {
		case err != nil:
			return nil, 0, err
		case p.Head.Commit != pull.Spec.Head.Commit: // it is discovered, which is an event
			return nil, 0, nil
		}
	}
	first, ok := r.readings.get(pull.UID)
	switch {
	case !ok || !first.updated.Equal(pull.Spec.UpdatedAt.Time):
		r.readings.add(pull.UID, reading{pull.Spec.UpdatedAt.Time, w.Now})
		again = readAgain
	case w.Now.Sub(first.at) < readAgain:
		again = readAgain - w.Now.Sub(first.at)
	default:
		state.ReadAt = pull.Spec.UpdatedAt
	}
	for _, c := range comments {
		if c.ID <= state.LastComment {
			continue
		}
		state.LastComment = c.ID
		accepted, answer, err := r.run(ctx, w, provider, c)
		if err != nil {
			return nil, 0, err
		}
		if answer == "" {
			continue
		}
		state.Answer = runinfo.Clip("/cairn command of "+provider.User(c.Author)+"\n"+answer, maxAnswer)
		reaction := pulls.Rejected
		if accepted {
			reaction = pulls.Accepted
		}
		results = append(results, result{c.ID, reaction})
	}
	return results, again, nil
}

// maxAnswer is the maximum length of an answer in bytes.
const maxAnswer = 4000

// run does what a comment requests. It returns no answer for a comment that is no command.
func (r *Reconciler) run(ctx context.Context, w *Snapshot, provider Provider, c pulls.Comment) (accepted bool,
	answer string, err error) {
	parsed, err := command.Parse(command.Comment{Body: c.Body, Edited: c.Edited})
	if err != nil {
		if syntax, ok := err.(*command.SyntaxError); ok { //nolint:errorlint // Parse returns it as it is
			return false, syntax.Text(), nil
		}
		return false, "", err
	}
	if parsed == nil {
		return false, "", nil
	}
	approves, carries := parsed.Verb == command.Approve || parsed.Verb == command.Reject, w.Settings.CarryApproval
	switch {
	case approves && !carries.Accepts(v1alpha1.ApprovalCommands) && carries.Accepts(v1alpha1.ApprovalReviews):
		return false, "Nothing was done: approve with a review at the Git provider, or dismiss the review.", nil
	case parsed.Verb == command.Apply && !w.appliesBefore(),
		parsed.Verb == command.Unlock && !w.appliesBefore() && !holdsAny(&w.PullRequest.Status),
		approves && carries == nil:
		return false, "Nothing was done: Cairn applies after the merge. Approve the Run of the Stack then.", nil
	}
	facts := command.Snapshot{
		Command: *parsed, User: provider.User(c.Author), Head: w.PullRequest.Spec.Head.Commit,
		Restricted: w.Restricted != "",
		Closed:     w.PullRequest.Spec.State != v1alpha1.PullRequestOpen, Conflict: len(w.Merge.Conflicts) > 0,
		Draft: w.PullRequest.Spec.Draft, Fork: w.PullRequest.Spec.Fork,
	}
	if approves || parsed.Verb == command.Apply {
		facts.Plans = plansDigest(w.PullRequest.Status)
		if err := authorsOf(ctx, w, provider, &facts); err != nil {
			return false, "", err
		}
	}
	if facts.Stacks, err = r.commandStacks(ctx, w, provider, c.Author, facts); err != nil {
		return false, "", err
	}
	d := command.Decide(facts)
	if parsed.Verb == command.Apply && d.Allowed() && w.requires() {
		r.require(ctx, w, provider, &facts)
		d = command.Decide(facts)
	}
	switch parsed.Verb {
	case command.Plan:
		w.requestPlans(d, facts)
		return d.Allowed(), d.Text(), nil
	case command.Approve, command.Reject:
		w.approve(d, facts, c.Created)
		return d.Allowed(), d.Text(), nil
	case command.Apply:
		w.hold(d, facts)
		return d.Allowed(), d.Text(), nil
	case command.Unlock:
		w.unlock(d)
		return d.Allowed(), d.Text(), nil
	default:
		return true, d.Text(), nil
	}
}

// commandStacks returns the affected Stacks, with the verb of a command if the user has it.
func (r *Reconciler) commandStacks(
	ctx context.Context, w *Snapshot, provider Provider, login string, facts command.Snapshot,
) ([]command.Stack, error) {
	user := facts.User
	groups, err := []string(nil), error(nil)
	if user != "" {
		if groups, err = provider.Groups(ctx, login); err != nil {
			return nil, err
		}
	}
	var all []command.Stack
	for n, a := range w.Merge.Affected {
		s := command.Stack{Namespace: a.Namespace, Name: a.Name, Affected: true}
		s.Skipped = n >= int(*w.Settings.MaxStacks) && !slices.Contains(w.PullRequest.Status.Commands.Requested,
			a.String())
		if user != "" {
			if s.Verbs, err = r.verbsOf(ctx, user, groups, facts, a.Key); err != nil {
				return nil, err
			}
		}
		s.Locked = w.isHeld(a.Key)
		if i := w.stack(a.Key); i >= 0 {
			known := w.PullRequest.Status.Stacks[i]
			s.Phase, s.Head = known.Phase, w.PullRequest.Status.Head
			// it has no Run that could be in progress, or one that is canceled
			if known.Run == "" || a.Restricted != "" {
				s.Phase = ""
			}
			if facts.Plans != "" {
				if err := r.describePlan(ctx, w.PullRequest.UID, known, &s); err != nil {
					return nil, err
				}
			}
		}
		all = append(all, s)
	}
	return r.addHeld(ctx, w, user, groups, facts, all)
}

// addHeld adds the Stacks to which the pull request is applied and that it does not affect any more: they can be
// unlocked.
func (r *Reconciler) addHeld(
	ctx context.Context, w *Snapshot, user string, groups []string, facts command.Snapshot, all []command.Stack,
) ([]command.Stack, error) {
	if facts.Command.Verb != command.Unlock || user == "" {
		return all, nil
	}
	for _, h := range w.PullRequest.Status.Holds {
		isListed := func(s command.Stack) bool { return s.Namespace == h.Namespace && s.Name == h.Name }
		if h.Released != "" || slices.ContainsFunc(all, isListed) {
			continue
		}
		verbs, err := r.verbsOf(ctx, user, groups, facts, Key{h.Namespace, h.Name})
		if err != nil {
			return nil, err
		}
		all = append(all, command.Stack{Namespace: h.Namespace, Name: h.Name, Locked: true, Verbs: verbs})
	}
	return all, nil
}

// verbsOf returns the verb of a command if a user has it on a Stack, or on the Runs of its namespace.
func (r *Reconciler) verbsOf(
	ctx context.Context, user string, groups []string, facts command.Snapshot, of Key,
) ([]string, error) {
	verb, allows := verbPlan, r.Access.Allows
	switch facts.Command.Verb {
	case command.Approve, command.Reject:
		// the Run to approve does not exist yet
		verb, allows, of.Name = string(facts.Command.Verb), r.Access.AllowsRun, ""
	case command.Apply, command.Unlock:
		verb = verbApply
	}
	allowed, err := allows(ctx, user, groups, verb, of)
	if err != nil || !allowed {
		return nil, err
	}
	return []string{verb}, nil
}

// stack returns the index of a Stack in the status; -1 if it has none.
func (w *Snapshot) stack(key Key) int {
	return slices.IndexFunc(w.PullRequest.Status.Stacks, func(s v1alpha1.PullRequestStack) bool {
		return s.Namespace == key.Namespace && s.Name == key.Name
	})
}

// requestPlans records the plans that a command requests, and of a pull request that is restricted, which Stacks of
// this head are allowed.
func (w *Snapshot) requestPlans(d command.Decision, facts command.Snapshot) {
	state := &w.PullRequest.Status.Commands
	if w.Restricted != "" && d.Allowed() {
		var named []string
		for _, s := range d.Stacks {
			if s.Reason == command.Allowed && len(facts.Command.Stacks) > 0 {
				named = append(named, s.Stack.String())
			}
		}
		allow(state, facts.Head, facts.User, named)
	}
	for _, s := range d.Stacks {
		if s.Reason != command.Allowed {
			continue
		}
		key := Key{s.Stack.Namespace, s.Stack.Name}
		if i := w.stack(key); i >= 0 {
			known := &w.PullRequest.Status.Stacks[i]
			known.Retries++
			known.Run, known.RunUID, known.Plan = "", "", nil // another Run plans it
		}
		if len(facts.Command.Stacks) > 0 && !slices.Contains(state.Requested, key.String()) &&
			len(state.Requested) < maxRequested {
			state.Requested = append(state.Requested, key.String())
		}
	}
}
