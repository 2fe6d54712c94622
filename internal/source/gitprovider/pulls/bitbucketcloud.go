package pulls

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"cairn.dev/cairn/internal/base/shorten"
)

// BitbucketCloudOptions are where a repository is, and as whom to access it.
type BitbucketCloudOptions struct {
	// URL of the API; https://api.bitbucket.org/2.0 if empty.
	URL string
	// Workspace and Name of the repository, as in its URL.
	Workspace, Name string
	// Token is a bearer access token of a repository, project, workspace or user. It needs to administer the repository
	// for Permission and Review, and to write pull requests for the rest.
	Token string
	// Web sends the requests. It must not connect to addresses that tenants may not name.
	Web *http.Client
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// bitbucketCloud is a Client of Bitbucket Cloud. The paths of the API are those of its documentation of the REST API
// 2.0.
type bitbucketCloud struct {
	rest
	workspace, name, repository string

	mu sync.Mutex
	// login is the user of the token, once it is known.
	login string
	// commits are the complete hashes of the last list of open pull requests.
	commits map[string]string
}

// NewBitbucketCloud creates a Client of Bitbucket Cloud. It is tested against a fake of the API only, not against
// Bitbucket Cloud.
//
// The login of a user is the UUID of the account without its braces, because users can change their nickname. The API
// returns abbreviated hashes of the commits of a pull request: the client sends a request for each pull request that
// changed, and for each new base, to complete them. A hash is empty if it does not belong to the newest commit of the
// pull request, which was then changed between two requests or has no commits; a later list has the hash.
func NewBitbucketCloud(o BitbucketCloudOptions) Client {
	now := o.Now
	if now == nil {
		now = time.Now
	}
	base := strings.TrimSuffix(cmp.Or(o.URL, "https://api.bitbucket.org/2.0"), "/")
	return &bitbucketCloud{
		rest: rest{
			base: base, web: o.Web, scheme: "Bearer", token: fixed(o.Token), now: now, message: bitbucketMessage,
		},
		workspace: o.Workspace, name: o.Name,
		repository: "/repositories/" + url.PathEscape(o.Workspace) + "/" + url.PathEscape(o.Name),
	}
}

type bitbucketCloudUser struct{ UUID string }

func (u bitbucketCloudUser) login() string { return strings.Trim(u.UUID, "{}") }

type bitbucketCloudEnd struct {
	Branch     struct{ Name string }
	Commit     struct{ Hash string }
	Repository *struct {
		FullName string `json:"full_name"`
	}
}

type bitbucketCloudPull struct {
	ID                  int
	Title, State        string
	Author              bitbucketCloudUser
	Draft               bool
	Source, Destination bitbucketCloudEnd
	MergeCommit         *struct{ Hash string } `json:"merge_commit"`
	Links               struct{ HTML struct{ Href string } }
	Updated             time.Time `json:"updated_on"`
}

// pull returns the pull request without its commits.
func (p bitbucketCloudPull) pull() PullRequest {
	source, destination := p.Source.Repository, p.Destination.Repository
	return PullRequest{
		Number: p.ID, Title: p.Title, Author: p.Author.login(), URL: p.Links.HTML.Href,
		State: cmp.Or(map[string]State{"OPEN": Open, "MERGED": Merged}[p.State], Closed), Draft: p.Draft,
		Head: Ref{Branch: p.Source.Branch.Name}, Base: Ref{Branch: p.Destination.Branch.Name},
		Fork: source == nil || destination == nil || source.FullName != destination.FullName, Updated: p.Updated,
	}
}

// Open implements Client. The newest update is first, so any change of an open pull request changes the first page or
// the number.
func (b *bitbucketCloud) Open(ctx context.Context, last Version) ([]PullRequest, Version, error) {
	path := b.repository + "/pullrequests"
	query := url.Values{"state": {"OPEN"}, "sort": {"-updated_on"}, "pagelen": {"50"}}
	var data json.RawMessage
	if _, err := b.call(ctx, http.MethodGet, path, query, nil, &data); err != nil {
		return nil, "", err
	}
	var first bitbucketCloudPage
	if err := json.Unmarshal(data, &first); err != nil {
		return nil, "", &Error{Kind: Invalid, Status: http.StatusOK, Message: notTheForm}
	}
	version := Version(fmt.Sprintf("%x", sha256.Sum256(data)))
	if version == last && (first.Size != nil || first.Next == "") {
		return nil, last, ErrUnchanged
	}
	found, err := bitbucketCloudList[bitbucketCloudPull](ctx, b, path, query, MaxOpen, &first)
	if err != nil {
		return nil, "", err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	commits := map[string]string{}
	var open []PullRequest
	for _, p := range found {
		pull, err := b.complete(ctx, p, b.commits, commits)
		if err != nil { // the next call continues
			maps.Copy(commits, b.commits)
			b.commits = commits
			return nil, "", err
		}
		if open = append(open, pull); pull.Head.Commit == "" && p.Source.Commit.Hash != "" {
			version = "" // the next call reads it again
		}
	}
	b.commits = commits
	return open, version, nil
}

// Get implements Client.
func (b *bitbucketCloud) Get(ctx context.Context, number int) (PullRequest, error) {
	var p bitbucketCloudPull
	if _, err := b.call(ctx, http.MethodGet, b.pullPath(number), nil, nil, &p); err != nil {
		return PullRequest{}, err
	}
	pull, err := b.complete(ctx, p, nil, map[string]string{})
	if err != nil || pull.State != Merged || p.MergeCommit == nil || p.MergeCommit.Hash == "" {
		return pull, err
	}
	merge := p.MergeCommit.Hash
	pull.MergeCommit, err = b.hash(ctx, merge, b.repository+"/commit/"+url.PathEscape(merge), false)
	return pull, err
}

func (b *bitbucketCloud) pullPath(number int) string {
	return fmt.Sprintf("%s/pullrequests/%d", b.repository, number)
}

type bitbucketCloudComment struct {
	ID      int64
	User    bitbucketCloudUser
	Content struct{ Raw string }
	Deleted bool
	Inline  *struct{}
	Created time.Time `json:"created_on"`
	Updated time.Time `json:"updated_on"`
}

// comment returns the comment. The times of a new one differ by milliseconds.
func (c bitbucketCloudComment) comment() Comment {
	edited := c.Updated.Sub(c.Created) > time.Second
	return Comment{ID: c.ID, Author: c.User.login(), Body: c.Content.Raw, Edited: edited, Created: c.Created}
}

// Comments implements Client. It does not return comments on files, and deleted ones.
func (b *bitbucketCloud) Comments(ctx context.Context, number int, since time.Time) ([]Comment, error) {
	comments, err := b.allComments(ctx, number, since)
	return bitbucketSince(comments, since), err
}

func (b *bitbucketCloud) allComments(ctx context.Context, number int, since time.Time) ([]Comment, error) {
	query := url.Values{"pagelen": {"100"}}
	if !since.IsZero() {
		query.Set("q", "created_on >= "+since.UTC().Format("2006-01-02T15:04:05.000000-07:00"))
	}
	path := b.pullPath(number) + "/comments"
	found, err := bitbucketCloudList[bitbucketCloudComment](ctx, b, path, query, bitbucketComments, nil)
	var comments []Comment
	for _, c := range found {
		if !c.Deleted && c.Inline == nil {
			comments = append(comments, c.comment())
		}
	}
	bitbucketSort(comments)
	return comments, bitbucketTooMany(err)
}

// Upsert implements Client.
func (b *bitbucketCloud) Upsert(
	ctx context.Context, number int, known int64, isOurs func(body string) bool, body string,
) (Written, error) {
	return upsert(ctx, b, number, known, isOurs, body)
}

func (b *bitbucketCloud) commentPath(number int, id int64) string {
	return fmt.Sprintf("%s/comments/%d", b.pullPath(number), id)
}

func bitbucketCloudContent(body string) any {
	return map[string]any{"content": map[string]string{"raw": body}}
}

func (b *bitbucketCloud) written(ctx context.Context, number int) ([]Comment, error) {
	return bitbucketWritten(ctx, b, number)
}

func (b *bitbucketCloud) create(ctx context.Context, number int, body string) (Written, error) {
	var c bitbucketCloudComment
	_, err := b.call(ctx, http.MethodPost, b.pullPath(number)+"/comments", nil, bitbucketCloudContent(body), &c)
	if err == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.login = c.User.login()
	}
	return Written{c.ID, c.Updated}, err
}

func (b *bitbucketCloud) update(ctx context.Context, number int, id int64, body string) (time.Time, error) {
	var c bitbucketCloudComment
	_, err := b.call(ctx, http.MethodPut, b.commentPath(number, id), nil, bitbucketCloudContent(body), &c)
	return c.Updated, err
}

func (b *bitbucketCloud) remove(ctx context.Context, number int, id int64) error {
	_, err := b.call(ctx, http.MethodDelete, b.commentPath(number, id), nil, nil, nil)
	return err
}

// self returns the login of the token's user; empty if it is not known yet, and the token may not read it, as that of a
// repository.
func (b *bitbucketCloud) self(ctx context.Context) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.login == "" {
		var user bitbucketCloudUser
		if _, err := b.call(ctx, http.MethodGet, "/user", nil, nil, &user); err != nil && KindOf(err) != Forbidden {
			return "", err
		}
		b.login = user.login()
	}
	return b.login, nil
}

