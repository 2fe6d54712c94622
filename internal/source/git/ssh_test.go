package git

import (
	"os"
	"strings"
	"testing"

	"cairn.dev/cairn/test/gitserver"
)

func (f *fixture) ssh() *gitserver.SSH {
	f.Helper()
	s, err := gitserver.ServeSSH(f.repos)
	f.must(err)
	f.Cleanup(func() { s.Close() })
	return s
}

func TestSSH(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	id := f.commit(map[string]string{"main.tf": "a"})
	server := f.ssh()
	url := server.URL + f.repo.Path()
	stranger, _, err := gitserver.NewIdentity("")
	f.must(err)
	otherHost := strings.Replace(string(f.ssh().KnownHosts), "127.0.0.1", "127.0.0.2", 1)
	changedHost := string(server.KnownHosts[:strings.Index(string(server.KnownHosts), " ")]) + " " +
		strings.SplitN(otherHost, " ", 2)[1]
	for _, c := range []struct {
		name string
		auth Auth
		kind error
		says string
	}{
		{"the right keys", Auth{Identity: server.Identity, KnownHosts: server.KnownHosts}, nil, ""},
		{"another identity", Auth{Identity: stranger, KnownHosts: server.KnownHosts}, ErrAuthentication,
			"correct them"},
		{"no identity", Auth{KnownHosts: server.KnownHosts}, ErrAuthentication, "correct them"},
		{"an unknown host", Auth{Identity: server.Identity, KnownHosts: []byte(otherHost)}, ErrHostKey, "known_hosts"},
		{"a host whose key changed", Auth{Identity: server.Identity, KnownHosts: []byte(changedHost)}, ErrHostKey,
			"known_hosts"},
		{"no known hosts", Auth{Identity: server.Identity}, ErrHostKey, "known_hosts"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := mirror(t, t.TempDir(), Options{})
			err := m.Fetch(t.Context(), Remote{url, c.auth}, FetchOptions{})
			if c.kind != nil {
				fails(t, err, c.kind, c.says)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got, err := m.Resolve(t.Context(), ""); err != nil || got.ID != id {
				t.Errorf("got %v, %v", got, err)
			}
			if left, _ := os.ReadDir(m.path(sessions)); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
	fails(t, f.m.Fetch(t.Context(),
		Remote{server.URL + "/no-such.git", Auth{Identity: server.Identity, KnownHosts: server.KnownHosts}},
		FetchOptions{}), ErrNotFound, "no such repository")
	server.Close()
	fails(t, f.m.Fetch(t.Context(), Remote{url, Auth{Identity: server.Identity, KnownHosts: server.KnownHosts}},
		FetchOptions{}), ErrUnreachable, "cannot be reached")
}

func TestIdentityWithAPassphraseIsDecrypted(t *testing.T) {
	url, hosts := "ssh://git@example.org/x", []byte(
		"example.org ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGi0UdOYSVNWZdcZJUMPMGL3fGUsb0Ei4yRQWWn45Kqx\n")
	identity, _, err := gitserver.NewIdentity("open sesame")
	if err != nil {
		t.Fatal(err)
	}
	data := map[string][]byte{"identity": identity, "known_hosts": hosts}
	_, err = ParseAuth(url, data)
	fails(t, err, ErrConfig, "passphrase in password")
	data["password"] = []byte("open barley")
	_, err = ParseAuth(url, data)
	fails(t, err, ErrConfig, "not its passphrase")
	data["password"] = []byte("open sesame\n")
	auth, err := ParseAuth(url, data)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := auth.PlainIdentity()
	if err != nil || !strings.Contains(string(plain), "OPENSSH PRIVATE KEY") {
		t.Errorf("got %s, %v", plain, err)
	}
}

func TestSSHUsesOnlyTheKeysOfTheSecret(t *testing.T) {
	t.Parallel()
	f := newFixture(t, Options{})
	f.commit(map[string]string{"main.tf": "a"})
	server := f.ssh()
	m := mirror(t, t.TempDir(), Options{})
	s, err := m.open(t.Context(),
		Remote{server.URL + f.repo.Path(), Auth{Identity: server.Identity, KnownHosts: server.KnownHosts}})
	f.must(err)
	defer s.close()
	info, err := os.Stat(m.path(s.dir))
	f.must(err)
	if info.Mode().Perm() != 0o700 {
		t.Errorf("the folder of keys has mode %v", info.Mode())
	}
	for _, name := range files(t, m.path(s.dir)) {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm()&^0o100 != 0o600 {
			t.Errorf("%s has mode %v, %v", name, info.Mode(), err)
		}
	}
	config, err := os.ReadFile(m.path(s.dir + "/ssh"))
	f.must(err)
	for _, line := range []string{"BatchMode yes", "StrictHostKeyChecking yes", "IdentitiesOnly yes",
		"IdentityAgent none", "ForwardAgent no", "GlobalKnownHostsFile /dev/null"} {
		if !strings.Contains(string(config), line+"\n") {
			t.Errorf("no %s", line)
		}
	}
}
