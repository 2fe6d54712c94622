package kubelet

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// layout says for each volume of a pod which path it has below the pod's folder. A volume lies where it is first
// mounted, so that volumes that are mounted into or beside one another are found in one tree, as in a real pod.
func layout(spec *corev1.PodSpec) map[string]string {
	places := map[string]string{}
	taken := map[string]bool{}
	for _, c := range containersOf(spec) {
		for _, m := range c.VolumeMounts {
			at := inFS(m.MountPath)
			if _, placed := places[m.Name]; placed || taken[at] {
				continue
			}
			places[m.Name], taken[at] = at, true
		}
	}
	for _, v := range spec.Volumes {
		if places[v.Name] == "" {
			places[v.Name] = path.Join("volumes", v.Name)
		}
	}
	return places
}

// inFS is where a path of the pod is below its folder.
func inFS(p string) string { return path.Join("fs", path.Clean("/"+p)) }

// paths rewrites the paths of one container to those on this machine; the longest first.
type paths []rewrite

type rewrite struct{ from, to string }

// pathsOf collects what to rewrite in a container of a pod whose folder is dir: its mount paths, its working directory,
// and the folders these lie in as far up as this machine has none of that name.
func pathsOf(c *corev1.Container, dir string, places map[string]string, onHost func(string) bool) paths {
	to := map[string]string{}
	var inside []string
	for _, m := range c.VolumeMounts {
		at := path.Clean("/" + m.MountPath)
		to[at] = path.Join(dir, places[m.Name])
		inside = append(inside, path.Dir(at))
	}
	mounts := maps.Clone(to)
	// the image's folder, never this machine's
	if at := path.Clean("/" + c.WorkingDir); !within(mounts, at) && at != "/" {
		to[at] = path.Join(dir, inFS(at))
		inside = append(inside, path.Dir(at))
	}
	for _, parent := range inside {
		for ; parent != "/" && !onHost(parent) && !within(mounts, parent); parent = path.Dir(parent) {
			to[parent] = path.Join(dir, inFS(parent))
		}
	}
	var all paths
	for from, to := range to {
		all = append(all, rewrite{from, to})
	}
	slices.SortFunc(all, func(a, b rewrite) int {
		return cmp.Or(cmp.Compare(len(b.from), len(a.from)), cmp.Compare(a.from, b.from))
	})
	return all
}

func within(mounts map[string]string, p string) bool {
	for ; p != "/"; p = path.Dir(p) {
		if mounts[p] != "" {
			return true
		}
	}
	return false
}

// rewrite changes each path that begins s, or follows a "=" or ":" in it.
func (p paths) rewrite(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		if s[i] == '/' && (i == 0 || s[i-1] == '=' || s[i-1] == ':') {
			if r, ok := p.match(s[i:]); ok {
				b.WriteString(r.to)
				i += len(r.from)
				continue
			}
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// match finds the longest path that s is, or is below.
func (p paths) match(s string) (rewrite, bool) {
	for _, r := range p {
		if rest, ok := strings.CutPrefix(s, r.from); ok && (rest == "" || rest[0] == '/' || rest[0] == ':') {
			return r, true
		}
	}
	return rewrite{}, false
}
