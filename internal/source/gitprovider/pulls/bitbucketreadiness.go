package pulls

import (
	"context"
	"net/http"
	"net/url"
	"slices"
)

// Readiness implements Client. Bitbucket Cloud reports neither whether it would merge nor what it requires: all builds
// of the head count.
func (b *bitbucketCloud) Readiness(ctx context.Context, of Merge, isOwn func(context string) bool) (Readiness, error) {
	type build struct{ Key, Name, State string }
	path := b.repository + "/commit/" + url.PathEscape(of.Head) + "/statuses"
	builds, err := bitbucketCloudList[build](ctx, b, path, url.Values{"pagelen": {"100"}}, maxReviews, nil)
	if err != nil {
		return Readiness{}, bitbucketTooMany(err)
	}
	var branch struct{ Target struct{ Hash string } }
	if _, err := b.call(ctx, http.MethodGet, b.repository+"/refs/branches/"+escapeSegments(of.Base), nil, nil,
		&branch); err != nil {
		return Readiness{}, err
	}
	var p struct {
		bitbucketCloudPull
		Participants []struct{ State string }
	}
	if _, err := b.call(ctx, http.MethodGet, b.pullPath(of.Number), nil, nil, &p); err != nil {
		return Readiness{}, err
	}
	pull := p.pull()
	v := Readiness{State: pull.State, Draft: pull.Draft, Merge: MergeAllowed, Review: ReviewSufficient}
	if v.Head, err = b.hash(ctx, p.Source.Commit.Hash, b.pullPath(of.Number)+"/commits", true); err != nil {
		return Readiness{}, err
	}
	if pull.Base.Branch == of.Base {
		v.Base = branch.Target.Hash
	}
	for _, one := range builds {
		if one.State != "SUCCESSFUL" && !isOwn(one.Name) {
			v.block("the build %s is no success", one.Name)
		}
	}
	if slices.ContainsFunc(p.Participants, func(of struct{ State string }) bool {
		return of.State == "changes_requested"
	}) {
		v.Review = ChangesRequested
	}
	return v, nil
}

// Readiness implements Client. The pull request is read last: if it has the head, the answer before it is of that too.
func (b *bitbucketDC) Readiness(ctx context.Context, of Merge, _ func(context string) bool) (Readiness, error) {
	var merge struct {
		CanMerge   *bool
		Conflicted bool
		Vetoes     []struct{ SummaryMessage string }
	}
	if _, err := b.call(ctx, http.MethodGet, b.pullPath(of.Number)+"/merge", nil, nil, &merge); err != nil {
		return Readiness{}, err
	}
	if merge.CanMerge == nil {
		return Readiness{}, errForm(http.StatusOK)
	}
	var p struct {
		bitbucketDCPull
		Reviewers, Participants []struct{ Status string }
	}
	if _, err := b.call(ctx, http.MethodGet, b.pullPath(of.Number), nil, nil, &p); err != nil {
		return Readiness{}, err
	}
	pull := p.pull()
	v := Readiness{Head: pull.Head.Commit, State: pull.State, Draft: pull.Draft, Merge: MergeUnknown,
		Review: ReviewSufficient}
	if pull.Base.Branch == of.Base {
		v.Base = pull.Base.Commit
	}
	if *merge.CanMerge && !merge.Conflicted {
		v.Merge = MergeAllowed
	}
	if merge.Conflicted {
		v.block("the head conflicts with the base")
	}
	for _, veto := range merge.Vetoes {
		v.block("%s", veto.SummaryMessage)
	}
	needsWork := func(of struct{ Status string }) bool { return of.Status == "NEEDS_WORK" }
	if slices.ContainsFunc(p.Reviewers, needsWork) || slices.ContainsFunc(p.Participants, needsWork) {
		v.Review = ChangesRequested
	}
	return v, nil
}
