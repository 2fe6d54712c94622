package pulls

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// maxCommits is the maximum number of commits of a pull request whose users are read: that of GitHub.
const maxCommits = 250

// Committers is a Client of a Git provider that knows the users of commits, as all do. It knows them by what a commit
// has in it, which its author chooses, unless the Git provider requires signatures.
type Committers interface {
	// Committers returns the logins of the authors and committers of the commits of a pull request with a head, each
	// once. One is empty if the Git provider does not know a user, has another head now, or lists not all commits.
	Committers(ctx context.Context, number int, head string) ([]string, error)
}

// committed is a commit with the logins of its author and committer.
type committed struct {
	id     string
	logins []string
}

// committers returns the logins of commits that include the head, and with it all that the pull request has of this
// head.
func committers(commits []committed, head string) (logins []string) {
	complete := false
	for _, c := range commits {
		complete = complete || c.id == head
		logins = append(logins, c.logins...)
	}
	if !complete {
		logins = append(logins, "")
	}
	slices.Sort(logins)
	return slices.Compact(logins)
}

// commitsOfGitLab lists the commits of a merge request. REST has no users of them.
const commitsOfGitLab = `query($project:ID!,$iid:String!,$after:String){project(fullPath:$project){mergeRequest(iid:$iid){` +
	`commits(first:100,after:$after){nodes{sha author{username}authorEmail committerEmail}pageInfo{hasNextPage endCursor}}}}}`

// Committers implements Committers. GitLab has the user of the author only: that of a committer with another address is
// not known. An answer without commits, as of a GitLab before 16.3, knows none.
func (g *gitLab) Committers(ctx context.Context, number int, head string) ([]string, error) {
	var commits []committed
	variables := map[string]any{"project": g.project, "iid": strconv.Itoa(number)}
	for len(commits) < maxCommits {
		var answer struct {
			Errors []struct{}
			Data   struct {
				Project struct {
					MergeRequest struct {
						Commits struct {
							Nodes []struct {
								SHA                         string
								Author                      struct{ Username string }
								AuthorEmail, CommitterEmail string
							}
							PageInfo struct {
								HasNextPage bool
								EndCursor   string
							}
						}
					}
				}
			}
		}
		query := gitlab.GraphQLQuery{Query: commitsOfGitLab, Variables: variables}
		if _, err := g.api.GraphQL.Do(query, &answer, gitlab.WithContext(ctx)); err != nil {
			return nil, failed(ctx, err)
		}
		if len(answer.Errors) > 0 {
			break
		}
		page := answer.Data.Project.MergeRequest.Commits
		for _, c := range page.Nodes {
			one := committed{c.SHA, []string{c.Author.Username}}
			if c.AuthorEmail == "" || c.AuthorEmail != c.CommitterEmail {
				one.logins = append(one.logins, "")
			}
			commits = append(commits, one)
		}
		if !page.PageInfo.HasNextPage {
			return committers(commits, head), nil
		}
		variables["after"] = page.PageInfo.EndCursor
	}
	return []string{""}, nil
}

// Committers implements Committers. Bitbucket Cloud does not have the committer of each commit.
func (b *bitbucketCloud) Committers(ctx context.Context, number int, head string) ([]string, error) {
	type by struct{ User bitbucketCloudUser }
	found, err := bitbucketCloudList[struct {
		Hash      string
		Author    by
		Committer *by
	}](ctx, b, b.pullPath(number)+"/commits", url.Values{"pagelen": {"100"}}, maxCommits, nil)
	if errors.Is(err, ErrTooMany) {
		return []string{""}, nil
	}
	var commits []committed
	for _, c := range found {
		one := committed{c.Hash, []string{c.Author.User.login()}}
		if c.Committer != nil {
			one.logins = append(one.logins, c.Committer.User.login())
		}
		commits = append(commits, one)
	}
	return committers(commits, head), err
}

// Committers implements Committers. The name of who is no user of Bitbucket Data Center is that in the commit, so that
// only a slug shows that it is one of a user.
func (b *bitbucketDC) Committers(ctx context.Context, number int, head string) ([]string, error) {
	type by struct{ Name, Slug string }
	login := func(of by) string {
		if of.Slug == "" {
			return ""
		}
		return of.Name
	}
	found, err := bitbucketDCList[struct {
		ID                string
		Author, Committer by
	}](ctx, b, b.pullPath(number)+"/commits", url.Values{"limit": {"100"}}, maxCommits, nil)
	if errors.Is(err, ErrTooMany) {
		return []string{""}, nil
	}
	var commits []committed
	for _, c := range found {
		commits = append(commits, committed{c.ID, []string{login(c.Author), login(c.Committer)}})
	}
	return committers(commits, head), err
}
