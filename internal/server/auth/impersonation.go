package auth

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"

	"cairn.dev/cairn/internal/server/httpapi"
)

// most identities that a request may ask for; each is a review of its own.
const mostImpersonated = 100

// impersonated returns the user that the headers of a request impersonate, as the API server understands them, and
// what the authenticated user has to be allowed for that: to impersonate that user, each of the groups, and all else.
func impersonated(real User, h http.Header) (as User, needs []authorizationv1.ResourceAttributes, err error) {
	names := h.Values(authenticationv1.ImpersonateUserHeader)
	groups := h.Values(authenticationv1.ImpersonateGroupHeader)
	uids := h.Values(authenticationv1.ImpersonateUIDHeader)
	extra := map[string][]string{}
	for header, values := range h {
		if !strings.HasPrefix(header, "Impersonate-") {
			continue
		}
		key, isExtra := strings.CutPrefix(header, authenticationv1.ImpersonateUserExtraHeaderPrefix)
		switch {
		case isExtra:
			if key, err = url.PathUnescape(strings.ToLower(key)); err != nil {
				return User{}, nil, httpapi.Errorf(http.StatusBadRequest, "header %.80q cannot be read: %v",
					header, err)
			}
			extra[key] = append(extra[key], values...)
		case header != authenticationv1.ImpersonateUserHeader && header != authenticationv1.ImpersonateGroupHeader &&
			header != http.CanonicalHeaderKey(authenticationv1.ImpersonateUIDHeader):
			return User{}, nil, httpapi.Errorf(http.StatusBadRequest, "header %.80q is not known", header)
		}
	}
	if len(names) == 0 && len(groups)+len(uids)+len(extra) == 0 {
		return real, nil, nil
	}
	if len(names) != 1 || names[0] == "" || len(uids) > 1 {
		return User{}, nil, httpapi.Errorf(http.StatusBadRequest,
			"a request that impersonates has to name one user in %s", authenticationv1.ImpersonateUserHeader)
	}
	name := names[0]
	needs = append(needs, impersonate("", "users", "", "", name))
	if namespace, account, err := serviceaccount.SplitUsername(name); err == nil {
		needs[0] = impersonate("", "serviceaccounts", "", namespace, account)
		if len(groups) == 0 {
			groups = serviceaccount.MakeGroupNames(namespace)
		}
	}
	for _, group := range h.Values(authenticationv1.ImpersonateGroupHeader) {
		needs = append(needs, impersonate("", "groups", "", "", group))
	}
	info := &user.DefaultInfo{Name: name, Groups: slices.Clone(groups), Extra: extra}
	for _, uid := range uids {
		needs = append(needs, impersonate(authenticationv1.GroupName, "uids", "", "", uid))
		info.UID = uid
	}
	for key, values := range extra {
		for _, value := range values {
			needs = append(needs, impersonate(authenticationv1.GroupName, "userextras", key, "", value))
		}
	}
	if len(needs) > mostImpersonated {
		return User{}, nil, httpapi.Errorf(http.StatusBadRequest, "%d identities are asked for, %d are the most",
			len(needs), mostImpersonated)
	}
	everybody := user.AllAuthenticated
	if name == user.Anonymous {
		everybody = user.AllUnauthenticated
	}
	if !slices.Contains(info.Groups, everybody) {
		info.Groups = append(info.Groups, everybody)
	}
	return User{Info: info, Real: real.Info, Method: real.Method, Token: real.Token}, needs, nil
}

func impersonate(group, resource, subresource, namespace, name string) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{
		Verb: "impersonate", Group: group, Resource: resource, Subresource: subresource, Namespace: namespace,
		Name: name,
	}
}
