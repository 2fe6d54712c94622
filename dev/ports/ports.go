// Package ports finds ports for servers that are started as programs, or that listen by themselves.
package ports

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strconv"
	"syscall"
)

// Ports between these are nobody's by custom. Kubernetes takes its node ports from there on.
const (
	first = 10000
	after = 30000
)

// Free is an address of a host that nobody listens on. It is none that the system gives to who asks for any port, and
// to each connection that is made: one of those may be taken again before the server listens.
func Free(ctx context.Context, host string) (string, error) {
	var config net.ListenConfig
	for range 100 {
		port := 0
		if end := min(after, given()); end > first {
			port = first + rand.N(end-first) //nolint:gosec // spreads tests, guards nothing
		}
		l, err := config.Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return "", err
		}
		return l.Addr().String(), l.Close()
	}
	return "", errors.New("no port is free")
}

// given is the first of the ports that the system gives.
func given() int {
	lowest, highest := after, 0
	if text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		_, _ = fmt.Sscan(string(text), &lowest, &highest) // or it is as elsewhere
	}
	return lowest
}
