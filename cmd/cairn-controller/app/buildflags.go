package app

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run/podspec"
)

// addBuildFlags adds the flags for images that are built in the cluster.
func addBuildFlags(f *pflag.FlagSet, b *podspec.BuildSettings) {
	b.Images = maps.Clone(podspec.BuilderImages)
	f.BoolVar(&b.Allowed, "allow-image-builds", false,
		"build images for Stacks with spec.runner.build, in pods that satisfy Pod Security \"baseline\" but not "+
			"\"restricted\"")
	f.Var(builderImages(b.Images), "builder-image",
		"image of a builder, for example Buildah=registry.example.com/buildah:1; the builders are Buildah, "+
			"BuildKit and Kaniko")
	f.BoolVar(&b.Unconfined, "unconfined-builds", false,
		"run pods of Buildah and BuildKit without the node's profiles of seccomp and AppArmor")
	f.BoolVar(&b.UserNamespace, "builds-in-user-namespace", false,
		"run pods that build images in a user namespace (hostUsers: false)")
}

// builderImages is the value of a flag that is repeated for each builder.
type builderImages map[v1alpha1.Builder]string

// String returns the default for the help: none, as the defaults are in the documentation.
func (b builderImages) String() string { return "" }

// Type returns the type of the value for the help.
func (b builderImages) Type() string { return "builder=image" }

// Set sets the image of one builder.
func (b builderImages) Set(text string) error {
	builder, image, ok := strings.Cut(text, "=")
	if _, known := b[v1alpha1.Builder(builder)]; !ok || !known || image == "" {
		return fmt.Errorf("it must be BUILDER=IMAGE, where BUILDER is one of %v", slices.Sorted(maps.Keys(b)))
	}
	b[v1alpha1.Builder(builder)] = image
	return nil
}
