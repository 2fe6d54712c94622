package inputs

import (
	"regexp"
	"strings"
)

// folderName is what a repository is called on all servers; other names could not be folders everywhere.
var folderName = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$`)

// FolderOf returns the name of the folder that `git clone URL` creates, or "" if it is none that every file system
// allows.
func FolderOf(url string) string {
	name := strings.TrimSuffix(strings.TrimRight(url, "/"), ".git")
	name = name[strings.LastIndexAny(name, "/:")+1:]
	if !folderName.MatchString(name) {
		return ""
	}
	return name
}
