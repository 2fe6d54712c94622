package pulls

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// merge12 is the merge of pull request 12 at c0ffee into main.
var merge12 = Merge{Number: 12, Head: "c0ffee", Base: "main"}

func ownContext(context string) bool { return strings.HasPrefix(context, "cairn/") }

// text is a readiness as text.
func (v Readiness) text() string {
	parts := []string{v.Head, v.Base, string(v.State), string(v.Merge), string(v.Review)}
	if v.Draft {
		parts = append(parts, "draft")
	}
	if v.OwnBlocks {
		parts = append(parts, "own")
	}
	return strings.Join(append(parts, strings.Join(v.Blockers, ", ")), " ")
}

func (v Readiness) expect(t *testing.T, name, want string, err error) {
	t.Helper()
	if got := strings.TrimSpace(v.text()); err != nil || got != want {
		t.Errorf("%s: %q, %v, want %q", name, got, err, want)
	}
}

func TestReadinessOfGitHub(t *testing.T) {
	check := func(context, state string, required bool) string {
		return fmt.Sprintf(`{"__typename":"StatusContext","context":%q,"state":%q,"isRequired":%t}`, context,
			state, required)
	}
	const run = `{"__typename":"CheckRun","name":"cairn/apply","conclusion":"FAILURE","isRequired":true}`
	for name, tt := range map[string]struct{ pull, checks, want string }{
		"it would be merged": {`"mergeable":"MERGEABLE","mergeStateStatus":"CLEAN","reviewDecision":"APPROVED"`, "",
			"c0ffee ba5e Open Allowed Sufficient"},
		"another status failed": {
			`"mergeable":"MERGEABLE","mergeStateStatus":"UNSTABLE","reviewDecision":null`,
			check("lint", "FAILURE", false), "c0ffee ba5e Open Allowed Sufficient",
		},
		"not decided": {`"mergeable":"UNKNOWN","mergeStateStatus":"UNKNOWN","reviewDecision":null`, "",
			"c0ffee ba5e Open Unknown Sufficient"},
		"the two do not agree": {`"mergeable":"UNKNOWN","mergeStateStatus":"CLEAN","reviewDecision":null`, "",
			"c0ffee ba5e Open Unknown Sufficient"},
		"a state that is new": {`"mergeable":"MERGEABLE","mergeStateStatus":"QUEUED","reviewDecision":"NEW"`, "",
			"c0ffee ba5e Open Unknown"},
		"a conflict": {`"mergeable":"CONFLICTING","mergeStateStatus":"DIRTY","reviewDecision":null`, "",
			"c0ffee ba5e Open Blocked Sufficient the head conflicts with the base"},
		"it is behind": {`"mergeable":"MERGEABLE","mergeStateStatus":"BEHIND","reviewDecision":null`, "",
			"c0ffee ba5e Open Blocked Sufficient the head is behind the base"},
		"a draft": {
			`"isDraft":true,"mergeable":"MERGEABLE","mergeStateStatus":"DRAFT","reviewDecision":null`, "",
			"c0ffee ba5e Open Blocked Sufficient draft a rule of the branch prevents it"},
		"a review is required": {
			`"mergeable":"MERGEABLE","mergeStateStatus":"BLOCKED","reviewDecision":"REVIEW_REQUIRED"`, "",
			"c0ffee ba5e Open Blocked Required a rule of the branch prevents it"},
		"changes are requested": {
			`"mergeable":"MERGEABLE","mergeStateStatus":"BLOCKED","reviewDecision":"CHANGES_REQUESTED"`, "",
			"c0ffee ba5e Open Blocked ChangesRequested a rule of the branch prevents it"},
		"a status is required": {`"mergeable":"MERGEABLE","mergeStateStatus":"BLOCKED","reviewDecision":null`,
			check("test", "PENDING", true) + "," + check("lint", "FAILURE", false),
			"c0ffee ba5e Open Blocked Sufficient the required status test is no success"},
		"its own is required": {`"mergeable":"MERGEABLE","mergeStateStatus":"BLOCKED","reviewDecision":null`,
			check("cairn/apply", "PENDING", true), "c0ffee ba5e Open Blocked Sufficient own a rule of the branch " +
				"prevents it"},
		"a run with its name": {`"mergeable":"MERGEABLE","mergeStateStatus":"BLOCKED","reviewDecision":null`, run,
			"c0ffee ba5e Open Blocked Sufficient the required status cairn/apply is no success"},
		"the statuses are older": {
			`"headRefOid":"0dd","mergeable":"MERGEABLE","mergeStateStatus":"BLOCKED","reviewDecision":null`,
			check("test", "PENDING", true), "0dd ba5e Open Blocked Sufficient a rule of the branch prevents it"},
	} {
		if !strings.Contains(tt.pull, "headRefOid") {
			tt.pull += `,"headRefOid":"c0ffee"`
		}
		server := answers(t, map[string]string{"/api/graphql": `{"data":{"repository":{"pullRequest":{"state":"OPEN","baseRef":{"target":{"oid":"ba5e"}},` +
			`"commits":{"nodes":[{"commit":{"oid":"c0ffee","statusCheckRollup":{"contexts":{"nodes":[` + tt.checks +
			`]}}}}]},` + tt.pull + `}}}}`})
		client, err := NewGitHub(GitHubOptions{URL: server.URL, Owner: "acme", Name: "infra", Token: "t",
			Web: server.Client()})
		if err != nil {
			t.Fatal(err)
		}
		v, err := client.Readiness(t.Context(), merge12, ownContext)
		v.expect(t, name, tt.want, err)
	}
}

