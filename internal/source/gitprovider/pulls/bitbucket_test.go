package pulls

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The users of the fakes, by the form that Bitbucket Cloud has for them.
const (
	bitbucketAlice   = "aaaaaaaa-0000-4000-8000-000000000001"
	bitbucketBob     = "bbbbbbbb-0000-4000-8000-000000000002"
	bitbucketCairn   = "cccccccc-0000-4000-8000-000000000003"
	bitbucketMallory = "dddddddd-0000-4000-8000-000000000004"
)

// bitbucketFakePage is the URL of the pages of pull requests.
const bitbucketFakePage = "https://bitbucket.example.com/"

// Commits of the fakes. The last two have the same abbreviated hash.
const (
	bitbucketBase = "0000000000000000000000000000000000000001"
	bitbucketOne  = "1111111111110000000000000000000000000001"
	bitbucketTwo  = "2222222222220000000000000000000000000001"
	bitbucketTwin = "2222222222220000000000000000000000000002"
)

type bitbucketFakePull struct {
	number, version           int
	state, head, base         string
	draft, fork, repositoryIs bool
	updated                   time.Time
}

type bitbucketFakeComment struct {
	id, parent       int64
	version          int
	author, body     string
	created, updated time.Time
	deleted, inline  bool
}

// bitbucketFake has what the fakes of both APIs store.
type bitbucketFake struct {
	t    *testing.T
	name string
	// page is the maximum number of objects in a page.
	page      int
	pulls     []*bitbucketFakePull
	comments  []*bitbucketFakeComment
	statuses  map[string]map[string]map[string]string // by commit and key
	reactions []string
	now       time.Time
	// requests are those since the last call of reset.
	requests []string
	// before is called with each request, and reports whether it answered it.
	before func(w http.ResponseWriter, r *http.Request) bool
}

// bitbucketBoth runs a test against the fake of each API, with one pull request of alice.
func bitbucketBoth(t *testing.T, test func(t *testing.T, f *bitbucketFake, c Client)) {
	apis := map[string]func(*bitbucketFake, *http.ServeMux){"cloud": bitbucketCloudRoutes, "dc": bitbucketDCRoutes}
	for name, start := range apis {
		t.Run(name, func(t *testing.T) {
			f := &bitbucketFake{t: t, name: name, page: 100, now: now}
			f.statuses = map[string]map[string]map[string]string{}
			f.pulls = []*bitbucketFakePull{{number: 1, state: "OPEN", head: bitbucketOne, base: bitbucketBase,
				repositoryIs: true}}
			f.change(f.pulls[0])
			mux := http.NewServeMux()
			start(f, mux)
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				f.requests = append(f.requests, r.Method+" "+r.URL.Path)
				switch {
				case r.Header.Get("Authorization") != "Bearer t0ken":
					w.WriteHeader(http.StatusUnauthorized)
				case f.before == nil || !f.before(w, r):
					w.Header().Set("X-Ausername", bitbucketCairn)
					mux.ServeHTTP(w, r)
				}
			}))
			t.Cleanup(server.Close)
			test(t, f, f.client(server))
		})
	}
}

func (f *bitbucketFake) client(server *httptest.Server) Client {
	clock := func() time.Time { return now }
	if f.name == "cloud" {
		return NewBitbucketCloud(BitbucketCloudOptions{
			URL: server.URL + "/2.0", Workspace: "acme", Name: "infra", Token: "t0ken", Web: server.Client(),
			Now: clock,
		})
	}
	return NewBitbucketDataCenter(BitbucketDataCenterOptions{
		URL: server.URL + "/", Project: "ACME", Name: "infra", Token: "t0ken", Web: server.Client(), Now: clock,
	})
}

// change changes a pull request as an update does.
func (f *bitbucketFake) change(p *bitbucketFakePull) {
	f.now = f.now.Add(time.Minute)
	p.version++
	p.updated = f.now
}

func (f *bitbucketFake) push(p *bitbucketFakePull, head string) {
	p.head = head
	f.change(p)
}

func (f *bitbucketFake) add(c bitbucketFakeComment) *bitbucketFakeComment {
	f.now = f.now.Add(time.Minute)
	c.id, c.created, c.updated = int64(len(f.comments)+1), f.now, f.now
	f.comments = append(f.comments, &c)
	return &c
}

