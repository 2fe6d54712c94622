package userapi

// SignIn is the list of ways to sign in with a browser.
type SignIn struct {
	// The ways to sign in.
	Methods []SignInMethod `json:"methods"`
	// Why the last sign-in of this browser failed, for a minute after it: LinkExpired, OtherSite, SignInExpired,
	// ProviderDenied, ProviderError, IdentityRejected, TooLarge, TokenRejected or Failed. Absent otherwise.
	Failure SignInFailure `json:"failure,omitempty"`
}

// A SignInFailure is why a sign-in failed. The server's log has the details.
type SignInFailure string

// The values of a SignInFailure.
const (
	// SignInLinkExpired: the link was used already, or is older than ten minutes.
	SignInLinkExpired SignInFailure = "LinkExpired"
	// SignInOtherSite: another site opened the link, which stays valid.
	SignInOtherSite SignInFailure = "OtherSite"
	// SignInExpired: the sign-in took too long, or was started in another browser or another tab.
	SignInExpired SignInFailure = "SignInExpired"
	// SignInProviderDenied: the identity provider did not sign the user in.
	SignInProviderDenied SignInFailure = "ProviderDenied"
	// SignInProviderError: the identity provider is unavailable, or its response is not valid.
	SignInProviderError SignInFailure = "ProviderError"
	// SignInIdentityRejected: the user name or the groups of the identity provider cannot be used: the name is missing
	// or not verified, or begins with system:.
	SignInIdentityRejected SignInFailure = "IdentityRejected"
	// SignInTooLarge: the token, or the names of the groups, are longer than a browser stores.
	SignInTooLarge SignInFailure = "TooLarge"
	// SignInTokenRejected: Kubernetes rejected the token.
	SignInTokenRejected SignInFailure = "TokenRejected"
	// SignInFailed: another error.
	SignInFailed SignInFailure = "Failed"
)

// SignInFailures are all values of a SignInFailure.
var SignInFailures = []SignInFailure{
	SignInLinkExpired, SignInOtherSite, SignInExpired, SignInProviderDenied, SignInProviderError,
	SignInIdentityRejected,
	SignInTooLarge, SignInTokenRejected, SignInFailed,
}

// A SignInMethod is one way to sign in.
type SignInMethod struct {
	// OIDC, with a URL to open, or Token: a token that Kubernetes accepts, sent to /api/v1/session.
	Type string `json:"type"`
	// The name of the identity provider.
	Name string `json:"name,omitempty"`
	// The URL to open, for OIDC.
	URL string `json:"url,omitempty"`
}

// Kinds of a SignInMethod.
const (
	SignInOIDC  = "OIDC"
	SignInToken = "Token"
)

// A Session is a request to sign in.
type Session struct {
	// A token that Kubernetes accepts.
	Token string `json:"token"`
}
