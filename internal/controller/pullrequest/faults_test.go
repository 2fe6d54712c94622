package pullrequest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/egress/egresstest"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/source/git"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
	"cairn.dev/cairn/test/gitserver"
)

// commented is a Git provider with comments whose times have milliseconds.
type commented struct {
	pulls.Client
	comments []pulls.Comment
	head     string
}

func (c commented) Comments(context.Context, int, time.Time) ([]pulls.Comment, error) {
	return c.comments, nil
}
func (c commented) Teams(context.Context, string) ([]string, error) { return nil, nil }
func (c commented) Get(context.Context, int) (pulls.PullRequest, error) {
	return pulls.PullRequest{Head: pulls.Ref{Commit: c.head}}, nil
}

// allowed are the Stacks on which Alice has the verb plan.
type allowed map[Key]bool

func (a allowed) Allows(_ context.Context, user string, _ []string, _ string, stack Key) (bool, error) {
	return user == "gitlab:git.example.com:alice" && (a == nil || a[stack]), nil
}

func (a allowed) AllowsRun(_ context.Context, user string, _ []string, verb string, _ Key) (bool, error) {
	return user == "gitlab:git.example.com:alice" && verb != "", nil
}

// A command allows the head that it names, whatever the times of the comment and of the push are.
func TestACommandIsForTheHeadThatItNames(t *testing.T) {
	for body, want := range map[string]string{
		"/cairn plan":                            "", // which may be about any head
		"/cairn plan " + headOne:                 "", // that its author read before the push
		"/cairn plan " + headTwo:                 headTwo,
		"/cairn plan " + headTwo[:20]:            "",
		"/cairn plan " + headTwo + " web/net":    headTwo,
		"/cairn plan " + headTwo + " net app":    headTwo,
		"/cairn plan web/net web/app " + headTwo: "",
	} {
		for _, created := range []time.Duration{-time.Hour, 0, time.Hour} {
			w := pull()
			restrictedTo()(&w)
			w.PullRequest.Spec.Head.Commit = headTwo
			next(&w)
			provider := Provider{Name: "gitlab", Host: "git.example.com",
				Client: commented{head: headTwo, comments: []pulls.Comment{
					{ID: 1, Author: "alice", Body: body, Created: noon.Add(created)},
				}}}
			r := &Reconciler{Access: allowed(nil)}
			if _, _, err := r.commands(t.Context(), &w, provider); err != nil {
				t.Fatal(err)
			}
			if got := w.PullRequest.Status.Commands; got.AllowedHead != want {
				t.Errorf("%s: %s allowed %q: %s", body, got.AllowedBy, got.AllowedHead, got.Answer)
			}
			if got := w.PullRequest.Status.Commands.Answer; strings.Contains(got, "is accepted") != (want != "") {
				t.Errorf("%s: the answer is %q", body, got)
			}
		}
	}
}

// committedBy is a Git provider with the logins of commits.
type committedBy struct {
	commented
	logins []string
}

func (c committedBy) Committers(context.Context, int, string) ([]string, error) { return c.logins, nil }

