package git

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"cairn.dev/cairn/internal/base/shorten"
)

// Errors by what is to be done about them. Each that this package returns is at most one of them.
var (
	// ErrAuthentication means that the remote rejects the credentials: correct them.
	ErrAuthentication error = &kind{"authentication failed", "AuthenticationFailed"}
	// ErrHostKey means that an SSH server's key is not among known_hosts, or is another one: find out which is right.
	ErrHostKey error = &kind{"host key unknown", "HostKeyUnknown"}
	// ErrCertificate means that an HTTPS server's certificate is from a certificate authority that is not trusted:
	// set ca.crt.
	ErrCertificate error = &kind{"certificate not trusted", "CertificateUntrusted"}
	// ErrRedirect means that the remote is elsewhere now. Credentials are not taken there: correct the URL.
	ErrRedirect error = &kind{"redirected", "Redirected"}
	// ErrAddress means that the host has an address that Cairn does not connect to.
	ErrAddress error = &kind{"address denied", "AddressDenied"}
	// ErrMirrorTooLarge means that the mirror would exceed the disk space that it may use.
	ErrMirrorTooLarge error = &kind{"mirror too large", "MirrorTooLarge"}
	// ErrNotFound means that there is no such repository, or that those credentials must not know of it.
	ErrNotFound error = &kind{"repository not found", "RemoteNotFound"}
	// ErrUnreachable means that the remote cannot be reached or is not well. It passes, mostly.
	ErrUnreachable error = &kind{"unreachable", "Unreachable"}
	// ErrNoRef means that there is no such branch, tag or commit, or that the commit cannot be had.
	ErrNoRef error = &kind{"no such ref", "RefNotFound"}
	// ErrEmpty means that the mirror does not have what it should: none was fetched yet, or it was damaged. The
	// next Fetch that succeeds gets it.
	ErrEmpty error = &kind{"not fetched", "NotFetched"}
	// ErrTimeout means that it took too long.
	ErrTimeout error = &kind{"timeout", "Timeout"}
	// ErrConfig means that a URL, a Secret or .gitmodules is wrong: the message contains what to correct.
	ErrConfig error = &kind{"wrong configuration", "ConfigurationInvalid"}
	// ErrContent means that files cannot be put into an archive as they are: the message names them and the reason.
	ErrContent error = &kind{"content not usable", "ContentInvalid"}
	// ErrTooLarge means that there is more than the limit.
	ErrTooLarge error = &kind{"too large", "SourceTooLarge"}
)

var errEmpty = fail(ErrEmpty, "the repository was not fetched yet")

// kind of an error, and its reason in a condition.
type kind struct{ text, reason string }

func (k *kind) Error() string { return k.text }

// Reason is what an error is called in a condition: FetchFailed for one that has no name of its own, "" for nil.
func Reason(err error) string {
	if err == nil {
		return ""
	}
	if k, ok := errors.AsType[*kind](err); ok {
		return k.reason
	}
	return "FetchFailed"
}

// failure is an error of a kind, with a message for users.
type failure struct {
	kind    error
	message string
}

func (f *failure) Error() string { return f.message }
func (f *failure) Unwrap() error { return f.kind }

func fail(kind error, format string, args ...any) error {
	return &failure{kind, fmt.Sprintf(format, args...)}
}

// stopped is the reason why ctx is over.
func stopped(ctx context.Context, what string) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fail(ErrTimeout, "%s took too long", what)
	}
	return fmt.Errorf("%s: %w", what, ctx.Err())
}

// signs are what git, curl and ssh print when they fail, in lower case, the surest first: the first that is found
// decides. git's exit codes do not distinguish failures.
func signs() []sign {
	return []sign{
		{ErrHostKey, "the server's host key is not the one in known_hosts, or is not in there: check which " +
			"key is right, then put it into known_hosts", []string{
			"host key verification failed", "host key is known for", "remote host identification has changed",
		}, false},
		{ErrRedirect, redirected, []string{
			"returned error: 301", "returned error: 302", "returned error: 303", "returned error: 307",
			"returned error: 308",
		}, false},
		{ErrAuthentication, unauthorized, []string{
			"authentication failed for", "returned error: 401", "returned error: 403", "permission denied (",
			"too many authentication failures", "invalid credentials",
		}, false},
		{ErrAuthentication, "the server wants credentials: set them in the Secret of the Repository", []string{
			"could not read username", "could not read password",
		}, false},
		{ErrNotFound, "there is no such repository, or the credentials do not show it: correct the URL or the " +
			"credentials",
			[]string{
				"returned error: 404", "returned error: 410", "repository not found",
				"does not appear to be a git repository",
				"project you were looking for could not be found", "fatal: repository '",
			}, false},
		{ErrCertificate, "the server's certificate is from an authority that is not trusted: set ca.crt in the Secret",
			[]string{
				"certificate verification failed", "ssl certificate problem",
				"ssl: no alternative certificate subject name",
				"certificate verify failed",
			}, true},
		{ErrUnreachable, "the server cannot be reached", []string{
			"could not resolve", "failed to connect", "couldn't connect", "connection refused", "connection timed out",
			"no route to host", "network is unreachable",
		}, true},
		{ErrUnreachable, "the server does not answer as it should; it may be down", []string{
			"returned error: 429", "returned error: 5", "connection reset", "connection closed",
			"empty reply from server",
			"operation too slow", "operation timed out", "early eof", "unexpected disconnect", "hung up unexpectedly",
			"recv failure", "gnutls_handshake", "ssl_error_syscall", "timeout, server",
		}, true},
		{ErrNoRef, "the repository has no such commit", []string{"not our ref", "request for unadvertised object"},
			false},
	}
}

