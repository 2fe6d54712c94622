package gitprovider

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const (
	secret = "correct horse battery staple"
	token  = "whsec_dGVzdHRlc3R0ZXN0dGVzdHRlc3R0ZXN0dGVzdHRlc3Q="
)

var now = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func headers(pairs ...string) http.Header {
	h := http.Header{"Content-Type": {JSONType}}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func mac(key, data string) []byte {
	m := hmac.New(sha256.New, []byte(key))
	m.Write([]byte(data))
	return m.Sum(nil)
}

func hexed(key, data string) string { return hex.EncodeToString(mac(key, data)) }

// A signer adds to the headers what a Git provider that knows the secret would add.
type signer func(h http.Header, secret, body string)

func signGitHub(h http.Header, secret, body string) {
	h.Set("X-Hub-Signature-256", "sha256="+hexed(secret, body))
	h.Set("X-Hub-Signature", "sha1=0123456789012345678901234567890123456789")
}
func signBitbucket(h http.Header, secret, body string) {
	h.Set("X-Hub-Signature", "sha256="+hexed(secret, body))
}
func signGogs(h http.Header, secret, body string) { h.Set("X-Gogs-Signature", hexed(secret, body)) }
func signGitea(h http.Header, secret, body string) {
	h.Set("X-Gitea-Signature", hexed(secret, body))
	h.Set("X-Gogs-Event", h.Get("X-Gitea-Event"))
	h.Set("X-GitHub-Event", h.Get("X-Gitea-Event"))
	h.Set("X-Gogs-Signature", hexed(secret, body))
	signGitHub(h, secret, body)
}
func signForgejo(h http.Header, secret, body string) {
	h.Set("X-Gitea-Event", h.Get("X-Forgejo-Event"))
	signGitea(h, secret, body)
	h.Set("X-Forgejo-Signature", hexed(secret, body))
}
func signGitLab(h http.Header, secret, _ string) { h.Set("X-Gitlab-Token", secret) }

func signStandard(at time.Time) signer {
	return func(h http.Header, secret, body string) {
		key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
		stamp := fmt.Sprint(at.Unix())
		h.Set("webhook-id", "f5e5f430-f57b-4e6e-9fac-d9128cd7232f")
		h.Set("webhook-timestamp", stamp)
		h.Set("webhook-signature",
			"v1,"+base64.StdEncoding.EncodeToString(mac(string(key), "f5e5f430-f57b-4e6e-9fac-d9128cd7232f."+
				stamp+"."+body)))
	}
}

func form(body string) string { return url.Values{"payload": {body}}.Encode() }

func file(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// webhooks of each Git provider, and how it signs them.
var webhooks = []struct {
	name    string
	headers []string
	body    string
	sign    signer
	secret  string
	want    Event
}{
	{"GitHub: a push", []string{"X-GitHub-Event", "push", "X-GitHub-Delivery", "72d3162e-cc78-11e3-81ab-4c9367dc0958"},
		"github-push", signGitHub, secret,
		Event{Provider: "GitHub", Kind: KindPush, Ref: "refs/heads/main",
			Commit: "0f3c1d2e4b5a69788796a5b4c3d2e1f00f1e2d3c", Delivery: "72d3162e-cc78-11e3-81ab-4c9367dc0958",
			CloneURLs: []string{"https://github.com/acme/infra.git", "git@github.com:acme/infra.git"}}},
	{"GitHub: a tag", []string{"X-GitHub-Event", "push", "X-GitHub-Delivery", "1"}, "github-tag", signGitHub, secret,
		Event{Provider: "GitHub", Kind: KindTag, Ref: "refs/tags/v1.4.0",
			Commit: "0f3c1d2e4b5a69788796a5b4c3d2e1f00f1e2d3c", Delivery: "1",
			CloneURLs: []string{"https://github.com/acme/infra.git", "git@github.com:acme/infra.git"}}},
	{"GitHub: a branch that is deleted has no commit", []string{"X-GitHub-Event", "push"}, "github-delete",
		signGitHub, secret,
		Event{Provider: "GitHub", Kind: KindPush, Ref: "refs/heads/widen",
			CloneURLs: []string{"https://github.com/acme/infra.git", "git@github.com:acme/infra.git"}}},
	{"GitHub: a ping", []string{"X-GitHub-Event", "ping", "X-GitHub-Delivery", "2"}, "github-ping", signGitHub, secret,
		Event{Provider: "GitHub", Kind: KindPing, Delivery: "2", Ping: true}},
	{"GitHub: a pull request", []string{"X-GitHub-Event", "pull_request"}, "github-pull-request", signGitHub, secret,
		Event{Provider: "GitHub", Kind: KindPullRequest}},
	{"GitHub: a comment on a pull request", []string{"X-GitHub-Event", "issue_comment"}, "github-comment",
		signGitHub, secret,
		Event{Provider: "GitHub", Kind: KindPullRequest}},
	{"GitHub: a comment on an issue is of no pull request", []string{"X-GitHub-Event", "issue_comment"},
		"github-issue-comment", signGitHub, secret,
		Event{Provider: "GitHub", Kind: "issue_comment"}},
	{"GitHub: a review", []string{"X-GitHub-Event", "pull_request_review"}, "github-review", signGitHub, secret,
		Event{Provider: "GitHub", Kind: KindPullRequest}},
	{"GitHub: an event that we know nothing of", []string{"X-GitHub-Event", "workflow_job"}, "github-pull-request",
		signGitHub, secret,
		Event{Provider: "GitHub", Kind: "workflow_job"}},
	{"Gitea: a push", []string{"X-Gitea-Event", "push", "X-Gitea-Delivery", "3"}, "gitea-push", signGitea, secret,
		Event{Provider: "Gitea", Kind: KindPush, Ref: "refs/heads/main",
			Commit: "bffeb74224043ba2feb48d137756c8a9331c449a", Delivery: "3",
			CloneURLs: []string{"https://git.acme.example/acme/infra.git",
				"ssh://git@git.acme.example:2222/acme/infra.git"}}},
	{"Gitea: a pull request", []string{"X-Gitea-Event", "pull_request"}, "gitea-pull-request", signGitea, secret,
		Event{Provider: "Gitea", Kind: KindPullRequest}},
	{"Gitea: a comment on a pull request", []string{"X-Gitea-Event", "issue_comment"}, "gitea-comment",
		signGitea, secret,
		Event{Provider: "Gitea", Kind: KindPullRequest}},
	{"Gitea: a comment on an issue is of no pull request", []string{"X-Gitea-Event", "issue_comment"},
		"gitea-issue-comment", signGitea, secret,
		Event{Provider: "Gitea", Kind: "issue_comment"}},
	{"Gitea: a review that approves", []string{"X-Gitea-Event", "pull_request_approved"}, "gitea-review",
		signGitea, secret,
		Event{Provider: "Gitea", Kind: KindPullRequest}},
	{"Gitea: a review that requests changes", []string{"X-Gitea-Event", "pull_request_rejected"}, "gitea-review",
		signGitea, secret,
		Event{Provider: "Gitea", Kind: KindPullRequest}},
	{"Gitea: a review that comments", []string{"X-Gitea-Event", "pull_request_comment"}, "gitea-review",
		signGitea, secret,
		Event{Provider: "Gitea", Kind: KindPullRequest}},
	{"Forgejo: a push", []string{"X-Forgejo-Event", "push", "X-Forgejo-Delivery", "4"}, "gitea-push",
		signForgejo, secret,
		Event{Provider: "Forgejo", Kind: KindPush, Ref: "refs/heads/main",
			Commit: "bffeb74224043ba2feb48d137756c8a9331c449a", Delivery: "4",
			CloneURLs: []string{"https://git.acme.example/acme/infra.git",
				"ssh://git@git.acme.example:2222/acme/infra.git"}}},
	{"Forgejo: a pull request", []string{"X-Forgejo-Event", "pull_request"}, "gitea-pull-request", signForgejo, secret,
		Event{Provider: "Forgejo", Kind: KindPullRequest}},
	{"Forgejo: a comment on a pull request", []string{"X-Forgejo-Event", "issue_comment"}, "gitea-comment",
		signForgejo, secret,
		Event{Provider: "Forgejo", Kind: KindPullRequest}},
	{"Forgejo: a comment on an issue is of no pull request", []string{"X-Forgejo-Event", "issue_comment"},
		"gitea-issue-comment", signForgejo, secret,
		Event{Provider: "Forgejo", Kind: "issue_comment"}},
	{"Forgejo: a review that approves", []string{"X-Forgejo-Event", "pull_request_approved"}, "gitea-review",
		signForgejo, secret,
		Event{Provider: "Forgejo", Kind: KindPullRequest}},
	{"Forgejo: a review that requests changes", []string{"X-Forgejo-Event", "pull_request_rejected"}, "gitea-review",
		signForgejo, secret,
		Event{Provider: "Forgejo", Kind: KindPullRequest}},
	{"Forgejo: a review that comments", []string{"X-Forgejo-Event", "pull_request_comment"}, "gitea-review",
		signForgejo, secret,
		Event{Provider: "Forgejo", Kind: KindPullRequest}},
	{"Gogs: a push", []string{"X-Gogs-Event", "push", "X-Gogs-Delivery", "5"}, "gitea-push", signGogs, secret,
		Event{Provider: "Gogs", Kind: KindPush, Ref: "refs/heads/main",
			Commit: "bffeb74224043ba2feb48d137756c8a9331c449a", Delivery: "5",
			CloneURLs: []string{"https://git.acme.example/acme/infra.git",
				"ssh://git@git.acme.example:2222/acme/infra.git"}}},
	{"GitLab with a token: a push", []string{"X-Gitlab-Event", "Push Hook", "X-Gitlab-Event-UUID", "6",
		"Idempotency-Key", "7"}, "gitlab-push", signGitLab, secret,
		Event{Provider: "GitLab", Kind: KindPush, Ref: "refs/heads/main",
			Commit: "da1560886d4f094c3e6c9ef40349f7d38b5d27d7", Delivery: "7",
			CloneURLs: []string{"https://gitlab.acme.example/acme/infra.git",
				"git@gitlab.acme.example:acme/infra.git"}}},
	{"GitLab with a signature: a push", []string{"X-Gitlab-Event", "Push Hook"}, "gitlab-push",
		signStandard(now.Add(-4 * time.Minute)), token,
		Event{Provider: "GitLab", Kind: KindPush, Ref: "refs/heads/main",
			Commit: "da1560886d4f094c3e6c9ef40349f7d38b5d27d7", Delivery: "f5e5f430-f57b-4e6e-9fac-d9128cd7232f",
			CloneURLs: []string{"https://gitlab.acme.example/acme/infra.git",
				"git@gitlab.acme.example:acme/infra.git"}}},
	{"GitLab: a branch that is deleted has no commit", []string{"X-Gitlab-Event", "Push Hook"}, "gitlab-delete",
		signGitLab, secret,
		Event{Provider: "GitLab", Kind: KindPush, Ref: "refs/heads/widen",
			CloneURLs: []string{"https://gitlab.acme.example/acme/infra.git",
				"git@gitlab.acme.example:acme/infra.git"}}},
	{"GitLab: a tag, with the commit that it is at", []string{"X-Gitlab-Event", "Tag Push Hook"}, "gitlab-tag",
		signGitLab, secret,
		Event{Provider: "GitLab", Kind: KindTag, Ref: "refs/tags/v1.0.0",
			Commit: "5937ac0a7beb003549fc5fd26fc247adbce4a52e",
			CloneURLs: []string{"https://gitlab.acme.example/acme/infra.git",
				"git@gitlab.acme.example:acme/infra.git"}}},
	{"GitLab: a hook of the instance", []string{"X-Gitlab-Event", "System Hook"}, "gitlab-tag", signGitLab, secret,
		Event{Provider: "GitLab", Kind: KindTag, Ref: "refs/tags/v1.0.0",
			Commit: "5937ac0a7beb003549fc5fd26fc247adbce4a52e",
			CloneURLs: []string{"https://gitlab.acme.example/acme/infra.git",
				"git@gitlab.acme.example:acme/infra.git"}}},
	{"GitLab: a merge request", []string{"X-Gitlab-Event", "Merge Request Hook"}, "gitlab-merge-request",
		signGitLab, secret,
		Event{Provider: "GitLab", Kind: KindPullRequest}},
	{"GitLab: a merge request, from a hook of the instance", []string{"X-Gitlab-Event", "System Hook"},
		"gitlab-merge-request", signGitLab, secret,
		Event{Provider: "GitLab", Kind: KindPullRequest}},
	{"GitLab: a comment on a merge request", []string{"X-Gitlab-Event", "Note Hook"}, "gitlab-note", signGitLab, secret,
		Event{Provider: "GitLab", Kind: KindPullRequest}},
	{"GitLab: a comment on an issue is of no merge request", []string{"X-Gitlab-Event", "Note Hook"},
		"gitlab-issue-note", signGitLab, secret,
		Event{Provider: "GitLab", Kind: "Note Hook"}},
	{"Bitbucket: a push", []string{"X-Event-Key", "repo:push", "X-Request-UUID", "8", "X-Hook-UUID", "h"},
		"bitbucket-push", signBitbucket, secret,
		Event{Provider: "Bitbucket", Kind: KindPush, Ref: "refs/heads/main",
			Commit: "709d658dc5b6d6afcd46049c2f332ee3f515a67d", Delivery: "8",
			CloneURLs: []string{"https://bitbucket.org/acme/infra"}}},
	{"Bitbucket: a branch that is deleted", []string{"X-Event-Key", "repo:push"}, "bitbucket-delete", signBitbucket,
		secret,
		Event{Provider: "Bitbucket", Kind: KindPush, Ref: "refs/heads/widen",
			CloneURLs: []string{"https://bitbucket.org/acme/infra"}}},
	{"Bitbucket: several tags are none in particular", []string{"X-Event-Key", "repo:push"}, "bitbucket-several",
		signBitbucket, secret,
		Event{Provider: "Bitbucket", Kind: KindTag, CloneURLs: []string{"https://bitbucket.org/acme/infra"}}},
	{"Bitbucket: a pull request", []string{"X-Event-Key", "pullrequest:created"}, "bitbucket-pull-request",
		signBitbucket, secret,
		Event{Provider: "Bitbucket", Kind: KindPullRequest}},
	{"Bitbucket: a comment on a pull request", []string{"X-Event-Key", "pullrequest:comment_created"},
		"bitbucket-pull-request", signBitbucket, secret,
		Event{Provider: "Bitbucket", Kind: KindPullRequest}},
	{"Bitbucket: a comment on an issue is of no pull request", []string{"X-Event-Key", "issue:comment_created"},
		"bitbucket-pull-request", signBitbucket, secret,
		Event{Provider: "Bitbucket", Kind: "issue:comment_created"}},
	{"Bitbucket Data Center: a push", []string{"X-Event-Key", "repo:refs_changed", "X-Request-Id", "9"},
		"bitbucket-dc-push", signBitbucket, secret,
		Event{Provider: "BitbucketDataCenter", Kind: KindPush, Ref: "refs/heads/main",
			Commit: "178864a7d521b6f5e720b386b2c2b0ef8563e0dc", Delivery: "9",
			CloneURLs: []string{"ssh://git@bitbucket.acme.example:7999/acme/infra.git",
				"https://bitbucket.acme.example/scm/acme/infra.git"}}},
	{"Bitbucket Data Center: a ping", []string{"X-Event-Key", "diagnostics:ping"}, "github-ping", signBitbucket, secret,
		Event{Provider: "BitbucketDataCenter", Kind: KindPing, Ping: true}},
	{"Bitbucket Data Center: a pull request", []string{"X-Event-Key", "pr:opened"}, "bitbucket-dc-pull-request",
		signBitbucket, secret,
		Event{Provider: "BitbucketDataCenter", Kind: KindPullRequest}},
	{"Bitbucket Data Center: a comment on a pull request", []string{"X-Event-Key", "pr:comment:added"},
		"bitbucket-dc-pull-request", signBitbucket, secret,
		Event{Provider: "BitbucketDataCenter", Kind: KindPullRequest}},
	{"Bitbucket Data Center: a review", []string{"X-Event-Key", "pr:reviewer:approved"}, "bitbucket-dc-pull-request",
		signBitbucket, secret,
		Event{Provider: "BitbucketDataCenter", Kind: KindPullRequest}},
}

func TestNeedsFetch(t *testing.T) {
	for kind, want := range map[string]bool{
		KindPush: true, KindTag: true, KindPullRequest: true, KindPing: false, "issue_comment": false,
		"Note Hook": false, "unknown": false,
	} {
		if got := (Event{Kind: kind}).NeedsFetch(); got != want {
			t.Errorf("%s: %v", kind, got)
		}
	}
}

func TestVerifyReadsEveryProvider(t *testing.T) {
	for _, c := range webhooks {
		t.Run(c.name, func(t *testing.T) {
			h, body := headers(c.headers...), file(t, c.body)
			c.sign(h, c.secret, body)
			got, err := Verify(h, []byte(body), [][]byte{[]byte(c.secret)}, now)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.CloneURLs) == 0 {
				got.CloneURLs = nil
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestVerifyNeedsASignature(t *testing.T) {
	for _, c := range webhooks {
		body := file(t, c.body)
		signed := func(key string) http.Header {
			h := headers(c.headers...)
			c.sign(h, key, body)
			return h
		}
		first, last := 0, len(c.secret)-1
		if c.secret == token { // what counts of it
			first, last = len("whsec_"), len(token)-len("Q=")-1
		}
		other := func(at int) string { return c.secret[:at] + "A" + c.secret[at+1:] }
		none := signed(c.secret)
		for name := range none {
			if strings.Contains(name, "Signature") || strings.Contains(name, "Token") {
				none.Del(name)
			}
		}
		for _, x := range []struct {
			name    string
			h       http.Header
			body    string
			secrets []string
			want    error
		}{
			{"the right secret", signed(c.secret), body, []string{c.secret}, nil},
			{"the right secret is the first of several", signed(c.secret), body, []string{c.secret, "b", "c"}, nil},
			{"the right secret is the last of several", signed(c.secret), body, []string{"a", "", "b", c.secret}, nil},
			{"the old secret while it is changed", signed(other(20)), body, []string{c.secret, other(20)}, nil},
			{"a secret that was changed", signed(other(20)), body, []string{c.secret}, ErrSignature},
			{"the secret differs in its first byte", signed(other(first)), body, []string{c.secret}, ErrSignature},
			{"the secret differs in its last byte", signed(other(last)), body, []string{c.secret}, ErrSignature},
			{"no secrets", signed(c.secret), body, nil, ErrUnsigned},
			{"an empty secret, and a webhook signed with it", signed(""), body, []string{""}, ErrUnsigned},
			{"no signature", none, body, []string{c.secret}, ErrUnsigned},
		} {
			t.Run(c.name+": "+x.name, func(t *testing.T) {
				var secrets [][]byte
				for _, s := range x.secrets {
					secrets = append(secrets, []byte(s))
				}
				if _, err := Verify(x.h, []byte(x.body), secrets, now); !errors.Is(err, x.want) {
					t.Errorf("got %v, want %v", err, x.want)
				}
			})
		}
	}
}

func TestVerifyRejectsAnyChangedByte(t *testing.T) {
	for _, c := range webhooks {
		body := file(t, c.body)
		for _, name := range []string{"X-Hub-Signature-256", "X-Hub-Signature", "X-Forgejo-Signature",
			"X-Gitea-Signature", "X-Gogs-Signature", "X-Gitlab-Token", "Webhook-Signature"} {
			h := headers(c.headers...)
			c.sign(h, c.secret, body)
			if name == "X-Forgejo-Signature" { // or that one would do
				h.Del("X-Gitea-Signature")
			}
			value := h.Get(name)
			if d, _ := providerOf(h); value == "" || name == "X-Hub-Signature" && d.name != "Bitbucket" ||
				d.name == "Gitea" && name != "X-Gitea-Signature" ||
				d.name == "Forgejo" && name != "X-Forgejo-Signature" {
				continue
			}
			start := 0
			if i := strings.IndexAny(value, "=,"); i >= 0 && i < 8 {
				start = i + 1
			}
			for _, at := range []int{start, len(value) - 2} {
				changed := []byte(value)
				changed[at] ^= 1
				h.Set(name, string(changed))
				if _, err := Verify(h, []byte(body), [][]byte{[]byte(c.secret)}, now); !errors.Is(err, ErrSignature) {
					t.Errorf("%s: %s with another byte %d: %v", c.name, name, at, err)
				}
			}
			for _, other := range []string{value[:len(value)-1], value + "0", value[:start],
				strings.ToUpper(value[:start]) + "zz"} {
				h.Set(name, other)
				if _, err := Verify(h, []byte(body), [][]byte{[]byte(c.secret)}, now); err == nil {
					t.Errorf("%s: %s: %q is taken", c.name, name, other)
				}
			}
			if h.Set(name, value[start:]); start > 0 {
				if _, err := Verify(h, []byte(body), [][]byte{[]byte(c.secret)}, now); !errors.Is(err, ErrSignature) {
					t.Errorf("%s: %s that does not say what it is: %v", c.name, name, err)
				}
			}
			h.Set(name, value)
			if name == "X-Gitlab-Token" { // says nothing of the body
				continue
			}
			for _, at := range []int{0, len(body) - 1} {
				changed := []byte(body)
				changed[at] ^= 1
				if _, err := Verify(h, changed, [][]byte{[]byte(c.secret)}, now); !errors.Is(err, ErrSignature) {
					t.Errorf("%s: a body with another byte %d: %v", c.name, at, err)
				}
			}
		}
	}
}

func TestVerifyRejectsSHA1(t *testing.T) {
	body := file(t, "github-push")
	h := headers("X-GitHub-Event", "push")
	h.Set("X-Hub-Signature", "sha256="+hexed(secret, body)) // where GitHub has the one of SHA-1
	if _, err := Verify(h, []byte(body), [][]byte{[]byte(secret)}, now); !errors.Is(err, ErrUnsigned) {
		t.Error(err)
	}
	h = headers("X-Event-Key", "repo:push")
	h.Set("X-Hub-Signature", "sha1="+hexed(secret, body)[:40])
	if _, err := Verify(h, []byte(body), [][]byte{[]byte(secret)}, now); !errors.Is(err, ErrSignature) {
		t.Error(err)
	}
}

func TestGitLabSignatures(t *testing.T) {
	body := file(t, "gitlab-push")
	for _, c := range []struct {
		name    string
		change  func(h http.Header)
		at      time.Time
		secrets []string
		want    error
	}{
		{"five minutes ago", nil, now.Add(-5 * time.Minute), []string{token}, nil},
		{"more than five minutes ago", nil, now.Add(-5*time.Minute - time.Second), []string{token}, ErrSignature},
		{"in the time to come", nil, now.Add(5*time.Minute + time.Second), []string{token}, ErrSignature},
		{"the time is changed", func(h http.Header) {
			h.Set("webhook-timestamp", fmt.Sprint(now.Unix()))
		}, now.Add(-time.Hour), []string{token}, ErrSignature},
		{"the time is none", func(h http.Header) { h.Set("webhook-timestamp", "today") }, now, []string{token},
			ErrSignature},
		{"the id is changed", func(h http.Header) { h.Set("webhook-id", "another") }, now, []string{token},
			ErrSignature},
		{"there is no id", func(h http.Header) { h.Del("webhook-id") }, now, []string{token}, ErrSignature},
		{"the signature is the second of two", func(h http.Header) {
			h.Set("webhook-signature", "v1,AAAA "+h.Get("webhook-signature"))
		}, now, []string{token}, nil},
		{"the signature is the first of two", func(h http.Header) {
			h.Set("webhook-signature", h.Get("webhook-signature")+" v1,AAAA")
		}, now, []string{token}, nil},
		{"the secret is the first of two signing tokens", nil, now, []string{token, "whsec_AAAA"}, nil},
		{"the signature is of a version to come", func(h http.Header) {
			h.Set("webhook-signature", strings.Replace(h.Get("webhook-signature"), "v1,", "v2,", 1))
		}, now, []string{token}, ErrSignature},
		{"there is a token too, and no signing token to check with", func(h http.Header) {
			h.Set("X-Gitlab-Token", secret)
		}, now, []string{secret}, nil},
		{"a token does not help a wrong signature", func(h http.Header) {
			h.Set("X-Gitlab-Token", secret)
			h.Set("webhook-signature", "v1,AAAA")
		}, now, []string{secret, token}, ErrSignature},
		{"a signing token that is no base64 signs nothing", nil, now, []string{"whsec_???"}, ErrUnsigned},
		{"a signing token that is empty signs nothing", nil, now, []string{"whsec_"}, ErrUnsigned},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := headers("X-Gitlab-Event", "Push Hook")
			signStandard(c.at)(h, token, body)
			if c.change != nil {
				c.change(h)
			}
			var secrets [][]byte
			for _, s := range c.secrets {
				secrets = append(secrets, []byte(s))
			}
			if _, err := Verify(h, []byte(body), secrets, now); !errors.Is(err, c.want) {
				t.Errorf("got %v, want %v", err, c.want)
			}
		})
	}
}

func TestForms(t *testing.T) {
	for _, c := range []struct {
		name, event, body string
		sign              signer
		signsPayload      bool
	}{
		{"GitHub signs the form", "X-GitHub-Event", "github-push", signGitHub, false},
		{"Gitea signs what is in it", "X-Gitea-Event", "gitea-push", signGitea, true},
		{"Forgejo signs what is in it", "X-Forgejo-Event", "gitea-push", signForgejo, true},
		{"Gogs signs what is in it", "X-Gogs-Event", "gitea-push", signGogs, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			document := file(t, c.body)
			h, body := headers(c.event, "push", "Content-Type", FormType+"; charset=utf-8"), "other=1&"+form(document)
			if c.signsPayload {
				c.sign(h, secret, document)
			} else {
				c.sign(h, secret, body)
			}
			got, err := Verify(h, []byte(body), [][]byte{[]byte(secret)}, now)
			if err != nil || got.Ref != "refs/heads/main" || len(got.Commit) != 40 {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

func TestVerifyRejectsInvalidWebhooks(t *testing.T) {
	for _, c := range []struct{ name, kind, event, body string }{
		{"nothing", JSONType, "push", ""},
		{"no JSON", JSONType, "push", "ref=refs/heads/main"},
		{"no JSON for an event that is not read", JSONType, "star", "hello"},
		{"JSON that is no object", JSONType, "push", `["refs/heads/main"]`},
		{"a field of another type", JSONType, "push", `{"ref": {"name": "main"}}`},
		{"a comment on no issue", JSONType, "issue_comment", `{"issue": 12}`},
		{"two documents", JSONType, "push", `{}{}`},
		{"nesting without end", JSONType, "push", strings.Repeat(`{"a":`, 1<<20)},
		{"nesting that is too deep", JSONType, "push", strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20)},
		{"a form without payload", FormType, "push", "ref=refs/heads/main"},
		{"a form that is badly escaped", FormType, "push", "payload=%zz"},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := headers("X-GitHub-Event", c.event, "Content-Type", c.kind)
			signGitHub(h, secret, c.body)
			if _, err := Verify(h, []byte(c.body), [][]byte{[]byte(secret)}, now); !errors.Is(err, ErrBody) {
				t.Error(err)
			}
		})
	}
}

func TestVerifySkipsInvalidFields(t *testing.T) {
	const ref, commit = "refs/heads/größer", "0f3c1d2e4b5a69788796a5b4c3d2e1f00f1e2d3c"
	for _, c := range []struct {
		name                    string
		ref, commit, url, event string
		delivery                string
		want                    Event
	}{
		{"nothing odd", ref, commit, "u", "push", "d", Event{Kind: "push", Ref: ref, Commit: commit, Delivery: "d",
			CloneURLs: []string{"u"}}},
		{"a commit of SHA-256", ref, strings.Repeat("a", 64), "u", "push", "d",
			Event{Kind: "push", Ref: ref, Commit: strings.Repeat("a", 64), Delivery: "d", CloneURLs: []string{"u"}}},
		{"a commit that is an option", ref, "--upload-pack=x", "u", "push", "d",
			Event{Kind: "push", Ref: ref, Delivery: "d", CloneURLs: []string{"u"}}},
		{"a commit that is no hex", ref, strings.Repeat("-", 40), "u", "push", "d",
			Event{Kind: "push", Ref: ref, Delivery: "d", CloneURLs: []string{"u"}}},
		{"a ref that is a branch's name", "main", commit, "u", "push", "d",
			Event{Kind: "push", Commit: commit, Delivery: "d", CloneURLs: []string{"u"}}},
		{"a ref of two lines", "refs/heads/a\nb", commit, "u", "push", "d",
			Event{Kind: "push", Commit: commit, Delivery: "d", CloneURLs: []string{"u"}}},
		{"a ref that is too long", ref + strings.Repeat("x", 1024), commit, "u", "push", "d",
			Event{Kind: "push", Commit: commit, Delivery: "d", CloneURLs: []string{"u"}}},
		{"an address that is too long", ref, commit, strings.Repeat("x", 2049), "push", "d",
			Event{Kind: "push", Ref: ref, Commit: commit, Delivery: "d", CloneURLs: []string{}}},
		{"an event of odd bytes", ref, commit, "u", "a\x01b", "d", Event{Kind: "unknown", Ref: ref, Commit: commit,
			Delivery: "d", CloneURLs: []string{"u"}}},
		{"an event that is too long", ref, commit, "u", strings.Repeat("x", 65), "d",
			Event{Kind: "unknown", Ref: ref, Commit: commit, Delivery: "d", CloneURLs: []string{"u"}}},
		{"an id that is no text", ref, commit, "u", "push", "d\xff", Event{Kind: "push", Ref: ref, Commit: commit,
			Delivery: "d", CloneURLs: []string{"u"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := tidy(Event{Kind: c.event, Ref: c.ref, Commit: c.commit, Delivery: c.delivery,
				CloneURLs: []string{"", c.url}})
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	body := file(t, "github-push")
	h := headers("X-GitHub-Event", "push", "X-GitHub-Delivery", strings.Repeat("d", 1000))
	signGitHub(h, secret, body)
	if got, err := Verify(h, []byte(body), [][]byte{[]byte(secret)}, now); err != nil || len(got.Delivery) != 128 {
		t.Errorf("an id of %d bytes: %v", len(got.Delivery), err)
	}
}

func TestMemoryOfALongListIsBounded(t *testing.T) {
	for _, c := range []struct{ event, before, item, after string }{
		{"repo:refs_changed", `{"changes": [`, `{"ref":{"id":"refs/heads/a"}}`, `]}`},
		{"repo:refs_changed", `{"repository": {"links": {"clone": [`, `{"href":"a"}`, `]}}}`},
		{"repo:push", `{"push": {"changes": [`, `{"new":{},"old":{}}`, `]}}`},
	} {
		body := c.before + strings.Repeat(c.item+",", 4<<20/len(c.item)) + c.item + c.after
		h := headers("X-Event-Key", c.event)
		signBitbucket(h, secret, body)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Verify(h, []byte(body), [][]byte{[]byte(secret)}, now)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; err != nil || used > uint64(len(body))+1<<20 {
			t.Errorf("%s: %d bytes for a body of %d: %v", c.event, used, len(body), err)
		}
	}
}

func TestVerifyUsesTheCurrentTime(t *testing.T) {
	body := file(t, "gitlab-push")
	h := headers("X-Gitlab-Event", "Push Hook")
	signStandard(time.Now())(h, token, body)
	if _, err := Verify(h, []byte(body), [][]byte{[]byte(token)}, time.Now()); err != nil {
		t.Error(err)
	}
	signStandard(time.Now().Add(-time.Hour))(h, token, body)
	if _, err := Verify(h, []byte(body), [][]byte{[]byte(token)}, time.Now()); !errors.Is(err, ErrSignature) {
		t.Error(err)
	}
}

func FuzzVerify(f *testing.F) {
	for i, c := range webhooks {
		f.Add(i, file(f, c.body), false)
	}
	f.Add(0, form(file(f, "github-push")), true)
	f.Add(9, form(file(f, "gitea-push")), true)
	f.Add(0, `{"ref":"refs/tags/\u0000","after":null}`, false)
	f.Fuzz(func(t *testing.T, which int, body string, isForm bool) {
		c := webhooks[uint(which)%uint(len(webhooks))]
		h := headers(c.headers...)
		if isForm {
			h.Set("Content-Type", FormType)
		}
		c.sign(h, c.secret, body)
		p, err := Verify(h, []byte(body), [][]byte{[]byte(c.secret)}, now)
		switch {
		case err == nil:
			if len(p.Ref) > 1024 || len(p.Commit) > 64 || len(p.Kind) > 64 || len(p.Delivery) > 128 ||
				len(p.CloneURLs) > 4 || strings.ContainsAny(p.Ref, "\n\x00 ") {
				t.Errorf("%+v", p)
			}
		case isForm && errors.Is(err, ErrSignature): // some sign what is in the form
		case !errors.Is(err, ErrBody):
			t.Errorf("signed well, and %v", err)
		}
		if _, err := Verify(h, []byte(body), [][]byte{[]byte("another")}, now); err == nil {
			t.Error("taken with another secret")
		}
	})
}
