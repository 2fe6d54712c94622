package server

import (
	"context"
	"fmt"
	"net/http"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// lacks says what a person is not allowed, in the words of a role's rules.
func lacks(p person, a authorizationv1.ResourceAttributes) error {
	resource := a.Resource
	if a.Subresource != "" {
		resource += "/" + a.Subresource
	}
	where := ""
	if a.Namespace != "" {
		where = " in namespace " + a.Namespace
	}
	group := fmt.Sprintf(" of API group %s", a.Group)
	if a.Group == "" {
		group = ""
	}
	which := ""
	if a.Name != "" {
		which = fmt.Sprintf(" %q", a.Name)
	}
	return refusef(http.StatusForbidden, "%s may not %s %s%s%s: a role has to allow verb %q on %s%s",
		p.GetName(), a.Verb, resource, which, where, a.Verb, resource, group)
}

// right is what a role has to allow for a request.
type right struct{ verb, resource, subresource string }

// of is that right to what a request is about.
func (r right) of(a ask) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{
		Verb: r.verb, Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version,
		Resource: r.resource, Subresource: r.subresource, Namespace: a.Namespace, Name: a.Name,
	}
}

// may asks the API server whether a person is allowed something.
func (s *Server) may(ctx context.Context, p person, what authorizationv1.ResourceAttributes) error {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range p.GetExtra() {
		extra[key] = values
	}
	spec := authorizationv1.SubjectAccessReviewSpec{
		User: p.GetName(), Groups: p.GetGroups(), UID: p.GetUID(), Extra: extra, ResourceAttributes: &what,
	}
	status, err := s.reviewed(ctx, spec)
	if apierrors.IsForbidden(err) {
		return refusef(http.StatusNotImplemented, "this Cairn is installed without the permission to ask Kubernetes whether %s may %s %s %q: %s",
			p.GetName(), what.Verb, what.Resource, what.Name, "a Role in each of its namespaces allows no more")
	}
	if err != nil {
		return fmt.Errorf("ask what %s may do: %w", p.GetName(), err)
	}
	if !status.Allowed || status.Denied {
		return lacks(p, what)
	}
	return nil
}

// reviewed asks within the namespace that it is about, if there is one: that takes a permission there only.
func (s *Server) reviewed(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (authorizationv1.SubjectAccessReviewStatus, error) {
	if namespace := spec.ResourceAttributes.Namespace; namespace != "" {
		review := &authorizationv1.LocalSubjectAccessReview{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}, Spec: spec}
		err := s.Client.Create(ctx, review)
		return review.Status, err
	}
	review := &authorizationv1.SubjectAccessReview{Spec: spec}
	err := s.Client.Create(ctx, review)
	return review.Status, err
}

// knowFor is how long a person's token is believed without asking again, as other servers beside the API server do.
const knowFor = 10 * time.Second
