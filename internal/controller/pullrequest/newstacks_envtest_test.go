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

// A real API server sets the defaults of a Stack that a StackSet would create, and rejects one that is invalid, which does
// not fail the pull request. It creates neither.
func TestAPIServerValidatesANewStack(t *testing.T) {
	e := apiserver.New(t)
	web := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	apiserver.Must(t, client.IgnoreAlreadyExists(e.Client.Create(t.Context(), web)))
	for name, tt := range map[string]struct{ spec, problem string }{
		"valid":   {`"apply":"Manual"`, ""},
		"invalid": {`"timeout":"9000h"`, "the API server rejects the Stack"},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAdding(t, func(s *v1alpha1.StackSet) {
				s.Spec.Template.Spec.Raw = []byte(strings.Replace(string(s.Spec.Template.Spec.Raw), "{", "{"+tt.spec+",", 1))
			})
			a.server = e.Client
			w := a.merge(allowed(nil))
			status := next(&w)
			if len(status.Stacks) != 1 || (status.Stacks[0].Run == "") != (tt.problem != "") || !strings.Contains(status.Stacks[0].Message, tt.problem) {
				t.Errorf("%+v", status.Stacks)
			}
			if status.Conditions[0].Status == metav1.ConditionFalse {
				t.Errorf("%+v", status.Conditions[0])
			}
			var stacks v1alpha1.StackList
			apiserver.Must(t, e.Live.List(t.Context(), &stacks, client.InNamespace("web")))
			if len(stacks.Items) != 0 {
				t.Errorf("created: %+v", stacks.Items)
			}
		})
	}
}
