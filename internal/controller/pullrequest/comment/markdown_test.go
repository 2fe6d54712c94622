package comment

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer/html"
	nethtml "golang.org/x/net/html"

	"cairn.dev/cairn/api/v1alpha1"
)

// markdown renders as Git providers do, with HTML as it is written. Gitea uses this library.
var markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()))

// prose is all text outside code that a comment has: no mention, reference, link or HTML of others.
var prose = regexp.MustCompile(`^[A-Za-z0-9 \n.,:;()/…-]*$`)

// check reports what a comment must never have, whatever its input.
func check(t testing.TB, text string, pr PullRequest, f Format) {
	t.Helper()
	if n := size(text); n > f.Limit {
		t.Errorf("%d characters, limit %d", n, f.Limit)
	}
	if again := Render(pr, f); again != text {
		t.Error("the same input renders differently")
	}
	if strings.HasPrefix(text, "/") || strings.Contains(text, "\n/") {
		t.Error("a line begins with a slash: GitLab executes it")
	}
	if strings.ContainsAny(text, "\r\x00\x1b\u202e\u200b") {
		t.Error("control characters")
	}
	if text == "" {
		return
	}
	if !pr.ID.IsMarked(text) {
		t.Errorf("no marker: %.100q", text)
	}
	var rendered bytes.Buffer
	if err := markdown.Convert([]byte(text), &rendered); err != nil {
		t.Fatal(err)
	}
	root, err := nethtml.Parse(&rendered)
	if err != nil {
		t.Fatal(err)
	}
	elements := map[string]int{}
	walk(t, root, nil, elements)
	if f.Plain && elements["details"] > 0 || !f.Plain && elements["details"] != elements["summary"] {
		t.Errorf("elements %v", elements)
	}
	stacks, rows := len(pr.Stacks)+len(pr.StackSets), len(pr.Stacks)+1
	if pr.After != nil {
		stacks, rows = stacks+len(pr.After.Stacks), rows+len(pr.After.Stacks)+1
	}
	if n := len(pr.Dependents); n > 0 {
		rows += n + 1
	}
	if elements["details"] > stacks+4 || elements["tr"] > rows {
		t.Errorf("elements %v of %d Stacks", elements, len(pr.Stacks))
	}
}

var allowed = []string{
	"html", "head", "body", "p", "strong", "code", "pre", "a", "details", "summary", "h3", "table", "thead", "tbody",
	"tr", "th", "td",
}

func walk(t testing.TB, n *nethtml.Node, above []string, elements map[string]int) {
	t.Helper()
	switch n.Type {
	case nethtml.ElementNode:
		elements[n.Data]++
		if !slices.Contains(allowed, n.Data) {
			t.Errorf("element %s below %v", n.Data, above)
		}
		if n.Data == "details" && slices.Contains(above, "details") {
			t.Errorf("details are not closed")
		}
		for _, a := range n.Attr {
			link := n.Data == "a" && a.Key == "href" && strings.HasPrefix(a.Val, "https://cairn.example.com/")
			language := n.Data == "code" && a.Key == "class" && (a.Val == "language-diff" || a.Val == "language-text")
			if open := n.Data == "details" && a.Key == "open"; !link && !language && !open {
				t.Errorf("attribute %s=%q of %s", a.Key, a.Val, n.Data)
			}
		}
		above = append(above[:len(above):len(above)], n.Data)
	case nethtml.TextNode:
		if !slices.Contains(above, "code") && !prose.MatchString(n.Data) {
			t.Errorf("text of others outside code: %.200q below %v", n.Data, above)
		}
	case nethtml.CommentNode:
		if !strings.HasPrefix(n.Data, " cairn:") {
			t.Errorf("a comment of others: %.100q", n.Data)
		}
	}
	for c := range n.ChildNodes() {
		walk(t, c, above, elements)
	}
}

func FuzzRender(f *testing.F) {
	for _, s := range []string{hostile, "", "`", "``` ```", " ", "\n", "a\n\nb", "|", `\`, `\|`, "</code></summary>",
		"~~~", "/merge\n/merge", "﷽😀", "--!>", "é\xff"} {
		for _, limit := range []uint32{0, 100, 700, 1500, 4000, 65_536} {
			f.Add(s, s, s, s, limit, limit%200 == 0, uint8(limit))
		}
	}
	phases := []v1alpha1.PullRequestPhase{Planned, Planned, Merging, Conflict, Failed, Draft, AwaitingCommand, "Other"}
	runs := []v1alpha1.RunPhase{"", "Queued", "Planning", "Succeeded", "Failed", "Canceled", "AwaitingApproval",
		"Superseded"}
	f.Fuzz(func(t *testing.T, name, branch, code, message string, limit uint32, plain bool, kind uint8) {
		s := stack(name, plans(v1alpha1.Plan{Add: int32(kind)}, code),
			policy(v1alpha1.PolicyResult{Checked: 1, Warned: 1,
				Findings: []v1alpha1.PolicyFinding{{Policy: name, Action: branch, Message: message}}}))
		s.Namespace, s.Failure, s.Phase = branch, message, runs[kind%8]
		s.URL = "https://cairn.example.com/" + name
		s.OnMerge = &v1alpha1.StackOnMerge{Action: v1alpha1.StackMergeAwaitApproval, Message: message}
		if kind&64 > 0 {
			s.DeletedDirectory = branch
		}
		pr := of(s, stack("net", plans(v1alpha1.Plan{Change: 1}, "  ~ a\n"+code)), stack(name, failed(message)))
		pr.Phase, pr.Base, pr.Message, pr.Answer = phases[kind/8%8], branch, message, message
		pr.ID.Installation = name
		if kind&1 > 0 {
			pr.Skipped = []string{name, branch}
		}
		if kind&2 > 0 {
			done := did(name, groups[int(kind)%len(groups)], branch, message)
			done.Namespace, done.URL = branch, "https://cairn.example.com/"+name
			pr.After = &After{Commit: branch, Stacks: []Applied{done}}
		}
		format := Format{Limit: int(limit % 70_000), Plain: plain}
		check(t, Render(pr, format), pr, format)
		for _, status := range Statuses(pr, "cairn", 20, []string{"cairn/web/gone", "other"}) {
			if len(status.Context) > 255 || size(status.Description) > 2*140 ||
				strings.ContainsAny(status.Description, "\n\r\x00") {
				t.Errorf("%+v", status)
			}
		}
	})
}
