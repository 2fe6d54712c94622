package git

import (
	"strings"
	"testing"
)

func TestURLIsHTTPOrSSHWithoutCredentials(t *testing.T) {
	for _, url := range []string{
		"https://github.com/org/infra", "https://github.com/org/infra.git", "http://git.local:8080/x",
		"https://[::1]:8443/x", "https://example.org/a%20b",
		"ssh://git@github.com/org/infra.git", "ssh://example.org:2222/x", "git@github.com:org/infra.git",
		"org-1@example.org:infra", "git@example.org:/srv/git/x",
	} {
		if _, err := parseRemote(url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, url := range []string{
		"", "infra", "/srv/git/infra", "./infra", "file:///srv/git/infra", "ext::sh -c id", "ext::id", "fd::7",
		"git://example.org/x", "ftp://example.org/x",
		"-oProxyCommand=id", "--upload-pack=id", "ssh://-oProxyCommand=id/x", "ssh://-oProxyCommand@h/x", "-o@h:x",
		"git@-oProxyCommand=id:x", "git@host:-x",
		"git@-host:x", "ssh://git@-host/x", "https://-host/x", "-host@example.org:x", "https://exa!mple.org/x",
		"git@ho~st:x",
		"https://user:" + canary + "@example.org/x", "https://token@example.org/x", "ssh://git:" + canary +
			"@example.org/x",
		"https://example.org/x\n", "https://example.org/x y", "https://example.org/\x00", "https:///x",
		"https://example.org", "https://example.org/", "git@host:",
		"https://example.org/x?a=b", "https://example.org/x#a", "https://exam$ple.org/x", "ssh://git@$(id)/x",
		"ssh://`id`@host/x", "host:x", "git@host::x",
		"https://example.org/" + strings.Repeat("x", 2000), "https://%zz@" + canary,
	} {
		_, err := parseRemote(url)
		if err == nil {
			t.Errorf("%q is taken", url)
		} else if Reason(err) != "ConfigurationInvalid" || strings.Contains(err.Error(), canary) {
			t.Errorf("%q: %v", url, err)
		}
	}
}

// Otherwise the error would name another problem of the URL, and not the option that git would read.
func TestErrorNamesTheLeadingDashOfAURL(t *testing.T) {
	for _, url := range []string{"-oProxyCommand=id", "--upload-pack=id", "-o@h:x"} {
		if _, err := parseRemote(url); err == nil || !strings.Contains(err.Error(), "begins with a dash") {
			t.Errorf("%q: %v", url, err)
		}
	}
}

func TestCredentialsAreForTheSameServerOnly(t *testing.T) {
	for _, c := range []struct {
		own, other string
		same       bool
	}{
		{"https://git.example.org/a", "https://git.example.org/b/c", true},
		{"https://git.example.org/a", "https://GIT.example.org:443/b", true},
		{"https://git.example.org/a", "http://git.example.org/b", false},
		{"https://git.example.org/a", "https://git.example.org:8443/b", false},
		{"https://git.example.org/a", "https://example.org/b", false},
		{"https://git.example.org/a", "https://evil.org/https://git.example.org/b", false},
		{"https://git.example.org/a", "https://git.example.org.evil.org/b", false},
		{"https://git.example.org/a", "ssh://git@git.example.org/b", false},
		{"git@example.org:a", "ssh://other@example.org:22/b", true},
		{"git@example.org:a", "ssh://git@example.org:2222/b", false},
	} {
		own, err := parseRemote(c.own)
		if err != nil {
			t.Fatal(err)
		}
		other, err := parseRemote(c.other)
		if err != nil {
			t.Fatal(err)
		}
		if own.sameServer(other) != c.same {
			t.Errorf("%s and %s: %v", c.own, c.other, !c.same)
		}
	}
}

func TestRelativeSubmoduleURLs(t *testing.T) {
	for _, c := range []struct{ base, relative, want string }{
		{"https://example.org/org/infra.git", "../modules.git", "https://example.org/org/modules.git"},
		{"https://example.org/org/infra.git/", "../../other/modules", "https://example.org/other/modules"},
		{"https://example.org:8443/org/infra", "./sub", "https://example.org:8443/org/infra/sub"},
		{"git@example.org:org/infra.git", "../modules.git", "git@example.org:org/modules.git"},
		{"git@example.org:infra.git", "../modules.git", "git@example.org:modules.git"},
		{"ssh://git@example.org:2222/org/infra", "../modules", "ssh://git@example.org:2222/org/modules"},
		{"https://example.org/org/infra", "https://elsewhere.org/x", "https://elsewhere.org/x"},
		{"https://example.org/org/infra", "../../../../x", ""},
		{"https://example.org/org/infra", "../..", ""},
		{"https://example.org/org/infra", "/etc/x", ""},
		{"https://example.org/org/infra", "ext::id", ""},
		{"https://example.org/org/infra", "../x?y", ""},
		{"https://example.org/org/infra", "../\nx", ""},
	} {
		base, err := parseRemote(c.base)
		if err != nil {
			t.Fatal(err)
		}
		got, err := base.join(c.relative)
		if c.want == "" {
			fails(t, err, ErrConfig, "")
		} else if err != nil || got.String() != c.want {
			t.Errorf("%s and %s: %s, %v", c.base, c.relative, got, err)
		}
	}
}

func FuzzCheckURL(f *testing.F) {
	for _, url := range []string{"https://example.org/x", "git@example.org:x", "ssh://git@[::1]:22/x", "ext::id"} {
		f.Add(url)
	}
	f.Fuzz(func(t *testing.T, url string) {
		r, err := parseRemote(url)
		if err != nil {
			return
		}
		if strings.HasPrefix(url, "-") || strings.HasPrefix(r.host, "-") || strings.HasPrefix(r.user, "-") ||
			strings.Contains(url, "::") && strings.HasPrefix(url, "ext") {
			t.Errorf("%q is taken", url)
		}
		again, err := parseRemote(r.String())
		if err != nil || !again.sameServer(r) || again.user != r.user {
			t.Errorf("%q is written %q, which is %+v, %v", url, r, again, err)
		}
	})
}