// A token that may not read the statuses learns that it is blocked.
func TestReadinessOfGitHubWithoutStatuses(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), "statusCheckRollup") {
			_, _ = w.Write([]byte(`{"data":null,"errors":[{"type":"FORBIDDEN","message":"Resource not accessible"}]}`))
			return
		}
		_, _ = w.Write([]byte(
			`{"data":{"repository":{"pullRequest":{"state":"OPEN","headRefOid":"c0ffee","mergeStateStatus":"BLOCKED"}}}}`))
	}))
	t.Cleanup(server.Close)
	client, err := NewGitHub(GitHubOptions{URL: server.URL, Owner: "acme", Name: "infra", Token: "t",
		Web: server.Client()})
	if err != nil {
		t.Fatal(err)
	}
	v, err := client.Readiness(t.Context(), merge12, ownContext)
	v.expect(t, "a token without the permission", "c0ffee  Open Blocked Sufficient a rule of the branch prevents it",
		err)
}

func TestReadinessOfGitLab(t *testing.T) {
	for name, tt := range map[string]struct{ merge, left, want string }{
		"it would be merged": {`"detailed_merge_status":"mergeable"`, "0", "c0ffee ba5e Open Allowed Sufficient"},
		"not decided":        {`"detailed_merge_status":"checking"`, "0", "c0ffee ba5e Open Unknown Sufficient"},
		"an older server":    {`"merge_status":"can_be_merged"`, "0", "c0ffee ba5e Open Unknown Sufficient"},
		"approvals are read": {`"detailed_merge_status":"approvals_syncing"`, "0", "c0ffee ba5e Open Unknown"},
		"a pipeline": {`"detailed_merge_status":"ci_must_pass"`, "0",
			"c0ffee ba5e Open Blocked Sufficient ci must pass"},
		"an approval is missing": {`"detailed_merge_status":"mergeable"`, "1", "c0ffee ba5e Open Allowed Required"},
		"it is not approved": {`"detailed_merge_status":"not_approved"`, "0",
			"c0ffee ba5e Open Blocked Required not approved"},
		"changes are requested": {`"detailed_merge_status":"requested_changes"`, "0",
			"c0ffee ba5e Open Blocked ChangesRequested requested changes"},
		"a draft": {`"draft":true,"detailed_merge_status":"draft_status"`, "0",
			"c0ffee ba5e Open Blocked Sufficient draft draft status"},
		"it has another base": {`"target_branch":"release","detailed_merge_status":"mergeable"`, "0",
			"c0ffee  Open Allowed Sufficient"},
	} {
		if !strings.Contains(tt.merge, "target_branch") {
			tt.merge += `,"target_branch":"main"`
		}
		const one = "/api/v4/projects/acme/infra/merge_requests/12"
		server := answers(t, map[string]string{
			one:                `{"iid":12,"state":"opened","sha":"c0ffee",` + tt.merge + `}`,
			one + "/approvals": `{"approvals_left":` + tt.left + `}`,
			"/api/v4/projects/acme/infra/repository/branches/main": `{"commit":{"id":"ba5e"}}`,
		})
		client, err := NewGitLab(GitLabOptions{URL: server.URL, Project: "acme/infra", Token: "t",
			Web: server.Client()})
		if err != nil {
			t.Fatal(err)
		}
		v, err := client.Readiness(t.Context(), merge12, ownContext)
		v.expect(t, name, tt.want, err)
	}
}