// reset returns the requests since the last call, without reads unless all are wanted.
func (f *bitbucketFake) reset(all bool) string {
	requests := f.requests
	f.requests = nil
	var wanted []string
	for _, r := range requests {
		if all || !strings.HasPrefix(r, "GET ") {
			wanted = append(wanted, r[:strings.Index(r, " ")+1]+r[strings.LastIndex(r, "/")+1:])
		}
	}
	return strings.Join(wanted, ", ")
}

func (f *bitbucketFake) pull(r *http.Request) *bitbucketFakePull {
	number, _ := strconv.Atoi(r.PathValue("number"))
	for _, p := range f.pulls {
		if p.number == number {
			return p
		}
	}
	return nil
}

func (f *bitbucketFake) comment(r *http.Request) *bitbucketFakeComment {
	id, _ := strconv.ParseInt(r.PathValue("id"), 10, 64)
	for _, c := range f.comments {
		if c.id == id && !c.deleted {
			return c
		}
	}
	return nil
}

// newest returns the open pull requests, the newest update first.
func (f *bitbucketFake) newest() (open []*bitbucketFakePull) {
	for _, p := range f.pulls {
		if p.state == "OPEN" {
			open = append(open, p)
		}
	}
	slices.SortFunc(open, func(a, b *bitbucketFakePull) int { return b.updated.Compare(a.updated) })
	return open
}

// status stores a status under its key.
func (f *bitbucketFake) status(w http.ResponseWriter, r *http.Request) {
	body := map[string]string{}
	bitbucketDecode(f.t, r, &body)
	commit := r.PathValue("commit")
	if f.statuses[commit] == nil {
		f.statuses[commit] = map[string]map[string]string{}
	}
	f.statuses[commit][body["key"]] = body
	w.WriteHeader(http.StatusNoContent)
}

func bitbucketDecode(t *testing.T, r *http.Request, into any) {
	if err := json.NewDecoder(r.Body).Decode(into); err != nil {
		t.Errorf("%s %s: %v", r.Method, r.URL, err)
	}
}

