package notification

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// TestOutcomeOfATest checks when the command ends, and that it prints the reason of the Notification.
func TestOutcomeOfATest(t *testing.T) {
	type status = v1alpha1.NotificationStatus
	handled := &v1alpha1.HandledRequest{Value: "now"}
	pending := &v1alpha1.PendingMessage{Event: v1alpha1.NotifyFailed}
	ready := func(status metav1.ConditionStatus, reason string) []metav1.Condition {
		return []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: status, Reason: reason, Message: "why"}}
	}
	for name, tt := range map[string]struct {
		status   status
		accepted bool
		failed   string
	}{
		"not handled yet":    {status{Pending: pending}, false, ""},
		"an earlier failure": {status{Pending: pending, Conditions: ready("False", "DeliveryFailed")}, false, ""},
		"is being sent": {
			status{LastHandledRequest: handled, Pending: pending, Conditions: ready("Unknown", "NotDelivered")}, false,
			"",
		},
		"accepted": {status{LastHandledRequest: handled, Conditions: ready("True", "Delivered")}, true, ""},
		"failed": {
			status{LastHandledRequest: handled, Pending: pending, Conditions: ready("False", "CredentialsNotFound")},
			false,
			"CredentialsNotFound: why",
		},
		"namespaces": {status{Conditions: ready("False", "NamespacesNotAllowed")}, false,
			"NamespacesNotAllowed: why"},
		"an invalid selector": {status{Conditions: ready("False", "ConfigurationInvalid")}, false,
			"ConfigurationInvalid: why"},
		"no operator reconciles": {status{}, false, ""},
	} {
		accepted, failed := outcome(&v1alpha1.Notification{Status: tt.status}, "now")
		text := ""
		if failed != nil {
			text = failed.Error()
		}
		if accepted != tt.accepted || (failed == nil) != (tt.failed == "") || !strings.HasSuffix(text, tt.failed) {
			t.Errorf("%s: accepted %t, %q", name, accepted, text)
		}
	}
}
