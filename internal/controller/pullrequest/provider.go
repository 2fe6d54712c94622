package pullrequest

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/pullrequest/command"
	"cairn.dev/cairn/internal/source/git"
	"cairn.dev/cairn/internal/source/gitprovider"
	"cairn.dev/cairn/internal/source/gitprovider/pulls"
)

// Provider is the access to the pull requests of a Repository.
type Provider struct {
	pulls.Client
	// Name and Host identify its users. Example: gitea, git.example.com.
	Name, Host string

	answers *answers
}

// answers are what a Git provider answered about users a short time ago.
type answers struct {
	teams      cache[string, answer]
	committers cache[commits, answer]
}

type answer struct {
	names []string
	at    time.Time
}

// commits are those of a pull request: from a base to a head.
type commits struct {
	number           int
	head, base, onto string
}

// teamsFor and committersFor are how long answers are used. What waits for a permission is checked each minute, which
// for many pull requests costs few requests.
const teamsFor, committersFor = time.Minute - time.Second, 5 * time.Minute

// remember returns an answer that is not older than a time, or requests another one.
func remember[K comparable](
	known *cache[K, answer], key K, now time.Time, longest time.Duration, request func() ([]string, error),
) ([]string, error) {
	if a, ok := known.get(key); ok && now.Sub(a.at) < longest {
		return a.names, nil
	}
	names, err := request()
	if err == nil {
		known.add(key, answer{names, now})
	}
	return names, err
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

// groupsOf returns the groups of a user that User returned, as they were within the last minute.
func (p Provider) groupsOf(ctx context.Context, user string, now time.Time) ([]string, error) {
	login := strings.TrimPrefix(user, p.Name+":"+strings.ToLower(p.Host)+":")
	if p.answers == nil {
		return p.Groups(ctx, login)
	}
	return remember(&p.answers.teams, login, now, teamsFor, func() ([]string, error) { return p.Groups(ctx, login) })
}

// committersOf returns the logins of the commits of a pull request, as they were within the last minutes; none of a Git
// provider that does not know them.
func (p Provider) committersOf(ctx context.Context, w *Snapshot) ([]string, error) {
	known, ok := p.Client.(pulls.Committers)
	if !ok {
		return nil, nil
	}
	spec := w.PullRequest.Spec
	request := func() ([]string, error) { return known.Committers(ctx, int(spec.Number), spec.Head.Commit) }
	if p.answers == nil {
		return request()
	}
	of := commits{number: int(spec.Number), head: spec.Head.Commit, base: spec.Base}
	if w.Merge != nil {
		of.onto = w.Merge.Base
	}
	return remember(&p.answers.committers, of, w.Now, committersFor, request)
}

// ConfigError is a configuration that a user has to correct.
type ConfigError struct{ Reason, Message string }

// Error returns the message.
func (e *ConfigError) Error() string { return e.Message }

// Providers creates Providers.
type Providers struct {
	// Live reads the Secrets with tokens, which no cache holds.
	Live client.Reader
	// Web returns what sends the requests, and trusts some certificates; nil are those of the machine. It must not
	// connect to addresses that tenants may not name.
	Web func(*x509.CertPool) *http.Client

	known cache[providerKey, Provider]
}

type providerKey struct {
	repository types.UID
	generation int64
	secret     string
	// authority is a hash of the certificates.
	authority [sha256.Size]byte
}

// Of returns the Provider of a Repository. The error is a ConfigError if a user has to correct something.
func (p *Providers) Of(ctx context.Context, repo *v1alpha1.Repository) (Provider, error) {
	settings := repo.Spec.PullRequests
	secret := &corev1.Secret{}
	name := settings.Credentials.Secret.Name
	err := p.Live.Get(ctx, client.ObjectKey{Namespace: repo.Namespace, Name: name}, secret)
	if apierrors.IsNotFound(err) {
		return Provider{}, &ConfigError{v1alpha1.ReasonCredentialsNotFound,
			fmt.Sprintf("Secret %s was not found: create it, or correct "+
				"spec.pullRequests.credentials", name)}
	}
	if err != nil {
		return Provider{}, err
	}
	auth, err := p.authority(ctx, repo, secret)
	if err != nil {
		return Provider{}, err
	}
	key := providerKey{repo.UID, repo.Generation, secret.ResourceVersion, sha256.Sum256(auth.CA)}
	if known, ok := p.known.get(key); ok {
		return known, nil
	}
	base, path, err := locate(repo)
	if err != nil {
		return Provider{}, &ConfigError{v1alpha1.ReasonConfigurationInvalid, err.Error()}
	}
	pool, err := auth.Pool()
	if err != nil {
		return Provider{}, &ConfigError{v1alpha1.ReasonCredentialsInvalid, err.Error()}
	}
	made := Provider{Name: strings.ToLower(string(settings.Provider)), Host: base.Host, answers: &answers{}}
	made.Client, err = gitprovider.Client(string(settings.Provider), gitprovider.Access{
		URL: base, Path: path, Secret: secret.Data, Web: p.Web(pool),
	})
	if err != nil {
		return Provider{}, &ConfigError{v1alpha1.ReasonCredentialsInvalid, "Secret " + name + ": " + err.Error()}
	}
	p.known.add(key, made)
	return made, nil
}

// authority returns the certificates that sign those of the Git provider: of the Secret of pull requests, else of
// that with which git fetches.
func (p *Providers) authority(ctx context.Context, repo *v1alpha1.Repository, secret *corev1.Secret) (git.Auth, error) {
	const key = "ca.crt"
	if ca := secret.Data[key]; len(ca) > 0 || repo.Spec.Credentials == nil ||
		repo.Spec.Credentials.Secret.Name == secret.Name {
		return git.Auth{CA: ca}, nil
	}
	ofGit := &corev1.Secret{}
	err := p.Live.Get(ctx, client.ObjectKey{Namespace: repo.Namespace, Name: repo.Spec.Credentials.Secret.Name}, ofGit)
	return git.Auth{CA: ofGit.Data[key]}, client.IgnoreNotFound(err) // the Repository reports it
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