func bitbucketEncode(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

func TestBitbucketListIsUnchangedWithOneRequest(t *testing.T) {
	bitbucketBoth(t, func(t *testing.T, f *bitbucketFake, c Client) {
		open, version, err := c.Open(t.Context(), "")
		if err != nil || len(open) != 1 {
			t.Fatal(open, err)
		}
		want := PullRequest{
			Number: 1, Title: "title", Author: bitbucketAlice, URL: bitbucketFakePage + "1", State: Open,
			Head: Ref{"change", bitbucketOne}, Base: Ref{"main", bitbucketBase}, Updated: f.pulls[0].updated,
		}
		if open[0] != want {
			t.Errorf("got %+v, want %+v", open[0], want)
		}
		f.reset(true)
		if _, again, err := c.Open(t.Context(), version); !errors.Is(err, ErrUnchanged) || again != version {
			t.Error(again, err)
		}
		if len(f.requests) != 1 {
			t.Errorf("an unchanged list costs %q", f.requests)
		}
		f.push(f.pulls[0], bitbucketTwo)
		f.pulls[0].draft, f.pulls[0].fork = true, true
		if open, version, err = c.Open(t.Context(), version); err != nil || open[0].Head.Commit != bitbucketTwo ||
			!open[0].Draft || !open[0].Fork {
			t.Errorf("%+v, %v", open, err)
		}
		f.push(f.pulls[0], bitbucketTwin)
		f.pulls[0].repositoryIs = false
		if open, version, err = c.Open(t.Context(), version); err != nil || open[0].Head.Commit != bitbucketTwin ||
			!open[0].Fork {
			t.Errorf("a head with the same abbreviated hash, of a deleted fork: %+v, %v", open, err)
		}
		for state, want := range map[string]State{"MERGED": Merged, "DECLINED": Closed} {
			f.pulls[0].state = state
			merge := map[State]string{Merged: bitbucketOne}[want]
			if p, err := c.Get(t.Context(), 1); err != nil || p.State != want || p.MergeCommit != merge {
				t.Errorf("%s: %+v, %v", state, p, err)
			}
		}
		if open, _, err = c.Open(t.Context(), version); err != nil || len(open) != 0 {
			t.Errorf("after the last one was closed: %+v, %v", open, err)
		}
	})
}

func TestBitbucketListHasAllPages(t *testing.T) {
	bitbucketBoth(t, func(t *testing.T, f *bitbucketFake, c Client) {
		f.page = 2
		for number := 2; number <= 5; number++ {
			p := &bitbucketFakePull{number: number, state: "OPEN", head: bitbucketTwo, base: bitbucketBase,
				repositoryIs: true}
			f.pulls = append(f.pulls, p)
			f.change(p)
		}
		open, version, err := c.Open(t.Context(), "")
		if err != nil || len(open) != 5 || open[0].Number != 5 || open[4].Number != 1 {
			t.Fatal(open, err)
		}
		f.pulls[0].state = "MERGED" // which is on the last page
		if open, version, err = c.Open(t.Context(), version); err != nil || len(open) != 4 {
			t.Error(open, err)
		}
		f.push(f.pulls[1], bitbucketOne) // as is this one
		if open, _, err = c.Open(t.Context(), version); err != nil || open[0].Number != 2 ||
			open[0].Head.Commit != bitbucketOne {
			t.Error(open, err)
		}
		f.page = 100
		for number := 6; number <= MaxOpen+2; number++ {
			f.pulls = append(f.pulls, &bitbucketFakePull{number: number, state: "OPEN", head: bitbucketTwo})
		}
		if _, _, err := c.Open(t.Context(), ""); !errors.Is(err, ErrTooMany) {
			t.Errorf("with %d open pull requests: %v", len(f.newest()), err)
		}
	})
}

func TestBitbucketHasOneComment(t *testing.T) {
	bitbucketBoth(t, func(t *testing.T, f *bitbucketFake, c Client) {
		f.page = 2
		ours := func(body string) bool { return strings.HasPrefix(body, "M ") }
		upsert := func(known, id int64, requests string) {
			t.Helper()
			got, err := c.Upsert(t.Context(), 1, known, ours, "M new")
			if made := f.reset(false); err != nil || got.ID != id || got.At.IsZero() || made != requests {
				t.Errorf("comment %v, %v: %q", got, err, made)
			}
		}
		foreign := f.add(bitbucketFakeComment{author: bitbucketMallory, body: "M fake"})
		other := f.add(bitbucketFakeComment{author: bitbucketCairn, body: "other"})
		upsert(0, 3, "POST comments")
		upsert(3, 3, "PUT 3")
		upsert(0, 3, "PUT 3") // it is found again
		f.add(bitbucketFakeComment{author: bitbucketCairn, body: "M second"})
		f.add(bitbucketFakeComment{author: bitbucketCairn, body: "M third"})
		upsert(0, 3, "DELETE 4, DELETE 5, PUT 3")
		f.comments[2].deleted = true
		upsert(0, 6, "POST comments")
		f.comments[5].deleted = true
		f.reset(false)
		if got, err := c.Upsert(t.Context(), 1, 6, ours, "M new"); err != nil || got.ID != 7 { // the known one is gone
			t.Error(got, err)
		}
		if foreign.body != "M fake" || other.body != "other" || f.comments[6].body != "M new" {
			t.Errorf("%+v, %+v, %+v", foreign, other, f.comments[6])
		}
	})
}

func TestBitbucketComments(t *testing.T) {
	bitbucketBoth(t, func(t *testing.T, f *bitbucketFake, c Client) {
		f.page = 2
		f.add(bitbucketFakeComment{author: bitbucketAlice, body: "one"})
		f.add(bitbucketFakeComment{author: bitbucketAlice, body: "on a file", inline: true})
		f.add(bitbucketFakeComment{author: bitbucketAlice, body: "gone", deleted: true})
		third := f.add(bitbucketFakeComment{author: bitbucketBob, body: "three"})
		third.updated = third.created.Add(time.Hour)
		f.add(bitbucketFakeComment{author: bitbucketAlice, body: "reply", parent: 1})
		for since, want := range map[time.Time]string{{}: "one three reply", third.created: "three reply",
			third.created.Add(1): "reply"} {
			comments, err := c.Comments(t.Context(), 1, since)
			var bodies []string
			for _, o := range comments {
				bodies = append(bodies, o.Body)
				if o.Edited != (o.ID == third.id) {
					t.Errorf("%+v", o)
				}
			}
			if got := strings.Join(bodies, " "); err != nil || got != want {
				t.Errorf("since %s: %q, %v", since, got, err)
			}
		}
		f.page = 1000
		for range MaxComments {
			f.add(bitbucketFakeComment{author: bitbucketAlice, body: "more"})
		}
		if comments, err := c.Comments(t.Context(), 1, time.Time{}); err != nil || len(comments) != MaxComments ||
			comments[0].Body != "one" {
			t.Errorf("%d comments, %v", len(comments), err)
		}
		for range bitbucketComments {
			f.add(bitbucketFakeComment{author: bitbucketMallory, body: "spam"})
		}
		f.reset(false)
		if id, err := c.Upsert(t.Context(), 1, 0, func(string) bool { return true }, "M"); KindOf(err) != Invalid ||
			f.reset(false) != "" {
			t.Errorf("a comment %v beside others that were not read, %v", id, err)
		}
	})
}

func TestBitbucketStatusReplacesThatOfTheSameContext(t *testing.T) {
	bitbucketBoth(t, func(t *testing.T, f *bitbucketFake, c Client) {
		long := strings.Repeat("cairn/prod/", 30) + "net"
		for _, state := range []StatusState{Pending, Failure, Success} {
			for _, name := range []string{"cairn", long, long + "2"} {
				status := Status{Context: name, State: state, Description: strings.Repeat("ä", 300)}
				if err := c.SetStatus(t.Context(), bitbucketOne, status); err != nil {
					t.Fatal(err)
				}
			}
		}
		most := map[string]int{"cloud": 40, "dc": 255}[f.name]
		if statuses := f.statuses[bitbucketOne]; len(statuses) != 3 || statuses["cairn"]["state"] != "SUCCESSFUL" {
			t.Errorf("%v", statuses)
		}
		for key, status := range f.statuses[bitbucketOne] {
			if len(key) > most || len([]rune(status["name"])) > 255 || len([]rune(status["description"])) != 255 ||
				status["url"] == "" {
				t.Errorf("%s: %v", key, status)
			}
		}
	})
}

// bitbucketFakeError returns an error of an API.
func bitbucketFakeError(name, message string) any {
	if name == "cloud" {
		return map[string]any{"type": "error", "error": map[string]any{"message": message}}
	}
	return map[string]any{"errors": []any{map[string]any{"context": nil, "message": message}}}
}

func TestBitbucketErrors(t *testing.T) {
	bitbucketBoth(t, func(t *testing.T, f *bitbucketFake, c Client) {
		if _, err := c.Get(t.Context(), 99); KindOf(err) != NotFound {
			t.Error(err)
		}
		for status, want := range map[int]Error{
			401: {Kind: Unauthorized}, 403: {Kind: Forbidden}, 404: {Kind: NotFound}, 409: {Kind: Conflict},
			429: {Kind: RateLimited, RetryAfter: 30 * time.Second}, 400: {Kind: Invalid}, 503: {Kind: Unavailable},
			555: {Kind: Unavailable},
		} {
			f.before = func(w http.ResponseWriter, _ *http.Request) bool {
				if status == http.StatusTooManyRequests {
					w.Header().Set("Retry-After", "30")
				}
				bitbucketEncode(w, status, bitbucketFakeError(f.name, "the token t0ken\nis bad"))
				return true
			}
			want.Status, want.Message = status, "the token *** is bad"
			calls := map[string]func() error{
				"Get":       func() error { _, err := c.Get(t.Context(), 1); return err },
				"Open":      func() error { _, _, err := c.Open(t.Context(), ""); return err },
				"Comments":  func() error { _, err := c.Comments(t.Context(), 1, time.Time{}); return err },
				"SetStatus": func() error { return c.SetStatus(t.Context(), bitbucketOne, Status{}) },
			}
			for name, call := range calls {
				if got, ok := call().(*Error); !ok || *got != want { //nolint:errorlint // the client returns this type
					t.Errorf("%s with %d: %#v", name, status, got)
				}
			}
			if _, err := c.Upsert(t.Context(), 1, 0, func(string) bool { return true }, "M"); err == nil {
				t.Errorf("Upsert with %d returns no error", status)
			}
		}
		f.before = func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte(`{"message":"<html>"}`))
			return true
		}
		if _, _, err := c.Open(t.Context(), ""); KindOf(err) != Invalid {
			t.Errorf("of another form: %v", err)
		}
		f.before = func(http.ResponseWriter, *http.Request) bool { panic(http.ErrAbortHandler) }
		if _, err := c.Get(t.Context(), 1); KindOf(err) != Unavailable || strings.Contains(err.Error(), "127.0.0.1") {
			t.Error(err)
		}
	})
}

func TestBitbucketLimits(t *testing.T) {
	bitbucketBoth(t, func(t *testing.T, _ *bitbucketFake, c Client) {
		if got, want := c.Limits(), (Limits{Comment: 32_768, Description: 255}); got != want {
			t.Errorf("%+v", got)
		}
	})
}
