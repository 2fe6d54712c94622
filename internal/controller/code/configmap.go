package code

import (
	"context"
	"errors"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stack/decision"
)

// configMapSource is spec.source.configMap.
type configMapSource struct{}

func (configMapSource) is(source *v1alpha1.Source) bool { return source.ConfigMap != nil }

func (configMapSource) configMaps(source *v1alpha1.Source) []string {
	return []string{source.ConfigMap.Name}
}

// errConfigMapGone: the ConfigMap was there a moment ago.
var errConfigMapGone = errors.New("the ConfigMap of spec.source is gone")

func (configMapSource) resolve(
	ctx context.Context, s *Sources, stack *v1alpha1.Stack,
) (Code, *decision.Problem, error) {
	name, known := stack.Spec.Source.ConfigMap.Name, decision.Code{CodeRead: true, CodeInObject: true}
	notFound := &decision.Problem{Reason: v1alpha1.ReasonSourceNotFound, Message: fmt.Sprintf(
		"ConfigMap %s is not found: create it, or correct spec.source.configMap", name)}
	meta, err := Metadata(ctx, s.Cache, stack.Namespace, "ConfigMap", name)
	switch {
	case err != nil:
		return Code{}, nil, err
	case meta == nil:
		return Code{Facts: known}, notFound, nil
	}
	found, problem, err := s.inMemory(ctx, stack, files{
		version: VersionOf(meta),
		load: func(ctx context.Context) (map[string][]byte, string, error) {
			return s.filesOf(ctx, client.ObjectKey{Namespace: stack.Namespace, Name: name})
		},
	})
	if errors.Is(err, errConfigMapGone) {
		problem, err = notFound, nil
	}
	found.Facts.CodeInObject = true
	return found, problem, err
}

// filesOf are the files in a ConfigMap, and its version.
func (s *Sources) filesOf(ctx context.Context, key client.ObjectKey) (map[string][]byte, string, error) {
	var cm corev1.ConfigMap
	err := s.Live.Get(ctx, key, &cm)
	if apierrors.IsNotFound(err) {
		return nil, "", errConfigMapGone
	}
	if err != nil {
		return nil, "", err
	}
	all := bytesOf(cm.Data)
	maps.Copy(all, cm.BinaryData)
	return all, VersionOf(&cm), nil
}
