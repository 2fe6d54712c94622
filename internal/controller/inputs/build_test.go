package inputs

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestDefaultsOfABuild(t *testing.T) {
	for name, tt := range map[string]struct{ dockerfile, context, wantDockerfile, wantContext string }{
		"defaults":                 {"", "", "Dockerfile", "."},
		"a Dockerfile in a folder": {"images/a/Dockerfile", "", "images/a/Dockerfile", "images/a"},
		"another context":          {"images/Dockerfile", ".", "images/Dockerfile", "."},
		"paths that are not clean": {"./images//Dockerfile", "images/", "images/Dockerfile", "images"},
	} {
		b := NewBuild(&v1alpha1.Build{Dockerfile: tt.dockerfile, Context: tt.context})
		if b.Spec.Dockerfile != tt.wantDockerfile || b.Spec.Context != tt.wantContext ||
			b.Spec.Builder != v1alpha1.BuilderBuildah {
			t.Errorf("%s: %+v", name, b.Spec)
		}
	}
	if NewBuild(nil) != nil {
		t.Error("a build exists without spec.runner.build")
	}
}

// TestKey checks which fields start another build.
func TestKey(t *testing.T) {
	key := func(change func(*Build)) string {
		b := NewBuild(&v1alpha1.Build{Image: "a/b"})
		b.Source = "sha256:a"
		change(b)
		k, err := b.Key()
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	was := key(func(*Build) {})
	for name, change := range map[string]func(*Build){
		"the files":           func(b *Build) { b.Source = "sha256:b" },
		"the repository":      func(b *Build) { b.Spec.Image = "a/c" },
		"the Dockerfile":      func(b *Build) { b.Spec.Dockerfile = "Other" },
		"the context":         func(b *Build) { b.Spec.Context = "images" },
		"the stage":           func(b *Build) { b.Spec.Target = "final" },
		"a value":             func(b *Build) { b.Spec.Args = []v1alpha1.BuildArg{{Name: "A", Value: "b"}} },
		"the builder":         func(b *Build) { b.Spec.Builder = v1alpha1.BuilderKaniko },
		"the builder's image": func(b *Build) { b.Spec.BuilderImage = "mine" },
	} {
		if key(change) == was {
			t.Errorf("%s changed and the key did not", name)
		}
	}
	for name, change := range map[string]func(*Build){
		"the credentials": func(b *Build) { b.Spec.PushSecret = &v1alpha1.ObjectRef{Name: "a"} },
		"the cache":       func(b *Build) { b.Spec.Cache = "a/cache" },
		"no certificate":  func(b *Build) { b.Spec.Insecure = true },
	} {
		if key(change) != was {
			t.Errorf("%s changed and the key changed too", name)
		}
	}
}