// Of whom a commit is can change the code of a pull request that another user opened.
func TestEachUserOfACommitMayPlan(t *testing.T) {
	for name, tt := range map[string]struct {
		logins   []string
		settings v1alpha1.PullRequests
		want     string
	}{
		"the author alone": {[]string{"alice"}, v1alpha1.PullRequests{}, ""},
		"a user without the verb": {[]string{"alice", "mallory"}, v1alpha1.PullRequests{},
			"gitlab:git.example.com:mallory, who"},
		"a user who is not known":    {[]string{"", "alice"}, v1alpha1.PullRequests{}, "does not know the user"},
		"a login that cannot be one": {[]string{"a b"}, v1alpha1.PullRequests{}, "does not know the user"},
		"a command for each head": {[]string{"alice"}, v1alpha1.PullRequests{RequireCommand: true},
			"requireCommand"},
	} {
		w := pull()
		w.Settings, w.PullRequest.Spec.Author = &tt.settings, "gitlab:git.example.com:alice"
		provider := Provider{Name: "gitlab", Host: "git.example.com", Client: committedBy{logins: tt.logins}}
		got, err := restrict(t.Context(), allowed(nil), &w, provider, w.Merge.Affected)
		if err != nil || (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// A conflict with a change that is no other generation, such as an annotation, is no event of the controller.
func TestAPullRequestIsReconciledAfterAConflict(t *testing.T) {
	h := newHistory(2)
	h.quiet = true
	h.git.pulls = []*pullModel{{
		Number: 1, State: "open", User: userModel{"alice"}, Updated: h.now,
		Head: refModel{Ref: "change", SHA: h.git.commit(), Repo: map[string]int{"id": 1}},
		Base: refModel{Ref: "main", RepoID: 1},
	}}
	h.git.fetch()
	h.settle()
	p := h.processes[0]
	name := client.ObjectKey{Namespace: "web", Name: "infra-1"}
	h.git.pulls[0].Head.SHA = h.git.commit()
	h.git.fetch()
	pull := h.api.objects[key{"PullRequest", "web", "infra-1"}].(*v1alpha1.PullRequest).DeepCopy()
	pull.Spec.Head.Commit = h.git.pulls[0].Head.SHA
	h.api.put(pull)
	for p.receive() {
	}
	p.queue = nil
	annotated := clone(pull)
	annotated.SetAnnotations(map[string]string{"example.com/note": "x"})
	h.api.put(annotated) // while it is reconciled
	result, err := p.reconciler.Reconcile(t.Context(), ctrl.Request{NamespacedName: name})
	if err != nil || result.RequeueAfter == 0 {
		t.Errorf("the new head is never planned: %+v, %v", result, err)
	}
}

// A Run that the API server rejects, for example because of a quota of one namespace, delays the report of no other.
func TestARejectedRunDoesNotDelayTheReportOfOthers(t *testing.T) {
	h := newHistory(2)
	h.quiet = true
	open := &pullModel{
		Number: 1, State: "open", User: userModel{"alice"}, Updated: h.now,
		Head: refModel{Ref: "change", SHA: h.git.commit(), Repo: map[string]int{"id": 1}},
		Base: refModel{Ref: "main", RepoID: 1},
	}
	for len(h.git.affected(open)) < 2 || h.git.conflicts(open) {
		open.Head.SHA = h.git.commit()
	}
	h.git.pulls = []*pullModel{open}
	h.git.fetch()
	rejected := h.git.affected(open)[0]
	h.api.reject = func(o client.Object) error {
		if run, ok := o.(*v1alpha1.Run); ok && run.Spec.Stack.Name == rejected {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "runs"}, o.GetName(),
				errors.New("exceeded quota: runs"))
		}
		return nil
	}
	h.settle()
	pull := func() *v1alpha1.PullRequest {
		return h.api.objects[key{"PullRequest", "web", "infra-1"}].(*v1alpha1.PullRequest)
	}
	for _, s := range pull().Status.Stacks {
		if s.Name == rejected && !strings.Contains(s.Message, "exceeded quota: runs") {
			t.Errorf("the message of Stack %s is %q", s.Name, s.Message)
		}
		if s.Name != rejected && (!s.Phase.Finished() || s.Message != "") {
			t.Errorf("the plan of Stack %s is %s: %s", s.Name, s.Phase, s.Message)
		}
	}
	if got := h.git.statuses[open.Head.SHA]["cairn"]; got != "pending" {
		t.Errorf("the status of the commit is %q", got)
	}
	h.api.reject = nil
	for range 40 {
		h.now = h.now.Add(time.Second)
		h.settle()
	}
	h.check()
	if h.problem != "" {
		t.Error(h.problem)
	}
	for _, s := range pull().Status.Stacks {
		if s.Phase == v1alpha1.PhaseSucceeded && s.Message != "" {
			t.Errorf("the message of Stack %s stays: %s", s.Name, s.Message)
		}
	}
}

// While a Git provider fails, events such as those of Runs send it nothing. A push is a reason to try at once.
func TestAFailingGitProviderGetsNoRequestForEachEvent(t *testing.T) {
	h := newHistory(2)
	h.quiet = true
	p := &pullModel{
		Number: 1, State: "open", User: userModel{"alice"}, Updated: h.now,
		Head: refModel{Ref: "change", SHA: h.git.commit(), Repo: map[string]int{"id": 1}},
		Base: refModel{Ref: "main", RepoID: 1},
	}
	h.git.pulls, h.git.rejectStatus = []*pullModel{p}, 503
	h.git.fetch()
	sent := func(pass time.Duration) int {
		changes := h.git.changes
		h.now = h.now.Add(pass)
		h.settle()
		return h.git.changes - changes
	}
	failure := func() string {
		return h.api.objects[key{"PullRequest", "web", "infra-1"}].(*v1alpha1.PullRequest).Status.Delivered.Failure
	}
	if n := sent(0); n != 1 || failure() == "" { // with some events
		t.Errorf("%d requests, failure %q", n, failure())
	}
	h.processes[0].enqueueAll()
	if n := sent(9 * time.Second); n != 0 || failure() == "" {
		t.Errorf("%d requests before the retry, failure %q", n, failure())
	}
	if n := sent(time.Second); n != 1 {
		t.Errorf("%d requests at the retry", n)
	}
	p.Head.SHA, p.Updated = h.git.commit(), h.now.Add(time.Second)
	h.git.fetch()
	if n := sent(6 * time.Second); n != 1 {
		t.Errorf("%d requests after the push", n)
	}
	h.git.rejectStatus = 0
	if n := sent(11 * time.Second); n < 2 || failure() != "" {
		t.Errorf("%d requests after the recovery, failure %q", n, failure())
	}
}

// The fetch of a merge can be earlier than the list in which the pull request is merged. The merge of its head into
// this base changes nothing, which is not what the pull request did.
func TestAMergeThatIsFetchedBeforeTheListKeepsTheRecord(t *testing.T) {
	for name, tt := range map[string]struct {
		do       func(h *history, p *pullModel)
		affected bool
	}{
		"merged": {func(h *history, p *pullModel) { h.git.merge(p) }, true},
		"open, with the same code in the base": {func(h *history, p *pullModel) {
			h.git.landed[p.Head.SHA] = true
			h.git.push("", nil)
		}, false},
	} {
		h := newHistory(2)
		h.quiet = true
		p := &pullModel{
			Number: 1, State: "open", User: userModel{"alice"}, Updated: h.now,
			Head: refModel{Ref: "change", SHA: h.git.commit(), Repo: map[string]int{"id": 1}},
			Base: refModel{Ref: "main", RepoID: 1},
		}
		for len(h.git.affected(p)) == 0 || h.git.conflicts(p) {
			p.Head.SHA = h.git.commit()
		}
		h.git.pulls = []*pullModel{p}
		h.git.fetch()
		for range 20 {
			h.settle()
			h.now = h.now.Add(time.Minute)
		}
		h.settle() // a list
		tt.do(h, p)
		h.settle() // before the next list
		comments := h.git.commentsOf(1, "cairn")
		if len(comments) != 1 || strings.Contains(comments[0].Body, "No Stack is affected") == tt.affected {
			t.Errorf("%s: %d comments: %s", name, len(comments), comments[0].Body)
		}
		if got := h.git.statuses[p.Head.SHA]["cairn"]; got != "success" {
			t.Errorf("%s: the status is %s", name, got)
		}
	}
}

// There is no event when a user gets the verb plan.
func TestAVerbThatIsGrantedIsNoticed(t *testing.T) {
	h := newHistory(2)
	h.quiet = true
	p := &pullModel{
		Number: 1, State: "open", User: userModel{"mallory"}, Updated: h.now,
		Head: refModel{Ref: "change", SHA: h.git.commit(), Repo: map[string]int{"id": 1}},
		Base: refModel{Ref: "main", RepoID: 1},
	}
	for len(h.git.affected(p)) == 0 || h.git.conflicts(p) {
		p.Head.SHA = h.git.commit()
	}
	h.git.pulls = []*pullModel{p}
	h.git.fetch()
	for range 120 {
		h.now = h.now.Add(time.Second)
		h.settle()
	}
	phase := func() v1alpha1.PullRequestPhase {
		return h.api.objects[key{"PullRequest", "web", "infra-1"}].(*v1alpha1.PullRequest).Status.Phase
	}
	if phase() != v1alpha1.PullRequestAwaitingCommand {
		t.Fatal(phase())
	}
	h.git.granted = "mallory"
	for range 70 {
		h.now = h.now.Add(time.Second)
		h.settle()
	}
	if h.check(); phase() != v1alpha1.PullRequestPlanned || h.problem != "" {
		t.Errorf("%s a minute after the grant; %s", phase(), h.problem)
	}
}

// What prevents a plan, such as an output that does not exist, is checked again after a minute and not at each event.
func TestWhatPreventsAPlanIsCheckedAgain(t *testing.T) {
	g, repo, head, _ := fetched(t) // its Stacks are suspended
	g.Access = allowed(nil)
	w := pull()
	w.Settings, w.PullRequest.Spec.Head.Commit, w.PullRequest.Spec.Author = repo.Spec.PullRequests, head,
		"gitlab:git.example.com:alice"
	merge := func(after time.Duration) *Merge {
		t.Helper()
		w.Now, w.Merge = noon.Add(after), nil
		if err := g.Merge(t.Context(), &w, repo, Provider{}); err != nil {
			t.Fatal(err)
		}
		return w.Merge
	}
	first := merge(0)
	if len(first.Affected) != 1 || first.Affected[0].Problem == "" {
		t.Fatalf("%+v", first)
	}
	if merge(59*time.Second) != first || merge(time.Minute) == first {
		t.Error("it is not checked once a minute")
	}
}

// asked is a Git provider that counts requests about users.
type asked struct {
	commented
	requests *int
}

func (a asked) Teams(context.Context, string) ([]string, error) { *a.requests++; return nil, nil }
func (a asked) Committers(context.Context, int, string) ([]string, error) {
	*a.requests++
	return []string{"mallory"}, nil
}

// A check whether a pull request is still restricted costs no request each time: many of one bot may wait.
func TestUsersAreReadOnceForMany(t *testing.T) {
	n := 0
	provider := Provider{Name: "gitlab", Host: "git.example.com", Client: asked{requests: &n}, answers: &answers{}}
	check := func(number int64, base string, after time.Duration) int {
		t.Helper()
		before := n
		w := pull()
		w.Now, w.PullRequest.Spec.Author, w.PullRequest.Spec.Number = noon.Add(after), "gitlab:git.example.com:mallory",
			number
		w.Merge.Base = base
		if reason, err := restrict(t.Context(), allowed(nil), &w, provider, w.Merge.Affected); err != nil ||
			reason == "" {
			t.Fatal(reason, err)
		}
		return n - before
	}
	for _, tt := range []struct {
		what, base string
		number     int64
		after      time.Duration
		want       int
	}{
		{"the first one", headTwo, 1, 0, 2},
		{"the same one", headTwo, 1, 30 * time.Second, 0},
		{"another one of the user", headTwo, 2, 30 * time.Second, 1},
		{"teams after a minute", headTwo, 1, time.Minute, 1},
		{"commits on another base", headOne, 1, time.Minute, 1},
		{"commits after five minutes", headTwo, 2, 6 * time.Minute, 2},
	} {
		if got := check(tt.number, tt.base, tt.after); got != tt.want {
			t.Errorf("%s: %d requests", tt.what, got)
		}
	}
}

// A push to the base of 37 pull requests of one user costs one request for the teams of the user, and one for the
// commits of each (187 requests were measured, of which 155 for teams).
func TestAPushToTheBaseReadsTeamsOnce(t *testing.T) {
	n := 0
	provider := Provider{Name: "gitlab", Host: "git.example.com", Client: asked{requests: &n}, answers: &answers{}}
	for _, base := range []string{headOne, headTwo} {
		n = 0
		for number := range int64(37) {
			w := pull()
			w.PullRequest.Spec.Author, w.PullRequest.Spec.Number = "gitlab:git.example.com:mallory", number
			w.Merge.Base = base
			if _, err := restrict(t.Context(), allowed{{"web", "app"}: true}, &w, provider,
				w.Merge.Affected); err != nil {
				t.Fatal(err)
			}
		}
		if most := 38; n > most {
			t.Errorf("%d requests, at most %d", n, most)
		}
	}
}

// The statuses of a closed pull request cannot be sent if its commit is gone, or its repository is archived.
func TestAClosedPullRequestIsDeletedIfItsStatusIsRejected(t *testing.T) {
	for status, want := range map[int]bool{404: true, 403: true, 422: true, 503: false, 401: false} {
		h := newHistory(2)
		h.quiet = true
		closed := &pullModel{
			Number: 1, State: "open", User: userModel{"mallory"}, Updated: h.now, // which waits for a command
			Head: refModel{Ref: "change", SHA: h.git.commit(), Repo: map[string]int{"id": 1}},
			Base: refModel{Ref: "main", RepoID: 1},
		}
		for len(h.git.affected(closed)) == 0 || h.git.conflicts(closed) {
			closed.Head.SHA = h.git.commit()
		}
		h.git.pulls = []*pullModel{closed}
		h.git.fetch()
		h.settle()
		closed.State, h.git.rejectStatus = "closed", status
		for range 60 {
			h.now = h.now.Add(time.Second)
			h.settle()
		}
		if left := h.api.objects[key{"PullRequest", "web", "infra-1"}]; left == nil ||
			isSettled(left.(*v1alpha1.PullRequest)) != want {
			t.Errorf("%d: %+v", status, left)
		}
		h.now = h.now.Add(kept)
		h.settle()
		if gone := h.api.objects[key{"PullRequest", "web", "infra-1"}] == nil; gone != want {
			t.Errorf("%d: the PullRequest is deleted: %t", status, gone)
		}
	}
}

type stacksOf struct {
	client.Client
	stacks []v1alpha1.Stack
}

func (s stacksOf) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	into, ok := list.(*v1alpha1.StackList)
	if !ok { // there are no StackSets and VariableSets
		return nil
	}
	for i := range s.stacks {
		into.Items = append(into.Items, *s.stacks[i].DeepCopy())
	}
	return nil
}

