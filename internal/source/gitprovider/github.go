package gitprovider

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/bradleyfalzon/ghinstallation/v2"

	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

var gitHub = provider{
	name: "GitHub",
	webhook: &webhook{
		event: "X-Github-Event", delivery: []string{"X-Github-Delivery"},
		check: hexHMAC("sha256=", "X-Hub-Signature-256"), read: readGitHub,
	},
	client: gitHubClient,
}

// Keys of an App of GitHub in a Secret.
const (
	appIDKey          = "githubAppID"
	installationIDKey = "githubAppInstallationID"
	privateKeyKey     = "githubAppPrivateKey"
)

// gitHubClient uses a token or, if there is none, an App.
func gitHubClient(a Access) (pulls.Client, error) {
	options := pulls.GitHubOptions{URL: a.URL.String(), Owner: a.owner(), Name: a.name(), Web: a.Web}
	token, err := a.token()
	switch {
	case err == nil:
		options.Token = token
	case len(a.Secret[appIDKey]) > 0:
		app, err := a.app()
		if err != nil {
			return nil, err
		}
		options.AppToken = app.Token
	default:
		return nil, err
	}
	return pulls.NewGitHub(options)
}

// app returns the access of an App of GitHub to its installation.
func (a Access) app() (*ghinstallation.Transport, error) {
	var ids [2]int64
	for i, key := range []string{appIDKey, installationIDKey} {
		id, err := strconv.ParseInt(strings.TrimSpace(string(a.Secret[key])), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the value of %s is no number", key)
		}
		ids[i] = id
	}
	app, err := ghinstallation.New(a.Web.Transport, ids[0], ids[1], a.Secret[privateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("the value of %s is no private key", privateKeyKey)
	}
	app.Client = a.Web
	if a.URL.Host != "github.com" {
		app.BaseURL = strings.TrimSuffix(a.URL.String(), "/") + "/api/v3"
	}
	return app, nil
}

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
