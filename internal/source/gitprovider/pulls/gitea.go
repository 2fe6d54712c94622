package pulls

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"cairn.dev/cairn/internal/base/shorten"
)

// GiteaOptions are where a repository is, and as whom to access it.
type GiteaOptions struct {
	// URL of Gitea or Forgejo. Example: https://git.example.com.
	URL string
	// Owner and Name of the repository.
	Owner, Name string
	// Token of the user that comments and sets statuses.
	Token string
	// Web sends the requests. It must not connect to addresses that tenants may not name.
	Web *http.Client
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// gitea is a Client of Gitea and Forgejo. The paths of the API are those of its documentation at /api/swagger.
type gitea struct {
	rest
	owner, repository string

	mu sync.Mutex
	// login is the user of the token, once it is known.
	login string
}

// giteaPage is the requested number of objects in a page. A server may return fewer.
const giteaPage = "50"

// NewGitea creates a Client of Gitea or Forgejo.
func NewGitea(o GiteaOptions) Client {
	now := o.Now
	if now == nil {
		now = time.Now
	}
	return &gitea{
		rest: rest{base: strings.TrimSuffix(o.URL, "/") + "/api/v1", web: o.Web, scheme: "token",
			token: fixed(o.Token), now: now},
		owner: o.Owner, repository: "/repos/" + url.PathEscape(o.Owner) + "/" + url.PathEscape(o.Name),
	}
}

type giteaUser struct{ Login string }

type giteaBranch struct {
	Ref, SHA string
	RepoID   int64 `json:"repo_id"`
	Repo     *struct{ ID int64 }
}

type giteaPull struct {
	Number        int
	Title, State  string
	User          giteaUser
	URL           string `json:"html_url"`
	Draft, Merged bool
	MergeCommit   string `json:"merge_commit_sha"`
	Head, Base    giteaBranch
	Updated       time.Time `json:"updated_at"`
}

func (p giteaPull) pull() PullRequest {
	state, commit := Open, ""
	switch {
	case p.Merged:
		state, commit = Merged, p.MergeCommit
	case p.State == "closed":
		state = Closed
	}
	return PullRequest{
		Number: p.Number, Title: p.Title, Author: p.User.Login, URL: p.URL, State: state, MergeCommit: commit,
		Draft: p.Draft,
		Head:  Ref{p.Head.Ref, p.Head.SHA}, Base: Ref{p.Base.Ref, p.Base.SHA},
		Fork: p.Head.Repo == nil || p.Head.Repo.ID != p.Base.RepoID, Updated: p.Updated,
	}
}

// Open implements Client. The newest update is first, so any change of an open pull request changes the first page.
func (g *gitea) Open(ctx context.Context, last Version) ([]PullRequest, Version, error) {
	query := url.Values{"state": {"open"}, "sort": {"recentupdate"}}
	total, first, err := g.page(ctx, g.repository+"/pulls", query, 1)
	if err != nil {
		return nil, "", err
	}
	version := Version(fmt.Sprintf("%d %x", total, sha256.Sum256(first)))
	if version == last {
		return nil, last, ErrUnchanged
	}
	pulls, err := pages[giteaPull](ctx, g, g.repository+"/pulls", query, MaxOpen, total, first)
	if err != nil {
		return nil, "", err
	}
	var open []PullRequest
	for _, p := range pulls {
		open = append(open, p.pull())
	}
	return open, version, nil
}

// page returns a page of a list as it is, and the number of all objects of the list.
func (g *gitea) page(ctx context.Context, path string, query url.Values, number int) (total int, page json.RawMessage,
	err error) {
	query = maps.Clone(query)
	if query == nil {
		query = url.Values{}
	}
	query.Set("limit", giteaPage)
	query.Set("page", strconv.Itoa(number))
	header, err := g.call(ctx, http.MethodGet, path, query, nil, &page)
	if err != nil {
		return 0, nil, err
	}
	if total, err = strconv.Atoi(header.Get("X-Total-Count")); err != nil {
		return 0, nil, &Error{Kind: Invalid, Status: http.StatusOK,
			Message: "the response has no number of objects (X-Total-Count)"}
	}
	return total, page, nil
}

// pages returns all objects of a list by its first page and the others, or ErrTooMany if there are more than most: a
// decision on a part of them could be wrong.
func pages[T any](ctx context.Context, g *gitea, path string, query url.Values, most, total int,
	page json.RawMessage) (all []T, err error) {
	for number := 2; total <= most; number++ {
		var some []T
		if err := json.Unmarshal(page, &some); err != nil {
			return nil, errForm(http.StatusOK)
		}
		all = append(all, some...)
		if len(some) == 0 || len(all) >= total { // an object may be gone since the first page
			return all, nil
		}
		if total, page, err = g.page(ctx, path, query, number); err != nil {
			return nil, err
		}
	}
	return nil, ErrTooMany
}

// list returns all objects of a list, or ErrTooMany.
func list[T any](ctx context.Context, g *gitea, path string, most int) ([]T, error) {
	total, first, err := g.page(ctx, path, nil, 1)
	if err != nil {
		return nil, err
	}
	return pages[T](ctx, g, path, nil, most, total, first)
}

// Get implements Client.
func (g *gitea) Get(ctx context.Context, number int) (PullRequest, error) {
	var p giteaPull
	_, err := g.call(ctx, http.MethodGet, g.pullPath(number), nil, nil, &p)
	return p.pull(), err
}

func (g *gitea) pullPath(number int) string { return fmt.Sprintf("%s/pulls/%d", g.repository, number) }

type giteaComment struct {
	ID      int64
	User    giteaUser
	Body    string
	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`
}

// Comments implements Client.
func (g *gitea) Comments(ctx context.Context, number int, since time.Time) ([]Comment, error) {
	found, err := g.allComments(ctx, number, since)
	if err != nil {
		return nil, err
	}
	var comments []Comment
	for _, c := range found {
		if c.Created.Before(since.Truncate(time.Second)) || len(comments) == MaxComments { // since is about updates
			continue
		}
		comments = append(comments, Comment{ID: c.ID, Author: c.User.Login, Body: c.Body,
			Edited: c.Updated.After(c.Created), Created: c.Created})
	}
	return comments, nil
}

// allComments returns the comments that were created or changed since, the oldest first. Gitea returns all of them in
// one response.
func (g *gitea) allComments(ctx context.Context, number int, since time.Time) (found []giteaComment, err error) {
	var query url.Values
	if !since.IsZero() {
		query = url.Values{"since": {since.UTC().Format(time.RFC3339)}}
	}
	_, err = g.call(ctx, http.MethodGet, g.commentsPath(number), query, nil, &found)
	slices.SortFunc(found, func(a, b giteaComment) int { return cmp.Compare(a.ID, b.ID) })
	return found, err
}

func (g *gitea) commentsPath(number int) string {
	return fmt.Sprintf("%s/issues/%d/comments", g.repository, number)
}

func (g *gitea) commentPath(id int64) string {
	return fmt.Sprintf("%s/issues/comments/%d", g.repository, id)
}

// Upsert implements Client.
func (g *gitea) Upsert(ctx context.Context, number int, known int64, isOurs func(body string) bool,
	body string) (Written, error) {
	return upsert(ctx, g, number, known, isOurs, body)
}

func (g *gitea) written(ctx context.Context, number int) ([]Comment, error) {
	self, err := g.self(ctx)
	if err != nil {
		return nil, err
	}
	found, err := g.allComments(ctx, number, time.Time{})
	var own []Comment
	for _, c := range found {
		if c.User.Login == self {
			own = append(own, Comment{ID: c.ID, Body: c.Body})
		}
	}
	return own, err
}

func (g *gitea) create(ctx context.Context, number int, body string) (Written, error) {
	var created giteaComment
	_, err := g.call(ctx, http.MethodPost, g.commentsPath(number), nil, map[string]string{"body": body}, &created)
	return Written{created.ID, created.Updated}, err
}

func (g *gitea) update(ctx context.Context, _ int, id int64, body string) (time.Time, error) {
	var c giteaComment
	_, err := g.call(ctx, http.MethodPatch, g.commentPath(id), nil, map[string]string{"body": body}, &c)
	return c.Updated, err
}

func (g *gitea) remove(ctx context.Context, _ int, id int64) error {
	_, err := g.call(ctx, http.MethodDelete, g.commentPath(id), nil, nil, nil)
	return err
}

// self returns the login of the token's user.
func (g *gitea) self(ctx context.Context) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.login == "" {
		var user giteaUser
		if _, err := g.call(ctx, http.MethodGet, "/user", nil, nil, &user); err != nil {
			return "", err
		}
		g.login = user.Login
	}
	return g.login, nil
}

// SetStatus implements Client.
func (g *gitea) SetStatus(ctx context.Context, commit string, status Status) error {
	body := map[string]string{
		"context": status.Context, "state": strings.ToLower(string(status.State)),
		"description": shorten.Characters(status.Description, g.Limits().Description), "target_url": status.URL,
	}
	_, err := g.call(ctx, http.MethodPost, g.repository+"/statuses/"+url.PathEscape(commit), nil, body, nil)
	return err
}

// React implements Client.
func (g *gitea) React(ctx context.Context, _ int, comment int64, reaction Reaction) error {
	content := map[Reaction]string{Accepted: "+1", Rejected: "-1"}[reaction]
	_, err := g.call(ctx, http.MethodPost, g.commentPath(comment)+"/reactions", nil,
		map[string]string{"content": content}, nil)
	return err
}

type giteaTeam struct {
	ID   int64
	Name string
}

// Teams implements Client. Gitea lists the teams of a user only for that user, so each team of the organization is
// asked for. The client must be a member of the team, or an owner of the organization.
func (g *gitea) Teams(ctx context.Context, login string) ([]string, error) {
	all, err := list[giteaTeam](ctx, g, "/orgs/"+url.PathEscape(g.owner)+"/teams", maxTeams)
	// the owner is a user, or its teams are hidden from the client
	if kind := KindOf(err); kind == NotFound || kind == Forbidden {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var teams []string
	for _, team := range all {
		_, err := g.call(ctx, http.MethodGet, fmt.Sprintf("/teams/%d/members/%s", team.ID, url.PathEscape(login)),
			nil, nil, nil)
		// of a team that the client is no member of, it learns nothing
		if kind := KindOf(err); kind == NotFound || kind == Forbidden {
			continue
		}
		if err != nil {
			return nil, err
		}
		teams = append(teams, g.owner+"/"+team.Name)
	}
	return teams, nil
}

// Limits implements Client. Gitea publishes no limit for comments; its column of a description has no limit, and its
// pages show 255.
func (g *gitea) Limits() Limits { return Limits{Comment: 65_536, Description: 255, HTML: true} }

type giteaCommit struct {
	SHA string
	// Author and Committer are those of the server; nil if it has no user with the address in the commit.
	Author, Committer *giteaUser
}

// Committers implements Committers.
func (g *gitea) Committers(ctx context.Context, number int, head string) ([]string, error) {
	found, err := list[giteaCommit](ctx, g, g.pullPath(number)+"/commits", maxCommits)
	if errors.Is(err, ErrTooMany) {
		return []string{""}, nil
	}
	var commits []committed
	for _, c := range found {
		one := committed{id: c.SHA}
		for _, user := range []*giteaUser{c.Author, c.Committer} {
			if user == nil {
				user = &giteaUser{}
			}
			one.logins = append(one.logins, user.Login)
		}
		commits = append(commits, one)
	}
	return committers(commits, head), err
}
