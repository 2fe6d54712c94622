package convert

import (
	"fmt"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Address is the parts of an address of code in git.
type Address struct {
	// URL of the repository, as a Repository takes it.
	URL string
	// Host of it, without a port.
	Host string
	// Path in the repository, and the ref; empty where it has none.
	Path, Ref string
	// Secret is true when a user or password was in it, which is left out.
	Secret bool
	// More are arguments that are ignored.
	More []string
}

// scp is an address of SSH as git's users write it.
var scp = regexp.MustCompile(`^(?:([A-Za-z0-9._-]+)@)?([A-Za-z0-9.-]+):([^/].*|/[^/].*)$`)

// known are hosts whose addresses may do without a scheme.
var known = []string{"github.com/", "gitlab.com/", "bitbucket.org/"}

// ReadAddress reads the address of code in git, in the forms that modules have: git::URL, SSH's host:path, //path and
// ?ref= behind it.
func ReadAddress(text string) (Address, error) {
	var a Address
	text = strings.TrimSpace(text)
	rest, forced := strings.CutPrefix(text, "git::")
	rest, query, _ := strings.Cut(rest, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		return a, fmt.Errorf("what is behind the ? cannot be read")
	}
	a.Ref = values.Get("ref")
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if name != "ref" {
			a.More = append(a.More, name)
		}
	}
	if getter, _, found := strings.Cut(rest, "::"); found {
		return a, fmt.Errorf("%s:: is no git", getter)
	}
	for _, host := range known {
		if strings.HasPrefix(rest, host) {
			rest = "https://" + rest
		}
	}
	scheme, behind, isURL := strings.Cut(rest, "://")
	if !isURL {
		behind = rest
	}
	behind, a.Path, _ = strings.Cut(behind, "//")
	if a.Path, err = PathInRepository(a.Path); err != nil {
		return a, err
	}
	if !isURL {
		return a.scp(behind, forced)
	}
	return a.url(strings.ToLower(scheme), behind)
}

// scp is an address without a scheme.
func (a Address) scp(text string, forced bool) (Address, error) {
	parts := scp.FindStringSubmatch(text)
	if len(parts) == 0 || !forced && parts[1] == "" && !strings.Contains(parts[2], ".") {
		return a, fmt.Errorf("it is no address of git")
	}
	user := parts[1]
	if user == "" {
		user = "git"
	}
	a.Host = parts[2]
	a.URL = user + "@" + parts[2] + ":" + parts[3]
	return a, nil
}

func (a Address) url(scheme, behind string) (Address, error) {
	switch scheme {
	case "https", "http", "ssh":
	case "git+ssh", "ssh+git":
		scheme = "ssh"
	default:
		return a, fmt.Errorf("%s:// is not taken: a Repository has https://, http:// or ssh://", scheme)
	}
	parsed, err := url.Parse(scheme + "://" + behind)
	if err != nil || parsed.Hostname() == "" {
		return a, fmt.Errorf("the URL cannot be read")
	}
	if scheme != "ssh" && parsed.User != nil {
		a.Secret, parsed.User = true, nil
	}
	if _, has := parsed.User.Password(); has {
		a.Secret, parsed.User = true, url.User(parsed.User.Username())
	}
	parsed.Fragment = ""
	a.Host = parsed.Hostname()
	if a.Host == "github.com" && scheme == "https" && !strings.HasSuffix(parsed.Path, ".git") {
		a.subfolder(parsed)
	}
	a.URL = parsed.String()
	return a, nil
}

// subfolder takes what is behind organization and repository for a path, as those who read such addresses do.
func (a *Address) subfolder(u *url.URL) {
	words := strings.SplitN(strings.Trim(u.Path, "/"), "/", 3)
	if len(words) < 3 || a.Path != "" {
		return
	}
	if in, err := PathInRepository(words[2]); err == nil {
		u.Path, a.Path = "/"+words[0]+"/"+words[1], in
	}
}

// PathInRepository is a path in a repository as a Stack takes it: none for the root.
func PathInRepository(text string) (string, error) {
	clean := strings.TrimPrefix(path.Clean("/"+text), "/")
	for _, part := range strings.Split(text, "/") {
		if part == ".." {
			return "", fmt.Errorf("the path %s leaves the repository", text)
		}
	}
	return clean, nil
}

// ShortRef is a ref as a Stack takes it: a branch, tag or commit by its name.
func ShortRef(ref string) string {
	return strings.TrimPrefix(strings.TrimPrefix(ref, "refs/heads/"), "refs/tags/")
}
