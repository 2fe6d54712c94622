package auth

import (
	"errors"
	"fmt"
	"net/http"

	"cairn.dev/cairn/internal/base/signinlink"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/userapi"
)

// failedSignIn is an error of a sign-in. Users see why; the log has the error.
type failedSignIn struct {
	error
	why userapi.SignInFailure
}

func (f *failedSignIn) Unwrap() error { return f.error }

// ErrSignInExpired is the error of a sign-in that this browser did not start, or started too long ago.
var ErrSignInExpired = failure(userapi.SignInExpired, "the sign-in took too long, or was started in another browser")

// ErrSignInOtherSite is the error of a sign-in link that another site opened.
var ErrSignInOtherSite = failure(userapi.SignInOtherSite, "another site opened the sign-in link")

// failure returns an error of a sign-in.
func failure(why userapi.SignInFailure, format string, args ...any) error {
	return &failedSignIn{fmt.Errorf(format, args...), why}
}

// WhySignInFailed returns what users see of an error of a sign-in.
func WhySignInFailed(err error) userapi.SignInFailure {
	var failed *failedSignIn
	var answer *httpapi.Error
	switch {
	case errors.As(err, &failed):
		return failed.why
	case errors.Is(err, signinlink.ErrExpired):
		return userapi.SignInLinkExpired
	case errors.As(err, &answer) && answer.Code == http.StatusUnauthorized:
		return userapi.SignInTokenRejected
	}
	return userapi.SignInFailed
}
