package pullrequest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// gitModel is the Git provider with its API, and the merges of its pull requests. Alice has the verb plan, Mallory does
// not.
type gitModel struct {
	*history
	pulls    []*pullModel
	base     string
	comments []*commentModel
	// statuses by commit and context.
	statuses map[string]map[string]string
	// rejectStatus is the HTTP status that rejects statuses of commits; 0 if they are accepted.
	rejectStatus int
	// writers are the processes that wrote the statuses of a commit, or a comment.
	writers map[string]map[*process]bool
	// shared are the heads that were of several pull requests.
	shared map[string]bool
	// granted is another user than Alice who has the verb plan; empty for none.
	granted string
	// committers of heads that are not of Alice.
	committers map[string]string
	merges     *mergeModel
	// landed are the heads that the base has.
	landed map[string]bool
	// fetched are the heads that the Repository has.
	fetched map[string]bool
	commits int
	last    int
	// requests are all requests to the API, and changes those that are not only read.
	requests, changes int
}

// pullModel is a pull request, in the form of the API.
type pullModel struct {
	Number  int       `json:"number"`
	Title   string    `json:"title"`
	State   string    `json:"state"`
	Draft   bool      `json:"draft"`
	Merged  bool      `json:"merged"`
	Merge   string    `json:"merge_commit_sha"`
	User    userModel `json:"user"`
	Head    refModel  `json:"head"`
	Base    refModel  `json:"base"`
	Updated time.Time `json:"updated_at"`
	// record: its comment has plans that nothing may replace, since it is merged.
	record bool
}

type commitOfModel struct {
	SHA       string    `json:"sha"`
	Author    userModel `json:"author"`
	Committer userModel `json:"committer"`
}

type userModel struct {
	Login string `json:"login"`
}

type refModel struct {
	Ref    string         `json:"ref"`
	SHA    string         `json:"sha"`
	RepoID int            `json:"repo_id"`
	Repo   map[string]int `json:"repo"`
}

type commentModel struct {
	ID      int       `json:"id"`
	User    userModel `json:"user"`
	Body    string    `json:"body"`
	Created time.Time `json:"created_at"`
	Updated time.Time `json:"updated_at"`
	pull    int
}

func newGitModel(h *history) *gitModel {
	g := &gitModel{history: h, statuses: map[string]map[string]string{}, writers: map[string]map[*process]bool{},
		shared: map[string]bool{}, fetched: map[string]bool{}, committers: map[string]string{},
		landed: map[string]bool{}}
	g.base = g.commit()
	return g
}

// commit returns the ID of a new commit.
func (g *gitModel) commit() string {
	g.commits++
	return fmt.Sprintf("%040x", g.commits)
}

func (g *gitModel) pull(number int) *pullModel {
	i := slices.IndexFunc(g.pulls, func(p *pullModel) bool { return p.Number == number })
	if i < 0 {
		return nil
	}
	return g.pulls[i]
}

// act is an action of a user.
func (g *gitModel) act() {
	if len(g.pulls) == 0 || len(g.pulls) < 3 && g.rand.IntN(6) == 0 {
		p := &pullModel{
			Number: len(g.pulls) + 1, Title: "Change", State: "open", User: userModel{"alice"},
			Head:    refModel{Ref: "change", SHA: g.commit(), Repo: map[string]int{"id": 1}},
			Base:    refModel{Ref: "main", RepoID: 1},
			Updated: g.now.Truncate(time.Second),
		}
		switch g.rand.IntN(4) {
		case 0:
			p.User.Login = "mallory"
		case 1:
			p.Head.Repo["id"] = 2
		}
		if len(g.pulls) > 0 && g.rand.IntN(3) == 0 { // atlantis #5228: two with the same head
			p.Head.SHA = g.pulls[0].Head.SHA
			g.shared[p.Head.SHA] = true
		}
		g.pulls = append(g.pulls, p)
		g.tracef("%s opens pull request %d at %s", p.User.Login, p.Number, p.Head.SHA)
		return
	}
	p := g.pulls[g.rand.IntN(len(g.pulls))]
	p.Updated = g.now.Truncate(time.Second)
	switch n := g.rand.IntN(20); {
	case n < 5:
		p.Head.SHA = g.commit()
		if g.rand.IntN(4) == 0 {
			g.committers[p.Head.SHA] = "mallory"
		}
		g.tracef("push to pull request %d: %s", p.Number, p.Head.SHA)
	case n < 7:
		g.tracef("push to main")
		g.push("", nil)
		if g.rand.IntN(3) == 0 {
			g.merges.revert(stackNames[g.rand.IntN(len(stackNames))])
		}
	case n < 12:
		who := []string{"alice", "mallory"}[g.rand.IntN(2)]
		seen := p.Head.SHA
		if g.rand.IntN(3) == 0 { // of an earlier head, or of another pull request
			seen = fmt.Sprintf("%040x", 1+g.rand.IntN(g.commits))
		}
		text := []string{"/cairn plan", "/cairn plan " + seen, "/cairn plan net", "/cairn apply",
			"nice"}[g.rand.IntN(5)]
		g.add(p, who, text)
	case n < 14:
		if g.rand.IntN(2) == 0 && p.State == "open" {
			g.merge(p)
			break
		}
		p.State = "closed"
		g.tracef("pull request %d is closed", p.Number)
	case n < 16:
		if !p.Merged {
			p.State = "open"
			g.tracef("pull request %d is open", p.Number)
		}
	case n < 18:
		p.Draft = !p.Draft
		g.tracef("pull request %d is a draft: %t", p.Number, p.Draft)
	default:
		g.fetch()
	}
}

