package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/code"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/engine/policy"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// Text is the content of a ConfigMap.
type Text struct {
	Files map[string]string
	// digest of its name and of its content.
	digest string
	// Binary are the keys that hold no text.
	Binary []string
}

// Text reads a ConfigMap past the cache, once for each version; nil when it does not exist any more.
func (s *Sources) Text(ctx context.Context, key client.ObjectKey, version string) (*Text, error) {
	if text, ok := s.texts.Get(version); ok {
		return text, nil
	}
	var cm corev1.ConfigMap
	err := s.live.Get(ctx, key, &cm)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read ConfigMap %s: %w", key.Name, err)
	}
	data, err := json.Marshal(inputs.Policy{Name: cm.Name, Files: cm.Data})
	if err != nil {
		return nil, err
	}
	text := &Text{Files: cm.Data, digest: inputs.Digest(data), Binary: slices.Sorted(maps.Keys(cm.BinaryData))}
	s.texts.Add(code.VersionOf(&cm), text, len(data))
	return text, nil
}

// PoliciesIn are the files of a ConfigMap that are policies.
func PoliciesIn(text *Text) map[string]string {
	files := map[string]string{}
	for name, content := range text.Files {
		if isPolicy(name) {
			files[name] = content
		}
	}
	return files
}

func isPolicy(name string) bool {
	return slices.Contains([]string{".rego", ".yaml", ".yml"}, path.Ext(name))
}

// CheckPolicy rejects a policy that would not be evaluated as intended: no user would notice a policy that is never
// evaluated.
func (s *Sources) CheckPolicy(ctx context.Context, why string, p inputs.Policy, text *Text) (*decision.Problem, error) {
	invalid := func(message string) (*decision.Problem, error) {
		return &decision.Problem{Reason: v1alpha1.ReasonPolicyInvalid,
			Message: runinfo.Clip(fmt.Sprintf("%s (%s)", message, why), 4<<10)}, nil
	}
	for _, key := range slices.Concat(slices.Sorted(maps.Keys(text.Files)), text.Binary) {
		if !isPolicy(key) {
			return invalid(fmt.Sprintf("key %s of ConfigMap %s ends in none of .rego, .yaml and .yml", key, p.Name))
		}
	}
	if i := slices.IndexFunc(text.Binary, isPolicy); i >= 0 {
		return invalid(fmt.Sprintf("key %s of ConfigMap %s is not text", text.Binary[i], p.Name))
	}
	if len(p.Files) == 0 {
		return invalid(fmt.Sprintf("ConfigMap %s has no key that ends in .rego, .yaml or .yml", p.Name))
	}
	wrong, err := s.compile(ctx, p, text.digest)
	if err != nil {
		return nil, fmt.Errorf("compile the policies of ConfigMap %s: %w", p.Name, err)
	}
	if wrong != "" {
		return invalid(wrong)
	}
	return nil, nil
}

// compile returns what is wrong with policies; once for all ConfigMaps of one name and content, in whatever namespace.
func (s *Sources) compile(ctx context.Context, p inputs.Policy, digest string) (string, error) {
	if wrong, ok := s.checked.Get(digest); ok {
		return wrong, nil
	}
	var modules []policy.Module
	for _, name := range slices.Sorted(maps.Keys(p.Files)) {
		modules = append(modules, policy.Module{Name: p.Name + "/" + name, Text: p.Files[name]})
	}
	wrong := ""
	var invalid *policy.Invalid
	switch err := s.Compile(ctx, modules); {
	case errors.As(err, &invalid):
		wrong = err.Error()
	case errors.Is(err, policy.ErrTooMuch):
		wrong = fmt.Sprintf("the policies of ConfigMap %s cannot be compiled: %v", p.Name, err)
	case err != nil: // the result is not known
		return "", err
	}
	s.checked.Add(digest, wrong)
	return wrong, nil
}
