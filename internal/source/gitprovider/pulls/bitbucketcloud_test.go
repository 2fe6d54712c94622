package pulls

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"
)

// bitbucketCloudRoutes is a fake of the API of Bitbucket Cloud.
func bitbucketCloudRoutes(f *bitbucketFake, mux *http.ServeMux) {
	const repository = "/2.0/repositories/acme/infra"
	mux.HandleFunc("GET /2.0/user", func(w http.ResponseWriter, _ *http.Request) {
		bitbucketEncode(w, 200, bitbucketCloudFakeUser(bitbucketCairn))
	})
	mux.HandleFunc("GET "+repository+"/pullrequests", func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("state") != "OPEN" || q.Get("sort") != "-updated_on" {
			f.t.Errorf("the query of the list is %s", r.URL.RawQuery)
		}
		var all []any
		for _, p := range f.newest() {
			all = append(all, f.cloudPull(p))
		}
		f.cloudPage(w, r, all)
	})
	pull := func(pattern string, handle func(w http.ResponseWriter, r *http.Request, p *bitbucketFakePull)) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+repository+"/pullrequests/{number}"+path, func(w http.ResponseWriter,
			r *http.Request) {
			p := f.pull(r)
			if p == nil {
				bitbucketEncode(w, 404, bitbucketFakeError("cloud", "no such pull request"))
				return
			}
			handle(w, r, p)
		})
	}
	pull("GET ", func(w http.ResponseWriter, _ *http.Request, p *bitbucketFakePull) {
		bitbucketEncode(w, 200, f.cloudPull(p))
	})
	pull("GET /commits", func(w http.ResponseWriter, r *http.Request, p *bitbucketFakePull) {
		f.cloudPage(w, r, []any{map[string]any{"hash": p.head}, map[string]any{"hash": bitbucketBase}})
	})
	f.cloudComments(pull)
	mux.HandleFunc("GET "+repository+"/commit/{commit}", func(w http.ResponseWriter, r *http.Request) {
		for _, hash := range []string{bitbucketBase, bitbucketOne, bitbucketTwin, bitbucketTwo} {
			if strings.HasPrefix(hash, r.PathValue("commit")) {
				bitbucketEncode(w, 200, map[string]any{"hash": hash})
				return
			}
		}
		w.WriteHeader(http.StatusNotFound)
	})
	mux.HandleFunc("POST "+repository+"/commit/{commit}/statuses/build", f.status)
}

func bitbucketCloudFakeUser(login string) map[string]any {
	return map[string]any{"type": "user", "uuid": "{" + login + "}", "nickname": "cairn"}
}

// cloudPage answers with a page. Its link to the next one has another host, to which no token may go.
func (f *bitbucketFake) cloudPage(w http.ResponseWriter, r *http.Request, all []any) {
	query := r.URL.Query()
	number, _ := strconv.Atoi(query.Get("page"))
	number = max(number, 1)
	start := min((number-1)*f.page, len(all))
	end := min(start+f.page, len(all))
	page := map[string]any{"values": append([]any{}, all[start:end]...), "size": len(all)}
	if end < len(all) {
		query.Set("page", strconv.Itoa(number+1))
		page["next"] = (&url.URL{Scheme: "http", Host: "other.invalid", Path: r.URL.Path,
			RawQuery: query.Encode()}).String()
	}
	bitbucketEncode(w, 200, page)
}

func (f *bitbucketFake) cloudPull(p *bitbucketFakePull) map[string]any {
	end := func(branch, commit, repository string) map[string]any {
		hash := commit[:12]
		return map[string]any{
			"branch": map[string]any{"name": branch}, "commit": map[string]any{"hash": hash},
			"repository": map[string]any{"full_name": repository},
		}
	}
	source := end("change", p.head, map[bool]string{true: "mallory/infra", false: "acme/infra"}[p.fork])
	if !p.repositoryIs {
		source["repository"] = nil
	}
	var merge any
	if p.state == "MERGED" {
		merge = map[string]any{"hash": bitbucketOne[:12]}
	}
	return map[string]any{
		"merge_commit": merge,
		"id":           p.number, "title": "title", "state": p.state, "draft": p.draft, "updated_on": p.updated,
		"source": source,
		"author": bitbucketCloudFakeUser(bitbucketAlice), "destination": end("main", bitbucketFakeCommit(p.base),
			"acme/infra"),
		"links": map[string]any{"html": map[string]any{"href": bitbucketFakePage + strconv.Itoa(p.number)}},
	}
}

