package main

import (
	"fmt"
	"os"
	"syscall"
)

// private are folders that programs of a node write to by default.
var private = []string{"/run", "/var/lib/kubelet", "/var/lib/cni", "/var/log/containers"}

// sysctls of the node's network: forwarding, and the firewall for bridged packets, without which a pod receives no
// response from a Service on the same node.
var sysctls = []string{"/proc/sys/net/ipv4/ip_forward", "/proc/sys/net/bridge/bridge-nf-call-iptables"}

// prepare sets up the mounts and sysctls of new namespaces.
func prepare() error {
	// First private, so that mounts of the node are not visible outside; then shared among the node's containers.
	for _, propagation := range []uintptr{syscall.MS_PRIVATE, syscall.MS_SHARED} {
		if err := syscall.Mount("", "/", "", propagation|syscall.MS_REC, ""); err != nil {
			return fmt.Errorf("change the propagation of mounts: %w", err)
		}
	}
	if err := syscall.Mount("proc", "/proc", "proc", 0, ""); err != nil {
		return fmt.Errorf("mount /proc: %w", err)
	}
	for _, dir := range private {
		if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // the mode that packages use
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
