package pullrequest

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/gitprovider/pulls"
	"cairn.dev/cairn/internal/pullrequest/command"
)

// tokenKey is the key of the token in the Secret of spec.pullRequests.credentials.
const tokenKey = "token"

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
	token := strings.TrimSpace(string(secret.Data[tokenKey]))
	if token == "" {
		return Provider{}, &ConfigError{v1alpha1.ReasonCredentialsInvalid, fmt.Sprintf("Secret %s has no key %s with a token of the Git provider", name, tokenKey)}
	}
	base, owner, repository, err := locate(repo)
	if err != nil {
		return Provider{}, &ConfigError{v1alpha1.ReasonConfigurationInvalid, err.Error()}
	}
	made := Provider{Name: strings.ToLower(string(settings.Provider)), Host: base.Host}
	switch settings.Provider {
	case v1alpha1.GitProviderGitea, v1alpha1.GitProviderForgejo:
		made.Client = pulls.NewGitea(pulls.GiteaOptions{URL: base.String(), Owner: owner, Name: repository, Token: token, Web: p.Web})
	default:
		return Provider{}, &ConfigError{v1alpha1.ReasonConfigurationInvalid, fmt.Sprintf("spec.pullRequests.provider %q is not supported", settings.Provider)}
	}
	p.known.add(key, made)
	return made, nil
}

// locate returns the URL of the Git provider, and the owner and the name of the repository there.
func locate(repo *v1alpha1.Repository) (base *url.URL, owner, name string, err error) {
	remote := repo.Spec.URL
	if !strings.Contains(remote, "://") { // user@host:path
		host, path, _ := strings.Cut(remote, ":")
		remote = "ssh://" + host + "/" + strings.TrimPrefix(path, "/")
	}
	u, err := url.Parse(remote)
	if err != nil {
		return nil, "", "", fmt.Errorf("spec.url is not a URL")
	}
	segments := strings.Split(strings.Trim(strings.TrimSuffix(strings.Trim(u.Path, "/"), ".git"), "/"), "/")
	if len(segments) < 2 {
		return nil, "", "", fmt.Errorf("spec.url has no owner and name of a repository: %s", repo.Spec.URL)
	}
	owner, name = segments[len(segments)-2], segments[len(segments)-1]
	address := repo.Spec.PullRequests.URL
	if address == "" && u.Scheme != "https" && u.Scheme != "http" {
		return nil, "", "", fmt.Errorf("set spec.pullRequests.url: spec.url is no http or https URL")
	}
	base, err = url.Parse(cmp.Or(address, u.Scheme+"://"+u.Host))
	return base, owner, name, err
}
