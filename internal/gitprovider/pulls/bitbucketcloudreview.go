package pulls

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"regexp"
	"time"
)

// bitbucketUUID is the form of a login. Other text could change the query that it is put into.
var bitbucketUUID = regexp.MustCompile(`^[0-9a-fA-F-]{36}$`)

// Permission implements Client. It includes what a user may do by the groups and the project.
func (b *bitbucketCloud) Permission(ctx context.Context, login string) (Permission, error) {
	if !bitbucketUUID.MatchString(login) {
		return PermissionNone, nil
	}
	type permission struct {
		User       bitbucketCloudUser
		Permission string
	}
	path := "/workspaces/" + url.PathEscape(b.workspace) + "/permissions/repositories/" + url.PathEscape(b.name)
	query := url.Values{"q": {`user.uuid="{` + login + `}"`}}
	found, err := bitbucketCloudList[permission](ctx, b, path, query, maxReviews, nil)
	result := PermissionNone
	for _, p := range found {
		if p.User.login() == login {
			result = cmp.Or(map[string]Permission{
				"admin": PermissionAdmin, "write": PermissionWrite, "read": PermissionRead,
			}[p.Permission], PermissionNone)
		}
	}
	return result, err
}

// Review implements Client. Bitbucket Cloud does not report which commit was approved: an approval counts if the pull
// request was not updated since, including its title and reviewers, if its user may write, and if that is not the
// author.
func (b *bitbucketCloud) Review(ctx context.Context, number int) (Review, error) {
	var p bitbucketCloudPull
	if _, err := b.call(ctx, http.MethodGet, b.pullPath(number), nil, nil, &p); err != nil {
		return "", err
	}
	approved := map[string]time.Time{}
	for _, r := range p.Participants {
		switch login := r.User.login(); {
		case r.State == "changes_requested":
			return ReviewChangesRequested, nil
		case r.State == "approved" && login != p.Author.login():
			approved[login] = r.At
		}
	}
	if len(approved) == 0 {
		return ReviewNone, nil
	}
	updated, err := b.updated(ctx, number)
	if err != nil || updated.IsZero() {
		return ReviewNone, err
	}
	for login, at := range approved {
		if !at.After(updated) {
			continue
		}
		permission, err := b.Permission(ctx, login)
		if err != nil {
			return "", err
		}
		if permission == PermissionWrite || permission == PermissionAdmin {
			return ReviewApproved, nil
		}
	}
	return ReviewNone, nil
}

// updated returns when a pull request was last updated, other than by comments and reviews.
func (b *bitbucketCloud) updated(ctx context.Context, number int) (last time.Time, err error) {
	type activity struct{ Update *struct{ Date time.Time } }
	path, query := b.pullPath(number)+"/activity", url.Values{"pagelen": {"50"}}
	all, err := bitbucketCloudList[activity](ctx, b, path, query, bitbucketComments, nil)
	for _, a := range all {
		if a.Update != nil && a.Update.Date.After(last) {
			last = a.Update.Date
		}
	}
	return last, bitbucketTooMany(err)
}