// bitbucketFakeCommit returns a commit; bitbucketBase if it is empty.
func bitbucketFakeCommit(commit string) string {
	if commit == "" {
		return bitbucketBase
	}
	return commit
}

func (f *bitbucketFake) cloudComments(pull func(string, func(http.ResponseWriter, *http.Request, *bitbucketFakePull))) {
	encode := func(c *bitbucketFakeComment) map[string]any {
		comment := map[string]any{
			"id": c.id, "user": bitbucketCloudFakeUser(c.author), "content": map[string]any{"raw": c.body,
				"html": "<p>"}, "deleted": c.deleted,
			"created_on": c.created, "updated_on": c.updated.Add(2 * time.Millisecond),
		}
		if c.inline {
			comment["inline"] = map[string]any{"path": "main.tf", "to": 1}
		}
		return comment
	}
	body := func(r *http.Request) string {
		var body struct{ Content struct{ Raw string } }
		bitbucketDecode(f.t, r, &body)
		return body.Content.Raw
	}
	pull("GET /comments", func(w http.ResponseWriter, r *http.Request, _ *bitbucketFakePull) {
		since := time.Time{}
		if q := r.URL.Query().Get("q"); q != "" {
			var err error
			if since, err = time.Parse(time.RFC3339Nano, strings.TrimPrefix(q, "created_on >= ")); err != nil {
				f.t.Error(err)
			}
		}
		var all []any
		for _, c := range f.comments {
			if !c.created.Before(since) {
				all = append(all, encode(c))
			}
		}
		f.cloudPage(w, r, all)
	})
	pull("POST /comments", func(w http.ResponseWriter, r *http.Request, _ *bitbucketFakePull) {
		bitbucketEncode(w, 201, encode(f.add(bitbucketFakeComment{author: bitbucketCairn, body: body(r)})))
	})
	change := func(w http.ResponseWriter, r *http.Request, _ *bitbucketFakePull) {
		c := f.comment(r)
		switch {
		case c == nil:
			w.WriteHeader(http.StatusNotFound)
		case c.author != bitbucketCairn:
			w.WriteHeader(http.StatusForbidden)
		case r.Method == http.MethodDelete:
			c.deleted = true
			w.WriteHeader(http.StatusNoContent)
		default:
			c.body = body(r)
			bitbucketEncode(w, 200, encode(c))
		}
	}
	pull("PUT /comments/{id}", change)
	pull("DELETE /comments/{id}", change)
}

// bitbucketOnly runs a test against one of the fakes.
func bitbucketOnly(t *testing.T, name string, test func(t *testing.T, f *bitbucketFake, c Client)) {
	bitbucketBoth(t, func(t *testing.T, f *bitbucketFake, c Client) {
		if f.name == name {
			test(t, f, c)
		}
	})
}

// The token of a repository may not read its own user: the author of the new comment is the client.
func TestBitbucketCloudFindsItsCommentsWithATokenOfTheRepository(t *testing.T) {
	bitbucketOnly(t, "cloud", func(t *testing.T, f *bitbucketFake, c Client) {
		f.before = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Path != "/2.0/user" {
				return false
			}
			w.WriteHeader(http.StatusForbidden)
			return true
		}
		ours := func(body string) bool { return strings.HasPrefix(body, "M ") }
		foreign := f.add(bitbucketFakeComment{author: bitbucketMallory, body: "M fake"})
		f.add(bitbucketFakeComment{author: bitbucketCairn, body: "M old"})
		for range 2 { // the second time, it is known
			if id, err := c.Upsert(t.Context(), 1, 0, ours, "M new"); err != nil || id.ID != 2 {
				t.Errorf("comment %v, %v", id, err)
			}
		}
		if made := f.reset(false); made != "POST comments, DELETE 3, PUT 2, PUT 2" || foreign.body != "M fake" ||
			foreign.deleted {
			t.Errorf("%q, %+v", made, foreign)
		}
	})
}

