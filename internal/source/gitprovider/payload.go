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
func readGitHub(e *Event, document []byte) error {
	switch e.Kind {
	case "push":
		return readGitHubPush(e, document)
	case "issue_comment":
		return readGitHubComment(e, document)
	case "pull_request_review", // of GitHub; those below are reviews of Gitea and Forgejo
		"pull_request_approved", "pull_request_rejected", "pull_request_comment":
		e.Kind = KindPullRequest
	}
	return nil // ping and pull_request have the names that we use
}

func readGitHubPush(e *Event, document []byte) error {
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
	e.moved([]string{b.Ref}, []string{b.After})
	e.CloneURLs = []string{b.Repository.CloneURL, b.Repository.SSHURL}
	return nil
}

// readGitHubComment reads a comment on an issue or on a pull request, which is an issue with the field pull_request.
func readGitHubComment(e *Event, document []byte) error {
	var b struct {
		Issue struct {
			PullRequest *struct{} `json:"pull_request"`
		} `json:"issue"`
	}
	if err := json.Unmarshal(document, &b); err != nil {
		return err
	}
	if b.Issue.PullRequest != nil {
		e.Kind = KindPullRequest
	}
	return nil
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

func readBitbucket(e *Event, document []byte) error {
	switch key := e.Kind; {
	case key == "repo:push":
		return readBitbucketCloud(e, document)
	case key == "repo:refs_changed":
		return readBitbucketDataCenter(e, document)
	case key == "diagnostics:ping":
		e.Provider, e.Kind = "BitbucketDataCenter", KindPing
	case strings.HasPrefix(key, "pr:"):
		e.Provider, e.Kind = "BitbucketDataCenter", KindPullRequest
	case strings.HasPrefix(key, "pullrequest:"):
		e.Kind = KindPullRequest
	}
	return nil
}

func readBitbucketCloud(e *Event, document []byte) error {
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
	e.moved(refs, commits)
	e.CloneURLs = []string{b.Repository.Links.HTML.Href}
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

func readBitbucketDataCenter(e *Event, document []byte) error {
	e.Provider = "BitbucketDataCenter"
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
	e.moved(refs, commits)
	for _, c := range b.Repository.Links.Clone {
		e.CloneURLs = append(e.CloneURLs, c.Href)
	}
	return nil
}

// moved turns it into a push of refs, or of tags if all of them are.
func (e *Event) moved(refs, commits []string) {
	e.Kind = KindTag
	for _, r := range refs {
		if !strings.HasPrefix(r, "refs/tags/") {
			e.Kind = KindPush
		}
	}
	switch len(refs) {
	case 0:
		e.Kind = KindPush
	case 1:
		e.Ref, e.Commit = refs[0], commits[0]
	}
}
