package gitprovider

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// payload is the JSON of a webhook: its body, or the field payload of the form that its body is.
func payload(h http.Header, body []byte) ([]byte, error) {
	if kind, _, _ := mime.ParseMediaType(h.Get("Content-Type")); kind != FormType {
		return body, nil
	}
	for len(body) > 0 { // not url.ParseQuery, which allocates much for a form with many fields
		var pair []byte
		pair, body, _ = bytes.Cut(body, []byte("&"))
		if value, ok := bytes.CutPrefix(pair, []byte("payload=")); ok {
			text, err := url.QueryUnescape(string(value))
			return []byte(text), err
		}
	}
	return nil, errors.New("the form has no payload")
}

// Content types of payloads.
const (
	JSONType = "application/json"
	FormType = "application/x-www-form-urlencoded"
)

// Only few fields are decoded, and of lists a fixed number of items: what is decoded is never much larger than that.

// readGitHub reads what GitHub sends, and those who send the same.
func readGitHub(p *Push, document []byte) error {
	if p.Event != "push" {
		return nil // ping and pull_request have the names that we use
	}
	var b struct {
		Ref        string `json:"ref"`
		After      string `json:"after"`
		Repository struct {
			CloneURL string `json:"clone_url"`
			SSHURL   string `json:"ssh_url"`
		} `json:"repository"`
	}
	if err := json.Unmarshal(document, &b); err != nil {
		return err
	}
	p.moved([]string{b.Ref}, []string{b.After})
	p.CloneURLs = []string{b.Repository.CloneURL, b.Repository.SSHURL}
	return nil
}

func readGitLab(p *Push, document []byte) error {
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
	event := p.Event
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
		p.Event = EventPullRequest
		return nil
	default:
		return nil
	}
	if err := json.Unmarshal(document, &b); err != nil {
		return err
	}
	if b.Commit == "" {
		b.Commit = b.After
	}
	p.moved([]string{b.Ref}, []string{b.Commit})
	p.CloneURLs = []string{b.Project.HTTPURL, b.Project.SSHURL}
	return nil
}

func readBitbucket(p *Push, document []byte) error {
	switch key := p.Event; {
	case key == "repo:push":
		return readBitbucketCloud(p, document)
	case key == "repo:refs_changed":
		return readBitbucketDataCenter(p, document)
	case key == "diagnostics:ping":
		p.Provider, p.Event = "BitbucketDataCenter", EventPing
	case strings.HasPrefix(key, "pr:"):
		p.Provider, p.Event = "BitbucketDataCenter", EventPullRequest
	case strings.HasPrefix(key, "pullrequest:"):
		p.Event = EventPullRequest
	}
	return nil
}

func readBitbucketCloud(p *Push, document []byte) error {
	var b struct {
		Push struct {
			Changes [16]struct{ New, Old *bitbucketRef }
		}
		Repository struct {
			Links struct{ HTML struct{ Href string } }
		}
	}
	if err := json.Unmarshal(document, &b); err != nil {
		return err
	}
	var refs, commits []string
	for _, c := range b.Push.Changes {
		switch {
		case c.New != nil:
			refs, commits = append(refs, c.New.full()), append(commits, c.New.Target.Hash)
		case c.Old != nil:
			refs, commits = append(refs, c.Old.full()), append(commits, "")
		}
	}
	p.moved(refs, commits)
	p.CloneURLs = []string{b.Repository.Links.HTML.Href}
	return nil
}

type bitbucketRef struct {
	Type, Name string
	Target     struct{ Hash string }
}

func (r *bitbucketRef) full() string {
	if r.Type == "tag" {
		return "refs/tags/" + r.Name
	}
	return "refs/heads/" + r.Name
}

func readBitbucketDataCenter(p *Push, document []byte) error {
	p.Provider = "BitbucketDataCenter"
	var b struct {
		Changes [16]struct {
			Ref    struct{ ID string }
			ToHash string
		}
		Repository struct {
			Links struct{ Clone [4]struct{ Href string } }
		}
	}
	if err := json.Unmarshal(document, &b); err != nil {
		return err
	}
	var refs, commits []string
	for _, c := range b.Changes {
		if c.Ref.ID != "" {
			refs, commits = append(refs, c.Ref.ID), append(commits, c.ToHash)
		}
	}
	p.moved(refs, commits)
	for _, c := range b.Repository.Links.Clone {
		p.CloneURLs = append(p.CloneURLs, c.Href)
	}
	return nil
}

// moved turns it into a push of refs, or of tags if all of them are.
func (p *Push) moved(refs, commits []string) {
	p.Event = EventTag
	for _, r := range refs {
		if !strings.HasPrefix(r, "refs/tags/") {
			p.Event = EventPush
		}
	}
	switch len(refs) {
	case 0:
		p.Event = EventPush
	case 1:
		p.Ref, p.Commit = refs[0], commits[0]
	}
}
