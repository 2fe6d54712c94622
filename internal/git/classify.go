package git

import (
	"slices"
	"strings"
	"unicode"
)

// signs are what git, curl and ssh print when they fail, in lower case, the surest first: the first that is found
// decides. git has no exit codes that tell one failure from another.
func signs() []sign {
	return []sign{
		{ErrHostKey, "the server's host key is not the one in known_hosts, or is not in there: make sure which key is right, then put it into known_hosts",
			[]string{"host key verification failed", "host key is known for", "remote host identification has changed"}},
		{ErrRedirect, "the server redirects to another URL, where credentials are not taken: put the final URL into the Repository",
			[]string{"returned error: 301", "returned error: 302", "returned error: 303", "returned error: 307", "returned error: 308"}},
		{ErrAuthentication, "the server does not accept the credentials: correct them, or what they are allowed to read",
			[]string{"authentication failed for", "returned error: 401", "returned error: 403", "permission denied (", "too many authentication failures", "invalid credentials"}},
		{ErrAuthentication, "the server wants credentials: give them in the Secret of the Repository",
			[]string{"could not read username", "could not read password"}},
		{ErrNotFound, "there is no such repository, or the credentials do not show it: correct the URL or the credentials",
			[]string{"returned error: 404", "returned error: 410", "repository not found", "does not appear to be a git repository", "project you were looking for could not be found", "fatal: repository '"}},
		{ErrCertificate, "the server's certificate is from an authority that is not trusted: give it as ca.crt in the Secret",
			[]string{"certificate verification failed", "ssl certificate problem", "ssl: no alternative certificate subject name", "certificate verify failed"}},
		{ErrUnreachable, "the server cannot be reached",
			[]string{"could not resolve", "failed to connect", "couldn't connect", "connection refused", "connection timed out", "no route to host", "network is unreachable"}},
		{ErrUnreachable, "the server does not answer as it should; it may be down",
			[]string{
				"returned error: 429", "returned error: 5", "connection reset", "connection closed", "empty reply from server", "operation too slow",
				"operation timed out", "early eof", "unexpected disconnect", "hung up unexpectedly", "recv failure", "gnutls_handshake", "ssl_error_syscall", "timeout, server",
			}},
		{ErrNoRef, "the repository has no such commit", []string{"not our ref", "request for unadvertised object"}},
	}
}

type sign struct {
	kind   error
	advice string
	texts  []string
}

// classify makes an error of what a failed git printed. said has no secrets in it any more. known says that we told the
// remote who we are.
func classify(what, said string, known bool) error {
	theirs := serverSaid(said)
	lower := strings.ToLower(said)
	if known { // git asks for others when these are not accepted
		lower = strings.ReplaceAll(lower, "could not read username", "invalid credentials")
	}
	for _, s := range signs() {
		for _, text := range s.texts {
			if strings.Contains(lower, text) {
				return fail(s.kind, "%s: %s%s", what, s.advice, theirs)
			}
		}
	}
	if line := telling(said); line != "" {
		return fail(nil, "%s: git says: %s%s", what, line, theirs)
	}
	return fail(nil, "%s: git failed and said nothing", what)
}

// mostServerLines is how many lines of a server a message quotes.
const mostServerLines = 3

// serverSaid quotes the server's own words, which git prints behind "remote:". It is empty when there are none.
func serverSaid(said string) string {
	var lines []string
	for line := range strings.Lines(said) {
		text, ok := strings.CutPrefix(line, "remote:")
		if text = short(text); ok && strings.ContainsFunc(text, unicode.IsLetter) && !slices.Contains(lines, text) && len(lines) < mostServerLines {
			lines = append(lines, text)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "; the server says: " + short(strings.Join(lines, " / "))
}

// telling is the line that says most: the first one of git's own that is an error, else the last.
func telling(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "fatal: ") || strings.HasPrefix(line, "error: ") {
			return short(line)
		}
	}
	return short(lines[len(lines)-1])
}

// short is a line of a text from elsewhere as it may stand in a message.
func short(line string) string {
	line = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(line, "?"))
	line = strings.TrimSpace(line)
	if runes := []rune(line); len(runes) > 300 {
		return string(runes[:300]) + "..."
	}
	return line
}

// damaged says that git's own store is at fault rather than the remote: it is made anew then.
func damaged(said string) bool {
	for line := range strings.Lines(strings.ToLower(said)) {
		if strings.HasPrefix(line, "remote:") { // the store of the other side
			continue
		}
		for _, text := range []string{
			"not a git repository", "loose object", "object file", "bad object", "bad tree object", "unable to read tree", "missing object", "missing blob",
			"missing tree", "packfile", "corrupt", "bad config", "bad signature", "does not point to a valid object", "did not send all necessary objects",
		} {
			if strings.Contains(line, text) {
				return true
			}
		}
	}
	return false
}
