package pulls

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"time"
)

// Reviews implements Client. Bitbucket Cloud has approvals without a commit, and a log of activities. An update there
// that is newer than an approval may be a push, so that the approval is of another commit. The log is read last, so
// that it includes each update before that.
func (b *bitbucketCloud) Reviews(ctx context.Context, number int) ([]Review, error) {
	var p struct {
		bitbucketCloudPull
		Participants []struct {
			User     bitbucketCloudUser
			Approved bool
			State    string
			At       time.Time `json:"participated_on"`
		}
	}
	if _, err := b.call(ctx, http.MethodGet, b.pullPath(number), nil, nil, &p); err != nil {
		return nil, err
	}
	var reviews []Review
	for _, of := range p.Participants {
		if of.Approved && (of.State == "approved" || of.State == "") {
			reviews = append(reviews, Review{Author: of.User.login(), At: of.At})
		}
	}
	if len(reviews) == 0 {
		return nil, nil
	}
	head, err := b.hash(ctx, p.Source.Commit.Hash, b.pullPath(number)+"/commits", true)
	if err != nil {
		return nil, err
	}
	updated, err := b.updated(ctx, number)
	for i := range reviews {
		if !updated.IsZero() && updated.Before(reviews[i].At) {
			reviews[i].Commit = head
		}
	}
	return reviews, err
}

// updated returns when a pull request was updated last, but for its merge; zero if it never was.
func (b *bitbucketCloud) updated(ctx context.Context, number int) (time.Time, error) {
	query := url.Values{"pagelen": {"50"}}
	for read := 0; read <= maxReviews; { // the newest are first
		var page bitbucketCloudPage
		if _, err := b.call(ctx, http.MethodGet, b.pullPath(number)+"/activity", query, nil, &page); err != nil {
			return time.Time{}, err
		}
		var some []struct {
			Update *struct {
				State string
				Date  time.Time
			}
		}
		if err := json.Unmarshal(page.Values, &some); err != nil {
			return time.Time{}, errForm(http.StatusOK)
		}
		for _, a := range some {
			if a.Update != nil && a.Update.State != "MERGED" && a.Update.State != "FULFILLED" {
				return a.Update.Date, nil
			}
		}
		next, err := url.Parse(page.Next)
		if err != nil {
			return time.Time{}, errForm(http.StatusOK)
		}
		if query = next.Query(); page.Next == "" || len(some) == 0 {
			return time.Time{}, nil
		}
		read += len(some)
	}
	return time.Time{}, errTooManyReviews
}

// Reviews implements Client.
func (b *bitbucketDC) Reviews(ctx context.Context, number int) ([]Review, error) {
	type participant struct {
		User     bitbucketDCUser
		Approved bool
		Status   string
		Commit   string `json:"lastReviewedCommit"`
	}
	var p struct{ Reviewers, Participants []participant }
	if _, err := b.call(ctx, http.MethodGet, b.pullPath(number), nil, nil, &p); err != nil {
		return nil, err
	}
	var reviews []Review
	for _, of := range append(p.Reviewers, p.Participants...) {
		if of.Approved && of.Status == "APPROVED" {
			reviews = append(reviews, Review{Author: of.User.Name, Commit: of.Commit})
		}
	}
	if len(reviews) == 0 {
		return nil, nil
	}
	path, query := b.pullPath(number)+"/activities", url.Values{"limit": {"500"}}
	all, err := bitbucketDCList[struct {
		Action      string
		User        bitbucketDCUser
		CreatedDate int64
	}](ctx, b, path, query, bitbucketComments, nil)
	for i := range reviews {
		for _, a := range all {
			if at := milliseconds(a.CreatedDate); a.Action == "APPROVED" && a.User.Name == reviews[i].Author &&
				at.After(reviews[i].At) {
				reviews[i].At = at
			}
		}
	}
	return reviews, bitbucketTooMany(err)
}
