package server

import (
	"fmt"
	"strings"
)

// The prefix of names that are Kubernetes' own, and of no person whom an identity provider names.
const ownNames = "system:"

// Claims say which of an ID token's claims are the name and the groups of a person, with the meaning of the kube-apiserver's
// flags of these names.
type Claims struct {
	// Username is the claim with the name; sub when it is empty.
	Username string
	// UsernamePrefix is put before it. Empty is the issuer and #, and nothing where the claim is email; "-" is nothing.
	UsernamePrefix string
	// Groups is the claim with the groups, a text or a list of them; empty for none.
	Groups string
	// GroupsPrefix is put before each.
	GroupsPrefix string
}

// person gives the name and groups of who has these claims.
func (c Claims) person(issuer string, claims map[string]any) (name string, groups []string, err error) {
	claim := c.Username
	if claim == "" {
		claim = "sub"
	}
	name, _ = claims[claim].(string)
	if name == "" {
		return "", nil, fmt.Errorf("the identity provider does not say who you are: its token has no claim %q", claim)
	}
	if verified, there := claims["email_verified"]; claim == "email" && there && verified != true {
		return "", nil, fmt.Errorf("the identity provider has not verified the address %s: verify it there", name)
	}
	switch {
	case c.UsernamePrefix == "-", c.UsernamePrefix == "" && claim == "email":
	case c.UsernamePrefix == "":
		name = issuer + "#" + name
	default:
		name = c.UsernamePrefix + name
	}
	if groups, err = c.groups(claims); err != nil {
		return "", nil, err
	}
	for _, own := range append([]string{name}, groups...) {
		if strings.HasPrefix(own, ownNames) {
			return "", nil, fmt.Errorf("the identity provider calls you %.100q, and names that begin with %s are Kubernetes' own: set a prefix "+
				"(--oidc-username-prefix, --oidc-groups-prefix)", own, ownNames)
		}
	}
	return name, groups, nil
}

func (c Claims) groups(claims map[string]any) (groups []string, err error) {
	if c.Groups == "" {
		return nil, nil
	}
	switch said := claims[c.Groups].(type) {
	case nil:
	case string:
		groups = append(groups, c.GroupsPrefix+said)
	case []any:
		for _, one := range said {
			group, ok := one.(string)
			if !ok {
				return nil, fmt.Errorf("the identity provider's claim %q is no list of names", c.Groups)
			}
			groups = append(groups, c.GroupsPrefix+group)
		}
	default:
		return nil, fmt.Errorf("the identity provider's claim %q is no list of names", c.Groups)
	}
	return groups, nil
}