// What to do about answers that are alike from git and servers of LFS.
const (
	redirected = "the server redirects to another server, which is not followed: put the final URL into " +
		"the Repository"
	unauthorized = "the server does not accept the credentials: correct them, or what they are allowed to read"
)

type sign struct {
	kind   error
	advice string
	texts  []string
	// quoted: the line with the text has a reason that the advice has not.
	quoted bool
}

// classify returns an error for what a failed git printed, which has no secrets in it anymore. known: the remote has
// received credentials.
func classify(what, said string, known bool) error {
	theirs := serverAnswer(said)
	lower := strings.ToLower(said)
	if known { // git asks for others when these are not accepted
		lower = strings.ReplaceAll(lower, "could not read username", "invalid credentials")
	}
	for _, s := range signs() {
		for _, text := range s.texts {
			if strings.Contains(lower, text) {
				reason := ""
				if s.quoted {
					reason = " (" + lineWith(said, text) + ")"
				}
				return fail(s.kind, "%s: %s%s%s", what, s.advice, reason, theirs)
			}
		}
	}
	if line := mainLine(said); line != "" {
		return fail(nil, "%s: git printed: %s%s", what, line, theirs)
	}
	return fail(nil, "%s: git failed and printed nothing", what)
}

// mostServerLines is how many lines of a server a message quotes.
const mostServerLines = 3

// serverSaid quotes the server's own words, which git prints behind "remote:". It is empty when there are none.
func serverAnswer(said string) string {
	var lines []string
	for line := range strings.Lines(said) {
		text, ok := strings.CutPrefix(line, "remote:")
		if text = short(text); ok && strings.ContainsFunc(text, unicode.IsLetter) &&
			!slices.Contains(lines, text) && len(lines) < mostServerLines {
			lines = append(lines, text)
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "; the server answers: " + short(strings.Join(lines, " / "))
}

// endOfSSH is what git prints when ssh has ended. The reason is the line before, from ssh.
const endOfSSH = "fatal: could not read from remote repository."

// mainLine is the most relevant line: the last one of ssh, else the first one of git's own that is an error, else the
// last.
func mainLine(said string) string {
	lines := strings.Split(strings.TrimSpace(said), "\n")
	for i, line := range lines {
		if i > 0 && strings.EqualFold(strings.TrimSpace(line), endOfSSH) && short(lines[i-1]) != "" {
			return short(lines[i-1])
		}
		if strings.HasPrefix(line, "fatal: ") || strings.HasPrefix(line, "error: ") {
			return short(line)
		}
	}
	return short(lines[len(lines)-1])
}

// lineWith is the first line that has a text of a sign.
func lineWith(said, text string) string {
	for line := range strings.Lines(said) {
		if strings.Contains(strings.ToLower(line), text) {
			return short(line)
		}
	}
	return mainLine(said)
}

// short is a line of a text from elsewhere as it may stand in a message.
func short(line string) string { return strings.TrimSpace(shorten.Line(line, 300)) }

// damaged reports whether git's own store is at fault rather than the remote: it is recreated then.
func damaged(said string) bool {
	for line := range strings.Lines(strings.ToLower(said)) {
		if strings.HasPrefix(line, "remote:") { // the store of the other side
			continue
		}
		for _, text := range []string{
			"not a git repository", "loose object", "object file", "bad object", "bad tree object",
			"unable to read tree",
			"missing object", "missing blob", "missing tree", "packfile", "corrupt", "bad config", "bad signature",
			"does not point to a valid object", "did not send all necessary objects",
		} {
			if strings.Contains(line, text) {
				return true
			}
		}
	}
	return false
}
