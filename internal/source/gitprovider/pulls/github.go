package pulls

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/google/go-github/v88/github"

	"cairn.dev/cairn/internal/base/shorten"
)

// GitHubOptions are where a repository is, and as whom to access it.
type GitHubOptions struct {
	// URL of GitHub: https://github.com, or that of a GitHub Enterprise Server.
	URL string
	// Owner and Name of the repository.
	Owner, Name string
	// Token of the user that comments and sets statuses.
	Token string
	// AppToken returns a token of the installation of an App, which is used instead. Example: the method Token of a
	// ghinstallation.Transport that sends its requests by Web.
	AppToken func(context.Context) (string, error)
	// Web sends the requests. It must not connect to addresses that tenants may not name.
	Web *http.Client
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// gitHub is a Client of GitHub. What REST lacks or needs many requests for is a query of GraphQL.
type gitHub struct {
	rest // of GraphQL
	api  *github.Client
	// owner and name are escaped for a path, organization is not.
	owner, name, organization string

	mu sync.Mutex
	// login is the author of the comments of this client, once it is known.
	login string
}

// gitHubPage is the number of objects in a page, the maximum.
const gitHubPage = 100

// NewGitHub creates a Client of GitHub.
func NewGitHub(o GitHubOptions) (Client, error) {
	now, token := o.Now, o.AppToken
	if now == nil {
		now = time.Now
	}
	if token == nil {
		token = fixed(o.Token)
	}
	base := strings.TrimSuffix(o.URL, "/")
	api, graphQL := base+"/api/v3/", base+"/api"
	if base == "https://github.com" {
		api, graphQL = "https://api.github.com/", "https://api.github.com"
	}
	g := &gitHub{
		rest:  rest{base: graphQL, web: o.Web, scheme: "Bearer", token: token, now: now},
		owner: url.PathEscape(o.Owner), name: url.PathEscape(o.Name), organization: o.Owner,
	}
	var err error
	g.api, err = github.NewClient(github.WithHTTPClient(&http.Client{Transport: &g.rest}), github.WithURLs(&api, &api),
		github.WithDisableRateLimitCheck())
	return g, err
}

func gitHubPull(p *github.PullRequest) PullRequest {
	state, commit := Open, "" // an open one has a merge commit too, which GitHub tests
	switch {
	case p.GetMerged():
		state, commit = Merged, p.GetMergeCommitSHA()
	case p.GetState() == "closed":
		state = Closed
	}
	head, base := p.GetHead(), p.GetBase()
	return PullRequest{
		Number: p.GetNumber(), Title: p.GetTitle(), Author: p.GetUser().GetLogin(), URL: p.GetHTMLURL(), State: state,
		MergeCommit: commit, Draft: p.GetDraft(),
		Head: Ref{head.GetRef(), head.GetSHA()}, Base: Ref{base.GetRef(), base.GetSHA()},
		Fork: head.GetRepo() == nil || head.GetRepo().GetID() != base.GetRepo().GetID(), Updated: p.GetUpdatedAt().Time,
	}
}

// Open implements Client. The version has the ETag of each page, so that a pull request that is closed on a later page
// is a change: an unchanged list costs one request for each page, which do not count for GitHub's limit.
func (g *gitHub) Open(ctx context.Context, last Version) ([]PullRequest, Version, error) {
	var open []PullRequest
	var tags []string
	known := strings.Fields(string(last))
	for number := 1; number != 0; {
		tag := ""
		if number <= len(known) {
			tag = known[number-1]
		}
		page, response, err := g.page(ctx, number, tag)
		switch {
		case tag != "" && isUnmodified(err):
			if number == len(known) {
				return nil, last, ErrUnchanged
			}
			number++
			continue
		case err != nil:
			return nil, "", err
		case tag != "" && number > 1: // the pages before it are needed too
			known, number = nil, 1
			continue
		}
		known = nil
		for _, p := range page {
			open = append(open, gitHubPull(p))
		}
		if len(open) > MaxOpen {
			return nil, "", ErrTooMany
		}
		tags, number = append(tags, response.Header.Get("ETag")), response.NextPage
	}
	return open, Version(strings.Join(tags, " ")), nil
}

// page returns a page of open pull requests, the newest update first, unless it has the ETag.
func (g *gitHub) page(ctx context.Context, number int, tag string) (page []*github.PullRequest,
	response *github.Response, err error) {
	path := fmt.Sprintf("repos/%s/%s/pulls?state=open&sort=updated&direction=desc&per_page=%d&page=%d", g.owner, g.name,
		gitHubPage, number)
	request, err := g.api.NewRequest(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, nil, err
	}
	if tag != "" {
		request.Header.Set("If-None-Match", tag)
	}
	response, err = g.api.Do(request, &page)
	return page, response, failed(ctx, err)
}

func isUnmodified(err error) bool {
	e, ok := errors.AsType[*Error](err)
	return ok && e.Status == http.StatusNotModified
}

// Get implements Client.
func (g *gitHub) Get(ctx context.Context, number int) (PullRequest, error) {
	p, _, err := g.api.PullRequests.Get(ctx, g.owner, g.name, number)
	if err != nil {
		return PullRequest{}, failed(ctx, err)
	}
	return gitHubPull(p), nil
}

// Comments implements Client.
func (g *gitHub) Comments(ctx context.Context, number int, since time.Time) ([]Comment, error) {
	var comments []Comment
	for c, err := range g.comments(ctx, number, since) {
		if err != nil {
			return nil, failed(ctx, err)
		}
		created := c.GetCreatedAt().Time
		if created.Before(since.Truncate(time.Second)) { // since is about updates
			continue
		}
		comments = append(comments, Comment{
			ID: c.GetID(), Author: c.GetUser().GetLogin(), Body: c.GetBody(),
			Edited: !c.GetUpdatedAt().Equal(c.GetCreatedAt()), Created: created,
		})
		if len(comments) == MaxComments {
			break
		}
	}
	return comments, nil
}

// comments returns those that were created or changed since, the oldest first.
func (g *gitHub) comments(ctx context.Context, number int, since time.Time) iter.Seq2[*github.IssueComment, error] {
	options := &github.IssueListCommentsOptions{ListOptions: github.ListOptions{PerPage: gitHubPage}}
	if !since.IsZero() {
		options.Since = &since
	}
	return g.api.Issues.ListCommentsIter(ctx, g.owner, g.name, number, options)
}

// Upsert implements Client.
func (g *gitHub) Upsert(ctx context.Context, number int, known int64, isOurs func(body string) bool,
	body string) (Written, error) {
	return upsert(ctx, g, number, known, isOurs, body)
}

func (g *gitHub) written(ctx context.Context, number int) (own []Comment, err error) {
	self, err := g.self(ctx)
	if err != nil {
		return nil, err
	}
	for c, err := range g.comments(ctx, number, time.Time{}) {
		if err != nil {
			return nil, failed(ctx, err)
		}
		if c.GetUser().GetLogin() == self {
			own = append(own, Comment{ID: c.GetID(), Body: c.GetBody()})
		}
	}
	return own, nil
}

func (g *gitHub) create(ctx context.Context, number int, body string) (Written, error) {
	c, _, err := g.api.Issues.CreateComment(ctx, g.owner, g.name, number, &github.IssueComment{Body: &body})
	return Written{c.GetID(), c.GetUpdatedAt().Time}, failed(ctx, err)
}

func (g *gitHub) update(ctx context.Context, _ int, id int64, body string) (time.Time, error) {
	c, _, err := g.api.Issues.EditComment(ctx, g.owner, g.name, id, &github.IssueComment{Body: &body})
	return c.GetUpdatedAt().Time, failed(ctx, err)
}

func (g *gitHub) remove(ctx context.Context, _ int, id int64) error {
	_, err := g.api.Issues.DeleteComment(ctx, g.owner, g.name, id)
	return failed(ctx, err)
}

// self returns the login of the token's user, which is slug[bot] for an App. REST has it for users only.
func (g *gitHub) self(ctx context.Context) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.login == "" {
		var found struct{ Viewer struct{ Login string } }
		if err := g.query(ctx, "query{viewer{login}}", nil, &found); err != nil {
			return "", err
		}
		g.login = found.Viewer.Login
	}
	return g.login, nil
}

