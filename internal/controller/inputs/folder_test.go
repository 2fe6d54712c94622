package inputs

import (
	"strings"
	"testing"
)

func TestCodeIsInFolderOfRepositorysName(t *testing.T) {
	for url, want := range map[string]string{
		"https://git.example.com/team/network.git":            "network",
		"https://git.example.com/team/network":                "network",
		"https://git.example.com/team/network.git/":           "network",
		"ssh://git@git.example.com/team/net.work":             "net.work",
		"git@git.example.com:network.git":                     "network",
		"https://git.example.com/team/..":                     "",
		"https://git.example.com/team/.git":                   "",
		"https://git.example.com/team/a%20b":                  "",
		"https://git.example.com/" + strings.Repeat("n", 101): "",
		"": "",
	} {
		if got := FolderOf(url); got != want {
			t.Errorf("FolderOf(%q) is %q, not %q", url, got, want)
		}
	}
}
