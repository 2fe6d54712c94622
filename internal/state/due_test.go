package state

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/state/document"
)

func TestDue(t *testing.T) {
	now := metav1.Now()
	for name, tt := range map[string]struct {
		st   v1alpha1.State
		want bool
	}{
		"its outputs were read":        {v1alpha1.State{Status: v1alpha1.StateStatus{Version: 2, OutputsVersion: 2}}, false},
		"it has none that can be":      {v1alpha1.State{Status: v1alpha1.StateStatus{Version: 2, Resources: document.UnknownResources}}, false},
		"it has no version":            {v1alpha1.State{}, false},
		"nobody read its outputs":      {v1alpha1.State{Status: v1alpha1.StateStatus{Version: 2, OutputsVersion: 1}}, true},
		"it was deleted":               {v1alpha1.State{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}}, true},
		"it was deleted, and was read": {v1alpha1.State{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &now}, Status: v1alpha1.StateStatus{Version: 2, OutputsVersion: 2}}, true},
	} {
		if got := Due(&tt.st); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
		Lean(&tt.st) // as a cache has it
		if got := Due(&tt.st); got != tt.want {
			t.Errorf("%s, and it is in a cache: %v", name, got)
		}
	}
}
