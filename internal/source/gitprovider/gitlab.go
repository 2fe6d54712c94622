package gitprovider

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

var gitLab = provider{
	name: "GitLab",
	webhook: &webhook{
		event: "X-Gitlab-Event", delivery: []string{"Webhook-Id", "Idempotency-Key", "X-Gitlab-Event-Uuid"},
		check: gitLabSigned, read: readGitLab,
	},
	client: func(a Access) (pulls.Client, error) {
		token, err := a.token()
		if err != nil {
			return nil, err
		}
		return pulls.NewGitLab(pulls.GitLabOptions{
			URL: a.URL.String(), Project: strings.Join(a.Path, "/"), Token: token, Web: a.Web,
		})
	},
}

// signingToken begins the secrets that GitLab signs with; the key follows in base64.
const signingToken = "whsec_"

// gitLabSigned checks the signature that newer GitLabs send where they have a signing token, and otherwise the token
// that they just send along.
func gitLabSigned(h http.Header, signed []byte, secrets [][]byte, now time.Time) error {
	if keys := signingKeys(secrets); h.Get("Webhook-Signature") != "" && len(keys) > 0 {
		return standardSigned(h, signed, keys, now)
	}
	token := h.Get("X-Gitlab-Token")
	if token == "" {
		return ErrUnsigned
	}
	claim := sha256.Sum256([]byte(token))
	same := 0
	for _, secret := range secrets {
		want := sha256.Sum256(secret)
		same |= subtle.ConstantTimeCompare(claim[:], want[:])
	}
	return errUnless(same)
}

func signingKeys(secrets [][]byte) [][]byte {
	var keys [][]byte
	for _, secret := range secrets {
		text, ok := strings.CutPrefix(string(secret), signingToken)
		if key, err := base64.StdEncoding.DecodeString(text); ok && err == nil && len(key) > 0 {
			keys = append(keys, key)
		}
	}
	return keys
}

func readGitLab(e *Event, document []byte) error {
	var b struct {
		Kind    string `json:"object_kind"`
		Name    string `json:"event_name"`
		Ref     string `json:"ref"`
		After   string `json:"after"`
		Commit  string `json:"checkout_sha"`
		Project struct {
			HTTPURL string `json:"git_http_url"`
			SSHURL  string `json:"git_ssh_url"`
		} `json:"project"`
	}
	event := e.Kind
	if event == "System Hook" { // of a whole instance: the body names the event
		if err := json.Unmarshal(document, &b); err != nil {
			return err
		}
		event = b.Name
		if event == "" {
			event = b.Kind
		}
	}
	switch event {
	case "Push Hook", "Tag Push Hook", "push", "tag_push":
	case "Merge Request Hook", "merge_request":
		e.Kind = KindPullRequest
		return nil
	case "Note Hook":
		return readGitLabNote(e, document)
	default:
		return nil
	}
	if err := json.Unmarshal(document, &b); err != nil {
		return err
	}
	if b.Commit == "" {
		b.Commit = b.After
	}
	e.moved([]string{b.Ref}, []string{b.Commit})
	e.CloneURLs = []string{b.Project.HTTPURL, b.Project.SSHURL}
	return nil
}

// readGitLabNote reads a comment on a merge request, an issue, a commit or a snippet.
func readGitLabNote(e *Event, document []byte) error {
	var b struct {
		Note struct {
			On string `json:"noteable_type"` //nolint:misspell // GitLab spells it so
		} `json:"object_attributes"`
	}
	if err := json.Unmarshal(document, &b); err != nil {
		return err
	}
	if b.Note.On == "MergeRequest" {
		e.Kind = KindPullRequest
	}
	return nil
}