// fetched is a Repository with the branches main and dev, and a head that changes the Stacks of both.
func fetched(t *testing.T) (g *Gatherer, repo *v1alpha1.Repository, head string, stop func()) {
	t.Helper()
	repos := gitserver.New(t)
	remote, err := repos.Init("infra")
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(err)
	_, err = remote.Commit(gitserver.Change{Message: "Begin", Files: map[string]string{"dev/main.tf": "# 1",
		"prod/main.tf": "# 1"}})
	must(err)
	_, err = remote.Commit(gitserver.Change{Branch: "dev", Onto: "main", Message: "dev",
		Files: map[string]string{"readme.md": "dev"}})
	must(err)
	head, err = remote.Commit(gitserver.Change{Branch: "change", Onto: "main", Message: "Change",
		Files: map[string]string{"dev/main.tf": "# 2", "prod/main.tf": "# 2"}})
	must(err)
	web, err := gitserver.ServeHTTP(repos, false)
	must(err)
	t.Cleanup(func() { _ = web.Close() })
	repo = repositoryOf()
	repo.Spec.URL, repo.Spec.Ref, repo.Spec.Timeout = web.URL+remote.Path(), "main", &metav1.Duration{
		Duration: time.Minute}
	mirrors, over := repository.NewMirrors(t.TempDir()), make(chan error, 1)
	mirrors.Egress = egresstest.Loopback()
	ctx, cancel := context.WithCancel(context.Background())
	go func() { over <- mirrors.Start(ctx) }()
	stop = func() { cancel(); over <- <-over }
	t.Cleanup(stop)
	mirrors.Fetch(repo, git.Auth{}, repository.Ask{}, nil)
	<-mirrors.Ended()
	if last, _ := mirrors.LastFetch(repo.UID); last.Reason != "" {
		t.Fatal(last.Message)
	}
	stack := func(name, ref string) v1alpha1.Stack {
		return v1alpha1.Stack{
			ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: name, Generation: 1},
			Spec: v1alpha1.StackSpec{Suspend: true, Source: v1alpha1.Source{Git: &v1alpha1.GitSource{
				Repository: v1alpha1.RepositoryRef{Namespace: "web", Name: "infra"}, Path: name, Ref: ref,
			}}},
		}
	}
	g = &Gatherer{
		Client: stacksOf{stacks: []v1alpha1.Stack{stack("dev", "dev"), stack("prod", "main")}},
		Codes:  code.NewCodes(mirrors),
		Access: allowed{{"web", "dev"}: true},
	}
	return g, repo, head, stop
}

