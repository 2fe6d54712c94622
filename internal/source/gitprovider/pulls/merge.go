package pulls

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/google/go-github/v88/github"
	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// Method is how a Git provider merges a pull request.
type Method string

// Methods of merges.
const (
	// MethodMerge adds a merge commit.
	MethodMerge Method = "Merge"
	// MethodSquash adds one commit with all changes.
	MethodSquash Method = "Squash"
	// MethodRebase adds the commits of the head.
	MethodRebase Method = "Rebase"
)

// MergeHead merges a pull request that is open, ready for review, and has the head and the base. The Git provider
// rejects it if another head is pushed meanwhile. It is no error if the pull request is merged already: the response of
// an earlier request may be lost.
func MergeHead(ctx context.Context, c Client, of Merge, method Method) error {
	p, err := c.Get(ctx, of.Number)
	switch {
	case err != nil:
		return err
	case p.State == Merged:
		return nil
	case p.State != Open:
		return &Error{Kind: NotAllowed, Message: "the pull request is not open"}
	case p.Draft:
		return &Error{Kind: NotAllowed, Message: "the pull request is a draft"}
	case p.Head.Commit != of.Head:
		return &Error{Kind: Conflict, Message: fmt.Sprintf("the pull request has another head than %.12s", of.Head)}
	case p.Base.Branch != of.Base:
		return &Error{Kind: Conflict, Message: "the pull request has another base than " + of.Base}
	}
	return c.Merge(ctx, of, method)
}

// errMethod is the error for a method that a Git provider does not have.
func errMethod(provider string, method Method) error {
	return &Error{Kind: NotAllowed, Message: fmt.Sprintf("%s has no method %s", provider, method)}
}

// Merge implements Client.
func (g *gitea) Merge(ctx context.Context, of Merge, method Method) error {
	do, ok := map[Method]string{MethodMerge: "merge", MethodSquash: "squash", MethodRebase: "rebase"}[method]
	if !ok {
		return errMethod("Gitea", method)
	}
	body := map[string]string{"Do": do, "head_commit_id": of.Head}
	_, err := g.call(ctx, http.MethodPost, g.pullPath(of.Number)+"/merge", nil, body, nil)
	return err
}

// Merge implements Client. A branch with a merge queue rejects it.
func (g *gitHub) Merge(ctx context.Context, of Merge, method Method) error {
	name, ok := map[Method]string{MethodMerge: "merge", MethodSquash: "squash", MethodRebase: "rebase"}[method]
	if !ok {
		return errMethod("GitHub", method)
	}
	options := &github.PullRequestOptions{SHA: of.Head, MergeMethod: name}
	result, _, err := g.api.PullRequests.Merge(ctx, g.owner, g.name, of.Number, "", options)
	if err == nil && !result.GetMerged() {
		return &Error{Kind: NotAllowed, Status: http.StatusOK, Message: oneLine(result.GetMessage(), "")}
	}
	return failed(ctx, err)
}

// Merge implements Client. The project decides whether a merge without squash adds a merge commit.
func (g *gitLab) Merge(ctx context.Context, of Merge, method Method) error {
	if method != MethodMerge && method != MethodSquash {
		return errMethod("GitLab", method)
	}
	squash := method == MethodSquash
	options := &gitlab.AcceptMergeRequestOptions{SHA: &of.Head, Squash: &squash}
	_, _, err := g.api.MergeRequests.AcceptMergeRequest(g.project, int64(of.Number), options, gitlab.WithContext(ctx))
	return failed(ctx, err)
}

// Merge implements Client. It rejects each merge: the API would also merge a head that is pushed meanwhile.
func (b *bitbucketCloud) Merge(context.Context, Merge, Method) error {
	return &Error{Kind: NotAllowed, Message: "Bitbucket Cloud cannot merge a pull request by the commit of its head"}
}

// Merge implements Client. The request names the version of the pull request that has the head: a push creates another
// one.
func (b *bitbucketDC) Merge(ctx context.Context, of Merge, method Method) error {
	strategy, ok := map[Method]string{MethodMerge: "no-ff", MethodSquash: "squash",
		MethodRebase: "rebase-ff-only"}[method]
	if !ok {
		return errMethod("Bitbucket Data Center", method)
	}
	var p struct {
		bitbucketDCPull
		Version *int
	}
	if _, err := b.call(ctx, http.MethodGet, b.pullPath(of.Number), nil, nil, &p); err != nil {
		return err
	}
	switch {
	case p.Version == nil:
		return errForm(http.StatusOK)
	case p.FromRef.LatestCommit != of.Head:
		return &Error{Kind: Conflict, Message: fmt.Sprintf("the pull request has another head than %.12s", of.Head)}
	}
	query := url.Values{"version": {strconv.Itoa(*p.Version)}}
	body := map[string]any{"strategyId": strategy, "autoSubject": true}
	_, err := b.call(ctx, http.MethodPost, b.pullPath(of.Number)+"/merge", query, body, nil)
	return err
}
