package comment

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/engine/plan"
)

// Limits of GitHub, the strictest provider.
const (
	longestDescription = 140
	longestContext     = 255
)

// Status is a status of the head commit.
type Status struct {
	// Context is the name of the status.
	Context     string
	State       State
	Description string
	// URL in the web UI; empty for none.
	URL string
}

// Statuses returns the aggregate status, which has the context itself and can be a required check, and then those of
// Stacks, by name and at most limit. earlier are contexts that the head commit has from earlier calls. Each stays in
// the result, also when its Stack is not affected now or the context was another one, so that none remains pending.
func Statuses(pr PullRequest, context string, limit int, earlier []string) []Status {
	state, description := pr.aggregate()
	all := []Status{{context, state, shorten.Characters(description, longestDescription), pr.URL}}
	prefix := context + "/"
	// A Stack that has a status keeps it, however many Stacks come before it now.
	isNew := func(s Stack) int {
		if slices.Contains(earlier, contextOf(prefix, s)) {
			return 0
		}
		return 1
	}
	stacks := slices.SortedFunc(slices.Values(pr.Stacks), func(a, b Stack) int {
		return cmp.Or(isNew(a)-isNew(b), strings.Compare(a.key(), b.key()))
	})
	reported := map[string]bool{context: true}
	for n, s := range stacks {
		if c := contextOf(prefix, s); (n < limit || isNew(s) == 0) && !reported[c] {
			reported[c] = true
			all = append(all, pr.statusOf(s, c))
		}
	}
	isSkipped := func(c string) bool {
		return slices.ContainsFunc(pr.Skipped, func(key string) bool {
			return clipContext(prefix+plan.Escape(key)) == c
		})
	}
	for _, c := range earlier {
		if reported[c] {
			continue
		}
		reported[c] = true
		switch {
		case !strings.HasPrefix(c, prefix): // the context was another one
			all = append(all, Status{c, state, shorten.Characters(description, longestDescription), pr.URL})
		case pr.Phase == v1alpha1.PullRequestPlanned && isSkipped(c):
			all = append(all, Status{c, Failure, "Not planned: beyond maxStacks.", pr.URL})
		case pr.Phase == v1alpha1.PullRequestPlanned:
			all = append(all, Status{c, Success, "The pull request does not affect this Stack now.", pr.URL})
		default:
			all = append(all, Status{c, state, shorten.Characters(description, longestDescription), pr.URL})
		}
	}
	slices.SortStableFunc(all[1:], func(a, b Status) int { return strings.Compare(a.Context, b.Context) })
	return all
}

func (pr PullRequest) statusOf(s Stack, context string) Status {
	if pr.Phase != v1alpha1.PullRequestPlanned {
		state, description := pr.aggregate()
		return Status{context, state, shorten.Characters(description, longestDescription), pr.URL}
	}
	state, text := s.result()
	switch {
	case s.Deferred:
		text = "deferred: " + plan.Escape(s.Failure)
	case state == Success && s.stops():
		text = "stops after the merge, destroys nothing; " + s.changes()
	case state == Success:
		text = s.changes()
	case state == Failure && s.Failure != "":
		text += ": " + plan.Escape(s.Failure)
	}
	return Status{context, state, shorten.Characters(text, longestDescription), cmp.Or(s.URL, pr.URL)}
}

func contextOf(prefix string, s Stack) string { return clipContext(prefix + plan.Escape(s.key())) }

// clipContext shortens a context to what providers take. A hash keeps two that begin alike apart.
func clipContext(context string) string {
	if len(context) <= longestContext {
		return context
	}
	sum := fmt.Sprintf("~%x", sha256.Sum256([]byte(context)))[:9]
	return context[:longestContext-len(sum)] + sum
}