// A command allows the plans of the Stacks that its author may plan. Who opened a pull request can change its base, and
// with it the affected Stacks.
func TestACommandDoesNotAllowStacksThatItsAuthorMayNotPlan(t *testing.T) {
	g, repo, head, _ := fetched(t)
	w := Snapshot{Now: noon, Settings: repo.Spec.PullRequests, PullRequest: &v1alpha1.PullRequest{
		ObjectMeta: metav1.ObjectMeta{Namespace: "web", Name: "infra-12", UID: "pull"},
		Spec: v1alpha1.PullRequestSpec{
			Number: 12, State: v1alpha1.PullRequestOpen, Fork: true, Author: "gitlab:git.example.com:mallory",
			Head: v1alpha1.PullRequestHead{Commit: head}, Base: "dev", UpdatedAt: metav1.NewTime(noon),
		},
	}}
	provider := Provider{Name: "gitlab", Host: "git.example.com",
		Client: commented{head: head, comments: []pulls.Comment{
			{ID: 1, Author: "alice", Body: "/cairn plan " + head, Created: noon.Add(time.Minute)},
		}}}
	gathered := func() v1alpha1.PullRequestPhase {
		t.Helper()
		w.Merge, w.Restricted, w.Problem, w.Waits = nil, "", "", ""
		if err := g.Merge(t.Context(), &w, repo, provider); err != nil {
			t.Fatal(err)
		}
		return next(&w).Phase
	}
	if phase := gathered(); phase != v1alpha1.PullRequestAwaitingCommand {
		t.Fatal(phase, w.Problem, w.Waits)
	}
	r := &Reconciler{Access: g.Access}
	w.PullRequest.Spec.UpdatedAt = metav1.NewTime(noon.Add(time.Minute))
	if _, _, err := r.commands(t.Context(), &w, provider); err != nil {
		t.Fatal(err)
	}
	if phase := gathered(); phase != v1alpha1.PullRequestPlanned || w.PullRequest.Status.Stacks[0].Name != "dev" {
		t.Fatal(phase, w.PullRequest.Status.Commands)
	}
	w.PullRequest.Spec.Base = "main" // by Mallory
	if phase := gathered(); phase != v1alpha1.PullRequestAwaitingCommand {
		t.Errorf("it is %s, with Stack %s that no user with the verb plan allowed", phase,
			w.PullRequest.Status.Stacks[0].Name)
	}
}

