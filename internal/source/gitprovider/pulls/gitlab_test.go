package pulls

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"testing"
	"time"

	gitlab "gitlab.com/gitlab-org/api/client-go/v2"
)

// newFakeGitLab is a client of a fake of GitLab with the project acme/infra.
func newFakeGitLab(t *testing.T, r *repository) Client {
	server := r.serve(t, gitLabAPI(r))
	client, err := NewGitLab(GitLabOptions{URL: server.URL, Project: "acme/infra", Token: token, Web: server.Client(),
		Now: func() time.Time {
			return now
		}})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// users of the fake; their IDs are their indexes.
var users = []string{"", "alice", "bob", "carol[bot]", "mallory", "cairn"}

func gitLabAPI(r *repository) http.Handler {
	mux := http.NewServeMux()
	missing := func(w http.ResponseWriter) { respond(w, http.StatusNotFound, object{"message": "404 Not found"}) }
	list := func(w http.ResponseWriter, request *http.Request, all []object) {
		page, next := pageOf(r, request, all)
		w.Header().Set("X-Total", strconv.Itoa(len(all)))
		if next > 0 {
			w.Header().Set("X-Next-Page", strconv.Itoa(next))
		}
		respond(w, http.StatusOK, page)
	}
	// handle is for the project only, and hands in the index of the pull request and the comment that a path has; -1 if
	// it has none.
	handle := func(method, path string, f func(w http.ResponseWriter, request *http.Request, pull, comment int)) {
		mux.HandleFunc(method+" /api/v4/projects/{project}"+path, func(w http.ResponseWriter, request *http.Request) {
			pull := slices.IndexFunc(r.pulls, func(p PullRequest) bool {
				return p.Number == intOf(request.PathValue("number"))
			})
			comment := slices.IndexFunc(r.comments, func(c Comment) bool {
				return int(c.ID) == intOf(request.PathValue("note"))
			})
			isNone := pull < 0 && request.PathValue("number") != "" && request.PathValue("number") != "1"
			if request.PathValue("project") != "acme/infra" || isNone ||
				comment < 0 && request.PathValue("note") != "" {
				missing(w)
				return
			}
			f(w, request, pull, comment)
		})
	}
	const one = "/merge_requests/{number}"
	handle("GET", "/merge_requests", func(w http.ResponseWriter, request *http.Request, _, _ int) {
		var all []object
		for _, p := range r.open() {
			all = append(all, gitLabJSON(p))
		}
		list(w, request, all)
	})
	handle("GET", one, func(w http.ResponseWriter, _ *http.Request, i, _ int) {
		respond(w, http.StatusOK, gitLabJSON(r.pulls[i]))
	})
	handle("GET", one+"/notes", func(w http.ResponseWriter, request *http.Request, _, _ int) {
		all := []object{{"id": 50, "system": true, "author": object{"username": "cairn"}, "body": "M added 1 commit",
			"created_at": now.Add(24 * time.Hour)}}
		for _, c := range slices.Backward(r.comments) {
			updated := c.Created
			if c.Edited {
				updated = updated.Add(time.Hour)
			}
			all = append(all, object{"id": c.ID, "author": object{"username": c.Author}, "body": c.Body,
				"created_at": c.Created, "updated_at": updated})
		}
		list(w, request, all)
	})
	handle("POST", one+"/notes", func(w http.ResponseWriter, request *http.Request, _, _ int) {
		var c Comment
		_ = json.NewDecoder(request.Body).Decode(&c)
		r.nextID++
		c.ID, c.Author = r.nextID, "cairn"
		r.comments = append(r.comments, c)
		respond(w, http.StatusCreated, object{"id": c.ID, "updated_at": now})
	})
	handle("PUT", one+"/notes/{note}", func(w http.ResponseWriter, request *http.Request, _, i int) {
		_ = json.NewDecoder(request.Body).Decode(&r.comments[i])
		respond(w, http.StatusOK, object{"id": r.comments[i].ID, "updated_at": now})
	})
	handle("DELETE", one+"/notes/{note}", func(w http.ResponseWriter, _ *http.Request, _, i int) {
		r.comments = slices.Delete(r.comments, i, i+1)
		w.WriteHeader(http.StatusNoContent)
	})
	handle("POST", one+"/notes/{note}/award_emoji", func(w http.ResponseWriter, request *http.Request, _, i int) {
		var body struct{ Name string }
		_ = json.NewDecoder(request.Body).Decode(&body)
		key := fmt.Sprint(r.comments[i].ID, " ",
			map[string]Reaction{"thumbsup": Accepted, "thumbsdown": Rejected}[body.Name])
		if r.reactions[key] > 0 {
			respond(w, http.StatusNotFound, object{"message": "404 Award Emoji Name has already been taken Not Found"})
			return
		}
		r.reactions[key] = 1
		respond(w, http.StatusCreated, object{"id": 1})
	})
	handle("POST", "/statuses/{commit}", func(w http.ResponseWriter, request *http.Request, _, _ int) {
		var s struct {
			Context, State, Description string
			URL                         string `json:"target_url"`
		}
		_ = json.NewDecoder(request.Body).Decode(&s)
		state := map[string]StatusState{"pending": Pending, "success": Success, "failed": Failure}[s.State]
		key := request.PathValue("commit") + " " + s.Context
		if state == Pending && r.statuses[key].State == Pending {
			respond(w, http.StatusBadRequest,
				object{"message": "Cannot transition status via :enqueue from :pending (Reason(s): Status cannot " +
					"transition via \"enqueue\")"})
			return
		}
		r.statuses[key] = Status{s.Context, state, s.Description, s.URL}
		respond(w, http.StatusCreated, object{"id": 1})
	})
	mux.HandleFunc("GET /api/v4/user", func(w http.ResponseWriter, _ *http.Request) {
		respond(w, http.StatusOK, object{"username": "cairn"})
	})
	mux.HandleFunc("GET /api/v4/users", func(w http.ResponseWriter, request *http.Request) {
		all := []object{}
		if id := slices.Index(users, request.URL.Query().Get("username")); id > 0 {
			all = append(all, object{"id": id, "username": users[id]})
		}
		respond(w, http.StatusOK, all)
	})
	mux.HandleFunc("GET /api/v4/groups/acme/members/all/{user}", func(w http.ResponseWriter, request *http.Request) {
		if r.teams[users[intOf(request.PathValue("user"))]] == nil {
			missing(w)
			return
		}
		respond(w, http.StatusOK, object{"access_level": 10})
	})
	return mux
}

func gitLabJSON(p PullRequest) object {
	source := 1
	if p.Fork {
		source = 2
	}
	return object{
		"iid": p.Number, "title": p.Title, "author": object{"username": p.Author}, "web_url": p.URL, "draft": p.Draft,
		"state":         map[State]string{Open: "opened", Merged: "merged", Closed: "closed"}[p.State],
		"source_branch": p.Head.Branch, "sha": p.Head.Commit, "target_branch": p.Base.Branch,
		"source_project_id": source, "target_project_id": 1,
		"updated_at": p.Updated, "merge_commit_sha": p.MergeCommit,
	}
}

// A fast-forward merge has no commit of its own.
func TestMergeCommitOfGitLab(t *testing.T) {
	for name, tt := range map[string]struct {
		merge gitlab.BasicMergeRequest
		want  string
	}{
		"a merge commit": {gitlab.BasicMergeRequest{State: "merged", MergeCommitSHA: "a", SquashCommitSHA: "b",
			SHA: "c"}, "a"},
		"a squash":         {gitlab.BasicMergeRequest{State: "merged", SquashCommitSHA: "b", SHA: "c"}, "b"},
		"a fast forward":   {gitlab.BasicMergeRequest{State: "merged", SHA: "c"}, "c"},
		"one that is open": {gitlab.BasicMergeRequest{State: "opened", SHA: "c"}, ""},
	} {
		if got := gitLabPull(&tt.merge).MergeCommit; got != tt.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
