package tenant

import "testing"

func TestNamespaceThatHoldsNothingIsRemoved(t *testing.T) {
	r := NewSemaphore(10, 5, 1)
	free, err := r.Acquire(t.Context(), "shop", 3)
	if err != nil {
		t.Fatal(err)
	}
	free()
	if len(r.parts) != 0 {
		t.Errorf("%d namespaces are remembered", len(r.parts))
	}
}
