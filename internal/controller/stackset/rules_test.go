package stackset

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"cairn.dev/cairn/api/v1alpha1"
)

// Who wrote a template without a rule needed no verb, so the Stack keeps what the template set before.
func TestRulesThatTheTemplateHasNoMoreStay(t *testing.T) {
	live := &v1alpha1.Stack{Spec: v1alpha1.StackSpec{
		DeletionPolicy: v1alpha1.DeletionProtect, PreventSelfApproval: true,
		RequireApprovalFor: []v1alpha1.ChangeKind{v1alpha1.ChangeDelete},
	}}
	live.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: FieldManager, Operation: metav1.ManagedFieldsOperationApply,
		FieldsV1: metav1.NewFieldsV1(`{"f:spec":{"f:deletionPolicy":{},"f:preventSelfApproval":{}}}`),
	}}
	for name, tt := range map[string]struct{ spec, want map[string]any }{
		"those that the set applied, and no others": {map[string]any{},
			map[string]any{"deletionPolicy": "Protect", "preventSelfApproval": true}},
		"what the template sets is applied": {
			map[string]any{"deletionPolicy": "Destroy", "preventSelfApproval": false},
			map[string]any{"deletionPolicy": "Destroy", "preventSelfApproval": false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			body := &unstructured.Unstructured{Object: map[string]any{"spec": tt.spec}}
			if err := keepIgnored(body, absentRules(body), live); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, body.Object["spec"]); diff != "" {
				t.Error(diff)
			}
		})
	}
}
