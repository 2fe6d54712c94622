package pulls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"cairn.dev/cairn/internal/base/shorten"
)

// Readiness is what the rules of a Git provider lead to for a pull request: whether it would merge it, and whether it
// requires another review.
type Readiness struct {
	// Head is the commit that it is of, and Base the commit of the branch that the pull request is merged into. Empty
	// if it is not known.
	Head, Base string
	State      State
	Draft      bool
	// Merge is whether the Git provider would merge the pull request now.
	Merge MergeState
	// Blockers are why it would not, as the Git provider names it: at most maxBlockers, each at most 200 bytes.
	Blockers []string
	// OwnBlocks: a status of this client is required and no success, and the Git provider does not report whether it
	// would merge the pull request otherwise.
	OwnBlocks bool
	// Review is what the rules for reviews lead to.
	Review ReviewState
}

// Merge is what a pull request is merged into, and by which commit.
type Merge struct {
	Number int
	// Head is the commit of the head, and Base the name of the branch.
	Head, Base string
}

// MergeState is whether a Git provider would merge a pull request.
type MergeState string

// States of a merge. The zero value is none of them, and not fine.
const (
	MergeAllowed MergeState = "Allowed"
	MergeBlocked MergeState = "Blocked"
	// MergeUnknown: the Git provider has not decided yet.
	MergeUnknown MergeState = "Unknown"
)

// ReviewState is what the rules of a Git provider for reviews lead to.
type ReviewState string

// States of reviews. The zero value is none of them, and not fine.
const (
	// ReviewSufficient: no other review is required. There may be none at all.
	ReviewSufficient ReviewState = "Sufficient"
	// ReviewRequired: more users have to approve.
	ReviewRequired ReviewState = "Required"
	// ChangesRequested: a user requests changes.
	ChangesRequested ReviewState = "ChangesRequested"
)

// maxBlockers is the maximum number of reasons of a Readiness.
const maxBlockers = 5

// block adds a reason why a pull request would not be merged.
func (v *Readiness) block(format string, args ...any) {
	v.Merge = MergeBlocked
	if len(v.Blockers) < maxBlockers {
		v.Blockers = append(v.Blockers, shorten.Bytes(strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "),
			200))
	}
}

// gitHubReadiness is one query, so that all of the response is of one head. gitHubChecks lists the statuses of the
// head, which a token may not be allowed to read.
const (
	gitHubReadiness = `query($owner:String!,$name:String!,$number:Int!){repository(owner:$owner,name:$name){pullRequest(number:$number){` +
		`state isDraft headRefOid baseRef{target{oid}} mergeable mergeStateStatus reviewDecision}}}`
	gitHubChecks = `query($owner:String!,$name:String!,$number:Int!){repository(owner:$owner,name:$name){pullRequest(number:$number){` +
		`commits(last:1){nodes{commit{oid statusCheckRollup{contexts(first:100){nodes{` +
		`__typename ...on StatusContext{context state isRequired(pullRequestNumber:$number)}` +
		` ...on CheckRun{name conclusion isRequired(pullRequestNumber:$number)}}}}}}}}}}`
)

type gitHubCheck struct {
	Context, State   string // of a status
	Name, Conclusion string // of a check run
	IsRequired       bool
}

type gitHubReadinessPull struct {
	State, HeadRefOid, Mergeable     string
	MergeStateStatus, ReviewDecision string
	IsDraft                          bool
	BaseRef                          *struct{ Target struct{ Oid string } }
}

type gitHubChecksPull struct {
	Commits struct {
		Nodes []struct {
			Commit struct {
				Oid               string
				StatusCheckRollup *struct {
					Contexts struct{ Nodes []gitHubCheck }
				}
			}
		}
	}
}

// Readiness implements Client. GitHub reports that a merge is blocked, and not by what: the reasons are the required
// statuses that it lists.
func (g *gitHub) Readiness(ctx context.Context, of Merge, isOwn func(context string) bool) (Readiness, error) {
	var p *gitHubReadinessPull
	if err := queryPull(ctx, g, gitHubReadiness, of.Number, &p); err != nil {
		return Readiness{}, err
	}
	if p == nil {
		return Readiness{}, errForm(http.StatusOK)
	}
	v := Readiness{Head: p.HeadRefOid, Draft: p.IsDraft, Merge: MergeUnknown}
	v.State = map[string]State{"OPEN": Open, "MERGED": Merged, "CLOSED": Closed}[p.State]
	if p.BaseRef != nil {
		v.Base = p.BaseRef.Target.Oid
	}
	v.Review = map[string]ReviewState{
		"": ReviewSufficient, "APPROVED": ReviewSufficient, "REVIEW_REQUIRED": ReviewRequired,
		"CHANGES_REQUESTED": ChangesRequested,
	}[p.ReviewDecision]
	switch p.MergeStateStatus {
	case "CLEAN", "HAS_HOOKS", "UNSTABLE": // the last one has failed statuses that are not required
		if p.Mergeable == "MERGEABLE" {
			v.Merge = MergeAllowed
		}
	case "DIRTY":
		v.block("the head conflicts with the base")
	case "BEHIND":
		v.block("the head is behind the base")
	case "BLOCKED", "DRAFT":
		g.blockers(ctx, of.Number, &v, isOwn)
	}
	return v, nil
}

