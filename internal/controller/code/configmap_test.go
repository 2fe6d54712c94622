package code

import (
	"bytes"
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
)

// configMaps reads ConfigMaps, by name; nil for one that does not exist.
type configMaps map[string]*corev1.ConfigMap

func (c configMaps) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	found := c[key.Name]
	if found == nil {
		return apierrors.NewNotFound(schema.GroupResource{Resource: "configmaps"}, key.Name)
	}
	switch o := o.(type) {
	case *corev1.ConfigMap:
		*o = *found
	case *metav1.PartialObjectMetadata:
		o.ObjectMeta = found.ObjectMeta
	}
	return nil
}

func (configMaps) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// TestCodeInAConfigMap checks what the decision knows of it: who changes the ConfigMap does not change the Stack. It is
// known also when the cache has a ConfigMap that was deleted.
func TestCodeInAConfigMap(t *testing.T) {
	stack := &v1alpha1.Stack{Spec: v1alpha1.StackSpec{
		Source: v1alpha1.Source{ConfigMap: &v1alpha1.ObjectRef{Name: "code"}}}}
	known := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{UID: "u", ResourceVersion: "7"},
		Data:       map[string]string{"main.tf": "# text"}, BinaryData: map[string][]byte{"logo": {1}},
	}
	for name, tt := range map[string]struct {
		cached, live *corev1.ConfigMap
		want         string
	}{
		"a ConfigMap":          {known, known, ""},
		"none":                 {nil, known, v1alpha1.ReasonSourceNotFound},
		"one that was deleted": {known, nil, v1alpha1.ReasonSourceNotFound},
		"one whose files are no code": {known, &corev1.ConfigMap{Data: map[string]string{"a": ""}},
			v1alpha1.ReasonSourceInvalid},
		"one whose files leave the folder": {known, &corev1.ConfigMap{Data: map[string]string{"../a.tf": ""}},
			v1alpha1.ReasonSourceInvalid},
	} {
		found, problem, err := NewSources(configMaps{"code": tt.cached}, configMaps{"code": tt.live},
			nil).Resolve(t.Context(), stack)
		reason := ""
		if problem != nil {
			reason = problem.Reason
		}
		if reason != tt.want || err != nil || !found.Facts.CodeInObject || !found.Facts.CodeRead {
			t.Errorf("%s: %+v, problem %q, %v", name, found.Facts, reason, err)
		}
		if tt.want != "" {
			continue
		}
		var archive bytes.Buffer
		if err := found.Archive.Write(t.Context(), &archive); err != nil || found.Archive.Key != "u/7" ||
			archive.Len() == 0 {
			t.Errorf("%s: archive %s of %d bytes, %v", name, found.Archive.Key, archive.Len(), err)
		}
	}
}
