package dev

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"cairn.dev/cairn/dev/ports"
	"cairn.dev/cairn/dev/tools"
)

// runMakeTools is the cure for missing binaries.
const runMakeTools = "run make tools first"

// BinDir is where `make tools` puts etcd, kube-apiserver, kube-controller-manager, kubectl and tofu: $CAIRN_BIN, or
// cairn/bin in the user's cache folder.
func BinDir() (string, error) {
	path, err := tools.Path(apiServer)
	if err != nil {
		return "", err
	}
	return filepath.Dir(path), nil
}

// lock keeps a data folder to one control plane. The kernel gives the lock back when this process ends, however it
// does.
func lock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock the data folder: %w", err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("data folder %s is in use by another control plane: %w", filepath.Dir(path), err)
	}
	return f, nil
}

// keptPort is the port in the file while it is free, or a new one, so that a kubeconfig stays good from start to start.
func keptPort(ctx context.Context, path string) (int, error) {
	if kept, err := os.ReadFile(path); err == nil {
		if port, err := strconv.Atoi(strings.TrimSpace(string(kept))); err == nil && free(ctx, port) {
			return port, nil
		}
	}
	address, err := ports.Free(ctx, "127.0.0.1")
	if err != nil {
		return 0, err
	}
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0, err
	}
	if err := os.WriteFile(path, []byte(port), 0o600); err != nil {
		return 0, fmt.Errorf("keep the port: %w", err)
	}
	return strconv.Atoi(port)
}

func free(ctx context.Context, port int) bool {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}
