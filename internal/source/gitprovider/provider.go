package gitprovider

import (
	"net/http"
	"time"
)

// provider is how a Git provider sends webhooks.
type provider struct {
	name string
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

// providers lists them, those first that send the headers of others too.
func providers() []provider {
	return []provider{
		{"Forgejo", "X-Forgejo-Event", []string{"X-Forgejo-Delivery"}, true, hexHMAC("", "X-Forgejo-Signature", "X-Gitea-Signature"), readGitHub},
		{"Gitea", "X-Gitea-Event", []string{"X-Gitea-Delivery"}, true, hexHMAC("", "X-Gitea-Signature"), readGitHub},
		{"Gogs", "X-Gogs-Event", []string{"X-Gogs-Delivery"}, true, hexHMAC("", "X-Gogs-Signature"), readGitHub},
		{"GitLab", "X-Gitlab-Event", []string{"Webhook-Id", "Idempotency-Key", "X-Gitlab-Event-Uuid"}, false, gitLabSigned, readGitLab},
		{"GitHub", "X-Github-Event", []string{"X-Github-Delivery"}, false, hexHMAC("sha256=", "X-Hub-Signature-256"), readGitHub},
		{"Bitbucket", "X-Event-Key", []string{"X-Request-Uuid", "X-Request-Id"}, false, hexHMAC("sha256=", "X-Hub-Signature"), readBitbucket},
	}
}

func providerOf(h http.Header) (provider, bool) {
	for _, d := range providers() {
		if h.Get(d.event) != "" {
			return d, true
		}
	}
	return provider{}, false
}