// queryPull sends a query for a part of a pull request.
func queryPull[T any](ctx context.Context, g *gitHub, query string, number int, into **T) error {
	name, err := url.PathUnescape(g.name)
	if err != nil {
		return err
	}
	var found struct{ Repository struct{ PullRequest *T } }
	err = g.query(ctx, query, map[string]any{"owner": g.organization, "name": name, "number": number}, &found)
	*into = found.Repository.PullRequest
	return err
}

// blockers adds the required statuses of the head that are no success. It is blocked also if they cannot be read.
func (g *gitHub) blockers(ctx context.Context, number int, v *Readiness, isOwn func(context string) bool) {
	var p *gitHubChecksPull
	if err := queryPull(ctx, g, gitHubChecks, number, &p); err != nil || p == nil {
		p = &gitHubChecksPull{}
	}
	for _, node := range p.Commits.Nodes {
		if node.Commit.StatusCheckRollup == nil || node.Commit.Oid != v.Head {
			continue
		}
		for _, c := range node.Commit.StatusCheckRollup.Contexts.Nodes {
			name := cmp.Or(c.Context, c.Name)
			passes := slices.Contains([]string{"SUCCESS", "NEUTRAL", "SKIPPED"}, cmp.Or(c.State, c.Conclusion))
			switch {
			case passes || !c.IsRequired:
			case c.Context != "" && isOwn(name):
				v.OwnBlocks = true
			default:
				v.block("the required status %s is no success", name)
			}
		}
	}
	if v.Merge != MergeBlocked {
		v.block("a rule of the branch prevents it")
	}
}

// Readiness implements Client. GitLab has its decision in one word, of which the client only knows the good one and
// those of a decision in progress.
func (g *gitLab) Readiness(ctx context.Context, of Merge, _ func(context string) bool) (Readiness, error) {
	approvals, _, err := g.api.MergeRequestApprovals.GetConfiguration(g.project, int64(of.Number),
		gitlab.WithContext(ctx))
	if err != nil {
		return Readiness{}, failed(ctx, err)
	}
	branch, _, err := g.api.Branches.GetBranch(g.project, of.Base, gitlab.WithContext(ctx))
	if err != nil {
		return Readiness{}, failed(ctx, err)
	}
	m, _, err := g.api.MergeRequests.GetMergeRequest(g.project, int64(of.Number), nil, gitlab.WithContext(ctx))
	if err != nil {
		return Readiness{}, failed(ctx, err)
	}
	p := gitLabPull(&m.BasicMergeRequest)
	v := Readiness{Head: p.Head.Commit, State: p.State, Draft: p.Draft, Merge: MergeUnknown, Review: ReviewSufficient}
	if branch.Commit != nil && p.Base.Branch == of.Base {
		v.Base = branch.Commit.ID
	}
	switch word := m.DetailedMergeStatus; word {
	case "mergeable":
		v.Merge = MergeAllowed
	case "", "unchecked", "checking", "preparing", "approvals_syncing":
	default:
		v.block("%s", strings.ReplaceAll(word, "_", " "))
	}
	switch {
	case m.DetailedMergeStatus == "requested_changes":
		v.Review = ChangesRequested
	case approvals.ApprovalsLeft > 0, m.DetailedMergeStatus == "not_approved":
		v.Review = ReviewRequired
	case m.DetailedMergeStatus == "approvals_syncing":
		v.Review = ""
	}
	return v, nil
}

// giteaRules are the rules of a branch that its users may read.
type giteaRules struct {
	Commit            struct{ ID string }
	Protected         bool
	RequiredApprovals int      `json:"required_approvals"`
	EnableStatusCheck bool     `json:"enable_status_check"`
	Contexts          []string `json:"status_check_contexts"`
}