// push lets the base have a new commit, which the Repository has at once.
func (g *gitModel) push(head string, changed []string) {
	g.base = g.commit()
	g.merges.push(g.base, head, changed)
	for _, p := range g.processes { // the status of the Repository has it
		p.enqueueFor(p.cache.objects[key{"Repository", "web", "infra"}])
	}
}

// merge merges a pull request. The Repository has the merge before a list has the pull request as merged.
func (g *gitModel) merge(p *pullModel) {
	g.tracef("pull request %d is merged", p.Number)
	changed := g.affected(p)
	p.record = len(changed) > 0 && !g.shared[p.Head.SHA]
	p.State, p.Merged, g.landed[p.Head.SHA] = "closed", true, true
	g.push(p.Head.SHA, changed)
	p.Merge = g.base
}

// fetch lets the Repository have all commits.
func (g *gitModel) fetch() {
	for _, p := range g.pulls {
		g.fetched[p.Head.SHA] = true
	}
}

func (g *gitModel) add(p *pullModel, who, text string) *commentModel {
	g.last++
	p.Updated = g.now.Truncate(time.Second)
	c := &commentModel{
		ID: g.last, User: userModel{who}, Body: text, Created: g.now.Truncate(time.Second),
		Updated: g.now.Truncate(time.Second),
		pull:    p.Number,
	}
	g.comments = append(g.comments, c)
	g.tracef("%s comments on pull request %d: %.40q", who, p.Number, text)
	return c
}

// wrote records the process that works as a writer.
func (g *gitModel) wrote(what string) {
	if g.writers[what] == nil {
		g.writers[what] = map[*process]bool{}
	}
	g.writers[what][g.current.of] = true
}

func commentsOf(number int) string { return fmt.Sprintf("comments of %d", number) }

func (g *gitModel) commentsOf(number int, by string) (found []*commentModel) {
	for _, c := range g.comments {
		if c.pull == number && (by == "" || c.User.Login == by) {
			found = append(found, c)
		}
	}
	return found
}

// restricted reports whether nothing of a pull request may run without a command.
func (g *gitModel) restricted(p *pullModel) bool {
	return p.User.Login != "alice" && p.User.Login != g.granted || p.Head.Repo["id"] != 1 ||
		g.committers[p.Head.SHA] != ""
}

// affected returns the names of the Stacks that a pull request affects.
func (g *gitModel) affected(p *pullModel) (names []string) {
	if g.landed[p.Head.SHA] {
		return nil
	}
	for _, name := range stackNames {
		if hashOfAll(p.Head.SHA, name)%2 == 0 {
			names = append(names, name)
		}
	}
	return names
}

// conflicts reports whether the head conflicts with the base.
func (g *gitModel) conflicts(p *pullModel) bool {
	return hashOfAll(p.Head.SHA, g.base)%8 == 0 && !g.landed[p.Head.SHA]
}

// digest of the inputs of a Stack. Half of the bases change it.
func (g *gitModel) digest(p *pullModel, name string) string {
	return fmt.Sprintf("sha256:%x", hashOfAll(p.Head.SHA, name, hashOfAll(g.base, name)%2))
}

