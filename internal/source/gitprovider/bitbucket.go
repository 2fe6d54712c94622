package gitprovider

import (
	"encoding/json"
	"strings"

	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

var (
	// bitbucket is Bitbucket Cloud. Its webhooks and those of Bitbucket Data Center differ in the names of events.
	bitbucket = provider{
		name: "Bitbucket",
		webhook: &webhook{
			event: "X-Event-Key", delivery: []string{"X-Request-Uuid", "X-Request-Id"},
			check: hexHMAC("sha256=", "X-Hub-Signature"), read: readBitbucket,
		},
		client: func(a Access) (pulls.Client, error) { // its API is at another host than its repositories
			token, err := a.token()
			if err != nil {
				return nil, err
			}
			return pulls.NewBitbucketCloud(pulls.BitbucketCloudOptions{
				Workspace: a.owner(), Name: a.name(), Token: token, Web: a.Web,
			}), nil
		},
	}
	bitbucketDataCenter = provider{
		name: "BitbucketDataCenter",
		client: func(a Access) (pulls.Client, error) {
			token, err := a.token()
			if err != nil {
				return nil, err
			}
			return pulls.NewBitbucketDataCenter(pulls.BitbucketDataCenterOptions{
				URL: a.URL.String(), Project: a.owner(), Name: a.name(), Token: token, Web: a.Web,
			}), nil
		},
	}
)

func readBitbucket(e *Event, document []byte) error {
	switch key := e.Kind; {
	case key == "repo:push":
		return readBitbucketCloud(e, document)
	case key == "repo:refs_changed":
		return readBitbucketDataCenter(e, document)
	case key == "diagnostics:ping":
		e.Provider, e.Kind = "BitbucketDataCenter", KindPing
	case strings.HasPrefix(key, "pr:"):
		e.Provider, e.Kind = "BitbucketDataCenter", KindPullRequest
	case strings.HasPrefix(key, "pullrequest:"):
		e.Kind = KindPullRequest
	}
	return nil
}

func readBitbucketCloud(e *Event, document []byte) error {
	var b struct {
		Push struct {
			Changes [16]struct{ New, Old *bitbucketRef }
		}
		Repository struct {
			Links struct{ HTML struct{ Href string } }
		}
	}
	if err := json.Unmarshal(document, &b); err != nil {
		return err
	}
	var refs, commits []string
	for _, c := range b.Push.Changes {
		switch {
		case c.New != nil:
			refs, commits = append(refs, c.New.full()), append(commits, c.New.Target.Hash)
		case c.Old != nil:
			refs, commits = append(refs, c.Old.full()), append(commits, "")
		}
	}
	e.moved(refs, commits)
	e.CloneURLs = []string{b.Repository.Links.HTML.Href}
	return nil
}

type bitbucketRef struct {
	Type, Name string
	Target     struct{ Hash string }
}

func (r *bitbucketRef) full() string {
	if r.Type == "tag" {
		return "refs/tags/" + r.Name
	}
	return "refs/heads/" + r.Name
}

func readBitbucketDataCenter(e *Event, document []byte) error {
	e.Provider = "BitbucketDataCenter"
	var b struct {
		Changes [16]struct {
			Ref    struct{ ID string }
			ToHash string
		}
		Repository struct {
			Links struct{ Clone [4]struct{ Href string } }
		}
	}
	if err := json.Unmarshal(document, &b); err != nil {
		return err
	}
	var refs, commits []string
	for _, c := range b.Changes {
		if c.Ref.ID != "" {
			refs, commits = append(refs, c.Ref.ID), append(commits, c.ToHash)
		}
	}
	e.moved(refs, commits)
	for _, c := range b.Repository.Links.Clone {
		e.CloneURLs = append(e.CloneURLs, c.Href)
	}
	return nil
}
