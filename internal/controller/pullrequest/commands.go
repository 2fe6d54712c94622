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
func (r *Reconciler) commands(ctx context.Context, w *Snapshot, provider Provider) (results []result, again time.Duration, err error) {
	pull := w.PullRequest
	state := &pull.Status.Commands
	switch {
	case w.Merge == nil || state.ReadAt.Equal(&pull.Spec.UpdatedAt): // the affected Stacks are not known, or there is no new comment
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
	if isNew := func(c pulls.Comment) bool { return c.ID > state.LastComment }; w.Restricted != "" && slices.ContainsFunc(comments, isNew) {
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
func (r *Reconciler) run(ctx context.Context, w *Snapshot, provider Provider, c pulls.Comment) (accepted bool, answer string, err error) {
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
	approves := parsed.Verb == command.Approve || parsed.Verb == command.Reject
	switch {
	case parsed.Verb == command.Apply, parsed.Verb == command.Unlock, approves && w.Settings.CarryApproval == nil:
		return false, "Nothing was done: Cairn applies after the merge. Approve the Run of the Stack then.", nil
	}
	facts := command.Snapshot{
		Command: *parsed, User: provider.User(c.Author), Head: w.PullRequest.Spec.Head.Commit, Restricted: w.Restricted != "",
		Closed: w.PullRequest.Spec.State != v1alpha1.PullRequestOpen, Conflict: len(w.Merge.Conflicts) > 0,
	}
	if approves {
		facts.Plans = plansDigest(w.PullRequest.Status)
		if err := authorsOf(ctx, w, provider, &facts); err != nil {
			return false, "", err
		}
	}
	if facts.Stacks, err = r.commandStacks(ctx, w, provider, c.Author, facts); err != nil {
		return false, "", err
	}
	switch d := command.Decide(facts); parsed.Verb {
	case command.Plan:
		w.requestPlans(d, facts)
		return d.Allowed(), d.Text(), nil
	case command.Approve, command.Reject:
		w.approve(d, facts)
		return d.Allowed(), d.Text(), nil
	default:
		return true, d.Text(), nil
	}
}

// commandStacks returns the affected Stacks, with the verb of a command if the user has it.
func (r *Reconciler) commandStacks(
	ctx context.Context, w *Snapshot, provider Provider, login string, facts command.Snapshot,
) ([]command.Stack, error) {
	user, verb := facts.User, string(facts.Command.Verb)
	groups, err := []string(nil), error(nil)
	if user != "" {
		if groups, err = provider.Groups(ctx, login); err != nil {
			return nil, err
		}
	}
	var all []command.Stack
	for n, a := range w.Merge.Affected {
		s := command.Stack{Namespace: a.Namespace, Name: a.Name, Affected: true}
		s.Skipped = n >= int(*w.Settings.MaxStacks) && !slices.Contains(w.PullRequest.Status.Commands.Requested, a.String())
		if user != "" {
			allows, of := r.Access.Allows, a.Key
			if facts.Plans != "" {
				allows, of.Name = r.Access.AllowsRun, "" // the Run to approve does not exist yet
			} else {
				verb = verbPlan
			}
			allowed, err := allows(ctx, user, groups, verb, of)
			if err != nil {
				return nil, err
			}
			if allowed {
				s.Verbs = []string{verb}
			}
		}
		if i := w.stack(a.Key); i >= 0 {
			known := w.PullRequest.Status.Stacks[i]
			s.Phase, s.Head = known.Phase, w.PullRequest.Status.Head
			if known.Run == "" || a.Restricted != "" { // it has no Run that could be in progress, or one that is canceled
				s.Phase = ""
			}
			if facts.Plans != "" {
				if err := r.describePlan(ctx, known, &s); err != nil {
					return nil, err
				}
			}
		}
		all = append(all, s)
	}
	return all, nil
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
		if len(facts.Command.Stacks) > 0 && !slices.Contains(state.Requested, key.String()) && len(state.Requested) < maxRequested {
			state.Requested = append(state.Requested, key.String())
		}
	}
}