// Merge implements Merger.
func (g *gitModel) Merge(ctx context.Context, w *Snapshot, _ *v1alpha1.Repository, provider Provider) error {
	spec := w.PullRequest.Spec
	if !g.fetched[spec.Head.Commit] {
		w.Waits = "waits for a fetch"
		return nil
	}
	p := &pullModel{Head: refModel{SHA: spec.Head.Commit}}
	w.Merge = &Merge{PullRequestMerge: v1alpha1.PullRequestMerge{Head: spec.Head.Commit, Base: g.base},
		Empty: g.landed[spec.Head.Commit]}
	if g.conflicts(p) {
		w.Merge.Conflicts = []string{"main.tf"}
		return nil
	}
	for _, name := range g.affected(p) {
		a := Affected{Key: Key{"web", name}, UID: name, InputsDigest: g.digest(p, name), Revision: spec.Head.Commit}
		if g.waits(p, name) {
			a.InputsDigest, a.Problem, a.Waits = "", "waits for Stack vpc: it is not Ready (Running)", true
		}
		w.Merge.Affected = append(w.Merge.Affected, a)
	}
	g.pause()
	var err error
	w.Restricted, err = restrict(ctx, g, w, provider, w.Merge.Affected)
	return err
}

// waits reports whether the inputs of a Stack wait for its dependency, whose first apply takes some minutes.
func (g *gitModel) waits(p *pullModel, name string) bool {
	return hashOfAll("waits", p.Head.SHA, name)%5 == 0 && g.now.Before(noon.Add(10*time.Minute))
}

// Forget implements Merger.
func (g *gitModel) Forget(types.UID) {}

// Allows implements Access.
func (g *gitModel) Allows(_ context.Context, user string, _ []string, _ string, _ Key) (allowed bool, err error) {
	err = g.crossing("a review of access", func() {
		allowed = strings.HasSuffix(user, ":alice") || g.granted != "" && strings.HasSuffix(user, ":"+g.granted)
	})
	return allowed, err
}

// AllowsRun implements Access.
func (g *gitModel) AllowsRun(ctx context.Context, user string, groups []string, verb string, run Key) (bool, error) {
	return g.Allows(ctx, user, groups, verb, run)
}

// SameInputs implements Merger.
func (g *gitModel) SameInputs(context.Context, string, string) (bool, error) { return true, nil }

// checkRun checks that a Run of a restricted pull request was allowed for its head.
func (g *gitModel) checkRun(run *v1alpha1.Run) {
	p := g.pull(int(numberOf(run)))
	if at := *p; !g.restricted(&pullModel{User: at.User, Head: refModel{SHA: run.Spec.Revision, Repo: at.Head.Repo}}) {
		return
	}
	for _, c := range g.commentsOf(p.Number, "alice") {
		if c.Body == "/cairn plan "+run.Spec.Revision {
			return
		}
	}
	g.violates("Run %s plans %s, which no user allowed", run.Name, run.Spec.Revision)
}

// checkRecord checks that the comment of a merged pull request does not claim that it affected nothing.
func (g *gitModel) checkRecord(number int, body string) {
	p := g.pull(number)
	if p.record && strings.Contains(body, p.Head.SHA) && strings.Contains(body, "No Stack is affected") {
		g.violates("the comment of merged pull request %d loses its plans: %.200s", number, body)
	}
}

// expected returns the phase of an open pull request, and its aggregate status if all plans succeed.
func (g *gitModel) expected(p *pullModel) (v1alpha1.PullRequestPhase, string) {
	switch {
	case p.Draft:
		return v1alpha1.PullRequestDraft, "pending"
	case g.conflicts(p):
		return v1alpha1.PullRequestConflict, "failure"
	case g.restricted(p) && len(g.affected(p)) > 0 && !g.allowed(p):
		return v1alpha1.PullRequestAwaitingCommand, "pending"
	}
	return v1alpha1.PullRequestPlanned, "success"
}

// allowed reports whether Alice allowed the head. A command that is read before the head is known is rejected, and a
// user repeats it.
func (g *gitModel) allowed(p *pullModel) bool {
	o := g.api.objects[key{"PullRequest", "web", fmt.Sprintf("infra-%d", p.Number)}]
	pull, ok := o.(*v1alpha1.PullRequest)
	return ok && pull.Status.Commands.AllowedHead == p.Head.SHA
}

// provider returns a client of the model.
func (g *gitModel) provider() Provider {
	c := pulls.NewGitea(pulls.GiteaOptions{
		URL: "https://git.example.com", Owner: "acme", Name: "infra", Token: "t", Web: &http.Client{Transport: g},
		Now: func() time.Time {
			return g.now
		},
	})
	return Provider{Client: c, Name: "gitea", Host: "git.example.com"}
}

