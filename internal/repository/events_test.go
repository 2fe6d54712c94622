package repository

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestALongMessageIsToldInAnEvent(t *testing.T) {
	told := events.NewFakeRecorder(1)
	after := &v1alpha1.Repository{}
	after.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: "False", Reason: "FetchFailed", Message: strings.Repeat("x", 4000)}}
	(&Reconciler{Events: told}).recordEvent(&v1alpha1.Repository{}, after)
	if e := <-told.Events; len(e) > 1024+len("Warning FetchFailed ") {
		t.Errorf("%d bytes are told", len(e))
	}
}
