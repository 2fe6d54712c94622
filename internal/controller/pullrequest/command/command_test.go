package command

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	web := Ref{"web", "net"}
	for body, want := range map[string]Command{
		"/cairn plan": {Verb: Plan},
		"/cairn apply\r\n\r\nas discussed with bob": {Verb: Apply},
		"/cairn approve \n":                         {Verb: Approve},
		"/cairn reject net":                         {Verb: Reject, Stacks: []Ref{{"", "net"}}},
		"/cairn unlock web/net  dns.v2 net": {Verb: Unlock,
			Stacks: []Ref{web, {"", "dns.v2"}, {"", "net"}}},
		"/cairn plan web/net web/net":                         {Verb: Plan, Stacks: []Ref{web}},
		"/cairn help":                                         {Verb: Help},
		"/cairn plan " + head:                                 {Verb: Plan, Commit: head},
		"/cairn plan " + head + " net":                        {Verb: Plan, Commit: head, Stacks: []Ref{{"", "net"}}},
		"/cairn plan " + head[:39]:                            {Verb: Plan, Stacks: []Ref{{"", head[:39]}}},
		"/cairn plan net " + head:                             {Verb: Plan, Stacks: []Ref{{"", "net"}, {"", head}}},
		"/cairn plan\nsee `/cairn help`, not\n> /cairn apply": {Verb: Plan},
	} {
		got, err := Parse(Comment{Body: body})
		if err != nil || got == nil {
			t.Errorf("%q: %v, %v", body, got, err)
		} else if diff := cmp.Diff(want, *got); diff != "" {
			t.Errorf("%q: %s", body, diff)
		}
	}
}

