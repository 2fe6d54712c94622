package pulls

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// bitbucketDCRoutes is a fake of the API of Bitbucket Data Center.
func bitbucketDCRoutes(f *bitbucketFake, mux *http.ServeMux) {
	const repository = "/rest/api/1.0/projects/ACME/repos/infra"
	mux.HandleFunc("GET "+repository, func(w http.ResponseWriter, _ *http.Request) {
		bitbucketEncode(w, 200,
			map[string]any{"id": 1})
	})
	mux.HandleFunc("GET "+repository+"/pull-requests", func(w http.ResponseWriter, r *http.Request) {
		if q := r.URL.Query(); q.Get("state") != "OPEN" || q.Get("order") != "NEWEST" {
			f.t.Errorf("the query of the list is %s", r.URL.RawQuery)
		}
		open := f.newest()
		slices.SortFunc(open, func(a, b *bitbucketFakePull) int { return b.number - a.number }) // not by the update
		var all []any
		for _, p := range open {
			all = append(all, f.dcPull(p))
		}
		f.dcPage(w, r, all)
	})
	pull := func(pattern string, handle func(w http.ResponseWriter, r *http.Request, p *bitbucketFakePull)) {
		method, path, _ := strings.Cut(pattern, " ")
		mux.HandleFunc(method+" "+repository+"/pull-requests/{number}"+path, func(w http.ResponseWriter,
			r *http.Request) {
			p := f.pull(r)
			if p == nil {
				bitbucketEncode(w, 404, bitbucketFakeError("dc", "no such pull request"))
				return
			}
			handle(w, r, p)
		})
	}
	pull("GET ", func(w http.ResponseWriter, _ *http.Request, p *bitbucketFakePull) {
		bitbucketEncode(w, 200, f.dcPull(p))
	})
	f.dcComments(pull)
	mux.HandleFunc("POST "+repository+"/commits/{commit}/builds", f.status)
	const likes = "/rest/comment-likes/latest/projects/ACME/repos/infra/pull-requests/1"
	mux.HandleFunc("PUT "+likes+"/comments/{id}/reactions/{emoticon}",
		func(w http.ResponseWriter, r *http.Request) {
			f.reactions = append(f.reactions, r.PathValue("id")+" "+r.PathValue("emoticon"))
			bitbucketEncode(w, 200, map[string]any{})
		})
}

// dcPage answers with a page.
func (f *bitbucketFake) dcPage(w http.ResponseWriter, r *http.Request, all []any) {
	start, _ := strconv.Atoi(r.URL.Query().Get("start"))
	start = min(start, len(all))
	end := min(start+f.page, len(all))
	page := map[string]any{"values": append([]any{}, all[start:end]...), "size": end - start, "start": start,
		"isLastPage": end == len(all), "nextPageStart": nil}
	if end < len(all) {
		page["nextPageStart"] = end
	}
	bitbucketEncode(w, 200, page)
}

func (f *bitbucketFake) dcPull(p *bitbucketFakePull) map[string]any {
	ref := func(branch, commit string, repository int) map[string]any {
		return map[string]any{
			"id": "refs/heads/" + branch, "displayId": branch, "latestCommit": commit,
			"repository": map[string]any{"id": repository, "slug": "infra"},
		}
	}
	from := ref("change", p.head, map[bool]int{true: 2, false: 1}[p.fork])
	if !p.repositoryIs {
		delete(from, "repository")
	}
	properties := map[string]any{}
	if p.state == "MERGED" {
		properties["mergeCommit"] = map[string]any{"id": bitbucketOne}
	}
	return map[string]any{
		"properties": properties,
		"id":         p.number, "version": p.version, "title": "title", "state": p.state, "draft": p.draft,
		"updatedDate": p.updated.UnixMilli(),
		"author":      map[string]any{"user": map[string]any{"name": bitbucketAlice, "slug": "other"}},
		"fromRef":     from, "toRef": ref("main", p.base, 1),
		"links": map[string]any{"self": []any{map[string]any{"href": bitbucketFakePage + strconv.Itoa(p.number)}}},
	}
}

