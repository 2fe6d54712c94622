package userapi

// SignIn is the list of ways to sign in with a browser.
type SignIn struct {
	// The ways to sign in.
	Methods []SignInMethod `json:"methods"`
	// The reason why the last sign-in of this browser failed, for a minute after it. Absent otherwise.
	Error string `json:"error,omitempty"`
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
