package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Errors by what is to be done about them. Each that this package returns is at most one of them, see Reason.
var (
	// ErrAuthentication says that the remote does not let us in: correct the credentials.
	ErrAuthentication = errors.New("authentication failed")
	// ErrHostKey says that an SSH server's key is not among known_hosts, or is another one: find out which is right.
	ErrHostKey = errors.New("host key unknown")
	// ErrCertificate says that an HTTPS server's certificate is from an authority that is not trusted: give its ca.crt.
	ErrCertificate = errors.New("certificate not trusted")
	// ErrRedirect says that the remote is elsewhere now. Credentials are not taken there: correct the URL.
	ErrRedirect = errors.New("redirected")
	// ErrNotFound says that there is no such repository, or that those credentials must not know of it.
	ErrNotFound = errors.New("repository not found")
	// ErrUnreachable says that the remote cannot be reached or is not well. It passes, mostly.
	ErrUnreachable = errors.New("unreachable")
	// ErrNoRef says that there is no such branch, tag or commit, or that the commit cannot be had.
	ErrNoRef = errors.New("no such ref")
	// ErrEmpty says that the mirror does not have what it should: none was fetched yet, or it was damaged. The next Fetch
	// that succeeds brings it.
	ErrEmpty = errors.New("not fetched")
	// ErrTimeout says that it took too long.
	ErrTimeout = errors.New("timeout")
	// ErrConfig says that a URL, a Secret or .gitmodules is not as it should be: the message says what to correct.
	ErrConfig = errors.New("wrong configuration")
	// ErrContent says that files cannot be put into an archive as they are: the message says which and why.
	ErrContent = errors.New("content not usable")
	// ErrTooLarge says that there is more than the limit.
	ErrTooLarge = errors.New("too large")
)

var errEmpty = fail(ErrEmpty, "the repository was not fetched yet")

// Reason is what an error is called in a condition: FetchFailed for one that has no name of its own, "" for nil.
func Reason(err error) string {
	if err == nil {
		return ""
	}
	for _, known := range []struct {
		err    error
		reason string
	}{
		{ErrAuthentication, "AuthenticationFailed"},
		{ErrHostKey, "HostKeyUnknown"},
		{ErrCertificate, "CertificateUntrusted"},
		{ErrRedirect, "Redirected"},
		{ErrNotFound, "RemoteNotFound"},
		{ErrUnreachable, "Unreachable"},
		{ErrNoRef, "RefNotFound"},
		{ErrEmpty, "NotFetched"},
		{ErrTimeout, "Timeout"},
		{ErrConfig, "ConfigurationInvalid"},
		{ErrContent, "ContentInvalid"},
		{ErrTooLarge, "SourceTooLarge"},
	} {
		if errors.Is(err, known.err) {
			return known.reason
		}
	}
	return "FetchFailed"
}

// failure is an error of a kind, with a message for a person.
type failure struct {
	kind    error
	message string
}

func (f *failure) Error() string { return f.message }
func (f *failure) Unwrap() error { return f.kind }

func fail(kind error, format string, args ...any) error {
	return &failure{kind, fmt.Sprintf(format, args...)}
}

// stopped says why ctx is over.
func stopped(ctx context.Context, what string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fail(ErrTimeout, "%s took too long", what)
	}
	return fmt.Errorf("%s: %w", what, ctx.Err())
}

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
