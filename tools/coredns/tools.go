//go:build tools

// Package coredns pins the DNS server of the node that the end-to-end tests run.
package coredns

import _ "github.com/coredns/coredns"
