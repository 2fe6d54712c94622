package inputs

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/bucket"
)

func document() Document {
	return Document{
		Source:    "sha256:code",
		Engine:    v1alpha1.Engine{Name: v1alpha1.EngineOpenTofu, Version: "~> 1.12"},
		Variables: []v1alpha1.Variable{{Name: "a", Value: &apiextensionsv1.JSON{Raw: []byte("1")}}},
		Env:       []corev1.EnvVar{{Name: "A", Value: "b"}},
		Versions:  map[string]string{"Secret/a": "1", "Secret/b": "2", "ConfigMap/c": "3"},
	}
}

func TestDigest(t *testing.T) {
	data, digest, err := document().Encode()
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if _, again, _ := document().Encode(); again != digest {
			t.Fatal("the same inputs have different digests")
		}
	}
	back, err := Decode(data)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(document(), back); diff != "" {
		t.Error(diff)
	}
	for name, change := range map[string]func(*Document){
		"the code":         func(d *Document) { d.Source = "sha256:other" },
		"the engine":       func(d *Document) { d.Engine.Version = "1.11" },
		"a variable":       func(d *Document) { d.Variables[0].Value.Raw = []byte("2") },
		"a variable file":  func(d *Document) { d.VariableFiles = []v1alpha1.VariableFile{{}} },
		"the environment":  func(d *Document) { d.Env[0].Value = "c" },
		"an environment":   func(d *Document) { d.EnvFrom = []corev1.EnvFromSource{{Prefix: "x"}} },
		"the outputs":      func(d *Document) { d.Outputs = &v1alpha1.Outputs{} },
		"a Secret's value": func(d *Document) { d.Versions["Secret/a"] = "9" },
		"a hook": func(d *Document) {
			d.Hooks = []Hook{{Step: "plan", When: v1alpha1.HookBefore, Script: "true"}}
		},
		"a policy": func(d *Document) {
			d.Policies = []Policy{{Name: "rules", Files: map[string]string{"a.rego": ""}}}
		},
		"an apply command":  func(d *Document) { d.Commands.Apply = "tofu apply" },
		"a destroy command": func(d *Document) { d.Commands.Destroy = "tofu destroy" },
		"a template": func(d *Document) {
			d.Template = &apiextensionsv1.JSON{Raw: []byte(`{"spec":{"nodeName":"a"}}`)}
		},
	} {
		d := document()
		change(&d)
		if _, other, _ := d.Encode(); other == digest {
			t.Errorf("%s changed and the digest did not", name)
		}
	}
}

// TestDigestIsTheSameAfterUpgrades checks that a document without hooks and policies has the digest of versions that
// had none, so an upgrade starts no Run.
func TestDigestIsTheSameAfterUpgrades(t *testing.T) {
	const was = "sha256:3e09fe672d3b0f780cde25cd2c6376085ed23645b956591ab63281c54a2d6dfb"
	data, digest, err := document().Encode()
	if err != nil || digest != was {
		t.Errorf("the digest is %s, want %s: %s %v", digest, was, data, err)
	}
	d := document()
	d.Hooks, d.Policies, d.Commands = []Hook{}, []Policy{}, Commands{}
	if _, digest, _ = d.Encode(); digest != was {
		t.Errorf("without hooks, policies and commands the digest is %s", digest)
	}
}

// tampered is a bucket that can be tampered with.
type tampered map[string][]byte

var errMissing = errors.New("missing")

func (m tampered) PutOnce(_ context.Context, key string, data []byte) error {
	m[key] = data
	return nil
}
func (m tampered) Get(_ context.Context, key string, _ int64) ([]byte, error) {
	if data, ok := m[key]; ok {
		return data, nil
	}
	return nil, errMissing
}

func (m tampered) Renew(_ context.Context, key string) error {
	if _, ok := m[key]; !ok {
		return bucket.ErrNotFound
	}
	return nil
}

func (m tampered) Verify(ctx context.Context, key string) error { return m.Renew(ctx, key) }

// TestDeletedDocumentIsStoredAgain checks a document that the garbage collector of the bucket deleted.
func TestDeletedDocumentIsStoredAgain(t *testing.T) {
	kept := tampered{}
	store := NewStore(kept)
	for range 2 {
		digest, err := store.Put(t.Context(), document())
		if err != nil || len(kept["inputs/"+digest]) == 0 {
			t.Fatalf("%s, %v; the bucket has %d objects", digest, err, len(kept))
		}
		clear(kept)
	}
}

func TestStore(t *testing.T) {
	bucket := tampered{}
	digest, err := NewStore(bucket).Put(t.Context(), document())
	if err != nil {
		t.Fatal(err)
	}
	got, err := NewStore(bucket).Get(t.Context(), digest)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(document(), got); diff != "" {
		t.Error(diff)
	}
	if _, err := NewStore(bucket).Get(t.Context(), "sha256:none"); !errors.Is(err, errMissing) {
		t.Errorf("a missing document: %v", err)
	}
	bucket["inputs/"+digest] = []byte(`{"source":"sha256:evil"}`)
	if _, err := NewStore(bucket).Get(t.Context(), digest); err == nil ||
		!strings.Contains(err.Error(), "other bytes") {
		t.Errorf("a modified document: %v", err)
	}
}

func TestDocumentThatIsTooLargeIsRejected(t *testing.T) {
	d := document()
	d.Hooks = []Hook{{Step: "plan", When: v1alpha1.HookBefore, Script: strings.Repeat("x", MaxSize)}}
	bucket := tampered{}
	if _, err := NewStore(bucket).Put(t.Context(), d); !errors.Is(err, ErrTooLarge) || len(bucket) > 0 {
		t.Errorf("got %v, and %d objects", err, len(bucket))
	}
}
