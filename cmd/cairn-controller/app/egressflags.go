package app

import (
	"fmt"
	"math"
	"net/netip"

	"k8s.io/apimachinery/pkg/api/resource"

	"cairn.dev/cairn/internal/base/egress"
	"cairn.dev/cairn/internal/operator"
)

// setLimits sets what tenants can connect to, and how much of it is stored.
func (p *processFlags) setLimits(o *operator.Options) error {
	var allowed []netip.Prefix
	for _, text := range p.allowed {
		network, err := netip.ParsePrefix(text)
		if a, bad := netip.ParseAddr(text); bad == nil {
			network, err = netip.PrefixFrom(a, a.BitLen()), nil
		}
		if err != nil {
			return fmt.Errorf("--allowed-address is %q: it must be an address or a CIDR, for example 127.0.0.0/8", text)
		}
		allowed = append(allowed, network.Masked())
	}
	o.Egress = egress.New(egress.Options{Allowed: allowed})
	for flag, limit := range map[string]struct {
		from *resource.QuantityValue
		to   *int64
	}{
		"mirror-size-limit":               {&p.mirrorSize, &o.Mirrors.Repository},
		"mirror-size-limit-per-namespace": {&p.namespaceMirrorSize, &o.Mirrors.Namespace},
	} {
		if *limit.to = limit.from.Value(); *limit.to < 0 {
			return fmt.Errorf("--%s is %s: it must not be negative; 0 is for no limit", flag, limit.from.String())
		}
	}
	if o.Mirrors.Repository == 0 {
		o.Mirrors.Repository = math.MaxInt64
	}
	return nil
}
