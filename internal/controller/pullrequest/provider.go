package pullrequest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/bradleyfalzon/ghinstallation/v2"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/pullrequest/command"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// Keys of the Secret of spec.pullRequests.credentials.
const (
	tokenKey          = "token"
	appIDKey          = "githubAppID"
	installationIDKey = "githubAppInstallationID"
	privateKeyKey     = "githubAppPrivateKey"
)

// Provider is the access to the pull requests of a Repository.
type Provider struct {
	pulls.Client
	// Name and Host identify its users. Example: gitea, git.example.com.
	Name, Host string
}

// User returns the name of a user for RBAC; empty if the login cannot be one.
func (p Provider) User(login string) string {
	name, err := command.User(p.Name, p.Host, login)
	if err != nil {
		return ""
	}
	return name
}

// Groups returns the teams of a user as names of groups for RBAC.
func (p Provider) Groups(ctx context.Context, login string) ([]string, error) {
	teams, err := p.Teams(ctx, login)
	var groups []string
	for _, team := range teams {
		if name, err := command.Group(p.Name, p.Host, team); err == nil {
			groups = append(groups, name)
		}
	}
	return groups, err
}

// groupsOf returns the groups of a user that User returned.
func (p Provider) groupsOf(ctx context.Context, user string) ([]string, error) {
	return p.Groups(ctx, strings.TrimPrefix(user, p.Name+":"+strings.ToLower(p.Host)+":"))
}

// ConfigError is a configuration that a user has to correct.
type ConfigError struct{ Reason, Message string }

// Error returns the message.
func (e *ConfigError) Error() string { return e.Message }

// Providers creates Providers.
type Providers struct {
	// Live reads the Secrets with tokens, which no cache holds.
	Live client.Reader
	// Web sends the requests. It must not connect to addresses that tenants may not name.
	Web *http.Client

	known cache[providerKey, Provider]
}

type providerKey struct {
	repository types.UID
	generation int64
	secret     string
}

// Of returns the Provider of a Repository. The error is a ConfigError if a user has to correct something.
func (p *Providers) Of(ctx context.Context, repo *v1alpha1.Repository) (Provider, error) {
	settings := repo.Spec.PullRequests
	secret := &corev1.Secret{}
	name := settings.Credentials.Secret.Name
	err := p.Live.Get(ctx, client.ObjectKey{Namespace: repo.Namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return Provider{}, &ConfigError{v1alpha1.ReasonCredentialsNotFound, fmt.Sprintf("Secret %s was not found: create it, or correct "+
			"spec.pullRequests.credentials", name)}
	}
	if err != nil {
		return Provider{}, err
	}
	key := providerKey{repo.UID, repo.Generation, secret.ResourceVersion}
	if known, ok := p.known.get(key); ok {
		return known, nil
	}
	base, path, err := locate(repo)
	if err != nil {
		return Provider{}, &ConfigError{v1alpha1.ReasonConfigurationInvalid, err.Error()}
	}
	made := Provider{Name: strings.ToLower(string(settings.Provider)), Host: base.Host}
	made.Client, err = p.client(settings.Provider, base, path, secret)
	if err != nil {
		return Provider{}, &ConfigError{v1alpha1.ReasonCredentialsInvalid, "Secret " + name + ": " + err.Error()}
	}
	p.known.add(key, made)
	return made, nil
}

// client creates the client of a Git provider for the repository at a path.
func (p *Providers) client(of v1alpha1.GitProvider, base *url.URL, path []string, secret *corev1.Secret) (pulls.Client, error) {
	token := strings.TrimSpace(string(secret.Data[tokenKey]))
	owner, name := path[len(path)-2], path[len(path)-1]
	if of == v1alpha1.GitProviderGitHub && token == "" && len(secret.Data[appIDKey]) > 0 {
		app, err := p.app(base, secret)
		if err != nil {
			return nil, err
		}
		return pulls.NewGitHub(pulls.GitHubOptions{URL: base.String(), Owner: owner, Name: name, AppToken: app.Token, Web: p.Web})
	}
	if token == "" {
		return nil, fmt.Errorf("it has no key %s with a token of the Git provider", tokenKey)
	}
	switch of {
	case v1alpha1.GitProviderGitHub:
		return pulls.NewGitHub(pulls.GitHubOptions{URL: base.String(), Owner: owner, Name: name, Token: token, Web: p.Web})
	case v1alpha1.GitProviderGitLab:
		return pulls.NewGitLab(pulls.GitLabOptions{URL: base.String(), Project: strings.Join(path, "/"), Token: token, Web: p.Web})
	case v1alpha1.GitProviderBitbucket: // its API is at another host than its repositories
		return pulls.NewBitbucketCloud(pulls.BitbucketCloudOptions{Workspace: owner, Name: name, Token: token, Web: p.Web}), nil
	case v1alpha1.GitProviderBitbucketDataCenter:
		return pulls.NewBitbucketDataCenter(pulls.BitbucketDataCenterOptions{URL: base.String(), Project: owner, Name: name, Token: token, Web: p.Web}), nil
	}
	return pulls.NewGitea(pulls.GiteaOptions{URL: base.String(), Owner: owner, Name: name, Token: token, Web: p.Web}), nil
}

// app returns the access of an App of GitHub to its installation.
func (p *Providers) app(base *url.URL, secret *corev1.Secret) (*ghinstallation.Transport, error) {
	var ids [2]int64
	for i, key := range []string{appIDKey, installationIDKey} {
		id, err := strconv.ParseInt(strings.TrimSpace(string(secret.Data[key])), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("the value of %s is no number", key)
		}
		ids[i] = id
	}
	app, err := ghinstallation.New(p.Web.Transport, ids[0], ids[1], secret.Data[privateKeyKey])
	if err != nil {
		return nil, fmt.Errorf("the value of %s is no private key", privateKeyKey)
	}
	app.Client = p.Web
	if base.Host != "github.com" {
		app.BaseURL = strings.TrimSuffix(base.String(), "/") + "/api/v3"
	}
	return app, nil
}

// locate returns the URL of the Git provider, and the path of the repository there: at least its owner and its name.
func locate(repo *v1alpha1.Repository) (base *url.URL, path []string, err error) {
	remote := repo.Spec.URL
	if !strings.Contains(remote, "://") { // user@host:path
		host, path, _ := strings.Cut(remote, ":")
		remote = "ssh://" + host + "/" + strings.TrimPrefix(path, "/")
	}
	u, err := url.Parse(remote)
	if err != nil {
		return nil, nil, errors.New("spec.url is not a URL")
	}
	base = &url.URL{Scheme: u.Scheme, Host: u.Host}
	switch address := repo.Spec.PullRequests.URL; {
	case address != "":
		if base, err = url.Parse(strings.TrimSuffix(address, "/")); err != nil {
			return nil, nil, errors.New("spec.pullRequests.url is not a URL")
		}
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, nil, errors.New("set spec.pullRequests.url: spec.url is no http or https URL")
	}
	below := strings.TrimPrefix(u.Path, base.Path)
	path = strings.Split(strings.Trim(strings.TrimSuffix(strings.Trim(below, "/"), ".git"), "/"), "/")
	if len(path) < 2 {
		return nil, nil, fmt.Errorf("spec.url has no owner and name of a repository: %s", repo.Spec.URL)
	}
	return base, path, nil
}
