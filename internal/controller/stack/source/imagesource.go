package source

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/controller/repository"
)

// PackImage puts what an image is built from into the build, of code that is not from git. The version is that of its
// ConfigMap, if it is from one. The error is repository.ErrNoDockerfile when the code has no such file.
func (s *Sources) PackImage(ctx context.Context, stack *v1alpha1.Stack, version string, build *inputs.Build) error {
	if stack.Spec.Source.ConfigMap == nil {
		version = inlineVersion(stack)
	}
	version += "/image/" + build.Spec.Context + "/" + build.Spec.Dockerfile
	digest, err := s.known(ctx, version)
	if digest == "" && err == nil {
		var files map[string][]byte
		if files, _, err = s.files(ctx, stack); err != nil {
			return err
		}
		if files = within(files, build); files == nil {
			return repository.ErrNoDockerfile
		}
		digest, err = s.keepFiles(ctx, version, files)
	}
	build.Source = digest
	return err
}

// within leaves those files that are below the context's folder, the Dockerfile and what is read beside it; nil when
// there is no Dockerfile.
func within(files map[string][]byte, build *inputs.Build) map[string][]byte {
	if _, ok := files[build.Spec.Dockerfile]; !ok {
		return nil
	}
	if folder := build.Spec.Context; folder != "." {
		kept := append(build.IgnoreFiles(), build.Spec.Dockerfile)
		maps.DeleteFunc(files, func(name string, _ []byte) bool {
			return !slices.Contains(kept, name) && !strings.HasPrefix(path.Clean(name), folder+"/")
		})
	}
	return files
}

// errSourceGone: the ConfigMap was there a moment ago.
var errSourceGone = errors.New("the ConfigMap of spec.source is gone")

// files are those of code that is not from git, and its version.
func (s *Sources) files(
	ctx context.Context, stack *v1alpha1.Stack,
) (files map[string][]byte, version string, err error) {
	source := stack.Spec.Source
	if source.ConfigMap == nil {
		return bytesOf(source.Inline), inlineVersion(stack), nil
	}
	var cm corev1.ConfigMap
	err = s.live.Get(ctx, client.ObjectKey{Namespace: stack.Namespace, Name: source.ConfigMap.Name}, &cm)
	if apierrors.IsNotFound(err) {
		return nil, "", errSourceGone
	}
	if err != nil {
		return nil, "", err
	}
	files = bytesOf(cm.Data)
	maps.Copy(files, cm.BinaryData)
	return files, VersionOf(&cm), nil
}
