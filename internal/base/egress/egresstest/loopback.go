// Package egresstest lets tests connect to servers on their own machine.
package egresstest

import (
	"net/netip"

	"cairn.dev/cairn/internal/base/egress"
)

// Loopback allows loopback addresses, in addition to the default.
func Loopback() *egress.Guard {
	return egress.New(egress.Options{Allowed: []netip.Prefix{
		netip.MustParsePrefix("127.0.0.0/8"), netip.MustParsePrefix("::1/128"),
	}})
}
