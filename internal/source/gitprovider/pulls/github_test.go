package pulls

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

type object = map[string]any

// respond sends JSON.
func respond(w http.ResponseWriter, status int, content any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(content)
}

// pageOf is a page of objects and the number of the next page, 0 for none.
func pageOf(r *repository, request *http.Request, all []object) (page []object, next int) {
	number := max(1, intOf(request.URL.Query().Get("page")))
	size := min(r.page, intOf(request.URL.Query().Get("per_page")))
	begin, end := min((number-1)*size, len(all)), min(number*size, len(all))
	if end < len(all) {
		next = number + 1
	}
	return append([]object{}, all[begin:end]...), next
}

func intOf(text string) int {
	n, _ := strconv.Atoi(text)
	return n
}

// newFakeGitHub is a client of a fake of GitHub Enterprise Server with the repository acme/infra.
func newFakeGitHub(t *testing.T, r *repository) Client {
	server := r.serve(t, gitHubAPI(r))
	client, err := NewGitHub(GitHubOptions{URL: server.URL, Owner: "acme", Name: "infra", Token: token,
		Web: server.Client(), Now: func() time.Time {
			return now
		}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func gitHubAPI(r *repository) http.Handler {
	mux := http.NewServeMux()
	const base = "/api/v3/repos/acme/infra"
	list := func(w http.ResponseWriter, request *http.Request, all []object) {
		page, next := pageOf(r, request, all)
		content, _ := json.Marshal(page)
		tag := fmt.Sprintf(`W/"%x"`, sha256.Sum256(content))
		w.Header().Set("ETag", tag)
		if request.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		if next > 0 {
			w.Header().Set("Link", fmt.Sprintf(`<http://%s%s?page=%d>; rel="next"`, request.Host, request.URL.Path,
				next))
		}
		_, _ = w.Write(content)
	}
	find := func(w http.ResponseWriter, request *http.Request) *PullRequest {
		i := slices.IndexFunc(r.pulls, func(p PullRequest) bool {
			return p.Number == intOf(request.PathValue("number"))
		})
		if i < 0 {
			respond(w, http.StatusNotFound, object{"message": "Not Found"})
			return nil
		}
		return &r.pulls[i]
	}
	comment := func(w http.ResponseWriter, request *http.Request) int {
		i := slices.IndexFunc(r.comments, func(c Comment) bool { return int(c.ID) == intOf(request.PathValue("id")) })
		if i < 0 {
			respond(w, http.StatusNotFound, object{"message": "Not Found"})
		}
		return i
	}
	mux.HandleFunc("GET "+base+"/pulls", func(w http.ResponseWriter, request *http.Request) {
		if q := request.URL.Query(); q.Get("state") != "open" || q.Get("sort") != "updated" ||
			q.Get("direction") != "desc" {
			respond(w, http.StatusUnprocessableEntity, nil)
			return
		}
		var all []object
		for _, p := range r.open() {
			all = append(all, gitHubJSON(p))
		}
		list(w, request, all)
	})
	mux.HandleFunc("GET "+base+"/pulls/{number}", func(w http.ResponseWriter, request *http.Request) {
		if p := find(w, request); p != nil {
			respond(w, http.StatusOK, gitHubJSON(*p))
		}
	})
	mux.HandleFunc("GET "+base+"/issues/1/comments", func(w http.ResponseWriter, request *http.Request) {
		since, _ := time.Parse(time.RFC3339, request.URL.Query().Get("since"))
		var all []object
		for _, c := range r.comments {
			updated := c.Created
			if c.Edited {
				updated = c.Created.Add(time.Hour)
			}
			if !updated.Before(since) {
				all = append(all, object{"id": c.ID, "user": object{"login": c.Author}, "body": c.Body,
					"created_at": c.Created, "updated_at": updated})
			}
		}
		list(w, request, all)
	})
	mux.HandleFunc("POST "+base+"/issues/1/comments", func(w http.ResponseWriter, request *http.Request) {
		var c Comment
		_ = json.NewDecoder(request.Body).Decode(&c)
		r.nextID++
		c.ID, c.Author = r.nextID, "cairn"
		r.comments = append(r.comments, c)
		respond(w, http.StatusCreated, object{"id": c.ID, "updated_at": now})
	})
	mux.HandleFunc("PATCH "+base+"/issues/comments/{id}", func(w http.ResponseWriter, request *http.Request) {
		if i := comment(w, request); i >= 0 {
			_ = json.NewDecoder(request.Body).Decode(&r.comments[i])
			respond(w, http.StatusOK, object{"id": r.comments[i].ID, "updated_at": now})
		}
	})
	mux.HandleFunc("DELETE "+base+"/issues/comments/{id}", func(w http.ResponseWriter, request *http.Request) {
		if i := comment(w, request); i >= 0 {
			r.comments = slices.Delete(r.comments, i, i+1)
			w.WriteHeader(http.StatusNoContent)
		}
	})
	mux.HandleFunc("POST "+base+"/issues/comments/{id}/reactions", func(w http.ResponseWriter, request *http.Request) {
		var body struct{ Content string }
		_ = json.NewDecoder(request.Body).Decode(&body)
		if i := comment(w, request); i >= 0 {
			r.reactions[fmt.Sprint(r.comments[i].ID, " ",
				map[string]Reaction{"+1": Accepted, "-1": Rejected}[body.Content])] = 1
			respond(w, http.StatusOK, object{"id": 1})
		}
	})
	mux.HandleFunc("POST "+base+"/statuses/{commit}", func(w http.ResponseWriter, request *http.Request) {
		var s struct {
			Context, State, Description string
			URL                         string `json:"target_url"`
		}
		_ = json.NewDecoder(request.Body).Decode(&s)
		state := map[string]StatusState{"pending": Pending, "success": Success, "failure": Failure}[s.State]
		r.statuses[request.PathValue("commit")+" "+s.Context] = Status{s.Context, state, s.Description, s.URL}
		respond(w, http.StatusCreated, object{"id": 1})
	})
	mux.HandleFunc("POST /api/graphql", func(w http.ResponseWriter, request *http.Request) {
		var body struct {
			Query     string
			Variables struct{ Owner, Login string }
		}
		_ = json.NewDecoder(request.Body).Decode(&body)
		if strings.Contains(body.Query, "viewer") {
			respond(w, http.StatusOK, object{"data": object{"viewer": object{"login": "cairn"}}})
			return
		}
		if r.teams == nil {
			respond(w, http.StatusOK,
				object{"data": object{"organization": nil},
					"errors": []object{{"type": "NOT_FOUND", "message": "no organization"}}})
			return
		}
		var nodes []object
		for _, team := range r.teams[body.Variables.Login] {
			nodes = append(nodes, object{"slug": strings.TrimPrefix(team, body.Variables.Owner+"/")})
		}
		respond(w, http.StatusOK,
			object{"data": object{
				"organization": object{"teams": object{"nodes": nodes, "pageInfo": object{"hasNextPage": false}}}}})
	})
	return mux
}

func gitHubJSON(p PullRequest) object {
	head := object{"ref": p.Head.Branch, "sha": p.Head.Commit, "repo": object{"id": 1}}
	if p.Fork {
		head["repo"] = nil
	}
	state := "closed"
	if p.State == Open {
		state = "open"
	}
	return object{
		"number": p.Number, "title": p.Title, "user": object{"login": p.Author}, "html_url": p.URL, "state": state,
		"merged": p.State == Merged, "draft": p.Draft,
		"merge_commit_sha": p.MergeCommit,
		"head":             head, "base": object{"ref": p.Base.Branch, "sha": p.Base.Commit, "repo": object{"id": 1}},
		"updated_at": p.Updated,
	}
}

// The token of an App is requested for each request: it expires.
func TestAppOfGitHub(t *testing.T) {
	var got []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		got = append(got, request.Header.Get("Authorization"))
		respond(w, http.StatusOK, object{"number": 1})
	}))
	t.Cleanup(server.Close)
	tokens := 0
	client, err := NewGitHub(GitHubOptions{URL: server.URL, Web: server.Client(),
		AppToken: func(context.Context) (string, error) {
			tokens++
			return fmt.Sprint(tokens), nil
		}})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, err := client.Get(t.Context(), 1); err != nil {
			t.Error(err)
		}
	}
	if !slices.Equal(got, []string{"Bearer 1", "Bearer 2"}) {
		t.Error(got)
	}
}

// A token without read:org, which only commands of members of teams need, sees no teams.
func TestGitHubTeamsThatTheTokenMayNotRead(t *testing.T) {
	for _, kind := range []string{"FORBIDDEN", "INSUFFICIENT_SCOPES"} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			respond(w, http.StatusOK,
				object{"data": object{"organization": nil},
					"errors": []object{{"type": kind, "message": "Resource not accessible"}}})
		}))
		c, err := NewGitHub(GitHubOptions{URL: server.URL, Owner: "acme", Name: "infra", Token: "t",
			Web: server.Client()})
		if err != nil {
			t.Fatal(err)
		}
		if teams, err := c.Teams(t.Context(), "bob"); err != nil || teams != nil {
			t.Errorf("%s: %v, %v", kind, teams, err)
		}
		server.Close()
	}
}
