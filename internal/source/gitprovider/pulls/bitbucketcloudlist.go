package pulls

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
)

type bitbucketCloudPage struct {
	Values json.RawMessage
	Next   string
	// Size is the number of all objects of the list; nil if the server does not count them.
	Size *int
}

// bitbucketCloudList returns all objects of a list, or ErrTooMany. If first is not nil, it has the first page.
func bitbucketCloudList[T any](
	ctx context.Context, b *bitbucketCloud, path string, query url.Values, most int, first *bitbucketCloudPage,
) (all []T, err error) {
	for number := 1; number <= most; number++ { // a page has an object at least
		var page bitbucketCloudPage
		if first != nil {
			page, first = *first, nil
		} else if _, err := b.call(ctx, http.MethodGet, path, query, nil, &page); err != nil {
			return nil, err
		}
		var some []T
		if err := json.Unmarshal(page.Values, &some); err != nil {
			return nil, &Error{Kind: Invalid, Status: http.StatusOK, Message: notTheForm}
		}
		if all = append(all, some...); len(all) > most {
			return nil, ErrTooMany
		}
		if page.Next == "" {
			return all, nil
		}
		next, err := url.Parse(page.Next) // of which only the query is used, or the token could go to another server
		if err != nil {
			return nil, &Error{Kind: Invalid, Status: http.StatusOK, Message: notTheForm}
		}
		query = next.Query()
	}
	return nil, ErrTooMany
}

// complete returns a pull request with the hashes of its commits. It takes those of the last list if nothing changed
// since, and stores them for the next one. Anyone can create two commits with the same abbreviated hash: the head is
// read from the pull request.
func (b *bitbucketCloud) complete(
	ctx context.Context, p bitbucketCloudPull, last, next map[string]string,
) (PullRequest, error) {
	pull := p.pull()
	hash := func(key, abbreviated, path string, newest bool) (string, error) {
		found := cmp.Or(next[key], last[key])
		if found == "" && abbreviated != "" {
			var err error
			if found, err = b.hash(ctx, abbreviated, path, newest); err != nil {
				return "", err
			}
		}
		next[key] = found
		return found, nil
	}
	source, destination := p.Source.Commit.Hash, p.Destination.Commit.Hash
	var err error
	key := fmt.Sprintf("%d %s %s", p.ID, source, p.Updated.Format(time.RFC3339Nano))
	if pull.Head.Commit, err = hash(key, source, b.pullPath(p.ID)+"/commits", true); err != nil {
		return PullRequest{}, err
	}
	pull.Base.Commit, err = hash(destination, destination, b.repository+"/commit/"+url.PathEscape(destination), false)
	return pull, err
}

// hash returns the complete hash of a commit, or of the newest one of a list; empty if there is none or it is another
// one.
func (b *bitbucketCloud) hash(ctx context.Context, abbreviated, path string, newest bool) (string, error) {
	var found struct {
		Hash   string
		Values []struct{ Hash string }
	}
	var query url.Values
	if newest {
		query = url.Values{"pagelen": {"1"}}
	}
	if _, err := b.call(ctx, http.MethodGet, path, query, nil, &found); err != nil && KindOf(err) != NotFound {
		return "", err
	}
	if newest && len(found.Values) > 0 {
		found.Hash = found.Values[0].Hash
	}
	if !strings.HasPrefix(found.Hash, abbreviated) {
		return "", nil
	}
	return found.Hash, nil
}
