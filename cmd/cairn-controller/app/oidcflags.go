package app

import (
	"github.com/spf13/pflag"

	"cairn.dev/cairn/internal/server/auth"
)

// oidcFlags say which identity provider people sign in with.
type oidcFlags struct{ auth.OIDC }

func (o *oidcFlags) addFlags(f *pflag.FlagSet) {
	f.StringVar(&o.Issuer, "oidc-issuer-url", "", "identity provider that people sign in with in the page, as in https://id.example.com/realms/main; default: none. What they write takes the permission to impersonate them")
	f.StringVar(&o.ClientID, "oidc-client-id", "", "what the identity provider knows Cairn as; ID tokens have to be for it")
	f.StringVar(&o.SecretFile, "oidc-client-secret-file", "", "file with the client's secret, read each time; default: a client without one")
	f.StringVar(&o.CAFile, "oidc-ca-file", "", "file with the authorities of the identity provider's certificate; default: the system's")
	f.StringVar(&o.Name, "oidc-name", "", "name of the identity provider, for people; default: its host")
	f.StringSliceVar(&o.Scopes, "oidc-scopes", []string{"profile", "email", "groups"}, "scopes that are asked for beside openid")
	f.StringVar(&o.Claims.Username, "oidc-username-claim", "sub", "claim with the name of a person, as kube-apiserver has it")
	f.StringVar(&o.Claims.UsernamePrefix, "oidc-username-prefix", "", "what is put before it; default: the issuer and #, and nothing for claim email; - for nothing")
	f.StringVar(&o.Claims.Groups, "oidc-groups-claim", "", "claim with the groups of a person; default: none")
	f.StringVar(&o.Claims.GroupsPrefix, "oidc-groups-prefix", "", "what is put before each")
}

// provider is nil for none.
func (o *oidcFlags) provider() *auth.OIDC {
	if o.Issuer == "" {
		return nil
	}
	return &o.OIDC
}
