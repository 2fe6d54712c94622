package runnerhandler

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/runnerapi"
	"cairn.dev/cairn/internal/server/httpapi"
)

// largestOutputs as JSON, with those that a ConfigMap and a Secret take twice.
const largestOutputs = 8 << 20

// writeOutputs writes the outputs of the code to where the Stack wants them. A Run that only plans may be of untrusted
// code, and publishes none; nor does a shell. A destroy leaves none, and writes that.
func (s *API) writeOutputs(w http.ResponseWriter, r *http.Request, c Caller) error {
	if op := c.Run.Spec.Operation; op != v1alpha1.OperationApply && op != v1alpha1.OperationDestroy {
		return httpapi.Errorf(http.StatusForbidden, "Run %s does not apply: it has no outputs", c.RunName)
	}
	var outputs runnerapi.Outputs
	if err := s.jsonBody(w, r, c.Pod.Namespace, largestOutputs, &outputs); err != nil {
		return err
	}
	to, stack, err := s.Outputs(r.Context(), c.Run)
	if err != nil {
		return fmt.Errorf("where the outputs go: %w", err)
	}
	if to == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if stack == nil || stack.Namespace != c.Pod.Namespace || stack.Name != c.Stack {
		return httpapi.Errorf(http.StatusConflict, "the Stack of Run %s is gone", c.RunName)
	}
	kept, rejected := publishable(outputs)
	if err := cmp.Or(s.publish(r.Context(), to, stack, kept), rejected); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func (s *API) publish(ctx context.Context, to *v1alpha1.Outputs, stack *v1alpha1.Stack,
	outputs runnerapi.Outputs) error {
	if to.Secret != nil {
		if err := s.publishSecret(ctx, to.Secret.Name, stack, outputs); err != nil {
			return err
		}
	}
	if to.ConfigMap != nil {
		return s.publishConfigMap(ctx, to.ConfigMap.Name, stack, outputs)
	}
	return nil
}

func (s *API) publishSecret(ctx context.Context, name string, stack *v1alpha1.Stack, outputs runnerapi.Outputs) error {
	data, err := secretData(outputs)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: stack.Namespace, Name: name}}
	return s.owned(ctx, "Secret", secret, stack,
		func() bool { return secret.Type == corev1.SecretTypeOpaque },
		func() bool {
			changed := !maps.EqualFunc(secret.Data, data, bytes.Equal)
			secret.Data = data
			return changed
		})
}

func (s *API) publishConfigMap(ctx context.Context, name string, stack *v1alpha1.Stack,
	outputs runnerapi.Outputs) error {
	data, err := configMapData(outputs)
	if err != nil {
		return err
	}
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: stack.Namespace, Name: name}}
	return s.owned(ctx, "ConfigMap", cm, stack,
		func() bool { return true },
		func() bool {
			changed := !maps.Equal(cm.Data, data) || len(cm.BinaryData) > 0
			cm.Data, cm.BinaryData = data, nil
			return changed
		})
}
