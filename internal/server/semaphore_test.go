package server

import "testing"

func TestANamespaceThatHoldsNothingIsForgotten(t *testing.T) {
	r := newRoom(10, 5, 1)
	free, err := r.hold(t.Context(), "shop", 3)
	if err != nil {
		t.Fatal(err)
	}
	free()
	if len(r.parts) != 0 {
		t.Errorf("%d namespaces are remembered", len(r.parts))
	}
}
