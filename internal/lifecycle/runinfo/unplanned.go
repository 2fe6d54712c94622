package runinfo

import (
	"fmt"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
)

// Unplanned summarizes what a pull request changes and no plan shows: "1 new directory with code that no Stack reads, 2
// files with manifests of Cairn". Empty for nothing.
func Unplanned(u *v1alpha1.PullRequestUnplanned) string {
	if u == nil {
		return ""
	}
	var all []string
	for _, kind := range []struct {
		n         int
		one, many string
	}{
		{len(u.Directories) + int(u.MoreDirectories), "new directory with code that no Stack reads",
			"new directories with code that no Stack reads"},
		{len(u.Manifests) + int(u.MoreManifests), "file with manifests of Cairn", "files with manifests of Cairn"},
	} {
		switch {
		case kind.n == 1:
			all = append(all, "1 "+kind.one)
		case kind.n > 1:
			all = append(all, fmt.Sprintf("%d %s", kind.n, kind.many))
		}
	}
	return strings.Join(all, ", ")
}

// UnplannedLines are the paths of what no plan shows, each with what it is.
func UnplannedLines(u *v1alpha1.PullRequestUnplanned) (lines []string) {
	if u == nil {
		return nil
	}
	add := func(paths []string, more int32, what string) {
		for _, path := range paths {
			lines = append(lines, path+": "+what)
		}
		if more > 0 {
			lines = append(lines, fmt.Sprintf("and %d more: %s", more, what))
		}
	}
	add(u.Directories, u.MoreDirectories, "code that no Stack reads: create a Stack for it, if it is no module")
	add(u.Manifests, u.MoreManifests, "manifests of Cairn, which a GitOps tool or a user applies")
	return lines
}