func TestReadinessOfGitea(t *testing.T) {
	review := func(id int, login, state, more string) string {
		return fmt.Sprintf(`{"id":%d,"user":{"login":%q},"state":%q,"official":true%s}`, id, login, state, more)
	}
	status := func(context, state string) string { return fmt.Sprintf(`{"context":%q,"status":%q}`, context, state) }
	const ok, checks = `"mergeable":true`, `,"enable_status_check":true,"status_check_contexts":`
	all := status("test/unit", "success") + "," + status("lint", "failure") + "," + status("cairn/apply", "pending")
	for name, tt := range map[string]struct{ pull, rules, reviews, statuses, want string }{
		"it would be merged":         {ok, ``, ``, all, "c0ffee ba5e Open Allowed Sufficient"},
		"a conflict, or not checked": {`"mergeable":false`, ``, ``, all, "c0ffee ba5e Open Unknown Sufficient"},
		"a draft": {`"mergeable":false,"draft":true`, ``, ``, all,
			"c0ffee ba5e Open Unknown Sufficient draft"},
		"an approval is missing": {ok, `,"required_approvals":1`, ``, all,
			"c0ffee ba5e Open Blocked Required the branch requires 1 approvals"},
		"it is approved": {ok, `,"required_approvals":1`, review(1, "bob", "APPROVED", ""), all,
			"c0ffee ba5e Open Allowed Sufficient"},
		"two by one user": {ok, `,"required_approvals":2`, review(1, "bob", "APPROVED", "") + "," +
			review(2, "bob", "APPROVED", ""), all, "c0ffee ba5e Open Blocked Required the branch requires 2 approvals"},
		"one that does not count": {ok, `,"required_approvals":1`,
			review(1, "bob", "APPROVED", `,"official":false`), all,
			"c0ffee ba5e Open Blocked Required the branch requires 1 approvals"},
		"a stale one": {ok, `,"required_approvals":1`, review(1, "bob", "APPROVED", `,"stale":true`),
			all, "c0ffee ba5e Open Blocked Required the branch requires 1 approvals"},
		"changes are requested": {ok, ``, review(1, "bob", "APPROVED", "") + "," +
			review(2, "bob", "REQUEST_CHANGES", ""), all,
			"c0ffee ba5e Open Blocked ChangesRequested a review requests changes"},
		"and dismissed": {ok, ``, review(2, "bob", "REQUEST_CHANGES", `,"dismissed":true`), all,
			"c0ffee ba5e Open Allowed Sufficient"},
		"a required status": {ok, checks + `["test/*"]`, ``, all, "c0ffee ba5e Open Allowed Sufficient"},
		"one that failed": {ok, checks + `["test/*","lint"]`, ``, all,
			"c0ffee ba5e Open Blocked Sufficient the required status lint is no success"},
		"one that is missing": {ok, checks + `["build"]`, ``, all,
			"c0ffee ba5e Open Blocked Sufficient the required status build is missing"},
		"its own, atlantis #2436": {ok, checks + `["cairn/apply","test/unit"]`, ``, all,
			"c0ffee ba5e Open Allowed Sufficient"},
		"its own before it is sent": {ok, checks + `["cairn/apply"]`, ``, "", "c0ffee ba5e Open Allowed Sufficient"},
		"its own by a pattern":      {ok, checks + `["cairn*"]`, ``, all, "c0ffee ba5e Open Allowed Sufficient"},
		"a pattern that is not known": {ok, checks + `["test/{unit,e2e}"]`, ``, all,
			"c0ffee ba5e Open Blocked Sufficient the required status test/{unit,e2e} is missing"},
		"all statuses": {ok, checks + `[]`, ``, all,
			"c0ffee ba5e Open Blocked Sufficient the required status lint is no success"},
		"all statuses, of which none": {ok, checks + `[]`, ``, "", "c0ffee ba5e Open Allowed Sufficient"},
	} {
		const one = "/api/v1/repos/acme/infra"
		pages := map[string]string{
			one + "/pulls/12": `{"number":12,"state":"open","head":{"sha":"c0ffee"},"base":{"ref":"main","sha":"older"},` + tt.pull + `}`, one + "/pulls/12/reviews": "[" + tt.reviews + "]",
			one + "/branches/main": `{"commit":{"id":"ba5e"}` + tt.rules + `}`,
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, ok := pages[r.URL.Path]
			switch isFirst := r.URL.Query().Get("page") == "1"; {
			case r.URL.Path == one+"/commits/c0ffee/status" && isFirst:
				body = `{"statuses":[` + tt.statuses + `]}`
			case r.URL.Path == one+"/commits/c0ffee/status":
				body = `{"statuses":[]}`
			case !ok:
				t.Errorf("%s %s", r.Method, r.URL)
			}
			w.Header().Set("X-Total-Count", fmt.Sprint(strings.Count(body, `"id"`)))
			_, _ = w.Write([]byte(body))
		}))
		client := NewGitea(GiteaOptions{URL: server.URL, Owner: "acme", Name: "infra", Token: "t",
			Web: server.Client()})
		v, err := client.Readiness(t.Context(), merge12, ownContext)
		v.expect(t, name, tt.want, err)
		server.Close()
	}
}

