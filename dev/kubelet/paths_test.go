package kubelet

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// A pod like Cairn's, and a volume at two paths, and two volumes at one.
const mountingPod = `
initContainers:
- {name: copy, volumeMounts: [{name: bin, mountPath: /out}]}
containers:
- name: engine
  workingDir: /srv/code
  volumeMounts:
  - {name: bin, mountPath: /cairn/bin}
  - {name: work, mountPath: /cairn/work/}
  - {name: vars, mountPath: /cairn/inputs/files/00}
  - {name: tmp, mountPath: /tmp}
- name: other
  volumeMounts: [{name: more, mountPath: /tmp}]
volumes: [{name: bin}, {name: work}, {name: vars}, {name: tmp}, {name: more}, {name: unused}]
`

func TestLayout(t *testing.T) {
	spec := fromYAML[corev1.PodSpec](t, mountingPod)
	want := map[string]string{
		"bin":    "fs/out",
		"work":   "fs/cairn/work",
		"vars":   "fs/cairn/inputs/files/00",
		"tmp":    "fs/tmp",
		"more":   "volumes/more",
		"unused": "volumes/unused",
	}
	if diff := cmp.Diff(want, layout(&spec)); diff != "" {
		t.Error(diff)
	}
}

func TestRewrite(t *testing.T) {
	spec := fromYAML[corev1.PodSpec](t, mountingPod)
	host := map[string]bool{"/tmp": true, "/srv": true, "/srv/code": true}
	paths := pathsOf(&spec.Containers[0], "/pod", layout(&spec), func(p string) bool { return host[p] })
	for _, tt := range []struct{ name, in, want string }{
		{"a mount path", "/cairn/work", "/pod/fs/cairn/work"},
		{"a path below one", "/cairn/inputs/files/00/a.tfvars", "/pod/fs/cairn/inputs/files/00/a.tfvars"},
		{"a volume that lies elsewhere", "/cairn/bin/cairn-runner", "/pod/fs/out/cairn-runner"},
		{"one that only begins like it", "/tmpfiles/x", "/tmpfiles/x"},
		{"the folder that mounts lie in", "/cairn/inputs", "/pod/fs/cairn/inputs"},
		{"its neighbor, since this machine has no such folder", "/cairn/other", "/pod/fs/cairn/other"},
		{"after =", "--dir=/cairn/work/x", "--dir=/pod/fs/cairn/work/x"},
		{"a list", "/cairn/bin:/usr/bin:/cairn/work", "/pod/fs/out:/usr/bin:/pod/fs/cairn/work"},
		{"the working directory, though this machine has one of that name", "/srv/code/x", "/pod/fs/srv/code/x"},
		{"what the working directory lies in, where this machine has it", "/srv/data", "/srv/data"},
		{"a folder of this machine with a mount over it", "/tmp/x", "/pod/fs/tmp/x"},
		{"a URL", "https://host/cairn/work", "https://host/cairn/work"},
		{"inside a script", "cat /cairn/work/x", "cat /cairn/work/x"},
		{"nothing", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := paths.rewrite(tt.in); got != tt.want {
				t.Errorf("rewrite(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

func TestFolderOfANestedMount(t *testing.T) {
	spec := fromYAML[corev1.PodSpec](t, `
initContainers:
- {name: a, volumeMounts: [{name: all, mountPath: /first}]}
containers:
- {name: b, volumeMounts: [{name: all, mountPath: /data}, {name: part, mountPath: /data/deep/part}]}
volumes: [{name: all}, {name: part}]
`)
	paths := pathsOf(&spec.Containers[0], "/pod", layout(&spec), func(string) bool { return false })
	if got, want := paths.rewrite("/data/deep/x"), "/pod/fs/first/deep/x"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
