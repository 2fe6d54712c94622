package pulls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/google/go-github/v88/github"
	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// maxReviews is the maximum number of reviews of a pull request that a client reads.
const maxReviews = 1000

// errTooManyReviews: a pull request has more reviews than maxReviews, of which a part could be wrong.
var errTooManyReviews = &Error{
	Kind: Invalid, Status: http.StatusOK, Message: fmt.Sprintf("the pull request has more than %d reviews", maxReviews),
}

// Review is an approval of a pull request.
type Review struct {
	// Author is the login of the user who approved.
	Author string
	// Commit is the head commit that was approved; empty if the Git provider does not show which one it was.
	Commit string
	// At is when the user approved, by the clock of the Git provider; zero if it does not report that.
	At time.Time
}

// result is a review that approves or does not. Comments have none.
type result struct {
	Review
	id       int64
	approves bool
}

// approving returns the newest result of each user, if it approves, by user.
func approving(results []result) (reviews []Review) {
	slices.SortFunc(results, func(a, b result) int {
		return cmp.Or(cmp.Compare(a.Author, b.Author), cmp.Compare(b.id, a.id))
	})
	before := ""
	for _, v := range results {
		if v.Author != before && v.approves {
			reviews = append(reviews, v.Review)
		}
		before = v.Author
	}
	return reviews
}

type giteaReview struct {
	ID               int64
	User             *giteaUser
	State            string
	Commit           string `json:"commit_id"`
	Stale, Dismissed bool
	// Official: it counts for the rules of the branch.
	Official  bool
	Submitted time.Time `json:"submitted_at"`
}

// Reviews implements Client.
func (g *gitea) Reviews(ctx context.Context, number int) ([]Review, error) {
	found, err := list[giteaReview](ctx, g, g.pullPath(number)+"/reviews", maxReviews)
	if errors.Is(err, ErrTooMany) {
		return nil, errTooManyReviews
	}
	var results []result
	for _, r := range found {
		if r.User != nil && (r.State == "APPROVED" || r.State == "REQUEST_CHANGES") {
			approves := r.State == "APPROVED" && !r.Dismissed && !r.Stale
			results = append(results, result{Review{r.User.Login, r.Commit, r.Submitted}, r.ID, approves})
		}
	}
	return approving(results), err
}

// Reviews implements Client.
func (g *gitHub) Reviews(ctx context.Context, number int) ([]Review, error) {
	var results []result
	read := 0
	for options := (&github.ListOptions{PerPage: gitHubPage}); ; {
		page, response, err := g.api.PullRequests.ListReviews(ctx, g.owner, g.name, number, options)
		if err != nil {
			return nil, failed(ctx, err)
		}
		for _, r := range page {
			switch state := r.GetState(); state {
			case "APPROVED", "CHANGES_REQUESTED", "DISMISSED":
				review := Review{r.GetUser().GetLogin(), r.GetCommitID(), r.GetSubmittedAt().Time}
				results = append(results, result{review, r.GetID(), state == "APPROVED"})
			}
		}
		if read += len(page); read > maxReviews {
			return nil, errTooManyReviews
		}
		if options.Page = response.NextPage; options.Page == 0 {
			return approving(results), nil
		}
	}
}

// Reviews implements Client. GitLab has approvals without a commit, and versions, one of which each push adds: one that
// is newer than an approval is another commit than the approved one. The versions are read last, so that they include
// each push before that.
func (g *gitLab) Reviews(ctx context.Context, number int) ([]Review, error) {
	found, _, err := g.api.MergeRequestApprovals.GetConfiguration(g.project, int64(number), gitlab.WithContext(ctx))
	if err != nil {
		return nil, failed(ctx, err)
	}
	if len(found.ApprovedBy) > maxReviews {
		return nil, errTooManyReviews
	}
	newest := &gitlab.MergeRequestDiffVersion{}
	options := &gitlab.GetMergeRequestDiffVersionsOptions{ListOptions: gitlab.ListOptions{PerPage: 100}}
	for v, err := range gitlab.Scan2(func(page gitlab.PaginationOptionFunc) ([]*gitlab.MergeRequestDiffVersion,
		*gitlab.Response, error) {
		return g.api.MergeRequests.GetMergeRequestDiffVersions(g.project, int64(number), options,
			gitlab.WithContext(ctx), page)
	}) {
		if err != nil {
			return nil, failed(ctx, err)
		}
		if v.ID > newest.ID {
			newest = v
		}
	}
	var reviews []Review
	for _, a := range found.ApprovedBy {
		if a.User == nil {
			continue
		}
		review := Review{Author: a.User.Username, At: timeOf(a.ApprovedAt)}
		if newest.CreatedAt != nil && newest.CreatedAt.Before(review.At) {
			review.Commit = newest.HeadCommitSHA
		}
		reviews = append(reviews, review)
	}
	return reviews, nil
}