// RoundTrip is the API.
func (g *gitModel) RoundTrip(r *http.Request) (*http.Response, error) {
	var body []byte
	if r.Body != nil {
		body, _ = io.ReadAll(r.Body)
	}
	what := r.Method + " " + strings.TrimPrefix(r.URL.Path, "/api/v1")
	status, answer := http.StatusOK, any(nil)
	do := func() {
		// Of a user without the verb, the teams are read again, and here, without a Gatherer, the users of commits too.
		if !strings.HasPrefix(what, "GET /orgs/") && !strings.HasSuffix(what, "/commits") {
			g.requests++
		}
		status, answer = g.answer(r, what, body)
		if r.Method != http.MethodGet {
			g.api.writes++
			g.changes++
			g.tracef("      %s %s: %d", what, body[:min(len(body), 120)], status)
		}
	}
	if what == "GET /user" { // the client is locked
		do()
	} else if err := g.crossing(what, do); err != nil {
		return nil, err
	}
	data, err := json.Marshal(answer)
	total := 0
	switch list := answer.(type) {
	case []*pullModel:
		total = len(list)
	case []commitOfModel:
		total = len(list)
	}
	return &http.Response{
		StatusCode: status, Header: http.Header{"X-Total-Count": {strconv.Itoa(total)}},
		Body: io.NopCloser(bytes.NewReader(data)), Request: r,
	}, err
}

func (g *gitModel) answer(r *http.Request, what string, body []byte) (int, any) {
	var sent struct{ Body, Context, State string }
	if len(body) > 0 {
		if err := json.Unmarshal(body, &sent); err != nil {
			return http.StatusBadRequest, nil
		}
	}
	var number int
	var commit string
	is := func(format string, to ...any) bool {
		n, _ := fmt.Sscanf(what+" ", format+" ", to...)
		return n == len(to) && (len(to) > 0 || what == format)
	}
	const repo = "/repos/acme/infra/"
	switch {
	case what == "GET /user":
		return http.StatusOK, userModel{"cairn"}
	case what == "GET "+repo+"pulls":
		open := []*pullModel{}
		for _, p := range g.pulls {
			if p.State == "open" {
				open = append(open, p)
			}
		}
		slices.SortStableFunc(open, func(a, b *pullModel) int {
			return cmp.Or(b.Updated.Compare(a.Updated), a.Number-b.Number)
		})
		return http.StatusOK, open
	case strings.HasSuffix(what, "/commits") && is("GET "+repo+"pulls/%d/commits", &number):
		if p := g.pull(number); p != nil {
			by := userModel{cmp.Or(g.committers[p.Head.SHA], "alice")}
			return http.StatusOK, []commitOfModel{{p.Head.SHA, by, by}}
		}
	case strings.HasPrefix(what, "GET "+repo+"pulls/"):
		is("GET "+repo+"pulls/%d", &number)
		if p := g.pull(number); p != nil {
			return http.StatusOK, p
		}
	case strings.HasSuffix(what, "/reactions"):
		return http.StatusOK, nil
	case is("GET "+repo+"issues/%d/comments", &number):
		return http.StatusOK, append([]*commentModel{}, g.commentsOf(number, "")...)
	case is("POST "+repo+"issues/%d/comments", &number):
		g.wrote(commentsOf(number))
		g.checkRecord(number, sent.Body)
		made := g.add(g.pull(number), "cairn", sent.Body)
		g.merges.checkComments(number)
		return http.StatusCreated, made
	case is("POST "+repo+"statuses/%s", &commit) && g.rejectStatus != 0:
		return g.rejectStatus, nil
	case is("POST "+repo+"statuses/%s", &commit):
		if g.statuses[commit] == nil {
			g.statuses[commit] = map[string]string{}
		}
		g.wrote(commit)
		g.statuses[commit][sent.Context] = sent.State
		return http.StatusCreated, nil
	case is("PATCH "+repo+"issues/comments/%d", &number):
		for _, c := range g.comments {
			if c.ID == number {
				g.wrote(commentsOf(c.pull))
				g.checkRecord(c.pull, sent.Body)
				c.Body = sent.Body
				return http.StatusOK, nil
			}
		}
	case is("DELETE "+repo+"issues/comments/%d", &number):
		g.comments = slices.DeleteFunc(g.comments, func(c *commentModel) bool { return c.ID == number })
		return http.StatusNoContent, nil
	}
	return http.StatusNotFound, nil
}