func TestReadinessOfBitbucketCloud(t *testing.T) {
	build := func(name, state string) string { return fmt.Sprintf(`{"key":"k","name":%q,"state":%q}`, name, state) }
	for name, tt := range map[string]struct{ builds, participants, want string }{
		"without builds": {"", "", "c0ffee01 ba5e Open Allowed Sufficient"},
		"each is a success": {build("test", "SUCCESSFUL"), `{"state":"approved"}`,
			"c0ffee01 ba5e Open Allowed Sufficient"},
		"one is in progress": {build("test", "INPROGRESS"), "",
			"c0ffee01 ba5e Open Blocked Sufficient the build test is no success"},
		"its own": {build("cairn/apply", "INPROGRESS"), "", "c0ffee01 ba5e Open Allowed Sufficient"},
		"changes are requested": {"", `{"state":"approved"},{"state":"changes_requested"}`,
			"c0ffee01 ba5e Open Allowed ChangesRequested"},
	} {
		const one = "/repositories/acme/infra"
		server := answers(t, map[string]string{
			one + "/pullrequests/12":         `{"state":"OPEN","source":{"commit":{"hash":"c0ffee"}},"destination":{"branch":{"name":"main"}},"participants":[` + tt.participants + `]}`,
			one + "/pullrequests/12/commits": `{"values":[{"hash":"c0ffee01"}]}`,
			one + "/refs/branches/main":      `{"target":{"hash":"ba5e"}}`,
			one + "/commit/c0ffee/statuses":  `{"values":[` + tt.builds + `]}`,
		})
		client := NewBitbucketCloud(BitbucketCloudOptions{URL: server.URL, Workspace: "acme", Name: "infra", Token: "t",
			Web: server.Client()})
		v, err := client.Readiness(t.Context(), merge12, ownContext)
		v.expect(t, name, tt.want, err)
	}
}

