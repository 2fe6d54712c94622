package repository

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestEventMessageIsTruncated(t *testing.T) {
	recorder := events.NewFakeRecorder(1)
	after := &v1alpha1.Repository{}
	after.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: "False", Reason: "FetchFailed", Message: strings.Repeat("x", 4000)}}
	(&Reconciler{Events: recorder}).recordEvent(&v1alpha1.Repository{}, after)
	if e := <-recorder.Events; len(e) > 1024+len("Warning FetchFailed ") {
		t.Errorf("the message has %d bytes", len(e))
	}
}