// Readiness implements Client. Gitea reports whether there are conflicts, and the rules of the branch.
func (g *gitea) Readiness(ctx context.Context, of Merge, isOwn func(context string) bool) (Readiness, error) {
	var rules giteaRules
	if _, err := g.call(ctx, http.MethodGet, g.repository+"/branches/"+escapeSegments(of.Base), nil, nil,
		&rules); err != nil {
		return Readiness{}, err
	}
	reviews, err := list[giteaReview](ctx, g, g.pullPath(of.Number)+"/reviews", maxReviews)
	if errors.Is(err, ErrTooMany) {
		return Readiness{}, errTooManyReviews
	} else if err != nil {
		return Readiness{}, err
	}
	var statuses []giteaStatus
	if rules.EnableStatusCheck {
		if statuses, err = g.statuses(ctx, of.Head); err != nil {
			return Readiness{}, err
		}
	}
	var p struct {
		giteaPull
		Mergeable bool
	}
	if _, err := g.call(ctx, http.MethodGet, g.pullPath(of.Number), nil, nil, &p); err != nil {
		return Readiness{}, err
	}
	v := Readiness{
		Head: p.Head.SHA, Base: rules.Commit.ID, State: p.pull().State, Draft: p.Draft, Merge: MergeUnknown,
		Review: giteaReviewState(reviews, rules.RequiredApprovals),
	}
	if p.Base.Ref != of.Base {
		v.Base = ""
	}
	if p.Mergeable { // else it conflicts, is a draft, or is not checked yet
		v.Merge = MergeAllowed
	}
	if rules.EnableStatusCheck {
		rules.check(&v, statuses, isOwn)
	}
	switch v.Review {
	case ReviewRequired:
		v.block("the branch requires %d approvals", rules.RequiredApprovals)
	case ChangesRequested:
		v.block("a review requests changes")
	}
	return v, nil
}

// giteaReviewState returns what the newest review of each user that counts for the branch leads to.
func giteaReviewState(reviews []giteaReview, required int) ReviewState {
	newest := map[string]giteaReview{}
	for _, r := range reviews {
		if r.User == nil || !r.Official || r.Dismissed || r.State != "APPROVED" && r.State != "REQUEST_CHANGES" {
			continue
		}
		if known, ok := newest[r.User.Login]; !ok || r.ID > known.ID {
			newest[r.User.Login] = r
		}
	}
	approvals := 0
	for _, r := range newest {
		switch {
		case r.State == "REQUEST_CHANGES":
			return ChangesRequested
		case !r.Stale:
			approvals++
		}
	}
	if approvals < required {
		return ReviewRequired
	}
	return ReviewSufficient
}

type giteaStatus struct{ Context, Status string }

// statuses returns the newest status of a commit for each context.
func (g *gitea) statuses(ctx context.Context, commit string) (all []giteaStatus, err error) {
	for number := 1; len(all) <= maxReviews; number++ {
		var page struct{ Statuses []giteaStatus }
		query := url.Values{"limit": {giteaPage}, "page": {fmt.Sprint(number)}}
		path := g.repository + "/commits/" + url.PathEscape(commit) + "/status"
		if _, err := g.call(ctx, http.MethodGet, path, query, nil, &page); err != nil {
			return nil, err
		}
		if len(page.Statuses) == 0 {
			return all, nil
		}
		all = append(all, page.Statuses...)
	}
	return nil, &Error{Kind: Invalid, Status: http.StatusOK, Message: "the head has too many statuses"}
}

// check adds the required statuses that are no success. Patterns are those of Gitea, of which only * is known.
func (r giteaRules) check(v *Readiness, statuses []giteaStatus, isOwn func(context string) bool) {
	patterns := r.Contexts
	if len(patterns) == 0 { // all statuses that there are
		patterns = []string{"*"}
	}
	for _, pattern := range patterns {
		found := isOwn(pattern) || len(r.Contexts) == 0
		for _, s := range statuses {
			switch passes := s.Status == "success"; {
			case !matchesStars(pattern, s.Context):
				continue
			case !passes && !isOwn(s.Context):
				v.block("the required status %s is no success", s.Context)
			}
			found = true
		}
		if !found {
			v.block("the required status %s is missing", pattern)
		}
	}
}

// matchesStars reports whether a text has the form of a pattern, in which * is any text.
func matchesStars(pattern, text string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, parts[0])
	last := parts[len(parts)-1]
	if !ok || !strings.HasSuffix(text, last) {
		return false
	}
	text = strings.TrimSuffix(text, last)
	for _, part := range parts[1 : len(parts)-1] {
		_, after, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = after
	}
	return true
}

// escapeSegments escapes a name with slashes for a path.
func escapeSegments(name string) string {
	parts := strings.Split(name, "/")
	for i := range parts {
		parts[i] = url.PathEscape(parts[i])
	}
	return strings.Join(parts, "/")
}