func (f *bitbucketFake) dcComments(pull func(string, func(http.ResponseWriter, *http.Request, *bitbucketFakePull))) {
	encode := func(c *bitbucketFakeComment, replies ...any) map[string]any {
		return map[string]any{
			"id": c.id, "version": c.version, "text": c.body, "author": map[string]any{"name": c.author},
			"comments":    replies,
			"createdDate": c.created.UnixMilli(), "updatedDate": c.updated.UnixMilli(),
		}
	}
	pull("GET /activities", func(w http.ResponseWriter, r *http.Request, _ *bitbucketFakePull) {
		replies := map[int64][]any{}
		for _, c := range f.comments {
			replies[c.parent] = append(replies[c.parent], encode(c))
		}
		all := []any{map[string]any{"id": 1, "action": "OPENED"}}
		for _, c := range slices.Backward(f.comments) {
			if c.parent != 0 || c.deleted {
				continue
			}
			activity := map[string]any{"id": c.id + 1, "action": "COMMENTED", "commentAction": "ADDED",
				"comment": encode(c, replies[c.id]...)}
			if c.inline {
				activity["commentAnchor"] = map[string]any{"path": "main.tf"}
			}
			all = append(all, activity)
		}
		f.dcPage(w, r, all)
	})
	pull("POST /comments", func(w http.ResponseWriter, r *http.Request, _ *bitbucketFakePull) {
		var body struct{ Text string }
		bitbucketDecode(f.t, r, &body)
		bitbucketEncode(w, 201, encode(f.add(bitbucketFakeComment{author: bitbucketCairn, body: body.Text})))
	})
	change := func(w http.ResponseWriter, r *http.Request, _ *bitbucketFakePull) {
		var body struct {
			Text    string
			Version int
		}
		switch r.Method {
		case http.MethodDelete:
			body.Version, _ = strconv.Atoi(r.URL.Query().Get("version"))
		case http.MethodPut:
			bitbucketDecode(f.t, r, &body)
		}
		c := f.comment(r)
		switch {
		case c == nil:
			bitbucketEncode(w, 404, bitbucketFakeError("dc", "no such comment"))
		case r.Method == http.MethodGet:
			bitbucketEncode(w, 200, encode(c))
		case c.author != bitbucketCairn:
			w.WriteHeader(http.StatusForbidden)
		case body.Version != c.version,
			r.Method == http.MethodDelete && slices.ContainsFunc(f.comments,
				func(o *bitbucketFakeComment) bool { return o.parent == c.id }):
			bitbucketEncode(w, 409, bitbucketFakeError("dc", "another version, or replies"))
		case r.Method == http.MethodDelete:
			c.deleted = true
			w.WriteHeader(http.StatusNoContent)
		default:
			c.body, c.version = body.Text, c.version+1
			bitbucketEncode(w, 200, encode(c))
		}
	}
	for _, method := range []string{"GET", "PUT", "DELETE"} {
		pull(method+" /comments/{id}", change)
	}
}

func TestBitbucketDataCenterReadsTheVersionOfACommentAgainOnce(t *testing.T) {
	bitbucketOnly(t, "dc", func(t *testing.T, f *bitbucketFake, c Client) {
		ours := f.add(bitbucketFakeComment{author: bitbucketCairn, body: "M old"})
		changes := 1
		f.before = func(_ http.ResponseWriter, r *http.Request) bool {
			if r.Method == http.MethodPut && changes > 0 {
				changes--
				ours.version++ // another change in between
			}
			return false
		}
		upsert := func() error {
			_, err := c.Upsert(t.Context(), 1, 1, func(string) bool { return true }, "M new")
			return err
		}
		if err := upsert(); err != nil || ours.body != "M new" || f.reset(false) != "PUT 1, PUT 1" {
			t.Errorf("%v, %+v", err, ours)
		}
		changes = 9
		if err := upsert(); KindOf(err) != Conflict || f.reset(false) != "PUT 1, PUT 1" {
			t.Error(err)
		}
	})
}

