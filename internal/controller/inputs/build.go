package inputs

import (
	"encoding/json"
	"path"

	"cairn.dev/cairn/api/v1alpha1"
)

// Build is an image that is built for the engine to run in.
type Build struct {
	// Spec as the Stack has it, with its defaults: Dockerfile and Context are clean paths, and the root is ".".
	Spec v1alpha1.Build `json:"spec"`
	// Source is the digest of the archive of what it is built from.
	Source string `json:"source"`
}

// NewBuild fills in what spec.runner.build leaves out; nil when there is none. Its source is not known yet.
func NewBuild(spec *v1alpha1.Build) *Build {
	if spec == nil {
		return nil
	}
	b := &Build{Spec: *spec.DeepCopy()}
	s := &b.Spec
	s.Optional = false // what is built is built either way
	if s.Dockerfile == "" {
		s.Dockerfile = "Dockerfile"
	}
	if s.Builder == "" {
		s.Builder = v1alpha1.BuilderBuildah
	}
	s.Dockerfile = path.Clean(s.Dockerfile)
	if s.Context == "" {
		s.Context = path.Dir(s.Dockerfile)
	}
	s.Context = path.Clean(s.Context)
	return b
}

// IgnoreFiles are the names under which a Dockerfile may have a list of its own of what to leave out of the
// context. Builders read it beside the Dockerfile, wherever the context is.
func (b *Build) IgnoreFiles() []string {
	return []string{b.Spec.Dockerfile + ".dockerignore", b.Spec.Dockerfile + ".containerignore"}
}

// Key is the digest over all that changes the image, or where it is pushed; not over how it gets there.
func (b *Build) Key() (string, error) {
	of := *b
	of.Spec.PushSecret, of.Spec.Cache, of.Spec.Insecure = nil, "", false
	data, err := json.Marshal(of)
	if err != nil {
		return "", err
	}
	return Digest(data), nil
}
