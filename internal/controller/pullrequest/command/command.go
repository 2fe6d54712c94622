// Package command parses comments of pull requests into commands and decides what a command may do now. It is pure: no
// client, no clock and no log.
package command

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/agext/levenshtein"
	"k8s.io/apimachinery/pkg/util/validation"
)

// Verb is what a command does.
type Verb string

// The verbs of commands.
const (
	Plan    Verb = "plan"
	Apply   Verb = "apply"
	Approve Verb = "approve"
	Reject  Verb = "reject"
	Unlock  Verb = "unlock"
	Help    Verb = "help"
)

var verbs = []Verb{Plan, Apply, Approve, Reject, Unlock, Help}

// Usage is the text of the command help.
const Usage = `The first line of a new comment can be a command:

  /cairn plan [STACK...]   plan the affected Stacks again
  /cairn plan COMMIT       allow the plans of this head commit, of which you have read the code
  /cairn approve DIGEST [STACK...]
                           approve the plans that you have read, also for the merge
  /cairn reject DIGEST [STACK...]
                           withdraw that approval
  /cairn apply DIGEST [STACK...]
                           apply the plans that you have read before the merge
  /cairn unlock [STACK...] end that: the Stack goes back to the base, after an approval
  /cairn help              show this text

STACK is NAME or NAMESPACE/NAME. Without it the command is for all affected Stacks. COMMIT and DIGEST have 40 digits. You need the
verb plan on each Stack, apply for apply and unlock, or approve or reject on its Runs. Approvals require carryApproval of
the Repository, and apply requires that its apply is BeforeMerge; the comment of Cairn has the command with the DIGEST of
the plans. Without apply, the merge applies them.`

// Limits of a command.
const (
	longestLine = 4096
	mostStacks  = 50
)

// Command is what a user requests.
type Command struct {
	Verb Verb
	// Commit is the head commit that the comment names; empty if it names none.
	Commit string
	// Stacks are those that the comment names, each once; none means all.
	Stacks []Ref
}

// Ref names a Stack. Without a namespace it is a Stack of any namespace.
type Ref struct{ Namespace, Name string }

// String returns NAME or NAMESPACE/NAME.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Namespace + "/" + r.Name
}

// Comment is a comment of a pull request.
type Comment struct {
	Body string
	// Bot: its author is a bot, an app, or Cairn itself.
	Bot bool
	// Edited: it has been changed since it was created.
	Edited bool
}

// SyntaxError is a comment that begins like a command and is none.
type SyntaxError struct{ Message string }

func (e *SyntaxError) Error() string { return e.Message }

// Text is what the user who wrote the comment reads. It has words of the comment, quoted.
func (e *SyntaxError) Text() string { return e.Message + "\n\n" + Usage }

func syntaxError(format string, args ...any) error {
	return &SyntaxError{"Nothing was done: " + fmt.Sprintf(format, args...) + "."}
}

// Parse returns the command of a comment, nil if it has none, or a SyntaxError. A command is the first line of a new
// comment of a user, without a blank, a quote or a fence before it.
func Parse(c Comment) (*Command, error) {
	first, rest, _ := strings.Cut(c.Body, "\n")
	first = strings.TrimSuffix(first, "\r")
	if c.Bot || c.Edited || !begins(first) {
		return nil, nil
	}
	if len(first) > longestLine {
		return nil, syntaxError("the command has more than %d characters", longestLine)
	}
	for _, r := range first {
		if r < ' ' || r > '~' {
			return nil, syntaxError("the command has the character %q, which is not allowed", r)
		}
	}
	lines := strings.FieldsFunc(rest, func(r rune) bool { return r == '\r' || r == '\n' })
	if slices.ContainsFunc(lines, begins) {
		return nil, syntaxError("the comment has more than one command: write a comment for each")
	}
	words := strings.Fields(first)[1:]
	if len(words) == 0 {
		return nil, syntaxError("the comment has no command after /cairn")
	}
	verb := Verb(words[0])
	if !slices.Contains(verbs, verb) {
		return nil, syntaxError("unknown command %s%s", quote(words[0]), nearest(words[0]))
	}
	words = words[1:]
	commit := ""
	if len(words) > 0 && isCommit(words[0]) {
		commit, words = words[0], words[1:]
	}
	stacks, err := refs(words)
	if err != nil {
		return nil, err
	}
	return &Command{Verb: verb, Commit: commit, Stacks: stacks}, nil
}