func TestBitbucketDataCenterKeepsACommentWithReplies(t *testing.T) {
	bitbucketOnly(t, "dc", func(t *testing.T, f *bitbucketFake, c Client) {
		f.add(bitbucketFakeComment{author: bitbucketCairn, body: "M one"})
		f.add(bitbucketFakeComment{author: bitbucketCairn, body: "M two"})
		f.add(bitbucketFakeComment{author: bitbucketBob, body: "reply", parent: 2})
		id, err := c.Upsert(t.Context(), 1, 0, func(body string) bool { return strings.HasPrefix(body, "M ") }, "M new")
		if err != nil || id.ID != 1 || f.comments[0].body != "M new" || f.comments[1].deleted {
			t.Error(id, err)
		}
	})
}

func TestBitbucketDataCenterReacts(t *testing.T) {
	bitbucketOnly(t, "dc", func(t *testing.T, f *bitbucketFake, c Client) {
		for _, reaction := range []Reaction{Accepted, Rejected} {
			if err := c.React(t.Context(), 1, 7, reaction); err != nil {
				t.Error(err)
			}
		}
		if got := strings.Join(f.reactions, ", "); got != "7 thumbsup, 7 thumbsdown" {
			t.Error(got)
		}
	})
}

// Without the user, a comment of another one could be taken for that of the client.
func TestBitbucketDataCenterNeedsItsUser(t *testing.T) {
	bitbucketOnly(t, "dc", func(t *testing.T, f *bitbucketFake, c Client) {
		f.before = func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte(`{"values":[],"isLastPage":true}`))
			return true
		}
		if _, err := c.Upsert(t.Context(), 1, 0, func(string) bool { return true }, "M"); KindOf(err) != Invalid ||
			f.reset(false) != "" {
			t.Error(err)
		}
	})
}

// bitbucketDCAnswers answers each request with a text.
func bitbucketDCAnswers(t *testing.T, text string, test func(t *testing.T, c Client)) {
	bitbucketOnly(t, "dc", func(t *testing.T, f *bitbucketFake, c Client) {
		f.before = func(w http.ResponseWriter, _ *http.Request) bool {
			_, _ = w.Write([]byte(text))
			return true
		}
		test(t, c)
	})
}

func TestBitbucketDataCenterReturnsEachCommentOnce(t *testing.T) {
	bitbucketDCAnswers(t, `{"isLastPage":true,"values":[
		{"action":"COMMENTED"},
		{"action":"COMMENTED","commentAction":"REPLIED","comment":{"id":2,"text":"reply","createdDate":2}},
		{"action":"COMMENTED","commentAction":"DELETED","comment":{"id":3,"text":"gone","createdDate":3}},
		{"action":"COMMENTED","commentAction":"ADDED","comment":{"id":1,"text":"one","createdDate":1,"comments":[
			{"id":2,"text":"reply","createdDate":2}]}}]}`, func(t *testing.T, c Client) {
		comments, err := c.Comments(t.Context(), 1, time.Time{})
		if err != nil || len(comments) != 2 || comments[0].Body != "one" || comments[1].Body != "reply" {
			t.Errorf("%+v, %v", comments, err)
		}
	})
}

// The header has the user in the form of a URL.
func TestBitbucketDataCenterDecodesItsUser(t *testing.T) {
	bitbucketOnly(t, "dc", func(t *testing.T, f *bitbucketFake, c Client) {
		f.add(bitbucketFakeComment{author: "cairn@example.com", body: "M old"})
		f.before = func(w http.ResponseWriter, r *http.Request) bool {
			if strings.HasSuffix(r.URL.Path, "/repos/infra") {
				w.Header().Set("X-Ausername", "cairn%40example.com")
				return true
			}
			if r.Method == http.MethodPut {
				_, _ = w.Write([]byte("{}"))
			}
			return r.Method == http.MethodPut
		}
		id, err := c.Upsert(t.Context(), 1, 0, func(string) bool { return true }, "M new")
		if made := f.reset(false); err != nil || id.ID != 1 || made != "PUT 1" {
			t.Errorf("comment %v, %v: %q", id, err, made)
		}
	})
}
