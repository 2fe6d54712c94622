package gitprovider

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// provider is a Git provider. Each is a file of this package with an entry in providers, and a Client in package pulls.
type provider struct {
	// name of the Git provider, which is that of the API if it has a client.
	name string
	// webhook is how it sends webhooks; nil if another entry is for its webhooks too.
	webhook *webhook
	// client returns the access to the pull requests of a repository; nil if Cairn does not plan them.
	client func(Access) (pulls.Client, error)
}

// providers lists them, those first that send the headers of others too.
func providers() []provider {
	return []provider{forgejo, gitea, gogs, gitLab, gitHub, bitbucket, bitbucketDataCenter}
}

// webhook is how a Git provider sends webhooks.
type webhook struct {
	// event is the header that names the event. A webhook is of the Git provider whose header it has.
	event string
	// delivery are the headers that may have the id.
	delivery []string
	// signsPayload: of a form not the body is signed but the JSON in it.
	signsPayload bool
	// check returns an error unless one of the secrets signed the bytes.
	check func(h http.Header, signed []byte, secrets [][]byte, now time.Time) error
	// read copies the JSON into the Event.
	read func(e *Event, document []byte) error
}

func providerOf(h http.Header) (provider, bool) {
	for _, p := range providers() {
		if p.webhook != nil && h.Get(p.webhook.event) != "" {
			return p, true
		}
	}
	return provider{}, false
}

// Access is where a repository is, and as whom to access it.
type Access struct {
	// URL of the Git provider, and Path of the repository there: at least its owner and its name.
	URL  *url.URL
	Path []string
	// Secret has the credentials. The key token is that of a token.
	Secret map[string][]byte
	// Web sends the requests. It must not connect to addresses that tenants may not name.
	Web *http.Client
}

// Client returns the access to the pull requests of a repository at a Git provider. An error is about the Secret.
func Client(name string, a Access) (pulls.Client, error) {
	for _, p := range providers() {
		if p.name == name && p.client != nil {
			return p.client(a)
		}
	}
	return nil, fmt.Errorf("this version of Cairn has no client of the Git provider %s", name)
}

// tokenKey is the key of a token in a Secret.
const tokenKey = "token"

// token returns the token, without which there is no access.
func (a Access) token() (string, error) {
	token := strings.TrimSpace(string(a.Secret[tokenKey]))
	if token == "" {
		return "", fmt.Errorf("it has no key %s with a token of the Git provider", tokenKey)
	}
	return token, nil
}

// owner and name of the repository.
func (a Access) owner() string { return a.Path[len(a.Path)-2] }
func (a Access) name() string  { return a.Path[len(a.Path)-1] }
