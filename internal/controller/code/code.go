// Package code finds the code of Stacks: what spec.source names, as the facts that a decision needs and as the files
// that a runner gets. Each kind of source is a file with an entry in kinds.
package code

import (
	"context"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/repository"
	"cairn.dev/cairn/internal/controller/stack/decision"
	"cairn.dev/cairn/internal/source/closure"
	"cairn.dev/cairn/internal/source/git"
)

// Source resolves Stacks to their code. Sources is the one of spec.source, and a Proposal that of a pull request.
type Source interface {
	// Resolve returns the code of a Stack. With a Problem, only the Facts are set, as far as they are known.
	Resolve(ctx context.Context, stack *v1alpha1.Stack) (Code, *decision.Problem, error)
}

// kind is a kind of spec.source.
type kind interface {
	// is reports whether a source is of this kind.
	is(source *v1alpha1.Source) bool
	// configMaps are the ConfigMaps that the code is in: the Stack is reconciled when one changes.
	configMaps(source *v1alpha1.Source) []string
	// resolve is Source.Resolve, with what Sources has.
	resolve(ctx context.Context, s *Sources, stack *v1alpha1.Stack) (Code, *decision.Problem, error)
}

// kinds are all kinds of sources.
var kinds = []kind{gitSource{}, configMapSource{}, inlineSource{}}

// kindOf is the kind of a Stack's source. One without any is inline code without files, which is reported.
func kindOf(stack *v1alpha1.Stack) kind {
	for _, k := range kinds {
		if k.is(&stack.Spec.Source) {
			return k
		}
	}
	return inlineSource{}
}

// ConfigMaps are the ConfigMaps that the code of a Stack is in.
func ConfigMaps(stack *v1alpha1.Stack) []string { return kindOf(stack).configMaps(&stack.Spec.Source) }

// Code is the code of a Stack.
type Code struct {
	// Facts are what the decision knows of it. Without a Revision, the digest of the archive is the revision.
	Facts decision.Code
	// Archive has its files.
	Archive Archive
	// Path is the folder of the root module in the archive; empty for its root.
	Path string
	// Folder is the name that a clone of the fetched repository has; empty without a repository or a usable name.
	Folder string
	// Versions are what the code requires of engines.
	Versions closure.Engine
	// Repository that the code is in, and the Terragrunt units there that it depends on; nil for no Repository.
	Repository   *v1alpha1.Repository
	Dependencies []closure.Dependency

	image func(*inputs.Build) (Archive, error)
}

// Image has the files that an image is built from. Without the Dockerfile, it or its Archive is an ErrNoDockerfile.
func (c Code) Image(build *inputs.Build) (Archive, error) { return c.image(build) }

// Archive are files that are packed together.
type Archive struct {
	// Key is the same for files whose archive has the same bytes.
	Key string
	// Versioned keys are those of a version of an object, and not of content: no other process has a use for them.
	Versioned bool
	// Remote: the files may have to be fetched in part.
	Remote bool
	// Ask is what the last fetch of the Repository was for. An archive that failed is due again when it is another one.
	Ask repository.Ask
	// Write writes the files as tar.gz: the same files, the same bytes.
	Write func(ctx context.Context, w io.Writer) error
}

// ErrNoDockerfile means that the code has no such file.
var ErrNoDockerfile = errors.New("no such Dockerfile")

// Reason is the kind of an error about code, for a condition; empty for a transient one.
func Reason(err error) string {
	for _, lasting := range []error{git.ErrNoRef, git.ErrContent, git.ErrTooLarge, git.ErrMirrorTooLarge,
		git.ErrConfig} {
		if errors.Is(err, lasting) {
			return git.Reason(err)
		}
	}
	if errors.Is(err, ErrNoDockerfile) {
		return v1alpha1.ReasonDockerfileNotFound
	}
	return closure.Reason(err)
}

// Problem is what a user can correct, or has to wait for, in an error about the code; nil for an error that is only
// logged.
func (c Code) Problem(err error) *decision.Problem {
	switch reason := Reason(err); {
	case errors.Is(err, repository.ErrNotFetched):
		p := &decision.Problem{
			Transient: true, Reason: v1alpha1.ReasonRepositoryNotReady, Message: "waits for Repository " +
				c.Repository.Name,
		}
		if trouble := repository.Trouble(c.Repository); trouble != "" {
			p.Message += ": " + trouble
		}
		return p
	case reason != "":
		return &decision.Problem{Reason: reason, Message: c.Message(err)}
	}
	return nil
}

// Message is an error about the code, with the name of the Repository.
func (c Code) Message(err error) string {
	if c.Repository == nil {
		return err.Error()
	}
	return fmt.Sprintf("Repository %s: %v", c.Repository.Name, err)
}

// Metadata reads the metadata of a core object, never its values; nil when it does not exist.
func Metadata(
	ctx context.Context, c client.Reader, namespace, kind, name string,
) (*metav1.PartialObjectMetadata, error) {
	meta := &metav1.PartialObjectMetadata{}
	meta.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	err := c.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, meta)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("metadata of %s %s: %w", kind, name, err)
	}
	return meta, nil
}

// VersionOf names one version of one object.
func VersionOf(o metav1.Object) string { return string(o.GetUID()) + "/" + o.GetResourceVersion() }