// A head that is in the base changes nothing, which is not the same as a change that affects no Stack.
func TestAMergeOfWhatTheBaseHasIsEmpty(t *testing.T) {
	g, repo, head, _ := fetched(t)
	for base, want := range map[string]bool{"main": false, "change": true} { // a branch that no Stack reads
		w := pull()
		w.Settings, w.PullRequest.Spec.Head.Commit, w.PullRequest.Spec.Base = repo.Spec.PullRequests, head, base
		w.PullRequest.UID = types.UID(base)
		if err := g.Merge(t.Context(), &w, repo, Provider{}); err != nil || w.Merge.Empty != want ||
			w.Merge.Unread != want {
			t.Errorf("into %s: %+v, %v", base, w.Merge, err)
		}
	}
}

// Code that cannot be read now is not code that is the same.
func TestUnreadableCodeIsNotUnaffected(t *testing.T) {
	g, repo, head, stop := fetched(t)
	proposal, err := g.Codes.Propose(t.Context(), repo, "main", head, "pull/12")
	if err != nil {
		t.Fatal(err)
	}
	defer proposal.Close()
	stop() // as a change of spec.timeout, which closes the mirror
	w := pull()
	w.Merge.Affected = nil
	complete, err := g.gatherAffected(t.Context(), &w, repo, Provider{}, proposal, g.Client.(stacksOf).stacks[1:])
	if err == nil {
		t.Errorf("complete: %t, affected: %v; Ready: %s", complete, w.Merge.Affected, next(&w).Conditions[0].Message)
	}
}

// A limit of a client is a failure that users read, and not one that is repeated in silence.
func TestTooManyTeamsAreReported(t *testing.T) {
	h := newHistory(2)
	h.quiet = true
	o := pull().PullRequest
	o.Name = "infra-1"
	h.api.put(clone(o))
	now := h.api.objects[keyOf(o)].(*v1alpha1.PullRequest)
	r := &Reconciler{Client: &kube{history: h}}
	result, err := r.retry(t.Context(), now, fmt.Errorf("merge: %w", pulls.ErrTooMany))
	if got := h.api.objects[keyOf(o)].(*v1alpha1.PullRequest).Status.Delivered.Failure; err != nil ||
		result.RequeueAfter == 0 || got == "" {
		t.Errorf("%+v, %v, failure %q", result, err, got)
	}
}
