package pulls

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cairn.dev/cairn/internal/base/shorten"
)

// BitbucketDataCenterOptions are where a repository is, and as whom to access it.
type BitbucketDataCenterOptions struct {
	// URL of Bitbucket Data Center. Example: https://bitbucket.example.com.
	URL string
	// Project is the key of the project, or ~ and the name of a user, and Name the slug of the repository.
	Project, Name string
	// Token is an HTTP access token of a user.
	Token string
	// Web sends the requests. It must not connect to addresses that tenants may not name.
	Web *http.Client
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// bitbucketDC is a Client of Bitbucket Data Center. The paths of the API are those of its documentation of the REST
// API.
type bitbucketDC struct {
	rest
	url, path, repository string

	mu sync.Mutex
	// login is the user of the token, once it is known.
	login string
}

// NewBitbucketDataCenter creates a Client of Bitbucket Data Center 7.4 or newer. It is tested against a fake of the API
// only, not against Bitbucket Data Center. The login of a user is its name, which is not the slug of its page.
func NewBitbucketDataCenter(o BitbucketDataCenterOptions) Client {
	now := o.Now
	if now == nil {
		now = time.Now
	}
	base := strings.TrimSuffix(o.URL, "/")
	path := "/projects/" + url.PathEscape(o.Project) + "/repos/" + url.PathEscape(o.Name)
	return &bitbucketDC{
		rest: rest{
			base: base + "/rest", web: o.Web, scheme: "Bearer", token: fixed(o.Token), now: now,
			message: bitbucketMessage,
		},
		url: base, path: path, repository: "/api/1.0" + path,
	}
}

type bitbucketDCUser struct{ Name string }

type bitbucketDCRef struct {
	DisplayID    string
	LatestCommit string
	Repository   *struct{ ID int64 }
}

type bitbucketDCPull struct {
	ID             int
	Title, State   string
	Draft          bool
	Author         struct{ User bitbucketDCUser }
	FromRef, ToRef bitbucketDCRef
	UpdatedDate    int64
	Properties     struct{ MergeCommit struct{ ID string } }
	Links          struct{ Self []struct{ Href string } }
}

func (p bitbucketDCPull) pull() PullRequest {
	from, to := p.FromRef.Repository, p.ToRef.Repository
	pull := PullRequest{
		Number: p.ID, Title: p.Title, Author: p.Author.User.Name, Updated: time.UnixMilli(p.UpdatedDate).UTC(),
		State: cmp.Or(map[string]State{"OPEN": Open, "MERGED": Merged}[p.State], Closed), Draft: p.Draft,
		Head: Ref{p.FromRef.DisplayID, p.FromRef.LatestCommit}, Base: Ref{p.ToRef.DisplayID, p.ToRef.LatestCommit},
		Fork: from == nil || to == nil || from.ID != to.ID,
	}
	if pull.State == Merged {
		pull.MergeCommit = p.Properties.MergeCommit.ID
	}
	if len(p.Links.Self) > 0 {
		pull.URL = p.Links.Self[0].Href
	}
	return pull
}

// bitbucketDCList returns all objects of a list, or ErrTooMany. It writes the pages to the digest, if that is not nil.
func bitbucketDCList[T any](
	ctx context.Context, b *bitbucketDC, path string, query url.Values, most int, digest hash.Hash,
) (all []T, err error) {
	start := 0
	for number := 1; number <= most; number++ { // a page has an object at least
		query.Set("start", strconv.Itoa(start))
		var data json.RawMessage
		if _, err := b.call(ctx, http.MethodGet, path, query, nil, &data); err != nil {
			return nil, err
		}
		if digest != nil {
			digest.Write(data)
		}
		var page struct {
			Values        []T
			IsLastPage    *bool
			NextPageStart int
		}
		if err := json.Unmarshal(data, &page); err != nil || page.IsLastPage == nil {
			return nil, &Error{Kind: Invalid, Status: http.StatusOK, Message: notTheForm}
		}
		if all = append(all, page.Values...); len(all) > most {
			return nil, ErrTooMany
		}
		if *page.IsLastPage {
			return all, nil
		}
		start = page.NextPageStart
	}
	return nil, ErrTooMany
}

// Open implements Client. It sends a request for each 100 open pull requests even if none changed: the API does not
// sort them by their last update, so that the first page alone does not show a change of another.
func (b *bitbucketDC) Open(ctx context.Context, last Version) ([]PullRequest, Version, error) {
	query, digest := url.Values{"state": {"OPEN"}, "order": {"NEWEST"}, "limit": {"100"}}, sha256.New()
	found, err := bitbucketDCList[bitbucketDCPull](ctx, b, b.repository+"/pull-requests", query, MaxOpen, digest)
	if err != nil {
		return nil, "", err
	}
	version := Version(fmt.Sprintf("%x", digest.Sum(nil)))
	if version == last {
		return nil, last, ErrUnchanged
	}
	var open []PullRequest
	for _, p := range found {
		open = append(open, p.pull())
	}
	slices.SortStableFunc(open, func(a, b PullRequest) int { return b.Updated.Compare(a.Updated) })
	return open, version, nil
}

// Get implements Client.
func (b *bitbucketDC) Get(ctx context.Context, number int) (PullRequest, error) {
	var p bitbucketDCPull
	_, err := b.call(ctx, http.MethodGet, b.pullPath(number), nil, nil, &p)
	return p.pull(), err
}

func (b *bitbucketDC) pullPath(number int) string {
	return fmt.Sprintf("%s/pull-requests/%d", b.repository, number)
}

// SetStatus implements Client.
func (b *bitbucketDC) SetStatus(ctx context.Context, commit string, status Status) error {
	key := status.Context
	if len(key) > 255 {
		key = fmt.Sprintf("%x", sha256.Sum256([]byte(key)))
	}
	body := map[string]string{
		"key": key, "name": shorten.Characters(status.Context, 255), "state": bitbucketState(status.State),
		"url":         cmp.Or(status.URL, b.url), // required
		"description": shorten.Characters(status.Description, b.Limits().Description),
	}
	_, err := b.call(ctx, http.MethodPost, b.repository+"/commits/"+url.PathEscape(commit)+"/builds", nil, body, nil)
	return err
}

// React implements Client.
func (b *bitbucketDC) React(ctx context.Context, number int, comment int64, reaction Reaction) error {
	emoticon := map[Reaction]string{Accepted: "thumbsup", Rejected: "thumbsdown"}[reaction]
	path := fmt.Sprintf("/comment-likes/latest%s/pull-requests/%d/comments/%d/reactions/", b.path, number, comment)
	_, err := b.call(ctx, http.MethodPut, path+emoticon, nil, nil, nil)
	return err
}

// Teams implements Client. It returns none: only an administrator of the server may read who is a member of a group.
func (b *bitbucketDC) Teams(context.Context, string) ([]string, error) { return nil, nil }

// Limits implements Client.
func (b *bitbucketDC) Limits() Limits { return Limits{Comment: 32_768, Description: 255} }