// query sends a query of GraphQL, whose errors have the status 200.
func (g *gitHub) query(ctx context.Context, query string, variables map[string]any, into any) error {
	result := struct {
		Data   any
		Errors []struct{ Type, Message string }
	}{Data: into}
	header, err := g.call(ctx, http.MethodPost, "/graphql", nil, map[string]any{"query": query, "variables": variables},
		&result)
	if err != nil || len(result.Errors) == 0 {
		return err
	}
	first := result.Errors[0]
	kinds := map[string]Kind{"NOT_FOUND": NotFound, "FORBIDDEN": Forbidden, "INSUFFICIENT_SCOPES": Forbidden,
		"RATE_LIMITED": RateLimited}
	secret, _ := g.token(ctx) // which the request had
	return &Error{
		Kind: cmp.Or(kinds[first.Type], Invalid), Status: http.StatusOK, RetryAfter: g.retryAfter(header),
		Message: oneLine(first.Message, secret),
	}
}

// SetStatus implements Client.
func (g *gitHub) SetStatus(ctx context.Context, commit string, s Status) error {
	status := github.RepoStatus{
		Context: &s.Context, State: github.Ptr(strings.ToLower(string(s.State))),
		Description: github.Ptr(shorten.Characters(s.Description, g.Limits().Description)),
	}
	if s.URL != "" {
		status.TargetURL = &s.URL
	}
	_, _, err := g.api.Repositories.CreateStatus(ctx, g.owner, g.name, commit, status)
	return failed(ctx, err)
}

