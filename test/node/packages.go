//go:build linux

package node

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// pluginDir is the folder of Debian's network plugins.
const pluginDir = "/usr/lib/cni"

// programs are those of the node that `make` does not build, with their Debian packages.
var programs = []struct{ name, in string }{
	{"runc", "runc"},
	{pluginDir + "/bridge", "containernetworking-plugins"},
	{pluginDir + "/host-local", "containernetworking-plugins"},
	{pluginDir + "/loopback", "containernetworking-plugins"},
	{"iptables", "iptables"},
	{"ip", "iproute2"},
	{"nsenter", "util-linux"},
}

// tools are the programs that `make` builds.
var tools = []string{
	"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy",
	"coredns", "kubectl",
	"containerd", shim, "ctr",
}

// shim is the program of containerd that starts and watches the containers of a pod.
const shim = "containerd-shim-runc-v2"

// check returns an error with what this machine lacks and how to install it.
func check(toolsDir string) error {
	if os.Geteuid() != 0 {
		return errors.New("only root can start a node")
	}
	var packages []string
	for _, p := range programs {
		if _, err := exec.LookPath(p.name); err != nil && !slices.Contains(packages, p.in) {
			packages = append(packages, p.in)
		}
	}
	if len(packages) > 0 {
		return fmt.Errorf("packages are missing: apt-get install --no-install-recommends %s",
			strings.Join(packages, " "))
	}
	var missing []string
	for _, name := range tools {
		if _, err := os.Stat(filepath.Join(toolsDir, name)); err != nil {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("no %s in %s: run make node-tools first", strings.Join(missing, ", "), toolsDir)
	}
	return nil
}
