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

// writerOf of what people write through the server.
const writerOf = client.FieldOwner("cairn-server")

// as gives Kubernetes as a person, so that its roles and policies judge what they write: with the token that they showed, or else
// by impersonation of whom the identity provider named. The key of a certificate stays with its person.
func (s *API) as(p auth.User) (client.Client, error) {
	if s.Kubernetes == nil {
		return nil, httpapi.Errorf(http.StatusNotImplemented, "this server writes nothing for people: use cairn or kubectl")
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
		return nil, httpapi.Errorf(http.StatusNotImplemented, "who is signed in by an identity provider writes as nobody else here: use cairn or kubectl with --as")
	default:
		return nil, httpapi.Errorf(http.StatusNotImplemented, "who is known by a client certificate cannot write through the server, which has not its key: "+
			"use cairn or kubectl, or show a token (kubectl create token)")
	}
	return client.New(config, client.Options{Scheme: s.Client.Scheme(), Mapper: s.Client.RESTMapper()})
}

// impersonating is a person for the API server, which puts them among all who are known by itself.
func impersonating(p auth.User) rest.ImpersonationConfig {
	groups := slices.DeleteFunc(slices.Clone(p.GetGroups()), func(g string) bool { return g == user.AllAuthenticated })
	return rest.ImpersonationConfig{UserName: p.GetName(), UID: p.GetUID(), Groups: groups, Extra: p.GetExtra()}
}

// writeAs patches an object as a person, and reads what became of it into the object.
func (s *API) writeAs(ctx context.Context, p auth.User, o client.Object, patch client.Patch) error {
	c, err := s.as(p)
	if err != nil {
		return err
	}
	if err := c.Patch(ctx, o, patch, writerOf); err != nil {
		return refusedBy(err)
	}
	o.SetManagedFields(nil)
	return nil
}

// refusedBy gives the answer to what the API server does not do. What it cannot do right now may pass.
func refusedBy(err error) error {
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
