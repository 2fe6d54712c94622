package httpbackend

import (
	"context"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/server/listing"
	"cairn.dev/cairn/internal/server/tenant"
	"cairn.dev/cairn/internal/state"
)

// The catalog fills after the server starts, and learns of each state some time after it is written.
func TestStateIsFoundBeforeTheCatalogLearnsOfIt(t *testing.T) {
	live := interceptor.NewClient(nil, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, o client.Object,
			_ ...client.GetOption) error {
			o.(*v1alpha1.State).Status.Size = state.MaxSize
			return nil
		},
	})
	memory := StateMemory{Semaphore: tenant.NewSemaphore(10, 7, 1), Catalog: listing.NewCatalog(), Live: live}
	free, err := memory.AcquireState(t.Context(), types.NamespacedName{Namespace: "shop", Name: "net"})
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	full, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := memory.Acquire(full, "shop", 1); err == nil {
		t.Error("it takes no memory")
	}
}
