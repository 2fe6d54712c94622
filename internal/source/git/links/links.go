// Package links follows the symlinks of an archive of code: where it is packed, and where the runner unpacks it. Pure.
package links

import (
	"path"
	"strings"
)

// mostHops is how many symlinks Linux follows for one path. os.Root follows fewer.
const mostHops = 40

// Entry is what an archive has at a path. The zero value is a file, or nothing.
type Entry struct {
	Dir, Link bool
	// Target of a link.
	Target string
}

// LeadsOut follows a link part by part, as programs do once all is unpacked, and returns whether it leads out of the
// archive. A check of its text is not enough: a link may lead through another. One that leads in a circle, or through a
// file, leads to nothing.
func LeadsOut(name string, at func(path string) (Entry, error)) (bool, error) {
	var dirs []string // those of where we are, without links
	left := strings.Split(name, "/")
	for hops := 0; len(left) > 0; {
		part := left[0]
		left = left[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(dirs) == 0 {
				return true, nil
			}
			dirs = dirs[:len(dirs)-1]
			continue
		}
		here, err := at(path.Join(append(dirs, part)...))
		switch {
		case err != nil:
			return false, err
		case here.Dir:
			dirs = append(dirs, part)
		case !here.Link:
			return false, nil
		default:
			if hops++; hops > mostHops {
				return false, nil
			}
			left = append(strings.Split(here.Target, "/"), left...)
		}
	}
	return false, nil
}
