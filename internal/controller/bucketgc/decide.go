package bucketgc

import (
	"strings"
	"time"

	"cairn.dev/cairn/internal/base/bucket"
)

// action is what becomes of an object.
type action string

const (
	// keep it as it is.
	keep action = "keep"
	// remove it, unless it is written again meanwhile.
	remove action = "remove"
	// ask for its content: only that shows whether a closure is in use.
	ask action = "ask"
	// renew it, so that it is not asked again the next time.
	renew action = "renew"
)

// decide decides on an object that was last written before a time, or was not.
func (u used) decide(o bucket.Object, before time.Time) action {
	folder, digest, _ := strings.Cut(o.Key, "/")
	switch {
	case !o.At.Before(before):
		return keep
	case folder == folderInputs && !u.inputs[digest], folder == folderSources && !u.sources[digest]:
		return remove
	case folder == folderClosures:
		return ask
	default:
		return keep
	}
}

// asked decides on an old closure that names that code.
func (u used) asked(source string) action {
	if u.sources[source] {
		return renew
	}
	return remove
}

// blind returns true if there is no object in Kubernetes, but there are objects in the bucket: more likely this process
// uses the wrong cluster, as after a restore, than that all of it is garbage.
func (u used) blind() bool { return u.objects == 0 }
