//go:build envtest

package attacks

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/test/devcluster"
)

// A user who cannot pull states reads one in a pod of another Stack.
func TestStateOfAnotherStackCannotBeRead(t *testing.T) {
	t.Parallel()
	c := devcluster.Shared(t)

	runStory(t, c, "an editor mounts the Secret of a state as an optional volume", func(s story) {
		s.applied(stack(nil))
		secrets := &corev1.SecretList{}
		must(s.T, c.List(s.Context(), secrets, client.InNamespace(s.namespace), client.HasLabels{"cairn.dev/state"}))
		if len(secrets.Items) != 1 {
			s.Fatalf("the state of net is in %d Secrets", len(secrets.Items))
		}
		name := secrets.Items[0].Name
		thief := stack(func(spec *v1alpha1.StackSpec) {
			spec.Runner.Template = &apiextensionsv1.JSON{Raw: []byte(
				fmt.Sprintf(`{"spec":{"containers":[{"name":"engine","volumeMounts":[{"name":"s","mountPath":"/s"}]}],`+
					`"volumes":[{"name":"s","secret":{"secretName":%q,"optional":true}}]}}`, name))}
		})
		thief.Name = "thief"
		s.creates("ed", thief)
		s.until("the Stack is rejected", func(ctx context.Context) (bool, error) {
			err := c.Get(ctx, client.ObjectKeyFromObject(thief), thief)
			ready := meta.FindStatusCondition(thief.Status.Conditions, "Ready")
			return ready != nil &&
				strings.Contains(ready.Message, "Secret "+name+" holds a state, which no Stack can read"), err
		})
		runs := &v1alpha1.RunList{}
		must(s.T, c.List(s.Context(), runs, client.InNamespace(s.namespace)))
		for _, run := range runs.Items {
			if run.Spec.Stack.Name == "thief" {
				s.Errorf("Run %s started", run.Name)
			}
		}
	})
}
