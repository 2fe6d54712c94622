package app

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/podspec"
)

// addBuildFlags are for images that are built in the cluster.
func addBuildFlags(f *pflag.FlagSet, b *podspec.BuildSettings) {
	b.Images = maps.Clone(podspec.BuilderImages)
	f.BoolVar(&b.Allowed, "allow-image-builds", false, "build images for Stacks that want it (spec.runner.build), in pods that fit Pod Security \"baseline\" and not \"restricted\"")
	f.Var(builderImages(b.Images), "builder-image", "image of a builder, as in Buildah=registry.example.com/buildah:1; builders are Buildah, BuildKit and Kaniko")
	f.BoolVar(&b.Unconfined, "unconfined-builds", false, "take pods of Buildah and BuildKit out of the node's profiles of seccomp and AppArmor")
	f.BoolVar(&b.UserNamespace, "builds-in-user-namespace", false, "give pods that build images users of their own (hostUsers: false)")
}

// builderImages is a flag that may be given for each builder.
type builderImages map[v1alpha1.Builder]string

// String is for help: the defaults are in the documentation.
func (b builderImages) String() string { return "" }

// Type of the value.
func (b builderImages) Type() string { return "builder=image" }

// Set takes one.
func (b builderImages) Set(text string) error {
	builder, image, ok := strings.Cut(text, "=")
	if _, known := b[v1alpha1.Builder(builder)]; !ok || !known || image == "" {
		return fmt.Errorf("it has to be BUILDER=IMAGE, where BUILDER is one of %v", slices.Sorted(maps.Keys(b)))
	}
	b[v1alpha1.Builder(builder)] = image
	return nil
}
