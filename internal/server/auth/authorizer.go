package auth

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"
	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/action"
	"cairn.dev/cairn/internal/server/httpapi"
)

// lacks is what a user is not allowed, in the words of a role's rules.
func lacks(p User, a authorizationv1.ResourceAttributes) error {
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
	such := ""
	if role := action.Role(resource, a.Verb); role != "" && a.Group == v1alpha1.GroupVersion.Group {
		such = ", as ClusterRole " + role + " does"
	}
	return httpapi.Errorf(http.StatusForbidden, "%s may not %s %s%s%s: a role has to allow verb %q on %s%s%s",
		p.GetName(), a.Verb, resource, which, where, a.Verb, resource, group, such)
}

// Authorizer checks with SubjectAccessReviews what users are allowed. It caches for a moment who can list what. Reads
// of a single object and writes are checked each time.
type Authorizer struct {
	client client.Client
	known  *expirable.LRU[listRight, bool]
}

// NewAuthorizer creates an Authorizer that creates reviews with a client.
func NewAuthorizer(c client.Client) *Authorizer {
	return &Authorizer{client: c, known: expirable.NewLRU[listRight, bool](mostRights, nil, rememberRights)}
}

// Right is what a role has to allow for a request.
type Right struct{ Verb, Resource, Subresource string }

// On returns the attributes of a review of that right on an object.
func (r Right) On(key types.NamespacedName) authorizationv1.ResourceAttributes {
	return authorizationv1.ResourceAttributes{
		Verb: r.Verb, Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version,
		Resource: r.Resource, Subresource: r.Subresource, Namespace: key.Namespace, Name: key.Name,
	}
}

// Authorize returns an error unless the user is allowed what the attributes name.
func (z *Authorizer) Authorize(ctx context.Context, p User, what authorizationv1.ResourceAttributes) error {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range p.GetExtra() {
		extra[key] = values
	}
	spec := authorizationv1.SubjectAccessReviewSpec{
		User: p.GetName(), Groups: p.GetGroups(), UID: p.GetUID(), Extra: extra, ResourceAttributes: &what,
	}
	status, err := z.reviewed(ctx, spec)
	if apierrors.IsForbidden(err) {
		return httpapi.Errorf(http.StatusNotImplemented, "this Cairn is installed without the permission to ask "+
			"Kubernetes whether %s may %s %s %q: %s",
			p.GetName(), what.Verb, what.Resource, what.Name, "a Role in each of its namespaces is sufficient")
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
func (z *Authorizer) reviewed(ctx context.Context, spec authorizationv1.SubjectAccessReviewSpec) (
	authorizationv1.SubjectAccessReviewStatus, error) {
	if namespace := spec.ResourceAttributes.Namespace; namespace != "" {
		review := &authorizationv1.LocalSubjectAccessReview{ObjectMeta: metav1.ObjectMeta{Namespace: namespace},
			Spec: spec}
		err := z.client.Create(ctx, review)
		return review.Status, err
	}
	review := &authorizationv1.SubjectAccessReview{Spec: spec}
	err := z.client.Create(ctx, review)
	return review.Status, err
}

// knowFor is how long the review of a user's token is cached, as other servers beside the API server do.
const knowFor = 10 * time.Second

const (
	// rememberRights is how long the answer to who may list what is believed, as tokens are.
	rememberRights = knowFor
	// mostRights is how many answers are remembered.
	mostRights = 100_000
	// AskTogether is how many access reviews of one list run at a time.
	AskTogether = 16
)

// listRight is a user's right to what a list shows in a namespace; in all of them when that is empty.
type listRight struct {
	user [sha256.Size]byte
	Right
	namespace string
}

// CanList checks whether a user can list a resource in a namespace; in all of them when the namespace is empty.
func (z *Authorizer) CanList(ctx context.Context, p User, resource, namespace string) (bool, error) {
	return z.can(ctx, p, Right{Verb: "list", Resource: resource}, namespace)
}

// can checks whether a user has a right to all objects of a namespace; of all namespaces when that is empty.
func (z *Authorizer) can(ctx context.Context, p User, need Right, namespace string) (bool, error) {
	right := listRight{p.mark(), need, namespace}
	if allowed, ok := z.known.Get(right); ok {
		return allowed, nil
	}
	err := z.Authorize(ctx, p, need.On(types.NamespacedName{Namespace: namespace}))
	var no *httpapi.Error
	switch {
	case err == nil:
	case !errors.As(err, &no):
		return false, err
	case no.Code == http.StatusNotImplemented && namespace != "":
		return false, err // this install can ask about no namespace at all
	}
	z.known.Add(right, err == nil)
	return err == nil, nil
}

// VisibleNamespaces returns a predicate for the namespaces in which a user has a right to all objects, such as to list
// them. A user who has it in none of them is denied. The error names no namespace that the user did not name: asked is
// the one that was, or empty for all that have objects.
func (z *Authorizer) VisibleNamespaces(
	ctx context.Context, p User, need Right, asked string, all func() []string,
) (func(namespace string) bool, error) {
	everywhere, err := z.can(ctx, p, need, "")
	if err != nil {
		return nil, err
	}
	if everywhere {
		return func(string) bool { return true }, nil
	}
	namespaces := []string{asked}
	if asked == "" {
		namespaces = all()
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(AskTogether)
	for _, namespace := range namespaces {
		group.Go(func() error {
			allowed, err := z.can(ctx, p, need, namespace)
			if allowed {
				mu.Lock()
				seen[namespace] = true
				mu.Unlock()
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	if len(namespaces) > 0 && len(seen) == 0 {
		return nil, lacks(p, need.On(types.NamespacedName{Namespace: asked}))
	}
	return func(namespace string) bool { return seen[namespace] }, nil
}

// mark identifies a user by all that their rights follow from.
func (p User) mark() [sha256.Size]byte {
	data, _ := json.Marshal(struct {
		Name, UID string
		Groups    []string
		Extra     map[string][]string
	}{p.GetName(), p.GetUID(), p.GetGroups(), p.GetExtra()}) // strings always can be
	return sha256.Sum256(data)
}
