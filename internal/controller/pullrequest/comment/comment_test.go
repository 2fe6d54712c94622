package comment

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/engine/plan"
)

// The formats of the Git providers. Gitea publishes no limit.
var (
	GitHub    = Format{Limit: 65_536}
	Gitea     = Format{Limit: 65_536}
	GitLab    = Format{Limit: 1_000_000}
	Bitbucket = Format{Limit: 32_768, Plain: true}
)

var update = flag.Bool("update", false, "write the golden files")

var ours = ID{Installation: "prod", Repository: "5f0c1f0a-0b6e-4a53-9d5c-2b1d6e6f7a01", Number: 12}

// Phases, by short names.
const (
	Merging         = v1alpha1.PullRequestMerging
	Conflict        = v1alpha1.PullRequestConflict
	Failed          = v1alpha1.PullRequestFailed
	Draft           = v1alpha1.PullRequestDraft
	AwaitingCommand = v1alpha1.PullRequestAwaitingCommand
	Planned         = v1alpha1.PullRequestPlanned
)

// of returns a pull request with Stacks that are planned.
func of(stacks ...Stack) PullRequest {
	return PullRequest{
		ID: ours, Head: "1f3c9a2b7d5e4f60718293a4b5c6d7e8f9012345", Base: "main",
		URL:   "https://cairn.example.com/pullrequests/web/infra-12",
		Phase: Planned, Stacks: stacks, MaxStacks: 50,
	}
}

func stack(name string, edits ...func(*Stack)) Stack {
	s := Stack{
		Namespace: "web", Name: name, URL: "https://cairn.example.com/runs/web/" + name + "-7",
		Phase: v1alpha1.PhaseSucceeded,
		Plan:  &v1alpha1.Plan{},
	}
	for _, e := range edits {
		e(&s)
	}
	return s
}

func phase(p v1alpha1.RunPhase) func(*Stack) { return func(s *Stack) { s.Phase, s.Plan = p, nil } }

func failed(message string) func(*Stack) {
	return func(s *Stack) { s.Phase, s.Plan, s.Failure = v1alpha1.PhaseFailed, nil, message }
}

func plans(p v1alpha1.Plan, text string) func(*Stack) {
	return func(s *Stack) { p.Changes = true; s.Plan, s.Text = &p, text }
}

func deleted(path string) func(*Stack) { return func(s *Stack) { s.DeletedDirectory = path } }

func policy(r v1alpha1.PolicyResult) func(*Stack) {
	return func(s *Stack) {
		s.Plan.Policy = &r
		if r.Denied > 0 {
			s.Phase = v1alpha1.PhaseFailed
		}
	}
}

