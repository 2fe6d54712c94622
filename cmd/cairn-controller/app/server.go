package app

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"cairn.dev/cairn/internal/operator"
)

func serverCommand() *cobra.Command {
	return processCommand(&cobra.Command{
		Use:   "server",
		Short: "Run only the server, for runners, users and Git providers",
		Long: `Runs the server of Cairn: orders, states, plans and logs for runners, the API for users, webhooks for
Git providers. Several servers may run at once when all of them reach the bucket.

It needs the bucket and the namespace that cairn-controller operator has. Flags of the operator are accepted and ignored, so
that both can be started with the same flags.`,
	}, operator.Options{Server: true})
}

// operatorFlags and serverFlags mean something to one of the halves only.
var (
	operatorFlags = []string{"bucket-gc-after", "runner-image", "runner-command", "engine-image", "engine-image-has-runner", "runner-image-pull-policy", "engine-image-pull-policy", "image-pull-secret", "runner-token-audience", "max-runs", "max-runs-per-namespace", "drift-interval", "allow-shell", "allow-unrestricted-runners", "allow-image-builds", "builder-image", "unconfined-builds", "builds-in-user-namespace", "leader-elect", "shard", "total-shards"}
	serverFlags   = []string{
		"engine-mirror", "engine-key", "engine-unsigned", "provider-mirror", "provider-folder", "provider-offline", "provider-host", "provider-cache-size",
		"listen", "web-listen", "metacontroller", "public-url", "publish-endpoint", "public-trusted", "cert-dir", "runner-patience", "runner-tokens",
		"client-certificates", "web-url", "session-lifetime", "oidc-issuer-url", "oidc-client-id", "oidc-client-secret-file", "oidc-ca-file",
		"oidc-name", "oidc-scopes", "oidc-username-claim", "oidc-username-prefix", "oidc-groups-claim", "oidc-groups-prefix",
	}
)

// hideOthers leaves out of the help of one half what means something to the other one only.
func hideOthers(flags *pflag.FlagSet, o operator.Options) {
	var others []string
	switch {
	case o.Operator && o.Server:
	case o.Operator:
		others = serverFlags
	default:
		others = operatorFlags
	}
	for _, name := range others {
		if flag := flags.Lookup(name); flag != nil {
			flag.Hidden = true
		}
	}
}
