package userapi

// SignIn is how users sign in with a browser.
type SignIn struct {
	Methods []SignInMethod `json:"methods"`
	// Error is why the last sign-in of this browser failed, for a minute. It is empty otherwise.
	Error string `json:"error,omitempty"`
}

// A SignInMethod is one way to sign in.
type SignInMethod struct {
	// Type is OIDC, with a URL to go to, or Token: what Kubernetes takes, sent to /api/v1/session.
	Type string `json:"type"`
	// Name of the identity provider, as users see it.
	Name string `json:"name,omitempty"`
	URL  string `json:"url,omitempty"`
}

// Kinds of a SignInMethod.
const (
	SignInOIDC  = "OIDC"
	SignInToken = "Token"
)

// A Session is asked for with a token that Kubernetes takes.
type Session struct {
	Token string `json:"token"`
}