func TestReadinessOfBitbucketDataCenter(t *testing.T) {
	for name, tt := range map[string]struct{ merge, reviewers, want string }{
		"it would be merged": {`"canMerge":true,"conflicted":false,"vetoes":[]`, `{"status":"APPROVED"}`,
			"c0ffee ba5e Open Allowed Sufficient"},
		"a conflict": {`"canMerge":false,"conflicted":true`, "",
			"c0ffee ba5e Open Blocked Sufficient the head conflicts with the base"},
		"a veto": {`"canMerge":false,"vetoes":[{"summaryMessage":"Requires\napprovals"}]`, "",
			"c0ffee ba5e Open Blocked Sufficient Requires approvals"},
		"without a reason": {`"canMerge":false`, "", "c0ffee ba5e Open Unknown Sufficient"},
		"changes are requested": {`"canMerge":true`, `{"status":"NEEDS_WORK"}`,
			"c0ffee ba5e Open Allowed ChangesRequested"},
	} {
		const one = "/rest/api/1.0/projects/ACME/repos/infra/pull-requests/12"
		server := answers(t, map[string]string{
			one + "/merge": `{` + tt.merge + `}`,
			one: `{"state":"OPEN","fromRef":{"latestCommit":"c0ffee"},"toRef":{"displayId":"main","latestCommit":"ba5e"},` +
				`"reviewers":[` + tt.reviewers + `]}`,
		})
		client := NewBitbucketDataCenter(BitbucketDataCenterOptions{URL: server.URL, Project: "ACME", Name: "infra",
			Token: "t", Web: server.Client()})
		v, err := client.Readiness(t.Context(), merge12, ownContext)
		v.expect(t, name, tt.want, err)
	}
}

// None of the clients takes a response without the facts for a readiness that allows something.
func TestReadinesssThatCannotBeRead(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"denied": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) },
		"an empty object": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Total-Count", "0")
			_, _ = w.Write([]byte(`{}`))
		},
	} {
		server := httptest.NewServer(answer)
		t.Cleanup(server.Close)
		hub, err := NewGitHub(GitHubOptions{URL: server.URL, Owner: "acme", Name: "infra", Token: "t",
			Web: server.Client()})
		if err != nil {
			t.Fatal(err)
		}
		lab, err := NewGitLab(GitLabOptions{URL: server.URL, Project: "acme/infra", Token: "t", Web: server.Client()})
		if err != nil {
			t.Fatal(err)
		}
		for of, client := range map[string]Client{
			"GitHub": hub, "GitLab": lab,
			"Gitea": NewGitea(GiteaOptions{URL: server.URL, Owner: "acme", Name: "infra", Token: "t",
				Web: server.Client()}),
			"Bitbucket Cloud": NewBitbucketCloud(BitbucketCloudOptions{URL: server.URL, Workspace: "acme",
				Name: "infra", Token: "t", Web: server.Client()}),
			"Bitbucket Data Center": NewBitbucketDataCenter(BitbucketDataCenterOptions{URL: server.URL, Project: "ACME",
				Name: "infra", Token: "t", Web: server.Client()}),
		} {
			if v, err := client.Readiness(t.Context(), merge12, ownContext); err == nil && v.Head != "" {
				t.Errorf("%s, %s: %s", of, name, v.text())
			}
		}
	}
}
