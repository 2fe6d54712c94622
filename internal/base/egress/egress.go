// Package egress decides which addresses Cairn connects to when a tenant or another server names the host. It knows
// nothing of Kubernetes.
//
// An address is checked after the host was resolved, at each connection: so a name that resolves to another address the
// next time, and a redirect, are checked too. Private networks are allowed, since git servers are there.
package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"

	"golang.org/x/net/http/httpproxy"
)

// Options of a Guard.
type Options struct {
	// Allowed are networks that Cairn connects to although it denies them by default.
	Allowed []netip.Prefix
	// Resolver of names; nil means that of the system.
	Resolver *net.Resolver
}

// Guard allows or denies connections. It is safe for concurrent use. A nil Guard denies all that is denied by default.
type Guard struct {
	Options
	// kubernetes is the address of the API server, as a pod has it; invalid outside of a pod.
	kubernetes netip.Addr
	proxy      func(*url.URL) (*url.URL, error)
}

// New returns a Guard, with the proxies and the API server of the environment.
func New(o Options) *Guard {
	proxies := httpproxy.FromEnvironment()
	for _, name := range []string{"ALL_PROXY", "all_proxy"} {
		proxies.HTTPProxy = cmp.Or(proxies.HTTPProxy, os.Getenv(name))
		proxies.HTTPSProxy = cmp.Or(proxies.HTTPSProxy, os.Getenv(name))
	}
	kubernetes, _ := netip.ParseAddr(os.Getenv("KUBERNETES_SERVICE_HOST")) // a name is not the Service's
	return &Guard{Options: o, kubernetes: kubernetes.Unmap(), proxy: proxies.ProxyFunc()}
}

func (g *Guard) orDefault() *Guard {
	if g == nil {
		return New(Options{})
	}
	return g
}

// DeniedError is a connection that was not made.
type DeniedError struct {
	// Host as it was named, and Class of its address. The address itself is left out: it would show what a name
	// resolves to inside of the cluster.
	Host  string
	Class string
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("connections to %.255s are denied: its address is %s; use another host, or have an "+
		"administrator allow the address (chart value allowedAddresses, flag --allowed-address)", e.Host, e.Class)
}

// metadata are services of clouds that return credentials of the node, at addresses that are not link-local: of AWS,
// Google, Oracle and Scaleway with IPv6, of Azure, Alibaba and Oracle with IPv4.
var metadata = []netip.Prefix{
	netip.MustParsePrefix("fd00:ec2::/32"), netip.MustParsePrefix("fd20:ce::254/128"),
	netip.MustParsePrefix("fd00:c1::a9fe:a9fe/128"),
	netip.MustParsePrefix("fd00:42::42/128"), netip.MustParsePrefix("168.63.129.16/32"),
	netip.MustParsePrefix("100.100.100.200/32"),
	netip.MustParsePrefix("192.0.0.192/32"),
}

var thisNetwork, broadcast = netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("255.255.255.255/32")

// Class returns the class of a denied address; empty for one that is allowed.
func (g *Guard) Class(a netip.Addr) string {
	g = g.orDefault()
	a = a.WithZone("").Unmap()
	switch {
	case within(a, g.Allowed...):
		return ""
	case a.IsLoopback():
		return "a loopback address"
	case a.IsUnspecified() || within(a, thisNetwork):
		return "unspecified"
	case a.IsLinkLocalUnicast():
		return "link-local"
	case a.IsMulticast() || within(a, broadcast):
		return "a multicast address"
	case within(a, metadata...):
		return "a metadata service"
	case a == g.kubernetes:
		return "the Kubernetes API server"
	}
	if inner, ok := embedded(a); ok {
		return g.Class(inner)
	}
	return ""
}

func within(a netip.Addr, networks ...netip.Prefix) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(a) })
}

// embedding are the networks whose addresses lead to an IPv4 address in them: compatible, NAT64 and 6to4.
var embedding = []struct {
	network netip.Prefix
	at      int
}{
	{netip.MustParsePrefix("::/96"), 12},
	{netip.MustParsePrefix("64:ff9b::/96"), 12},
	{netip.MustParsePrefix("64:ff9b:1::/48"), 12},
	{netip.MustParsePrefix("2002::/16"), 2},
}

func embedded(a netip.Addr) (netip.Addr, bool) {
	for _, e := range embedding {
		if e.network.Contains(a) {
			bytes := a.As16()
			return netip.AddrFrom4([4]byte(bytes[e.at : e.at+4])), true
		}
	}
	return netip.Addr{}, false
}

// literal returns the address of a host that is one, and denies a host that some resolvers take for one: 127.1 and
// 0x7f000001 are 127.0.0.1 to them.
func (g *Guard) literal(host string) (a netip.Addr, ok bool, err error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return a, true, g.check(host, a)
	}
	name := strings.ToLower(strings.TrimSuffix(host, "."))
	last := name[strings.LastIndexByte(name, '.')+1:]
	switch {
	case last == "" || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x"):
		return a, false, &DeniedError{host, "malformed"}
	case last == "localhost":
		return a, false, g.check(host, netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	}
	return a, false, nil
}

func (g *Guard) check(host string, a netip.Addr) error {
	if class := g.Class(a); class != "" {
		return &DeniedError{host, class}
	}
	return nil
}

// Route is how a program connects to a host: by a proxy, or else to one of the addresses.
type Route struct {
	Proxy *url.URL
	Addrs []netip.Addr
}

// Route returns the proxy of the environment for a URL or, without one, the allowed addresses of its host. A proxy
// resolves names itself and decides what it connects to; only hosts that are denied addresses are not requested of it.
func (g *Guard) Route(ctx context.Context, u *url.URL) (Route, error) {
	g = g.orDefault()
	proxy, err := g.proxy(u)
	if err != nil {
		// the error itself may have its password
		return Route{}, errors.New("the proxy of the environment is not a URL")
	}
	a, ok, err := g.literal(u.Hostname())
	switch {
	case err != nil || proxy != nil:
		return Route{Proxy: proxy}, err
	case ok:
		return Route{Addrs: []netip.Addr{a}}, nil
	}
	found, err := cmp.Or(g.Resolver, net.DefaultResolver).LookupNetIP(ctx, "ip", u.Hostname())
	if err != nil {
		return Route{}, err
	}
	var denied error
	allowed := slices.DeleteFunc(found, func(a netip.Addr) bool {
		err := g.check(u.Hostname(), a)
		denied = cmp.Or(denied, err)
		return err != nil
	})
	if len(allowed) == 0 {
		return Route{}, denied
	}
	return Route{Addrs: allowed}, nil
}

// Dial connects to a host and port, at an allowed address.
func (g *Guard) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	g = g.orDefault()
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	d := net.Dialer{Resolver: g.Resolver, Control: func(_, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil {
			return err
		}
		return g.check(host, to.Addr())
	}}
	conn, err := d.DialContext(ctx, network, address)
	if denied, ok := errors.AsType[*DeniedError](err); ok {
		return nil, denied // without the address around it
	}
	return conn, err
}