// isCommit reports whether a word is the whole ID of a commit. Anyone can create two commits with the same abbreviated
// ID.
func isCommit(word string) bool {
	return len(word) == 40 && strings.Trim(word, "0123456789abcdef") == ""
}

// begins reports whether a line begins with the word /cairn.
func begins(line string) bool {
	after, ok := strings.CutPrefix(line, "/cairn")
	return ok && (after == "" || strings.IndexFunc(after, unicode.IsSpace) == 0)
}

func refs(words []string) ([]Ref, error) {
	if len(words) > mostStacks {
		return nil, syntaxError("the command names more than %d Stacks", mostStacks)
	}
	var all []Ref
	for _, word := range words {
		if strings.HasPrefix(word, "-") {
			return nil, syntaxError("unknown option %s: commands have no options", quote(word))
		}
		r := Ref{Name: word}
		if namespace, name, ok := strings.Cut(word, "/"); ok {
			r = Ref{namespace, name}
			if len(validation.IsDNS1123Label(namespace)) > 0 {
				return nil, syntaxError("%s is not NAMESPACE/NAME of a Stack", quote(word))
			}
		}
		if len(validation.IsDNS1123Subdomain(r.Name)) > 0 {
			return nil, syntaxError("%s is not the name of a Stack", quote(word))
		}
		if !slices.Contains(all, r) {
			all = append(all, r)
		}
	}
	return all, nil
}

// nearest returns a suggestion for a word that is no verb.
func nearest(word string) string {
	best, least := Verb(""), 3
	for _, v := range verbs {
		if d := levenshtein.Distance(strings.ToLower(word[:min(len(word), 20)]), string(v), nil); d < least {
			best, least = v, d
		}
	}
	if best == "" {
		return ""
	}
	return " (did you mean /cairn " + string(best) + "?)"
}

func quote(word string) string { return fmt.Sprintf("%.60q", word) }

// User returns the name of a user of a Git provider for RBAC. Example: gitea:git.example.com:alice. Logins are in lower
// case, as providers compare them without case and RBAC does not.
func User(provider, host, login string) (string, error) {
	if strings.ContainsAny(login, "/ ") {
		return "", fmt.Errorf("login %q has a slash or a blank", login)
	}
	return identity(provider, host, login)
}

// Group returns the name of a team for RBAC. Example: gitea:git.example.com:org/team.
func Group(provider, host, team string) (string, error) {
	if !strings.Contains(team, "/") {
		return "", fmt.Errorf("team %q has no organization", team)
	}
	return identity(provider, host, team)
}

// identity returns a name for RBAC. The name of a user or team can have all printable characters of ASCII, as those of
// bots of GitHub and addresses of mail do, but no colon: it is what separates the parts. Other letters may look like
// these.
func identity(provider, host, name string) (string, error) {
	const letters, digits = "abcdefghijklmnopqrstuvwxyz", "0123456789"
	for _, part := range []struct{ what, text, allowed string }{
		{"Git provider", provider, letters},
		{"host", strings.ToLower(host), letters + digits + ".-:[]"},
		{"name", strings.ToLower(name), letters + digits + " !\"#$%&'()*+,-./;<=>?@[\\]^_`{|}~"},
	} {
		if part.text == "" || len(part.text) > 255 || strings.Trim(part.text, part.allowed) != "" {
			return "", fmt.Errorf("%s %.80q is empty, too long or has characters that are not allowed",
				part.what, part.text)
		}
	}
	return provider + ":" + strings.ToLower(host) + ":" + strings.ToLower(name), nil
}
