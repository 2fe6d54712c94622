package providers

import (
	"io/fs"
	"net/url"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/base/sigverify"
)

func TestNames(t *testing.T) {
	for name, good := range map[string]bool{
		"registry.opentofu.org": true, "localhost": true, "example.com:8443": true, "xn--bcher-kva.example": true,
		"127.0.0.1:1": true,
		"":            false, "..": false, ".": false, "a..b": false, "-a.b": false, "a_b.c": false,
		"Registry.org": false, "a.b:": false,
		"a.b:0": false, "a.b:080": false, "a.b:70000": false, "a.b:1:2": false, "user@a.b": false, "a/b": false,
		"a b":   false,
		"[::1]": false, "büch.er": false, "a.b.": false, "a%2f": false, strings.Repeat("a.", 127) + "ab": false,
		strings.Repeat("a", 64): false, ".incoming": false,
	} {
		if _, err := ParseProvider(name, "acme", "cloud"); (err == nil) != good {
			t.Errorf("host %q: %v", name, err)
		}
	}
	for name, good := range map[string]bool{
		"hashicorp": true, "google-beta": true, "a": true, "a_b": true, "1password": true,
		"": false, "-": false, "a-": false, "..": false, "A": false, "a/b": false, "a.b": false,
		strings.Repeat("a", 65): false,
	} {
		_, err := ParseProvider("example.com", name, "cloud")
		_, err2 := ParseProvider("example.com", "acme", name)
		if (err == nil) != good || (err2 == nil) != good {
			t.Errorf("name %q: %v, %v", name, err, err2)
		}
	}
	for name, good := range map[string]bool{
		"1.2.3": true, "0.0.0": true, "1.2.3-beta.1": true, "1.2.3+x": true,
		"": false, "1.2": false, "v1.2.3": false, "1.2.3_4": false, "01.2.3": false, "1.2.3/..": false, "..": false,
		"1.2.3\n": false, "index": false,
	} {
		if version.MatchString(name) != good {
			t.Errorf("version %q: %v", name, !good)
		}
	}
}

// FuzzName tries whether what is asked for could become another path than the provider's.
func FuzzName(f *testing.F) {
	f.Add("registry.opentofu.org", "hashicorp", "time", "terraform-provider-time_0.14.2_linux_amd64.zip")
	f.Add("example.com:8443", "a_b", "c-d", "terraform-provider-c-d_1.0.0-rc.1+x_windows_386.zip")
	f.Add("..", "..", "..", "../../x")
	f.Fuzz(func(t *testing.T, host, namespace, typ, file string) {
		p, err := ParseProvider(host, namespace, typ)
		if err != nil {
			return
		}
		if !fs.ValidPath(p.dir()) || strings.Count(p.dir(), "/") != 2 || strings.HasPrefix(p.dir(), ".") ||
			strings.ContainsAny(p.dir(), "\\%@?#\x00") {
			t.Fatalf("%q is a folder", p.dir())
		}
		if u, err := url.Parse("https://" + host + "/x"); err != nil || u.Host != host || u.User != nil {
			t.Fatalf("%q is a host: %v", host, err)
		}
		version, platform, ok := p.ParseFilename(file)
		if ok && p.Filename(version, platform) != file {
			t.Fatalf("%q is taken for %q", file, p.Filename(version, platform))
		}
		if ok && !fs.ValidPath(p.dir()+"/"+file) || ok && strings.Contains(file, "/") {
			t.Fatalf("%q is a file", file)
		}
	})
}

// FuzzAnswers tries whether a registry's answers lead to what is not https, or to names that are none.
func FuzzAnswers(f *testing.F) {
	f.Add([]byte(`{"versions":[{"version":"1.0.0","platforms":[{"os":"linux","arch":"amd64"}]},{"version":"../x"}]}`))
	f.Add([]byte(`{"providers.v1":"/v1/providers/"}`))
	f.Add([]byte(`{"os":"linux","arch":"amd64","filename":"x.zip","download_url":"x.zip","shasum":"` +
		strings.Repeat("0f", 32) +
		`","shasums_url":"//h/s","shasums_signature_url":"https://h/s","signing_keys":{"gpg_public_keys":[{"ascii_armor":"x"}]}}`))
	base := &url.URL{Scheme: "https", Host: "registry.example.com", Path: "/v1/"}
	f.Fuzz(func(t *testing.T, data []byte) {
		if list, err := parseVersions(data); err == nil {
			for v, o := range list.Versions {
				if !fs.ValidPath(v) || strings.Contains(v, "/") {
					t.Fatalf("%q is a version", v)
				}
				for _, text := range o.Platforms {
					if platform, ok := parsePlatform(text); !ok || platform.String() != text {
						t.Fatalf("%q is a platform", text)
					}
				}
			}
		}
		var found []*url.URL
		if d, err := parseDownload(data, base, Platform{"linux", "amd64"}); err == nil {
			found = append(found, d.archive, d.sums, d.signature)
			if len(d.sum) != 64 {
				t.Fatalf("%q is a checksum", d.sum)
			}
		}
		if u, err := parseDiscovery(data, base); err == nil {
			found = append(found, u)
		}
		for _, u := range found {
			if u.Scheme != "https" || u.Host == "" {
				t.Fatalf("%s is followed", u)
			}
		}
	})
}

// FuzzArchives tries whether a list of checksums gives archives that are none of the version's.
func FuzzArchives(f *testing.F) {
	sum := strings.Repeat("0f", 32)
	f.Add([]byte(sum+"  terraform-provider-cloud_1.0.0_linux_amd64.zip\n"+sum+
		" *terraform-provider-cloud_1.0.0_linux_arm64.zip\n"), "terraform-provider-cloud_1.0.0_linux_amd64.zip")
	f.Add([]byte(sum+"  x\n"), "x")
	f.Add([]byte(sum+"  ../x\n"+sum+"  terraform-provider-cloud_1.0.1_linux_arm64.zip"), "../x")
	p := Provider{"example.com", "acme", "cloud"}
	f.Fuzz(func(t *testing.T, list []byte, name string) {
		found, err := archives(p, "1.0.0", Platform{"linux", "amd64"}, location{filename: name, sum: sum}, list)
		if err != nil {
			return
		}
		all, err := sigverify.ParseSums(list)
		if err != nil || all[name] != sum {
			t.Fatal("a checksum is taken that is not in the list")
		}
		for text, archive := range found {
			platform, ok := parsePlatform(text)
			if !ok || archive.URL != p.Filename("1.0.0", platform) || len(archive.sum()) != 64 {
				t.Fatalf("%s: %+v", text, archive)
			}
		}
	})
}
