package app

import (
	"testing"

	"github.com/spf13/pflag"

	"cairn.dev/cairn/internal/controller/run/podspec"
)

func TestBuilderImages(t *testing.T) {
	var b podspec.BuildSettings
	f := pflag.NewFlagSet("cairn", pflag.ContinueOnError)
	addBuildFlags(f, &b)
	if err := f.Parse([]string{"--allow-image-builds",
		"--builder-image=Buildah=registry.example.com/buildah:1"}); err != nil {
		t.Fatal(err)
	}
	if !b.Allowed || b.Images["Buildah"] != "registry.example.com/buildah:1" ||
		b.Images["Kaniko"] != podspec.BuilderImages["Kaniko"] || b.Unconfined || b.UserNamespace {
		t.Errorf("%+v", b)
	}
	if podspec.BuilderImages["Buildah"] == b.Images["Buildah"] {
		t.Error("the default was changed")
	}
	for _, wrong := range []string{"Docker=a", "Buildah=", "Buildah"} {
		if f.Parse([]string{"--builder-image=" + wrong}) == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}
