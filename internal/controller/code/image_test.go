package code

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/source/git"
)

// tree is one of files, each with its id; those that end in / are folders.
func tree(t *testing.T, files map[string]string) *git.Tree {
	t.Helper()
	// As with git, the id of a folder is another one whenever a file or folder below it changes.
	below := func(folder string) (id string) {
		for _, name := range slices.Sorted(maps.Keys(files)) {
			if strings.HasPrefix(name, folder) && !strings.HasSuffix(name, "/") {
				id += strings.ReplaceAll(name, "/", "-") + files[name]
			}
		}
		return id
	}
	var listing strings.Builder
	for name, id := range files {
		mode := "100644 blob "
		if strings.HasSuffix(name, "/") {
			mode, id = "040000 tree ", below(name)
		}
		listing.WriteString(mode + id + "\t" + strings.TrimSuffix(name, "/") + "\x00")
	}
	read, err := git.ParseTree(below(""), []byte(listing.String()))
	if err != nil {
		t.Fatal(err)
	}
	return read
}

func TestSourceOfAnImage(t *testing.T) {
	files := map[string]string{
		"Dockerfile": "1", "main.tf": "2", "images/": "d1", "images/Dockerfile": "3", "images/extra/": "d2",
		"images/extra/a": "4", "images2/": "d3", "images2/b": "5",
		"images/Own": "6", "images/Own.dockerignore": "7", "images/Own.containerignore/": "d4",
		"images/Own.containerignore/x": "8",
	}
	digests := map[string]string{}
	for name, tt := range map[string]struct{ dockerfile, context, want string }{
		"its folder": {"images/Dockerfile", "",
			"images/Dockerfile images/Own images/Own.containerignore/x images/Own.dockerignore images/extra/a"},
		"all": {"Dockerfile", "",
			"Dockerfile images/Dockerfile images/Own images/Own.containerignore/x images/Own.dockerignore " +
				"images/extra/a images2/b main.tf"},
		"a Dockerfile outside":  {"Dockerfile", "images2", "Dockerfile images2/b"},
		"a folder in its place": {"images/Dockerfile", "images/extra", "images/Dockerfile images/extra/a"},
		"one with its own list": {"images/Own", "images2", "images/Own images/Own.dockerignore images2/b"},
	} {
		found, err := imageOf(tree(t, files),
			inputs.NewBuild(&v1alpha1.Build{Dockerfile: tt.dockerfile, Context: tt.context}))
		var names []string
		for _, e := range found.Files {
			names = append(names, e.Path)
		}
		if got := strings.Join(names, " "); got != tt.want || err != nil {
			t.Errorf("%s: %s, %v", name, got, err)
		}
		digests[found.Digest] = name
	}
	if len(digests) != 5 {
		t.Errorf("%v", digests)
	}
	for name, spec := range map[string]v1alpha1.Build{
		"no Dockerfile":         {Dockerfile: "images/Other"},
		"a folder called so":    {Dockerfile: "images"},
		"no context":            {Dockerfile: "Dockerfile", Context: "other"},
		"a file as the context": {Dockerfile: "Dockerfile", Context: "main.tf"},
	} {
		if _, err := imageOf(tree(t, files), inputs.NewBuild(&spec)); !errors.Is(err, ErrNoDockerfile) ||
			Reason(err) != "DockerfileNotFound" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestImageDigest changes with the context, and with nothing else.
func TestImageDigest(t *testing.T) {
	stack := &v1alpha1.Stack{}
	digest := func(change map[string]string) string {
		files := map[string]string{"main.tf": "1", "images/": "d", "images/Dockerfile": "2", "images/a": "3"}
		for name, id := range change {
			files[name] = id
		}
		return imageDigest(tree(t, files), stack)
	}
	if got := digest(nil); got != "" {
		t.Errorf("a Stack without an image has the digest %s", got)
	}
	stack.Spec.Runner.Build = &v1alpha1.Build{Dockerfile: "images/Dockerfile"}
	was := digest(nil)
	if digest(map[string]string{"main.tf": "9"}) != was {
		t.Error("code changed, and the image too")
	}
	for _, name := range []string{"images/a", "images/Dockerfile", "images/new"} {
		if digest(map[string]string{name: "9"}) == was {
			t.Errorf("%s changed, and the image did not", name)
		}
	}
	// What a Dockerfile leaves out is beside it, also where the context is not.
	stack.Spec.Runner.Build.Context = "other"
	other := map[string]string{"other/": "d", "other/b": "4"}
	was = digest(other)
	if other["images/a"] = "9"; digest(other) != was {
		t.Error("a file outside of the context changed, and the image too")
	}
	other["images/Dockerfile.dockerignore"] = "5"
	without := digest(other)
	if other["images/Dockerfile.dockerignore"] = "6"; without == was || digest(other) == without {
		t.Error("what is left out changed, and the image did not")
	}
}
