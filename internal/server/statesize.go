package server

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

// holdState waits until there is memory for the current version of a state, of which an engine may read as many copies as it likes. How
// large it is is taken from the catalog, which need not be up to date; where that has not heard of the state, it is asked for.
func (s *Server) holdState(ctx context.Context, key types.NamespacedName, memory *room) (func(), error) {
	var st *v1alpha1.State
	if s.Catalog != nil {
		st = s.Catalog.States.Get(key.Namespace, key.Name)
	}
	if st == nil {
		st = &v1alpha1.State{}
		if err := s.Live.Get(ctx, key, st); client.IgnoreNotFound(err) != nil {
			return nil, fmt.Errorf("read State %s: %w", key, err)
		}
	}
	return memory.hold(ctx, key.Namespace, st.Status.Size)
}
