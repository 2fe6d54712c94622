package main

import (
	"fmt"
	"os"
	"syscall"
)

// private are the folders that programs of a node write to without being asked.
var private = []string{"/run", "/var/lib/kubelet", "/var/lib/cni", "/var/log/containers"}

// sysctls of the node's network: it forwards, and the firewall sees what goes over the bridge, without which a pod gets no
// answer from a Service that is on the same node.
var sysctls = []string{"/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/bridge/bridge-nf-call-iptables"}

// prepare makes new namespaces look like a machine of its own.
func prepare() error {
	// First private, so that no mount of the node is seen outside; then shared among the node's own containers.
	for _, propagation := range []uintptr{syscall.MS_PRIVATE, syscall.MS_SHARED} {
		if err := syscall.Mount("", "/", "", propagation|syscall.MS_REC, ""); err != nil {
			return fmt.Errorf("change the propagation of mounts: %w", err)
		}
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for _, dir := range private {
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // as packages make them
			return err
		}
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "mode=0755"); err != nil {
			return fmt.Errorf("mount %s: %w", dir, err)
		}
	}
	for _, path := range sysctls {
		if err := os.WriteFile(path, []byte("1"), 0); err != nil {
			return err
		}
	}
	return nil
}
