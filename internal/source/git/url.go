package git

import (
	"cmp"
	"net"
	"net/url"
	"path"
	"strings"
	"unicode"
)

const maxURL = 2000

// remoteURL is a URL taken apart.
type remoteURL struct {
	// scheme is https, http or ssh.
	scheme string
	// user of an SSH URL.
	user string
	// host in lower case, and port, the scheme's own when there is none.
	host, port string
	// path begins with a slash, but for user@host:path, where it is from the user's home.
	path string
	scp  bool
}

// parseRemote rejects all but https://host/path, http://host/path, ssh://user@host/path and user@host:path: what would
// run a program (ext::), read the machine (file://, a path), be taken for an option, or hold a credential.
func parseRemote(raw string) (remoteURL, error) {
	switch {
	case raw == "" || len(raw) > maxURL:
		return remoteURL{}, fail(ErrConfig, "the URL has %d characters: 1 to %d", len(raw), maxURL)
	case strings.ContainsFunc(raw, func(r rune) bool {
		return unicode.IsControl(r) || unicode.IsSpace(r) || r == unicode.ReplacementChar
	}):
		return remoteURL{}, fail(ErrConfig, "the URL has a space or a control character in it")
	case strings.HasPrefix(raw, "-"):
		return remoteURL{}, fail(ErrConfig, "the URL begins with a dash")
	case !strings.Contains(raw, "://"):
		return parseSCP(raw)
	}
	u, err := url.Parse(raw)
	if err != nil { // which quotes the URL, and that may hold a password
		return remoteURL{}, fail(ErrConfig, "the URL cannot be parsed")
	}
	r := serverOf(u)
	if r.port == "" || portOf(r.scheme) == "" {
		return remoteURL{}, fail(ErrConfig, "the URL is %.20q: https://, http://, ssh:// or user@host:path", u.Scheme)
	}
	r.path = u.EscapedPath()
	_, hasPassword := u.User.Password()
	if hasPassword || u.User != nil && r.scheme != "ssh" {
		return remoteURL{}, fail(ErrConfig, "credentials do not belong in the URL: put them into the Secret of the "+
			"Repository")
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		return remoteURL{}, fail(ErrConfig, "the URL has a ? or # in it")
	}
	r.user = u.User.Username()
	return r, r.check()
}

// serverOf returns the server alone. Its name has one form, by which git is given its addresses.
func serverOf(u *url.URL) remoteURL {
	return remoteURL{scheme: u.Scheme, host: strings.TrimSuffix(strings.ToLower(u.Hostname()), "."),
		port: cmp.Or(u.Port(), portOf(u.Scheme))}
}

// portOf is the port of a scheme, "" for one that is none of ours.
func portOf(scheme string) string {
	return map[string]string{"https": "443", "http": "80", "ssh": "22"}[scheme]
}

// parseSCP reads user@host:path.
func parseSCP(raw string) (remoteURL, error) {
	user, rest, ok := strings.Cut(raw, "@")
	host, path, colon := strings.Cut(rest, ":")
	if !ok || !colon || strings.HasPrefix(path, ":") || strings.ContainsAny(user, "/:") {
		return remoteURL{}, fail(ErrConfig, "the URL is none: https://, http://, ssh:// or user@host:path")
	}
	r := remoteURL{scheme: "ssh", user: user, host: strings.ToLower(host), port: "22", path: path, scp: true}
	return r, r.check()
}

// check holds host and user to what ssh cannot take for an option, and no shell for more than a word.
func (r remoteURL) check() error {
	if r.host == "" || strings.HasPrefix(r.host, "-") || net.ParseIP(r.host) == nil && !consistsOf(r.host, "-._") {
		return fail(ErrConfig, "the URL has no host that can be")
	}
	if strings.HasPrefix(r.user, "-") || !consistsOf(r.user, "-._+") {
		return fail(ErrConfig, "the URL has no user that can be")
	}
	if strings.Trim(r.path, "/") == "" || strings.HasPrefix(r.path, "-") {
		return fail(ErrConfig, "the URL has no path: it names a host, not a repository")
	}
	return nil
}

// consistsOf reports whether text is of ASCII letters, digits and some more.
func consistsOf(text, more string) bool {
	for _, c := range text {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune(more, c) {
			return false
		}
	}
	return true
}

// sameServer reports whether what is secret between us and one may be shown to the other. Parsed, not by prefix: a
// URL may hold another one.
func (r remoteURL) sameServer(other remoteURL) bool {
	return r.scheme == other.scheme && r.host == other.host && r.port == other.port
}

// origin is scheme, host and port of an HTTP URL, with no path.
func (r remoteURL) origin() string { return r.scheme + "://" + net.JoinHostPort(r.host, r.port) }

// String is the URL as git takes it.
func (r remoteURL) String() string {
	if r.scp {
		return r.user + "@" + r.host + ":" + r.path
	}
	host := bracketed(r.host)
	if r.port != portOf(r.scheme) {
		host += ":" + r.port
	}
	if r.user != "" {
		host = r.user + "@" + host
	}
	return r.scheme + "://" + host + r.path
}

// join resolves the URL of a submodule, which may be relative (./ or ../) to that of the repository it is in.
func (r remoteURL) join(relative string) (remoteURL, error) {
	if !strings.HasPrefix(relative, "./") && !strings.HasPrefix(relative, "../") {
		return parseRemote(relative)
	}
	base := strings.Trim(r.path, "/")
	joined := path.Join(base, relative)
	if joined == "." || joined == ".." || strings.HasPrefix(joined, "../") {
		return remoteURL{}, fail(ErrConfig, "%.200q leads out of the server of %s", relative, r)
	}
	if strings.HasPrefix(r.path, "/") {
		joined = "/" + joined
	}
	r.path = joined
	return parseRemote(r.String())
}
