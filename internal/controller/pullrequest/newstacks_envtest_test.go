//go:build envtest

package pullrequest

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/apiserver"
)

// A real API server sets the defaults of a Stack that a StackSet would create. Of an invalid one, the StackSet has the
// error that it would have after the merge. Neither is created.
func TestAPIServerValidatesANewStack(t *testing.T) {
	e := apiserver.New(t)
	web := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	apiserver.Must(t, client.IgnoreAlreadyExists(e.Client.Create(t.Context(), web)))
	for name, tt := range map[string]struct{ spec, problem string }{
		"valid":   {`"apply":"Manual"`, ""},
		"invalid": {`"timeout":"9000h"`, "spec.template.spec.timeout: \"9000h\": at most 8760h"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAdding(t, func(s *v1alpha1.StackSet) {
				s.Spec.Template.Spec.Raw = []byte(strings.Replace(string(s.Spec.Template.Spec.Raw), "{",
					"{"+tt.spec+",", 1))
			})
			a.server = e.Client
			w := a.merge(allowed(nil))
			status := next(&w)
			if planned := len(status.Stacks) == 1 && status.Stacks[0].Run != ""; planned != (tt.problem == "") {
				t.Errorf("%+v", status.Stacks)
			}
			ready := status.Conditions[0]
			if failed := ready.Status == metav1.ConditionFalse; failed != (tt.problem != "") ||
				!strings.Contains(ready.Message, tt.problem) {
				t.Errorf("%+v", ready)
			}
			var stacks v1alpha1.StackList
			apiserver.Must(t, e.Live.List(t.Context(), &stacks, client.InNamespace("web")))
			if len(stacks.Items) != 0 {
				t.Errorf("created: %+v", stacks.Items)
			}
		})
	}
}
