package pulls

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"

	"cairn.dev/cairn/internal/base/shorten"
)

// GitLabOptions are where a project is, and as whom to access it.
type GitLabOptions struct {
	// URL of GitLab. Example: https://gitlab.com.
	URL string
	// Project is the path of the project. Example: acme/platform/infra.
	Project string
	// Token of the user that comments and sets statuses: a token of a user, a project or a group.
	Token string
	// Web sends the requests. It must not connect to addresses that tenants may not name.
	Web *http.Client
	// Now is the clock; time.Now if nil.
	Now func() time.Time
}

// gitLab is a Client of GitLab, whose pull requests are merge requests.
type gitLab struct {
	api     *gitlab.Client
	project string

	mu sync.Mutex
	// login is the user of the token, once it is known.
	login string
}

// gitLabPage is the number of objects in a page. With the longest descriptions, of a mebibyte, it is smaller than
// maxResponse.
const gitLabPage = 15

// unlimited is a gitlab.RateLimiter that does not wait: the caller does.
type unlimited struct{}

// Wait implements gitlab.RateLimiter.
func (unlimited) Wait(context.Context) error { return nil }

// NewGitLab creates a Client of GitLab.
func NewGitLab(o GitLabOptions) (Client, error) {
	now := o.Now
	if now == nil {
		now = time.Now
	}
	transport := &rest{web: o.Web, scheme: "Bearer", token: fixed(o.Token), now: now}
	never := func(context.Context, *http.Response, error) (bool, error) { return false, nil }
	api, err := gitlab.NewAuthSourceClient(gitlab.Unauthenticated{}, gitlab.WithBaseURL(o.URL),
		gitlab.WithHTTPClient(&http.Client{Transport: transport}),
		gitlab.WithCustomRetry(never), gitlab.WithCustomLimiter(unlimited{}))
	return &gitLab{api: api, project: o.Project}, err
}

func gitLabPull(m *gitlab.BasicMergeRequest) PullRequest {
	state, commit := Open, ""
	switch m.State {
	case "merged": // a fast-forward merge has no commit of its own, and its last one is that of the squash, or the head
		state, commit = Merged, cmp.Or(m.MergeCommitSHA, m.SquashCommitSHA, m.SHA)
	case "closed":
		state = Closed
	}
	p := PullRequest{
		Number: int(m.IID), Title: m.Title, URL: m.WebURL, State: state, MergeCommit: commit, Draft: m.Draft,
		Head: Ref{m.SourceBranch, m.SHA}, Base: Ref{Branch: m.TargetBranch},
		Fork: m.SourceProjectID != m.TargetProjectID,
	}
	if m.Author != nil {
		p.Author = m.Author.Username
	}
	p.Updated = timeOf(m.UpdatedAt)
	return p
}

// Open implements Client. Any change of an open merge request changes the first page, or the number of them. The commit
// of a base is empty, because the list does not have it.
func (g *gitLab) Open(ctx context.Context, last Version) ([]PullRequest, Version, error) {
	options := &gitlab.ListProjectMergeRequestsOptions{
		ListOptions: gitlab.ListOptions{PerPage: gitLabPage, Page: 1},
		State:       gitlab.Ptr("opened"), OrderBy: gitlab.Ptr("updated_at"), Sort: gitlab.Ptr("desc"),
	}
	var open []PullRequest
	var version Version
	for options.Page != 0 {
		page, response, err := g.api.MergeRequests.ListProjectMergeRequests(g.project, options, gitlab.WithContext(ctx))
		if err != nil {
			return nil, "", failed(ctx, err)
		}
		for _, m := range page {
			open = append(open, gitLabPull(m))
		}
		if options.Page == 1 {
			version = Version(fmt.Sprintf("%d %x", response.TotalItems, sha256.Sum256(fmt.Appendf(nil, "%v", open))))
		}
		if version == last {
			return nil, last, ErrUnchanged
		}
		if len(open) > MaxOpen || response.TotalItems > MaxOpen {
			return nil, "", ErrTooMany
		}
		options.Page = response.NextPage
	}
	return open, version, nil
}

// Get implements Client.
func (g *gitLab) Get(ctx context.Context, number int) (PullRequest, error) {
	m, _, err := g.api.MergeRequests.GetMergeRequest(g.project, int64(number), nil, gitlab.WithContext(ctx))
	if err != nil {
		return PullRequest{}, failed(ctx, err)
	}
	return gitLabPull(&m.BasicMergeRequest), nil
}

// Comments implements Client.
func (g *gitLab) Comments(ctx context.Context, number int, since time.Time) ([]Comment, error) {
	var comments []Comment
	for n, err := range g.notes(ctx, number) {
		if err != nil {
			return nil, failed(ctx, err)
		}
		if n.CreatedAt == nil || n.CreatedAt.Before(since.Truncate(time.Second)) {
			break
		}
		if !n.System {
			edited := n.UpdatedAt != nil && !n.UpdatedAt.Equal(*n.CreatedAt)
			comments = append(comments, Comment{ID: n.ID, Author: n.Author.Username, Body: n.Body, Edited: edited,
				Created: *n.CreatedAt})
		}
	}
	slices.Reverse(comments)
	return comments[:min(len(comments), MaxComments)], nil
}

// notes returns the notes of a merge request, the newest first: GitLab has no filter by a time.
func (g *gitLab) notes(ctx context.Context, number int) iter.Seq2[*gitlab.Note, error] {
	options := &gitlab.ListMergeRequestNotesOptions{
		ListOptions: gitlab.ListOptions{PerPage: gitLabPage}, OrderBy: gitlab.Ptr("created_at"),
		Sort: gitlab.Ptr("desc"),
	}
	return gitlab.Scan2(func(page gitlab.PaginationOptionFunc) ([]*gitlab.Note, *gitlab.Response, error) {
		return g.api.Notes.ListMergeRequestNotes(g.project, int64(number), options, gitlab.WithContext(ctx), page)
	})
}