// text is the text of a plan that internal/engine/plan writes.
func text(t testing.TB) string {
	t.Helper()
	var b bytes.Buffer
	err := plan.Text(&b, plan.View{Changes: []plan.Change{
		{Address: "aws_vpc.old", Action: plan.Delete,
			Attributes: []plan.Attribute{{Path: "cidr", Before: []byte(`"10.0.0.0/16"`)}}},
		{Address: "aws_db.main", Action: plan.Replace, CreateFirst: true, Attributes: []plan.Attribute{
			{Path: "engine", Before: []byte(`"14"`), After: []byte(`"15"`), Forces: true},
			{Path: "password", Before: []byte(`"(sensitive value)"`), After: []byte(`"(sensitive value)"`),
				Sensitive: true},
		}},
		{Address: "aws_s3_bucket.logs", Action: plan.Replace},
		{Address: `aws_policy.a["x"]`, Action: plan.Update, Unchanged: 3, Attributes: []plan.Attribute{
			{Path: "json", Before: []byte(`"a\n- b\nc"`), After: []byte(`"a\n- B\nc"`)},
		}},
		{Address: "aws_vpc.new", Action: plan.Create, Attributes: []plan.Attribute{{Path: "id", Unknown: true}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func mixed(t testing.TB) PullRequest {
	pr := of(
		stack("net", plans(v1alpha1.Plan{Add: 3, Change: 1, Destroy: 3, Replace: 2}, text(t))),
		stack("dns", failed("Error: Invalid reference\n\n  on main.tf line 3:\n   3:   vpc = aws_vpc.x\n")),
		stack("db", plans(v1alpha1.Plan{Destroy: 1}, "  - aws_db.main will be destroyed\n\nPlan: 0 to add, 0 to "+
			"change, 1 to destroy.\n"), policy(v1alpha1.PolicyResult{
			Checked: 3, Denied: 1, ApprovalRequired: 1, Warned: 2, Findings: []v1alpha1.PolicyFinding{
				{Policy: "rules/db.rego", Action: "Deny", Message: "databases are not destroyed"},
				{Policy: "rules/cost.rego", Action: "RequireApproval", Message: "it costs more than 100 a month"},
			},
		})),
		stack("cdn", phase(v1alpha1.PhasePlanning)),
		stack("old", plans(v1alpha1.Plan{Destroy: 2, Import: 1, Forget: 1}, "  - aws_vpc.old will be destroyed\n"),
			deleted("stacks/old")),
		stack("same"),
		stack("out", plans(v1alpha1.Plan{}, "Plan: only outputs change.\n")),
		stack("later", phase("")),
	)
	pr.Stacks[4].Backend = "s3"
	pr.Skipped, pr.MaxStacks = []string{"web/z2", "web/z1"}, 8
	pr.Answer = "/cairn apply: rejected\nweb/cdn: still planning"
	return pr
}

func in(p v1alpha1.PullRequestPhase, message string, edit ...func(*PullRequest)) PullRequest {
	pr := of()
	pr.Phase, pr.Message = p, message
	for _, e := range edit {
		e(&pr)
	}
	return pr
}

// hostile is text that tries to be Markdown, HTML, a link, an image, a mention, a reference, a quick action and a
// fence.
const hostile = "x` `` ``` ````\n```\n~~~\n/merge\n/cairn apply\n</summary></details><img src=x onerror=a> --> <!-- " +
	"@alice @org/team #12 !12 gh-1 owner/repo#1 1f3c9a2b7d5e4f60718293a4b5c6d7e8f9012345 [a](https://evil.example) " +
	"![i](https://evil.example/i.png) https://evil.example www.evil.example | a \\| b \\\\| **b** _i_ # h :smile: " +
	"$x$ &lt; &#64;bob \u202eevil\u200b\x00\x1b[2J\xff\r\n> q\n- l\n| t |\n\tend`"

func hostilePullRequest() PullRequest {
	s := stack(hostile, failed(hostile), deleted(hostile))
	s.Namespace, s.URL = hostile, "https://cairn.example.com/runs/"+hostile
	planned := stack("net", plans(v1alpha1.Plan{Add: 1, Unverified: hostile}, "  + a\n"+hostile),
		policy(v1alpha1.PolicyResult{Checked: 1, Warned: 1,
			Findings: []v1alpha1.PolicyFinding{{Policy: hostile, Action: hostile, Message: hostile}}}))
	planned.Backend = hostile
	pr := of(s, planned, stack("bad", phase(v1alpha1.PhaseCanceled)))
	pr.Head, pr.Base, pr.URL, pr.Message, pr.Answer, pr.Skipped = hostile, hostile, "javascript:"+hostile, hostile,
		hostile, []string{hostile}
	pr.ID.Installation, pr.ID.Repository = hostile, hostile
	pr.Dependents = []v1alpha1.PullRequestDependent{{Namespace: hostile, Name: hostile, Message: hostile}}
	pr.Unplanned = &v1alpha1.PullRequestUnplanned{Directories: []string{hostile}, Manifests: []string{hostile}}
	pr.StackSets = []v1alpha1.PullRequestStackSet{
		{Namespace: "prod", Name: "broken", Reason: v1alpha1.ReasonRenderingFailed, Message: hostile},
		{Namespace: "prod", Name: "platform", Change: 1, Appear: 1, Stacks: []v1alpha1.PullRequestStackSetStack{
			{Effect: v1alpha1.EffectChange, Name: "dev-net", Directory: hostile, Fields: []string{hostile}},
			{Effect: v1alpha1.EffectAppear, Name: hostile, Directory: hostile},
		}},
	}
	return pr
}

// stackSets is a pull request that changes the lists of StackSets.
func stackSets(failing bool) PullRequest {
	pr := of(stack("net", plans(v1alpha1.Plan{Change: 1}, "  ~ aws_vpc.net will be changed\n")))
	pr.StackSets, pr.MoreStackSets = []v1alpha1.PullRequestStackSet{
		{Namespace: "prod", Name: "platform", Prune: v1alpha1.PruneDelete, Go: 1, Change: 1, Return: 1, Appear: 21,
			Message: "3 of 12 Stacks are not generated any more, and spec.maxDeletions allows 1 at once",
			Stacks: []v1alpha1.PullRequestStackSetStack{
				{Effect: v1alpha1.EffectGo, Name: "dev-old", Directory: "envs/dev/old"},
				{Effect: v1alpha1.EffectChange, Name: "dev-net", Directory: "envs/dev/network",
					Fields: []string{"spec.source.git.path", "spec.variables"}},
				{Effect: v1alpha1.EffectReturn, Name: "dev-mail", Directory: "envs/dev/mail"},
				{Effect: v1alpha1.EffectAppear, Name: "dev-db", Directory: "envs/dev/db"},
			}},
		{Namespace: "prod", Name: "services", Prune: v1alpha1.PruneKeep, Go: 1,
			Stacks: []v1alpha1.PullRequestStackSetStack{
				{Effect: v1alpha1.EffectGo, Name: "cart", Directory: "services/cart"},
			}},
	}, 2
	if failing {
		pr.StackSets[1] = pr.StackSets[0]
		pr.StackSets[0] = v1alpha1.PullRequestStackSet{Namespace: "prod", Name: "services",
			Reason: v1alpha1.ReasonRenderingFailed,
			Message: "spec.template.spec.variables[0].value: ${int(params.size)}: type conversion error (directory " +
				"services/big) with params size=big"}
	}
	return pr
}

// withDependents is a pull request that changes outputs which other Stacks read.
func withDependents() PullRequest {
	app := stack("app", phase(""))
	app.Deferred, app.Failure = true, "planned after web/net is applied (nat)"
	same := stack("same")
	same.OnMerge = &v1alpha1.StackOnMerge{Action: v1alpha1.StackMergeNothing,
		Message: "planned after web/net is applied (vpc)"}
	net := stack("net", plans(v1alpha1.Plan{Change: 1}, "  ~ aws_vpc.net will be changed\n"))
	net.OnMerge = &v1alpha1.StackOnMerge{Action: v1alpha1.StackMergeApply}
	pr := of(net, app, same, stack("a"), stack("b"))
	pr.Dependents = []v1alpha1.PullRequestDependent{
		{Namespace: "web", Name: "cluster", Message: "planned after web/net is applied (vpc)"},
		{Namespace: "web", Name: "dns", Possible: true, Message: "may be planned after web/cluster is applied"},
	}
	pr.MoreDependents = 2
	pr.Later = "1 Stack is deferred until an output exists, 1 other Stack reads outputs that change, 3 other Stacks " +
		"may be planned after the merge"
	return pr
}

func TestRenderedComments(t *testing.T) {
	for name, tt := range map[string]struct {
		pr PullRequest
		f  Format
	}{
		"mixed":    {mixed(t), GitHub},
		"plain":    {mixed(t), Bitbucket},
		"cut":      {mixed(t), Format{Limit: 2500}},
		"table":    {mixed(t), Format{Limit: 700}},
		"nothing":  {of(), Gitea},
		"merging":  {in(Merging, ""), GitLab},
		"conflict": {in(Conflict, "main.tf\nmodules/net/main.tf\n"), GitHub},
		"failed":   {in(Failed, "the pull request has 2 GB of files: the limit is 1 GB"), GitHub},
		"draft":    {in(Draft, ""), GitHub},
		"fork": {in(AwaitingCommand, "the head is in a fork", func(pr *PullRequest) {
			pr.Stacks = []Stack{stack("net", phase(""))}
		}), GitHub},
		"hostile": {hostilePullRequest(), GitHub},

		"stacksets":        {stackSets(false), GitHub},
		"stackset-failing": {stackSets(true), Bitbucket},

		"dependents": {withDependents(), GitHub},

		"after":         {allPhases(), GitHub},
		"after-plain":   {allPhases(), Bitbucket},
		"after-hostile": {hostileAfter(), GitHub},
		"result":        {Result(allPhases()), GitHub},
	} {
		t.Run(name, func(t *testing.T) {
			got := Render(tt.pr, tt.f)
			check(t, got, tt.pr, tt.f)
			file := filepath.Join("testdata", name+".golden.md")
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("(-update writes it):\n%s", diff)
			}
		})
	}
}

// tofu-controller #1614: each reconciliation wrote a further comment. Cairn finds its comment by the marker.
func TestMarkerIsOfOnePullRequest(t *testing.T) {
	for _, f := range []Format{GitHub, Bitbucket} {
		text := Render(mixed(t), f)
		for _, saved := range []string{text, strings.ReplaceAll(text, "\n", "\r\n"), strings.Split(text, "\n")[0]} {
			if !ours.IsMarked(saved) {
				t.Errorf("not found in %.90q", saved)
			}
		}
		for name, other := range map[string]ID{
			"number":       {ours.Installation, ours.Repository, 1, false},
			"repository":   {ours.Installation, "other", 12, false},
			"installation": {"staging", ours.Repository, 12, false},
			"separators":   {"prod:" + ours.Repository, "", 12, false},
			"comment":      {ours.Installation, ours.Repository, 12, true},
		} {
			if other.IsMarked(text) {
				t.Errorf("another %s is found", name)
			}
		}
		if ours.IsMarked("> " + text) {
			t.Error("a quote of the comment is found")
		}
	}
}

// atlantis #1178, #941: a directory that a pull request deletes was not planned.
func TestDeletedDirectoryShowsWhatDestroyingWouldDo(t *testing.T) {
	pr := of(stack("old", plans(v1alpha1.Plan{Destroy: 2}, "  - aws_vpc.old will be destroyed\n"),
		deleted("stacks/old")))
	got := Render(pr, GitHub)
	for _, want := range []string{
		"| if it is deleted: 2 to destroy (directory deleted) |",
		"The merge destroys nothing: this is what the deletion of the Stack would do.",
		"deletes the directory stacks/old.", "\n-   aws_vpc.old",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in %s", want, got)
		}
	}
}

// tofu-controller PR #1730: the base was planned instead of the pull request, and the comment did not show it.
func TestCommentNamesHeadAndBase(t *testing.T) {
	for _, p := range []v1alpha1.PullRequestPhase{Merging, Conflict, Failed, Draft, AwaitingCommand, Planned} {
		if got := Render(in(p, ""), GitHub); !strings.Contains(got,
			"Head `1f3c9a2b7d5e4f60718293a4b5c6d7e8f9012345`, base `main`.") {
			t.Errorf("%s: %s", p, got)
		}
	}
}

func TestSameInputInAnyOrderRendersTheSame(t *testing.T) {
	pr := mixed(t)
	want := Render(pr, Format{Limit: 3000})
	for range pr.Stacks {
		pr.Stacks = append(pr.Stacks[1:], pr.Stacks[0])
		if diff := cmp.Diff(want, Render(pr, Format{Limit: 3000})); diff != "" {
			t.Fatal(diff)
		}
	}
}

// Every limit is kept, and what is cut is the longest first: a short plan is whole while a long one is cut.
func TestLongestDetailsAreCutFirst(t *testing.T) {
	long := strings.Repeat("  + aws_subnet.this will be created\n", 5000)
	pr := of(stack("long", plans(v1alpha1.Plan{Add: 5000}, long)),
		stack("longer", plans(v1alpha1.Plan{Add: 9000}, long+long)),
		stack("short", plans(v1alpha1.Plan{Add: 1}, "  + aws_vpc.short will be created\n")))
	for _, f := range []Format{GitHub, Bitbucket} {
		got := Render(pr, f)
		check(t, got, pr, f)
		if n := size(got); n < f.Limit-200 {
			t.Errorf("%d of %d characters are used", n, f.Limit)
		}
		if !strings.Contains(got, "+   aws_vpc.short") {
			t.Error("the short plan is cut")
		}
		if n := strings.Count(got, " more lines: see the [web UI](https://cairn.example.com/runs/web/long"); n != 2 {
			t.Errorf("%d plans are cut", n)
		}
	}
	if got := Render(pr, GitLab); strings.Contains(got, "more lines") {
		t.Error("cut below the limit")
	}
}

func TestTableIsCutLastAndFailuresRemain(t *testing.T) {
	pr := of()
	for n := range 2000 {
		pr.Stacks = append(pr.Stacks, stack(fmt.Sprintf("stack-%04d", n), plans(v1alpha1.Plan{Add: 1}, "  + a\n")))
	}
	pr.Stacks[1999].Phase = v1alpha1.PhaseFailed
	for _, f := range []Format{GitHub, GitLab, Bitbucket} {
		got := Render(pr, f)
		check(t, got, pr, f)
		if !strings.Contains(got, "| [`web/stack-1999`](") {
			t.Error("the Stack that failed is cut")
		}
		if cut := strings.Contains(got, " more Stacks: see the [web UI]("); cut != (f != GitLab) {
			t.Errorf("limit %d: table is cut: %t", f.Limit, cut)
		}
	}
}

// A text cannot hide itself: neither a fence as long as the comment, nor a line that is longer, nor many lines.
func TestTextThatDoesNotFitIsReported(t *testing.T) {
	for name, message := range map[string]string{
		"backticks": "real\n" + strings.Repeat("`", 200_000), "a long line": "real\n" + strings.Repeat("x", 200_000),
		"many lines": "real\n" + strings.Repeat("\n", 200_000) + "end",
	} {
		pr := of(stack("net", failed(message)))
		got := Render(pr, GitHub)
		check(t, got, pr, GitHub)
		if !strings.Contains(got, "\nreal\n") || !strings.Contains(got, "…") && !strings.Contains(got,
			" more lines: see the ") {
			t.Errorf("%s: %.500q", name, got)
		}
	}
}

func TestLimitsAreOfCharacters(t *testing.T) {
	line := strings.Repeat("日本😀", 20) + "\n"
	pr := of(stack("net", plans(v1alpha1.Plan{Add: 1}, strings.Repeat(line, 1000))))
	for limit := 0; limit < 3000; limit += 7 {
		f := Format{Limit: limit, Plain: limit%2 == 0}
		got := Render(pr, f)
		if size(got) > limit {
			t.Fatalf("%d characters, limit %d", size(got), limit)
		}
		if limit > 200 && !ours.IsMarked(got) {
			t.Fatalf("limit %d: no marker", limit)
		}
	}
}

// A Stack that a StackSet would create is marked. One that cannot be planned has the reason, and fails nothing.
func TestNewStacksAreMarked(t *testing.T) {
	planned := stack("db", func(s *Stack) { s.New, s.Plan = true, &v1alpha1.Plan{Changes: true, Add: 3} })
	unplanned := stack("dns", func(s *Stack) {
		s.New, s.Plan, s.Phase, s.Failure = true, nil, "", "output id of Stack net is missing"
	})
	pr := of(planned, unplanned)
	if state, text := pr.aggregate(); state != Success || text != "1 Stack planned: 3 to add." {
		t.Errorf("%s: %q", state, text)
	}
	text := Render(pr, GitHub)
	for _, part := range []string{"3 to add (new)", "| Not planned | new, not planned |", "begins with an empty state",
		"output id of Stack net is missing"} {
		if !strings.Contains(text, part) {
			t.Errorf("it lacks %q:\n%s", part, text)
		}
	}
	for _, s := range Statuses(pr, "cairn", 20, nil) {
		if s.State != Success {
			t.Errorf("%+v", s)
		}
	}
}
