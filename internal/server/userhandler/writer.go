package userhandler

import (
	"context"
	"errors"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/action"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/httpapi"
)

// writerOf of what users write through the server.
const writerOf = client.FieldOwner("cairn-server")

// as returns a client with a user's rights, so that roles and policies apply to what they write: with the token of their request, or else
// by impersonation of the user that the identity provider named. The key of a certificate stays with its user.
func (s *API) as(p auth.User) (client.Client, error) {
	if s.Kubernetes == nil {
		return nil, httpapi.Errorf(http.StatusNotImplemented, "this server writes no objects for users: use cairn or kubectl")
	}
	config := rest.AnonymousClientConfig(s.Kubernetes)
	switch {
	case p.Token != "":
		config.BearerToken = p.Token
		if p.Real != nil {
			config.Impersonate = impersonating(p)
		}
	case p.Method == auth.MethodOIDC && p.Real == nil:
		config = rest.CopyConfig(s.Kubernetes)
		config.Impersonate = impersonating(p)
	case p.Method == auth.MethodOIDC:
		return nil, httpapi.Errorf(http.StatusNotImplemented, "users of an identity provider cannot impersonate here: use cairn or kubectl with --as")
	default:
		return nil, httpapi.Errorf(http.StatusNotImplemented, "who is known by a client certificate cannot write through the server, which has not its key: "+
			"use cairn or kubectl, or show a token (kubectl create token)")
	}
	return client.New(config, client.Options{Scheme: s.Client.Scheme(), Mapper: s.Client.RESTMapper()})
}

// impersonating is a user for the API server, which adds the group of all authenticated users itself.
func impersonating(p auth.User) rest.ImpersonationConfig {
	groups := slices.DeleteFunc(slices.Clone(p.GetGroups()), func(g string) bool { return g == user.AllAuthenticated })
	return rest.ImpersonationConfig{UserName: p.GetName(), UID: p.GetUID(), Groups: groups, Extra: p.GetExtra()}
}

// writeAs patches an object as a user, and reads the result into the object.
func (s *API) writeAs(ctx context.Context, p auth.User, o client.Object, patch client.Patch) error {
	c, err := s.as(p)
	if err != nil {
		return err
	}
	if err := c.Patch(ctx, o, patch, writerOf); err != nil {
		return responseTo(err)
	}
	o.SetManagedFields(nil)
	return nil
}

// responseTo is the response to an error of the API server. Errors of its availability are transient.
func responseTo(err error) error {
	var said apierrors.APIStatus
	if !errors.As(err, &said) {
		return err
	}
	status := said.Status()
	text := action.RejectionMessage(status)
	if text == "" {
		text = status.Message
	}
	switch code := int(status.Code); code {
	case http.StatusBadRequest, http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound, http.StatusConflict, http.StatusUnprocessableEntity:
		return httpapi.Errorf(code, "%s", text)
	}
	return err
}
