package pulls

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// repository is what the fakes of the Git providers serve: each speaks the JSON of its API.
type repository struct {
	mu sync.Mutex
	// page is the most objects that a server returns in a page.
	page      int
	pulls     []PullRequest // all, the newest update first
	comments  []Comment     // of the pull request 1
	reactions map[string]int
	statuses  map[string]Status
	teams     map[string][]string
	// failure answers all requests instead, if it is set.
	failure  http.HandlerFunc
	requests int
	nextID   int64
}

// token of the user cairn.
const token = "t0ken"

// serve starts a server, which wants the token.
func (r *repository) serve(t *testing.T, api http.Handler) *httptest.Server {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.requests++
		switch {
		case r.failure != nil:
			r.failure(w, request)
		case request.Header.Get("Authorization") != "Bearer "+token:
			w.WriteHeader(http.StatusUnauthorized)
		default:
			api.ServeHTTP(w, request)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func (r *repository) open() []PullRequest {
	return slices.DeleteFunc(slices.Clone(r.pulls), func(p PullRequest) bool { return p.State != Open })
}

func pull(number int, head string) PullRequest {
	return PullRequest{
		Number: number, Title: fmt.Sprint("Change ", number), Author: "alice",
		URL: fmt.Sprint("https://git.example.com/", number), State: Open,
		Head: Ref{"change", head}, Base: Ref{"main", "ba5e"}, Updated: now,
	}
}

// isOf reports that a pull request is as it was served; not each list has the commit of the base.
func isOf(got, served PullRequest) bool {
	if got.Base.Commit == "" {
		served.Base.Commit = ""
	}
	return got == served
}

// clients are those that the conformance is of.
var clients = map[string]func(*testing.T, *repository) Client{"GitHub": newFakeGitHub, "GitLab": newFakeGitLab}

// conformance is what each client does in the same way.
var conformance = map[string]func(*testing.T, Client, *repository){
	"an unchanged list costs one request": func(t *testing.T, c Client, r *repository) {
		fork, draft := pull(2, "b"), pull(1, "a")
		fork.Fork, draft.Draft = true, true
		r.pulls = []PullRequest{fork, draft}
		open, version, err := c.Open(t.Context(), "")
		if err != nil || len(open) != 2 || !isOf(open[0], fork) || !isOf(open[1], draft) {
			t.Fatalf("%+v, %v", open, err)
		}
		r.requests = 0
		if _, same, err := c.Open(t.Context(), version); !errors.Is(err, ErrUnchanged) || same != version ||
			r.requests != 1 {
			t.Errorf("%d requests, %v", r.requests, err)
		}
		r.pulls[0].Head.Commit = "c"
		if open, _, err = c.Open(t.Context(), version); err != nil || open[0].Head.Commit != "c" {
			t.Errorf("%+v, %v", open, err)
		}
	},
	"a list has all pages, and a change of each": func(t *testing.T, c Client, r *repository) {
		r.page = 2
		for number := 5; number > 0; number-- {
			r.pulls = append(r.pulls, pull(number, "a"))
		}
		open, version, err := c.Open(t.Context(), "")
		if err != nil || len(open) != 5 || open[4].Number != 1 {
			t.Fatalf("%+v, %v", open, err)
		}
		if _, _, err := c.Open(t.Context(), version); !errors.Is(err, ErrUnchanged) {
			t.Error(err)
		}
		r.pulls[4].State = Closed // which is on the last page
		if open, _, err = c.Open(t.Context(), version); err != nil || len(open) != 4 {
			t.Errorf("%+v, %v", open, err)
		}
	},
	"too many are an error": func(t *testing.T, c Client, r *repository) {
		r.pulls = slices.Repeat([]PullRequest{pull(1, "a")}, MaxOpen+1)
		if open, _, err := c.Open(t.Context(), ""); !errors.Is(err, ErrTooMany) {
			t.Errorf("%d, %v", len(open), err)
		}
	},
	"one that is merged": func(t *testing.T, c Client, r *repository) {
		merged := pull(1, "a")
		merged.State, merged.MergeCommit = Merged, "3e26e"
		open := pull(3, "b") // GitHub has a merge commit of it too, which is none of the base
		open.MergeCommit = "7e57"
		r.pulls = []PullRequest{merged, open}
		if got, err := c.Get(t.Context(), 1); err != nil || got.State != Merged || got.Head.Commit != "a" ||
			got.MergeCommit != "3e26e" {
			t.Errorf("%+v, %v", got, err)
		}
		if got, err := c.Get(t.Context(), 3); err != nil || got.State != Open || got.MergeCommit != "" {
			t.Errorf("%+v, %v", got, err)
		}
		if _, err := c.Get(t.Context(), 2); KindOf(err) != NotFound {
			t.Error(err)
		}
	},
	"comments since a time, of all pages": func(t *testing.T, c Client, r *repository) {
		r.page = 2
		for minute := range 5 {
			r.comments = append(r.comments, Comment{ID: int64(minute + 1), Author: "bob", Body: "x",
				Created: now.Add(time.Duration(minute) * time.Minute)})
		}
		r.comments[0].Edited, r.comments[3].Edited = true, true // the first is older, and changed since
		got, err := c.Comments(t.Context(), 1, now.Add(time.Minute+time.Millisecond))
		if err != nil || !slices.Equal(got, r.comments[1:]) {
			t.Errorf("%+v, %v", got, err)
		}
	},
	"one comment": func(t *testing.T, c Client, r *repository) {
		ours := func(body string) bool { return strings.HasPrefix(body, "M ") }
		r.page = 2
		r.comments = []Comment{{ID: 1, Author: "mallory", Body: "M fake"}, {ID: 2, Author: "cairn", Body: "other"},
			{ID: 3, Author: "cairn", Body: "M old"}, {ID: 4, Author: "cairn", Body: "M twice"}}
		bodies := func(want string) {
			t.Helper()
			var got []string
			for _, c := range r.comments {
				got = append(got, c.Body)
			}
			if strings.Join(got, ", ") != want {
				t.Errorf("got %q, want %s", got, want)
			}
		}
		id, err := c.Upsert(t.Context(), 1, 0, ours, "M new")
		if err != nil || id != (Written{3, now}) {
			t.Error(id, err)
		}
		bodies("M fake, other, M new")
		// the server does not have it
		if id, err = c.Upsert(t.Context(), 1, 9, ours, "M newer"); err != nil || id.ID != 3 {
			t.Error(id, err)
		}
		bodies("M fake, other, M newer")
		r.comments, r.requests = r.comments[:2], 0
		if id, err = c.Upsert(t.Context(), 1, 0, ours, "M first"); err != nil || id.ID == 0 || !id.At.Equal(now) {
			t.Error(id, err)
		}
		bodies("M fake, other, M first")
		r.requests = 0
		if again, err := c.Upsert(t.Context(), 1, id.ID, ours, "M last"); err != nil || again != id || r.requests != 1 {
			t.Error(again, err, r.requests)
		}
		bodies("M fake, other, M last")
	},
	"a status again": func(t *testing.T, c Client, r *repository) {
		s := Status{Context: "cairn/prod", State: Pending, Description: strings.Repeat("ä", c.Limits().Description),
			URL: "https://cairn.example.com"}
		for _, s.State = range []StatusState{Pending, Pending, Failure, Failure, Pending, Success, Success} {
			if err := c.SetStatus(t.Context(), "a", s); err != nil || r.statuses["a cairn/prod"] != s {
				t.Errorf("%s: %+v, %v", s.State, r.statuses, err)
			}
		}
		s.Description += "ä"
		if err := c.SetStatus(t.Context(), "a", s); err != nil ||
			!strings.HasSuffix(r.statuses["a cairn/prod"].Description, "ä…") {
			t.Error(err)
		}
	},
	"a reaction again": func(t *testing.T, c Client, r *repository) {
		r.comments = []Comment{{ID: 1, Author: "bob", Body: "x"}}
		for _, reaction := range []Reaction{Accepted, Accepted, Rejected} {
			if err := c.React(t.Context(), 1, 1, reaction); err != nil {
				t.Error(err)
			}
		}
		if r.reactions["1 Accepted"] != 1 || r.reactions["1 Rejected"] != 1 {
			t.Error(r.reactions)
		}
		if err := c.React(t.Context(), 1, 2, Accepted); KindOf(err) != NotFound {
			t.Error(err)
		}
	},
	"teams": func(t *testing.T, c Client, r *repository) {
		r.teams = map[string][]string{"bob": {"acme/acme"}}
		for login, want := range map[string]string{"bob": "acme/acme", "alice": ""} {
			if got, err := c.Teams(t.Context(), login); err != nil || strings.Join(got, " ") != want {
				t.Errorf("%s: %q, %v", login, got, err)
			}
		}
		r.teams = nil // the owner is a user
		if got, err := c.Teams(t.Context(), "bob"); err != nil || got != nil {
			t.Error(got, err)
		}
	},
	"an error has a kind at once, and no token": func(t *testing.T, c Client, r *repository) {
		for status, want := range map[int]Kind{
			401: Unauthorized, 403: Forbidden, 404: NotFound, 405: NotAllowed, 409: Conflict, 422: Invalid,
			429: RateLimited, 500: Unavailable, 503: Unavailable, 301: Invalid,
		} {
			r.failure = func(w http.ResponseWriter, request *http.Request) {
				http.Error(w, "sorry for "+request.Header.Get("Authorization"), status)
			}
			r.requests = 0
			_, err := c.Get(t.Context(), 1)
			if KindOf(err) != want || strings.Contains(err.Error(), token) ||
				!strings.Contains(err.Error(), "sorry for Bearer ***") || r.requests != 1 {
				t.Errorf("%d: %v, %d requests", status, err, r.requests)
			}
		}
		for _, status := range []int{403, 429} {
			r.failure = func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Retry-After", "60")
				w.WriteHeader(status)
			}
			for range 2 { // the second too is a request
				r.requests = 0
				_, err := c.Get(t.Context(), 1)
				if e, ok := errors.AsType[*Error](err); !ok || e.Kind != RateLimited || e.RetryAfter != time.Minute ||
					r.requests != 1 {
					t.Errorf("%d: %#v, %d requests", status, err, r.requests)
				}
			}
		}
		r.failure = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("<html>")) }
		if _, err := c.Get(t.Context(), 1); KindOf(err) != Invalid {
			t.Error(err)
		}
		r.failure = func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
		if err := c.React(t.Context(), 1, 1, Accepted); KindOf(err) != Unavailable ||
			strings.Contains(err.Error(), "127.0.0.1") {
			t.Error(err)
		}
	},
}

func TestConformance(t *testing.T) {
	for provider, create := range clients {
		for name, test := range conformance {
			t.Run(provider+": "+name, func(t *testing.T) {
				r := &repository{page: 100, nextID: 100, reactions: map[string]int{}, statuses: map[string]Status{}}
				test(t, create(t, r), r)
			})
		}
	}
}
