package git

import (
	"context"
	"errors"
	"fmt"
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