// React implements Client.
func (g *gitHub) React(ctx context.Context, _ int, comment int64, reaction Reaction) error {
	content := map[Reaction]string{Accepted: "+1", Rejected: "-1"}[reaction]
	_, _, err := g.api.Reactions.CreateIssueCommentReaction(ctx, g.owner, g.name, comment, content)
	return failed(ctx, err)
}

// teamsOfUser lists the teams of an organization that a user is a member of.
const teamsOfUser = `query($owner:String!,$login:String!,$after:String){organization(login:$owner){teams(first:100,userLogins:[$login],after:$after){` +
	`nodes{slug}pageInfo{hasNextPage endCursor}}}}`

// Teams implements Client.
func (g *gitHub) Teams(ctx context.Context, login string) (teams []string, err error) {
	variables := map[string]any{"owner": g.organization, "login": login}
	for len(teams) <= maxTeams {
		var found struct {
			Organization struct {
				Teams struct {
					Nodes    []struct{ Slug string }
					PageInfo struct {
						HasNextPage bool
						EndCursor   string
					}
				}
			}
		}
		err := g.query(ctx, teamsOfUser, variables, &found)
		// the owner is a user, or its teams are hidden from the client
		if kind := KindOf(err); kind == NotFound || kind == Forbidden {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		page := found.Organization.Teams
		for _, team := range page.Nodes {
			teams = append(teams, g.organization+"/"+team.Slug)
		}
		if !page.PageInfo.HasNextPage {
			return teams, nil
		}
		variables["after"] = page.PageInfo.EndCursor
	}
	return nil, ErrTooMany
}

// Limits implements Client.
func (g *gitHub) Limits() Limits { return Limits{Comment: 65_536, Description: 140, HTML: true} }

// gitHubWeb is the committer of commits that users create in the pages of GitHub.
const gitHubWeb = "web-flow"

// Committers implements Committers.
func (g *gitHub) Committers(ctx context.Context, number int, head string) ([]string, error) {
	var commits []committed
	for options := (&github.ListOptions{PerPage: gitHubPage}); ; {
		page, response, err := g.api.PullRequests.ListCommits(ctx, g.owner, g.name, number, options)
		if err != nil {
			return nil, failed(ctx, err)
		}
		for _, c := range page {
			one := committed{c.GetSHA(), []string{c.GetAuthor().GetLogin()}}
			if by := c.GetCommitter().GetLogin(); by != gitHubWeb {
				one.logins = append(one.logins, by)
			}
			commits = append(commits, one)
		}
		if options.Page = response.NextPage; options.Page == 0 {
			break
		}
	}
	if len(commits) >= maxCommits {
		return []string{""}, nil
	}
	return committers(commits, head), nil
}
