package kinds

import (
	"cmp"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/userapi"
)

// PullRequests are listed with the last updated one first.
var PullRequests = &Type[v1alpha1.PullRequest, userapi.PullRequest]{
	Name: Name{Kind: "PullRequest", Plural: "PullRequests", Short: []string{"prs", "pr"}},
	List: func() client.ObjectList { return &v1alpha1.PullRequestList{} },
	Row:  pullRequest,
	Query: List[userapi.PullRequest]{
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
			return []string{p.Namespace + "/" + p.Name, "#" + strconv.FormatInt(p.Number, 10), p.Title, p.Author,
				p.Branch, p.Message}
		},
	},
	Columns: []string{"Name", "Ready", "Reason", "Plans", "Changes", "Author", "Age", "+Title", "+Base", "+Head",
		"+URL", MessageColumn},
	Cells:      pullRequestCells,
	Conditions: func(o *v1alpha1.PullRequest) []metav1.Condition { return o.Status.Conditions },
}

// The server lists and shows them, and the operator counts them.
//
// +kubebuilder:rbac:roleName=server,groups=cairn.dev,resources=pullrequests,verbs=get;list;watch
// +kubebuilder:rbac:roleName=operator,groups=cairn.dev,resources=pullrequests,verbs=list;watch

func pullRequest(p *v1alpha1.PullRequest) userapi.PullRequest {
	is := ready(p.Status.Conditions)
	row := userapi.PullRequest{
		Object: ObjectOf(p), Repository: intern(p.Spec.Repository.Name), Number: p.Spec.Number, Title: p.Spec.Title,
		Author: intern(p.Spec.Author), URL: p.Spec.URL, State: intern(string(p.Spec.State)),
		Phase: intern(string(p.Status.Phase)),
		Draft: p.Spec.Draft, Fork: p.Spec.Fork, Base: intern(p.Spec.Base), Branch: p.Spec.Head.Branch,
		Commit: p.Spec.Head.Commit,
		Ready:  intern(string(is.Status)), Reason: intern(is.Reason), Message: intern(is.Message),
		Affected: len(p.Status.Stacks) + len(p.Status.Skipped), Updated: when(&p.Spec.UpdatedAt),
		Deleted: p.DeletionTimestamp != nil,
	}
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
	}
	if plan := sumOf(p); plan != nil {
		row.Plan = countsOf(plan)
	}
	return row
}

// sumOf returns the sum of all plans; nil if there are none.
func sumOf(p *v1alpha1.PullRequest) *v1alpha1.Plan {
	var sum *v1alpha1.Plan
	for _, s := range p.Status.Stacks {
		if s.Plan == nil {
			continue
		}
		if sum == nil {
			sum = &v1alpha1.Plan{}
		}
		runinfo.Add(sum, s.Plan)
	}
	return sum
}

func pullRequestCells(p *v1alpha1.PullRequest, age Age) []any {
	row, changes := pullRequest(p), "-"
	if plan := sumOf(p); plan != nil {
		changes = runinfo.Summary(plan)
	}
	return []any{
		p.Name, row.Ready, cmp.Or(row.Reason, newReason), fmt.Sprintf("%d/%d", row.Planned, row.Affected), changes,
		cmp.Or(p.Spec.Author, "-"), age(p.CreationTimestamp.Time), p.Spec.Title, p.Spec.Base, p.Spec.Head.Branch,
		cmp.Or(p.Spec.URL, "-"), row.Message,
	}
}
