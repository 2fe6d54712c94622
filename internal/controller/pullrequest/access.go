package pullrequest

import (
	"context"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

// RBAC is the Access that asks the API server.
type RBAC struct{ Client client.Client }

// Allows implements Access.
func (r RBAC) Allows(ctx context.Context, user string, groups []string, verb string, stack Key) (bool, error) {
	return r.review(ctx, user, groups, verb, "stacks", stack)
}

// AllowsRun implements Access.
func (r RBAC) AllowsRun(ctx context.Context, user string, groups []string, verb string, run Key) (bool, error) {
	return r.review(ctx, user, groups, verb, "runs", run)
}

func (r RBAC) review(ctx context.Context, user string, groups []string, verb, resource string, of Key) (bool, error) {
	review := &authorizationv1.LocalSubjectAccessReview{
		ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace},
		Spec: authorizationv1.SubjectAccessReviewSpec{User: user, Groups: groups,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: verb, Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version,
				Resource:  resource,
				Namespace: of.Namespace, Name: of.Name,
			}},
	}
	err := r.Client.Create(ctx, review)
	return review.Status.Allowed && !review.Status.Denied, err
}
