package listing

import (
	"strconv"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/userapi"
)

// PullRequests are listed with the last updated one first.
var PullRequests = Kind[v1alpha1.PullRequest, userapi.PullRequest]{
	Row:     pullRequest,
	Name:    func(p *userapi.PullRequest) (string, string) { return p.Namespace, p.Name },
	Default: "-updated",
	Sorts: map[string]func(*userapi.PullRequest) Rank{
		"number":  func(p *userapi.PullRequest) Rank { return Rank{Number: p.Number, Text: p.Repository} },
		"created": func(p *userapi.PullRequest) Rank { return at(&p.Created) },
		"updated": func(p *userapi.PullRequest) Rank { return at(p.Updated) },
		"phase":   func(p *userapi.PullRequest) Rank { return Rank{Text: p.Phase} },
		"author":  func(p *userapi.PullRequest) Rank { return Rank{Text: p.Author} },
		"stacks":  func(p *userapi.PullRequest) Rank { return Rank{Number: int64(p.Affected)} },
	},
	Filters: map[string]func(*userapi.PullRequest) string{
		"namespace":  func(p *userapi.PullRequest) string { return p.Namespace },
		"repository": func(p *userapi.PullRequest) string { return p.Repository },
		"phase":      func(p *userapi.PullRequest) string { return p.Phase },
		"state":      func(p *userapi.PullRequest) string { return p.State },
		"author":     func(p *userapi.PullRequest) string { return p.Author },
		"draft":      func(p *userapi.PullRequest) string { return strconv.FormatBool(p.Draft) },
		"fork":       func(p *userapi.PullRequest) string { return strconv.FormatBool(p.Fork) },
		"deleted":    func(p *userapi.PullRequest) string { return strconv.FormatBool(p.Deleted) },
	},
	Sets: map[string]func(*userapi.PullRequest) []string{
		"stack": func(p *userapi.PullRequest) []string { return p.Stacks },
	},
	Words: func(p *userapi.PullRequest) []string {
		return []string{p.Namespace + "/" + p.Name, "#" + strconv.FormatInt(p.Number, 10), p.Title, p.Author, p.Branch, p.Message}
	},
}

func pullRequest(p *v1alpha1.PullRequest) userapi.PullRequest {
	is := ready(p.Status.Conditions)
	row := userapi.PullRequest{
		Object: object(&p.ObjectMeta), Repository: intern(p.Spec.Repository.Name), Number: p.Spec.Number, Title: p.Spec.Title,
		Author: intern(p.Spec.Author), URL: p.Spec.URL, State: intern(string(p.Spec.State)), Phase: intern(string(p.Status.Phase)),
		Draft: p.Spec.Draft, Fork: p.Spec.Fork, Base: intern(p.Spec.Base), Branch: p.Spec.Head.Branch, Commit: p.Spec.Head.Commit,
		Ready: intern(string(is.Status)), Reason: intern(is.Reason), Message: intern(is.Message),
		Affected: len(p.Status.Stacks) + len(p.Status.Skipped), Updated: when(&p.Spec.UpdatedAt), Deleted: p.DeletionTimestamp != nil,
	}
	var plan *v1alpha1.Plan
	for _, s := range p.Status.Stacks {
		row.Stacks = append(row.Stacks, intern(s.Namespace+"/"+s.Name))
		switch {
		case !s.Phase.Finished():
			row.Pending++
		case s.Phase == v1alpha1.PhaseSucceeded:
			row.Planned++
		default:
			row.Failed++
		}
		if s.Plan != nil {
			if plan == nil {
				plan = &v1alpha1.Plan{}
			}
			runinfo.Add(plan, s.Plan)
		}
	}
	if plan != nil {
		row.Plan = countsOf(plan)
	}
	return row
}