// An unchanged pull request costs no request for its commits, and a head that changed meanwhile is not taken for the
// listed one.
func TestBitbucketCloudCompletesHashes(t *testing.T) {
	bitbucketOnly(t, "cloud", func(t *testing.T, f *bitbucketFake, c Client) {
		second := &bitbucketFakePull{number: 2, state: "OPEN", head: bitbucketTwo, base: bitbucketBase,
			repositoryIs: true}
		f.pulls = append(f.pulls, second)
		f.change(second)
		_, version, err := c.Open(t.Context(), "")
		if made := f.reset(true); err != nil || made != "GET pullrequests, GET commits, GET 000000000000, GET commits" {
			t.Errorf("%q, %v", made, err)
		}
		f.push(second, bitbucketTwin)
		open, version, err := c.Open(t.Context(), version)
		if made := f.reset(true); err != nil || made != "GET pullrequests, GET commits" ||
			open[0].Head.Commit != bitbucketTwin {
			t.Errorf("%q, %+v, %v", made, open, err)
		}
		f.push(second, bitbucketOne)
		f.before = func(_ http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/commits") {
				f.push(second, bitbucketTwo)
			}
			return false
		}
		if open, version, err = c.Open(t.Context(), version); err != nil || open[0].Head.Commit != "" || version != "" {
			t.Errorf("%+v, %q, %v", open, version, err)
		}
		f.before = nil
		if open, _, err = c.Open(t.Context(), version); err != nil || open[0].Head.Commit != bitbucketTwo {
			t.Errorf("%+v, %v", open, err)
		}
	})
}

// Without a number of all objects, a change behind the first page does not show in it.
func TestBitbucketCloudReadsAListThatIsNotCounted(t *testing.T) {
	bitbucketOnly(t, "cloud", func(t *testing.T, f *bitbucketFake, c Client) {
		first := `{"values":[{"id":2}],"next":"https://api.bitbucket.org/2.0/x?page=2"}`
		last := `{"values":[{"id":1}]}`
		f.before = func(w http.ResponseWriter, r *http.Request) bool {
			if r.URL.Query().Get("page") == "2" {
				_, _ = w.Write([]byte(last))
			} else {
				_, _ = w.Write([]byte(first))
			}
			return true
		}
		_, version, err := c.Open(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		last = `{"values":[]}`
		if open, _, err := c.Open(t.Context(), version); err != nil || len(open) != 1 {
			t.Error(open, err)
		}
	})
}

func TestBitbucketCloudHasNoReactions(t *testing.T) {
	bitbucketOnly(t, "cloud", func(t *testing.T, f *bitbucketFake, c Client) {
		if err := c.React(t.Context(), 1, 1, Accepted); err != nil || f.reset(true) != "" {
			t.Error(err)
		}
	})
}

// What an interrupted list completed is not requested again, or a list that takes longer than a reconcile may would
// never end.
func TestBitbucketCloudContinuesAListThatFailed(t *testing.T) {
	requests := map[string]int{}
	failing := true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests[r.URL.Path]++
		const repo = "/repositories/acme/infra"
		hash := func(n int) string { return fmt.Sprintf("%d%039d", n, 0) }
		switch path := r.URL.Path; {
		case path == repo+"/pullrequests":
			var values []map[string]any
			for n := 1; n <= 3; n++ {
				values = append(values,
					map[string]any{"id": n, "state": "OPEN",
						"source": map[string]any{"commit": map[string]any{"hash": hash(n)[:12]}}})
			}
			_ = json.NewEncoder(w).Encode(map[string]any{"values": values})
		case path == repo+"/pullrequests/3/commits" && failing:
			w.WriteHeader(http.StatusTooManyRequests)
		default:
			var n int
			_, _ = fmt.Sscanf(path, repo+"/pullrequests/%d/commits", &n)
			_ = json.NewEncoder(w).Encode(map[string]any{"values": []map[string]any{{"hash": hash(n)}}})
		}
	}))
	defer server.Close()
	c := NewBitbucketCloud(BitbucketCloudOptions{URL: server.URL, Workspace: "acme", Name: "infra", Token: "t",
		Web: server.Client()})
	if _, _, err := c.Open(t.Context(), ""); KindOf(err) != RateLimited {
		t.Fatal(err)
	}
	failing = false
	open, _, err := c.Open(t.Context(), "")
	if n := requests["/repositories/acme/infra/pullrequests/1/commits"]; err != nil || len(open) != 3 || n != 1 {
		t.Errorf("%d pull requests, %v, the first was completed %d times", len(open), err, n)
	}
}
