package decision

import (
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
)

func TestCauseOfAnImageChange(t *testing.T) {
	doc := func(source, image string) *inputs.Build {
		b := inputs.NewBuild(&v1alpha1.Build{Image: image})
		b.Source = source
		return b
	}
	if !sameBuild(nil, nil) || sameBuild(nil, doc("a", "b")) || !sameBuild(doc("a", "b"), doc("other", "b")) ||
		sameBuild(doc("a", "b"), doc("a", "c")) {
		t.Error("the spec and the build context are not distinguished")
	}
	if imageChanged(nil, doc("a", "b")) || !imageChanged(doc("a", "b"), doc("c", "b")) ||
		imageChanged(doc("a", "b"), doc("a", "c")) {
		t.Error("the build context and the spec are not distinguished")
	}
}
