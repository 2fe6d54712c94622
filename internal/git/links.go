package git

import (
	"path"
	"strings"
)

// mostHops is how many symlinks one may lead through: what os.Root follows.
const mostHops = 8

// checkLink follows a symlink as the runner will once all is unpacked, and refuses it when it leads out of the archive,
// in a circle, or through a file. To look at its text is not enough: a link may lead through another.
func (g *gathering) checkLink(name string) error {
	var at []string // where we are, without links
	left := strings.Split(name, "/")
	for hops := 0; len(left) > 0; {
		part := left[0]
		left = left[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			if len(at) == 0 {
				return fail(ErrContent, "%s is a symlink that leads out of the repository: remove it, or keep it out of the code", name)
			}
			at = at[:len(at)-1]
			continue
		}
		here := path.Join(append(at, part)...)
		i, ok := g.items[here]
		switch {
		case ok && i.kind == KindSymlink:
			if hops++; hops > mostHops {
				return fail(ErrContent, "%s is a symlink that leads through more than %d others, or in a circle", name, mostHops)
			}
			left = append(strings.Split(i.target, "/"), left...)
		case ok && len(left) > 0:
			return fail(ErrContent, "%s is a symlink that leads through %s, which is a file", name, here)
		case ok, !g.dirs[here]:
			return nil // a file, or nothing
		default:
			at = append(at, part)
		}
	}
	return nil
}