// Upsert implements Client.
func (g *gitLab) Upsert(ctx context.Context, number int, known int64, isOurs func(body string) bool,
	body string) (Written, error) {
	return upsert(ctx, g, number, known, isOurs, body)
}

func (g *gitLab) written(ctx context.Context, number int) (own []Comment, err error) {
	self, err := g.self(ctx)
	if err != nil {
		return nil, err
	}
	for n, err := range g.notes(ctx, number) {
		if err != nil {
			return nil, failed(ctx, err)
		}
		if n.Author.Username == self && !n.System {
			own = append(own, Comment{ID: n.ID, Body: n.Body})
		}
	}
	slices.Reverse(own)
	return own, nil
}

func (g *gitLab) create(ctx context.Context, number int, body string) (Written, error) {
	n, _, err := g.api.Notes.CreateMergeRequestNote(g.project, int64(number),
		&gitlab.CreateMergeRequestNoteOptions{Body: &body}, gitlab.WithContext(ctx))
	if err != nil {
		return Written{}, failed(ctx, err)
	}
	return Written{n.ID, timeOf(n.UpdatedAt)}, nil
}

func (g *gitLab) update(ctx context.Context, number int, id int64, body string) (time.Time, error) {
	n, _, err := g.api.Notes.UpdateMergeRequestNote(g.project, int64(number), id,
		&gitlab.UpdateMergeRequestNoteOptions{Body: &body}, gitlab.WithContext(ctx))
	if err != nil {
		return time.Time{}, failed(ctx, err)
	}
	return timeOf(n.UpdatedAt), nil
}

// timeOf returns a time; zero for none.
func timeOf(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

func (g *gitLab) remove(ctx context.Context, number int, id int64) error {
	_, err := g.api.Notes.DeleteMergeRequestNote(g.project, int64(number), id, gitlab.WithContext(ctx))
	return failed(ctx, err)
}

// self returns the login of the token's user.
func (g *gitLab) self(ctx context.Context) (string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.login == "" {
		user, _, err := g.api.Users.CurrentUser(gitlab.WithContext(ctx))
		if err != nil {
			return "", failed(ctx, err)
		}
		g.login = user.Username
	}
	return g.login, nil
}

// SetStatus implements Client. GitLab rejects the state that a status has.
func (g *gitLab) SetStatus(ctx context.Context, commit string, s Status) error {
	state := map[StatusState]gitlab.BuildStateValue{Pending: gitlab.Pending, Success: gitlab.Success,
		Failure: gitlab.Failed}[s.State]
	description := shorten.Characters(s.Description, g.Limits().Description)
	options := &gitlab.SetCommitStatusOptions{State: state, Context: &s.Context, Description: &description}
	if s.URL != "" {
		options.TargetURL = &s.URL
	}
	_, _, err := g.api.Commits.SetCommitStatus(g.project, commit, options, gitlab.WithContext(ctx))
	if err = failed(ctx, err); hasMessage(err, "Cannot transition status") && hasMessage(err, "from :"+string(state)) {
		return nil
	}
	return err
}

func hasMessage(err error, text string) bool {
	return err != nil && strings.Contains(err.Error(), text)
}

// React implements Client. For a reaction that is there, GitLab returns that it was not found.
func (g *gitLab) React(ctx context.Context, number int, comment int64, reaction Reaction) error {
	name := map[Reaction]string{Accepted: "thumbsup", Rejected: "thumbsdown"}[reaction]
	_, _, err := g.api.AwardEmoji.CreateMergeRequestAwardEmojiOnNote(g.project, int64(number), comment,
		&gitlab.CreateAwardEmojiOptions{Name: name}, gitlab.WithContext(ctx))
	if err = failed(ctx, err); hasMessage(err, "already been taken") {
		return nil
	}
	return err
}

// user returns the ID of a user, or an *Error of kind NotFound.
func (g *gitLab) user(ctx context.Context, login string) (int64, error) {
	users, _, err := g.api.Users.ListUsers(&gitlab.ListUsersOptions{Username: &login}, gitlab.WithContext(ctx))
	if err != nil {
		return 0, failed(ctx, err)
	}
	for _, u := range users {
		if strings.EqualFold(u.Username, login) {
			return u.ID, nil
		}
	}
	return 0, &Error{Kind: NotFound, Status: http.StatusNotFound, Message: "no such user"}
}

// Teams implements Client by two groups: that of the project by its path, as acme/platform, and the top-level group.
// The name of a team has a slash, so a top-level group acme is acme/acme.
func (g *gitLab) Teams(ctx context.Context, login string) (teams []string, err error) {
	id, err := g.user(ctx, login)
	if KindOf(err) == NotFound {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	own := g.project[:max(0, strings.LastIndex(g.project, "/"))]
	top, _, _ := strings.Cut(own, "/")
	for _, group := range slices.Compact([]string{top, own}) {
		member, _, err := g.api.GroupMembers.GetInheritedGroupMember(group, id, gitlab.WithContext(ctx))
		// no member, or the owner is a user
		if err = failed(ctx, err); KindOf(err) == NotFound || KindOf(err) == Forbidden {
			continue
		}
		if err != nil {
			return nil, err
		}
		if member.AccessLevel > gitlab.MinimalAccessPermissions {
			if group == top {
				group = top + "/" + top
			}
			teams = append(teams, group)
		}
	}
	return slices.Compact(teams), nil
}

// Limits implements Client.
func (g *gitLab) Limits() Limits { return Limits{Comment: 1_000_000, Description: 255, HTML: true} }