// SetStatus implements Client. The key of a status is its context, or a digest if that is longer than 40 characters.
func (b *bitbucketCloud) SetStatus(ctx context.Context, commit string, status Status) error {
	key := status.Context
	if len(key) > 40 {
		key = fmt.Sprintf("%x", sha256.Sum256([]byte(key)))[:40]
	}
	commit = url.PathEscape(commit)
	page := "https://bitbucket.org/" + url.PathEscape(b.workspace) + "/" + url.PathEscape(b.name) + "/commits/" + commit
	body := map[string]string{
		"key": key, "name": shorten.Characters(status.Context, 255), "state": bitbucketState(status.State),
		"url":         cmp.Or(status.URL, page), // required
		"description": shorten.Characters(status.Description, b.Limits().Description),
	}
	_, err := b.call(ctx, http.MethodPost, b.repository+"/commit/"+commit+"/statuses/build", nil, body, nil)
	return err
}

// React implements Client. It has no effect: Bitbucket Cloud has no API for reactions.
func (b *bitbucketCloud) React(context.Context, int, int64, Reaction) error { return nil }

// Teams implements Client. It returns none: the API 2.0 does not list the groups of a user.
func (b *bitbucketCloud) Teams(context.Context, string) ([]string, error) { return nil, nil }

// Limits implements Client.
func (b *bitbucketCloud) Limits() Limits { return Limits{Comment: 32_768, Description: 255} }
