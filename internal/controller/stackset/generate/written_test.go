package generate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWritten(t *testing.T) {
	dirs := func(include ...string) Generator { return Generator{Directories: &Directories{Include: include}} }
	list := func(names ...string) Generator {
		params := map[string]any{}
		for _, name := range names {
			params[name] = "x"
		}
		return Generator{List: []map[string]any{{"env": "dev"}, params}}
	}
	for name, tt := range map[string]struct {
		generators []Generator
		want       []string
	}{
		"the params of all entries of a list": {[]Generator{list("size", "zone")},
			[]string{"env", "size", "zone"}},
		"captures are not": {[]Generator{dirs("envs/{env}/{name}")}, nil},
		"the list of a matrix": {[]Generator{{Matrix: []Generator{dirs("services/{name}"), list("size")}}},
			[]string{"env", "size"}},
		"a name that a pattern of another generator captures": {
			[]Generator{list("size"), dirs("envs/{env}/{name}")}, []string{"size"}},
		"a name that any pattern captures, in a matrix of another one": {
			[]Generator{list("size"), {Matrix: []Generator{dirs("a/b", "{size}/{env}"), list("zone")}}},
			[]string{"zone"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, Written(tt.generators)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A capture is one name of a directory, and Git has none called . or ..: it leads to no other directory.
func TestCapturesAreNamesInTheTree(t *testing.T) {
	files := []string{"../main.tf", "a/../main.tf", "a/./main.tf", "a//main.tf", "/main.tf", "a/b/c/main.tf"}
	items, err := Items(t.Context(),
		[]Generator{{Directories: &Directories{Include: []string{"{name}", "a/{name}", "{a}/{b}"}}}}, files, nil, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range items {
		t.Errorf("%s %v", item.Directory, item.Params)
	}
}
