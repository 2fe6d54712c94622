package server

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"sync"

	"github.com/hashicorp/golang-lru/v2/expirable"
	"golang.org/x/sync/errgroup"
	authorizationv1 "k8s.io/api/authorization/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

const (
	// rememberRights is how long the answer to who may list what is believed, as tokens are.
	rememberRights = knowFor
	// mostRights is how many answers are remembered.
	mostRights = 100_000
	// askTogether is how many namespaces of one list are asked about at a time.
	askTogether = 16
)

// rights remember for a moment who may list what. What a request reads of a single object or writes is asked about each time.
type rights struct {
	known *expirable.LRU[listRight, bool]
}

// listRight is a person's right to list a kind in a namespace; in all of them when that is empty.
type listRight struct {
	person              [sha256.Size]byte
	resource, namespace string
}

func newRights() *rights {
	return &rights{known: expirable.NewLRU[listRight, bool](mostRights, nil, rememberRights)}
}

// mayList says whether a person may list a kind in a namespace; in all when it is empty.
func (s *Server) mayList(ctx context.Context, p person, resource, namespace string) (bool, error) {
	right := listRight{p.mark(), resource, namespace}
	if allowed, ok := s.rights.known.Get(right); ok {
		return allowed, nil
	}
	err := s.may(ctx, p, authorizationv1.ResourceAttributes{
		Verb: "list", Group: v1alpha1.GroupVersion.Group, Version: v1alpha1.GroupVersion.Version, Resource: resource, Namespace: namespace,
	})
	var no *refusal
	switch {
	case err == nil:
	case !errors.As(err, &no):
		return false, err
	case no.code == http.StatusNotImplemented && namespace != "":
		return false, err // this install can ask about no namespace at all
	}
	s.rights.known.Add(right, err == nil)
	return err == nil, nil
}

// sight says in which of some namespaces a person may list a kind. Who may in none of them, though there are some, is refused.
func (s *Server) sight(ctx context.Context, p person, resource string, namespaces []string) (func(namespace string) bool, error) {
	everywhere, err := s.mayList(ctx, p, resource, "")
	if err != nil {
		return nil, err
	}
	if everywhere {
		return func(string) bool { return true }, nil
	}
	var mu sync.Mutex
	seen := map[string]bool{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(askTogether)
	for _, namespace := range namespaces {
		group.Go(func() error {
			allowed, err := s.mayList(ctx, p, resource, namespace)
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
		what := authorizationv1.ResourceAttributes{Verb: "list", Group: v1alpha1.GroupVersion.Group, Resource: resource}
		if len(namespaces) == 1 {
			what.Namespace = namespaces[0]
		}
		return nil, lacks(p, what)
	}
	return func(namespace string) bool { return seen[namespace] }, nil
}

// mark tells people apart by all that their rights follow from.
func (p person) mark() [sha256.Size]byte {
	data, _ := json.Marshal(struct {
		Name, UID string
		Groups    []string
		Extra     map[string][]string
	}{p.GetName(), p.GetUID(), p.GetGroups(), p.GetExtra()}) // strings always can be
	return sha256.Sum256(data)
}
