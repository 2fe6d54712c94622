package source

import (
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
)

func TestFilesOfABuildContext(t *testing.T) {
	for name, tt := range map[string]struct{ folder, dockerfile, want string }{
		"all":                                 {".", "Dockerfile", "Dockerfile,Dockerfile.dockerignore,image/Dockerfile,image/a,image2,main.tf"},
		"a folder":                            {"image", "image/Dockerfile", "image/Dockerfile,image/a"},
		"a Dockerfile outside of the context": {"image", "Dockerfile", "Dockerfile,Dockerfile.dockerignore,image/Dockerfile,image/a"},
		"a Dockerfile that does not exist":    {".", "Other", ""},
	} {
		files := bytesOf(map[string]string{"main.tf": "", "Dockerfile": "", "Dockerfile.dockerignore": "", "image/Dockerfile": "", "image/a": "", "image2": ""})
		var names []string
		for _, n := range []string{"Dockerfile", "Dockerfile.dockerignore", "image/Dockerfile", "image/a", "image2", "main.tf"} {
			if _, ok := within(files, inputs.NewBuild(&v1alpha1.Build{Dockerfile: tt.dockerfile, Context: tt.folder}))[n]; ok {
				names = append(names, n)
			}
		}
		if got := strings.Join(names, ","); got != tt.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