func TestCommentsThatAreNoCommands(t *testing.T) {
	for name, c := range map[string]Comment{
		"empty":                    {},
		"a quote":                  {Body: "> /cairn apply"},
		"a fence":                  {Body: "```\n/cairn apply\n```"},
		"a leading blank":          {Body: " /cairn apply"},
		"a leading line":           {Body: "\n/cairn apply"},
		"an indented code block":   {Body: "    /cairn apply"},
		"a code span":              {Body: "`/cairn apply`"},
		"the second line":          {Body: "please\n/cairn apply"},
		"another word":             {Body: "/cairns apply"},
		"another program":          {Body: "/cairn-next apply"},
		"upper case":               {Body: "/CAIRN apply"},
		"a mention":                {Body: "@cairn apply"},
		"a hidden first character": {Body: "\ufeff/cairn apply"},
		"HTML":                     {Body: "<!-- -->/cairn apply"},
		// tofu-controller PR #775: its own comment, which has the command in its instructions, was read as a command.
		"of Cairn or another bot": {Body: "/cairn apply", Bot: true},
		"edited":                  {Body: "/cairn apply", Edited: true},
	} {
		if got, err := Parse(c); got != nil || err != nil {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// GHSA-rjh2-4xgw-p2hj and atlantis #6225: words of a comment reached a shell.
func TestCommandsThatAreRejected(t *testing.T) {
	for body, want := range map[string]string{
		"/cairn":                                     "the comment has no command after /cairn",
		"/cairn paln":                                `unknown command "paln" (did you mean /cairn plan?)`,
		"/cairn Aply net":                            `unknown command "Aply" (did you mean /cairn apply?)`,
		"/cairn destroy":                             `unknown command "destroy"`,
		"/cairn " + strings.Repeat("a", 300):         `unknown command "` + strings.Repeat("a", 60) + `"`,
		"/cairn plan --all":                          `unknown option "--all": commands have no options`,
		"/cairn plan -d web":                         `unknown option "-d"`,
		"/cairn plan net;id":                         `"net;id" is not the name of a Stack`,
		"/cairn plan $(id)":                          `"$(id)" is not the name of a Stack`,
		"/cairn plan `id`":                           "\"`id`\" is not the name of a Stack",
		"/cairn plan ../net":                         `"../net" is not NAMESPACE/NAME of a Stack`,
		"/cairn plan web/net/x":                      `"web/net/x" is not the name of a Stack`,
		"/cairn plan /net":                           `"/net" is not NAMESPACE/NAME of a Stack`,
		"/cairn plan Net":                            `"Net" is not the name of a Stack`,
		"/cairn plan \"net\"":                        "is not the name of a Stack",
		"/cairn plan n\u00e9t":                       `the character 'é', which is not allowed`,
		"/cairn\u00a0plan":                           `the character '\u00a0', which is not allowed`,
		"/cairn plan\tnet":                           `the character '\t', which is not allowed`,
		"/cairn plan\rnet":                           `the character '\r', which is not allowed`,
		"/cairn plan\x00":                            `the character '\x00', which is not allowed`,
		"/cairn plan\n/cairn apply":                  "more than one command",
		"/cairn plan\r/cairn apply":                  `the character '\r'`,
		"/cairn plan\r\n\r\n/cairn apply\r\n":        "more than one command",
		"/cairn plan" + strings.Repeat(" n", 51):     "more than 50 Stacks",
		"/cairn plan " + strings.Repeat("n", 254):    "is not the name of a Stack",
		"/cairn plan " + strings.Repeat("n ", 1<<20): "more than 4096 characters",
	} {
		got, err := Parse(Comment{Body: body})
		var syntax *SyntaxError
		if got != nil || !errors.As(err, &syntax) {
			t.Errorf("%.60q: %v, %v", body, got, err)
			continue
		}
		if !strings.Contains(syntax.Message, want) || !strings.HasSuffix(syntax.Text(), Usage) ||
			len(syntax.Text()) > 2000 {
			t.Errorf("%.60q: %q", body, syntax.Text())
		}
	}
}

func TestIdentities(t *testing.T) {
	for _, tt := range []struct {
		name func(provider, host, name string) (string, error)
		host string
		in   string
		want string // empty: rejected
	}{
		{User, "git.example.com", "alice", "gitea:git.example.com:alice"},
		{User, "Git.Example.com:3000", "Alice-B_1.x", "gitea:git.example.com:3000:alice-b_1.x"},
		{Group, "git.example.com", "Org/Team", "gitea:git.example.com:org/team"},
		{Group, "git.example.com", "a/b/c", "gitea:git.example.com:a/b/c"},
		{User, "github.com", "renovate[bot]", "gitea:github.com:renovate[bot]"},
		{User, "git.example.com", "Alice+x@Example.com", "gitea:git.example.com:alice+x@example.com"},
		{Group, "git.example.com", "acme/Platform Team", "gitea:git.example.com:acme/platform team"},
		{User, "git.example.com", "org/team", ""},
		{User, "git.example.com", "a b", ""},
		{Group, "git.example.com", "acme/team\t", ""},
		{Group, "git.example.com", "acme/x:y", ""},
		{Group, "git.example.com", "alice", ""},
		{User, "git.example.com", "", ""},
		{User, "", "alice", ""},
		{User, "git.example.com", "system:masters", ""},
		{User, "git.example.com", "alice\n", ""},
		{User, "git.example.com", "аlice", ""}, // a Cyrillic letter
		{User, "git.example.com", strings.Repeat("a", 256), ""},
		{User, "git.example.com/x", "alice", ""},
	} {
		got, err := tt.name("gitea", tt.host, tt.in)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%q %q: %q, %v", tt.host, tt.in, got, err)
		}
	}
	if got, err := User("system", "masters", ""); err == nil {
		t.Error(got)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"/cairn plan", "/cairn apply web/net dns\r\nthanks", "/cairn", "/cairn -x", "/cairn plan\n/cairn apply",
		"> /cairn plan", "/cairn plan $(id)",
		"/cairn plan 1f3c9a2b7d5e4f60718293a4b5c6d7e8f9012345", "/cairn\u2028plan", "/cairn plan a/b/c", "/cairn paln",
		"\xff/cairn plan", "/cairn plan \xff",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, body string) {
		got, err := Parse(Comment{Body: body})
		if err != nil {
			var syntax *SyntaxError
			if got != nil || !errors.As(err, &syntax) || len(syntax.Text()) > 2000 {
				t.Errorf("%v, %v", got, err)
			}
			return
		}
		if got == nil {
			return
		}
		// A command is exactly what it is written as: nothing of the comment beyond it counts.
		text := "/cairn " + string(got.Verb)
		if got.Commit != "" {
			text += " " + got.Commit
		}
		for _, r := range got.Stacks {
			text += " " + r.String()
		}
		if strings.ContainsAny(text, "\n\r\"'`$;&|<>\\(){}*?~") || len(got.Stacks) > 50 ||
			!strings.HasPrefix(body, "/cairn ") {
			t.Errorf("%q of %q", text, body)
		}
		again, err := Parse(Comment{Body: text})
		if diff := cmp.Diff(got, again); diff != "" || err != nil {
			t.Errorf("%q of %q: %v %s", text, body, err, diff)
		}
	})
}
