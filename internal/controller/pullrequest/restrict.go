package pullrequest

import (
	"cmp"
	"context"
	"slices"
	"time"

	"cairn.dev/cairn/api/v1alpha1"
)

// restrict sets which affected Stacks wait for a command, and returns why a command is required; empty if all may be
// planned. A Stack is planned if all users whose code the head has may plan it, or if a user who may plan it allowed
// the head.
func restrict(ctx context.Context, access Access, w *Snapshot, provider Provider, affected []Affected) (string, error) {
	reason, all, err := requiresCommand(ctx, w, provider, len(affected) > 0)
	if err != nil {
		return "", err
	}
	for i := range affected {
		affected[i].Restricted = reason
	}
	if reason == "" {
		for _, user := range all {
			may, err := mayPlan(ctx, access, user, provider, w.Now, affected)
			if err != nil {
				return "", err
			}
			for i := range affected {
				if affected[i].Restricted == "" && !may[i] {
					affected[i].Restricted = user + ", who opened the pull request or has a commit in it, does not " +
						"have the verb plan on it"
					reason = cmp.Or(reason, user+", who opened the pull request or has a commit in it, does not have "+
						"the verb plan on all affected Stacks")
				}
			}
		}
	}
	for _, allowance := range allowancesOf(w.PullRequest) {
		var named []Affected
		var at []int
		for i, a := range affected {
			if a.Restricted != "" && (len(allowance.Stacks) == 0 || slices.Contains(allowance.Stacks, a.String())) {
				named, at = append(named, a), append(at, i)
			}
		}
		may, err := mayPlan(ctx, access, allowance.By, provider, w.Now, named)
		if err != nil {
			return "", err
		}
		for n, i := range at {
			if may[n] {
				affected[i].Restricted = ""
			}
		}
	}
	return reason, nil
}

// stillRestricted returns why a known merge requires a command. It is another reason than that of the merge if a Stack
// that waited may be planned now.
func stillRestricted(ctx context.Context, access Access, w *Snapshot, provider Provider, known merged) (string, error) {
	isWaiting := func(a Affected) bool { return a.Restricted != "" }
	if known.restricted == "" || !slices.ContainsFunc(known.Affected, isWaiting) {
		return known.restricted, nil
	}
	w.Merge = known.Merge
	now := slices.Clone(known.Affected)
	_, err := restrict(ctx, access, w, provider, now)
	w.Merge = nil
	for i := range now {
		if isWaiting(now[i]) != isWaiting(known.Affected[i]) {
			return "", err
		}
	}
	return known.restricted, err
}

// requiresCommand returns why no Stack may be planned without a command, or the users who all need the verb plan.
func requiresCommand(ctx context.Context, w *Snapshot, provider Provider, affects bool) (reason string, users []string,
	err error) {
	spec := w.PullRequest.Spec
	switch {
	case w.Settings.RequireCommand:
		return "spec.pullRequests.requireCommand of the Repository is true", nil, nil
	case spec.Fork:
		return "the head is in a fork", nil, nil
	case spec.Author == "":
		return "the author of the pull request is not known", nil, nil
	}
	users = []string{spec.Author}
	if affects {
		logins, err := provider.committersOf(ctx, w)
		if err != nil {
			return "", nil, err
		}
		for _, login := range logins {
			users = append(users, provider.User(login))
		}
	}
	slices.Sort(users)
	for _, user := range users {
		if user == "" {
			return "the Git provider does not know the user of each commit", nil, nil
		}
	}
	return "", slices.Compact(users), nil
}

// allowancesOf returns what users allowed of the head of a pull request.
func allowancesOf(pull *v1alpha1.PullRequest) []v1alpha1.PullRequestAllowance {
	commands := pull.Status.Commands
	if commands.AllowedHead == "" || commands.AllowedHead != pull.Spec.Head.Commit {
		return nil
	}
	return commands.Allowances
}

// allow adds what a user allows of a head.
func allow(commands *v1alpha1.PullRequestCommands, head, user string, stacks []string) {
	if commands.AllowedHead != head {
		commands.Allowances = nil
	}
	commands.AllowedHead, commands.AllowedBy = head, user
	i := slices.IndexFunc(commands.Allowances, func(a v1alpha1.PullRequestAllowance) bool { return a.By == user })
	switch {
	case i < 0 && len(commands.Allowances) < maxAllowances:
		commands.Allowances = append(commands.Allowances, v1alpha1.PullRequestAllowance{By: user, Stacks: stacks})
	case i < 0 || len(commands.Allowances[i].Stacks) == 0: // all are allowed
	case len(stacks) == 0:
		commands.Allowances[i].Stacks = nil
	default:
		all := slices.Concat(commands.Allowances[i].Stacks, stacks)
		slices.Sort(all)
		commands.Allowances[i].Stacks = slices.Compact(all)
	}
}

// maxAllowances is the maximum number of users who allow the plans of a head.
const maxAllowances = 50

// mayPlan returns of each Stack whether a user has the verb plan on it.
func mayPlan(
	ctx context.Context, access Access, user string, provider Provider, now time.Time, affected []Affected,
) ([]bool, error) {
	may, groups, asked := make([]bool, len(affected)), []string(nil), false
	for i, stack := range affected {
		allowed, err := access.Allows(ctx, user, nil, verbPlan, stack.Key)
		if err == nil && !allowed && !asked {
			groups, err = provider.groupsOf(ctx, user, now)
			asked = true
		}
		if err == nil && !allowed && len(groups) > 0 {
			allowed, err = access.Allows(ctx, user, groups, verbPlan, stack.Key)
		}
		if err != nil {
			return nil, err
		}
		may[i] = allowed
	}
	return may, nil
}
