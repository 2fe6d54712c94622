package generate

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var repository = strings.Fields(`
README.md main.tf
envs/prod/web/net/main.tf envs/prod/web/net/cairn.yaml envs/prod/web/net/files/index.html envs/prod/web/db/main.tofu
envs/dev/web/net/main.tf envs/dev/web/sandbox/main.tf envs/dev/web/sandbox/deeper/main.tf
envs/dev/web/notes/README.md
modules/net/main.tf services/app-shop/terragrunt.hcl`)

func words(items []Item) (all []string) {
	for _, i := range items {
		all = append(all, strings.TrimSuffix(fmt.Sprintf("%s %v %s", i.Directory, i.Params, i.SettingsFile), " "))
	}
	return all
}

func TestItems(t *testing.T) {
	dirs := func(exclude string, include ...string) Generator {
		d := &Directories{Include: include}
		if exclude != "" {
			d.Exclude = []string{exclude}
		}
		return Generator{Directories: d}
	}
	environments := Generator{List: []map[string]any{{"env": "dev", "size": int64(1)},
		{"env": "prod", "size": int64(3)}}}
	for name, tt := range map[string]struct {
		generators []Generator
		want       []string
		wrong      string
	}{
		"the parts of a path become params, and exclude wins, with all that is below": {
			generators: []Generator{dirs("envs/*/*/sandbox/**", "envs/{env}/{team}/{name}")},
			want: []string{
				"envs/dev/web/net map[env:dev name:net team:web]", "envs/prod/web/db map[env:prod name:db team:web]",
				"envs/prod/web/net map[env:prod name:net team:web]",
			},
		},
		"a name can be a part of a folder's name": {generators: []Generator{dirs("", "services/app-{name}")},
			want: []string{"services/app-shop map[name:shop]"}},
		"** is any number of directories, also none": {
			generators: []Generator{dirs("", "envs/**/net")},
			want:       []string{"envs/dev/web/net map[]", "envs/prod/web/net map[]"},
		},
		"the first pattern that matches counts": {
			generators: []Generator{dirs("", "modules/{name}", "modules/{other}")},
			want:       []string{"modules/net map[name:net]"},
		},
		"a directory without code has no Stack":              {generators: []Generator{dirs("", "envs/dev/web/notes")}},
		"a directory that only has directories has no Stack": {generators: []Generator{dirs("", "envs/{env}")}},
		"another marker": {
			generators: []Generator{{Directories: &Directories{Include: []string{"**"}, Marker: "README*"}}},
			want:       []string{"envs/dev/web/notes map[]"},
		},
		"each directory with each environment": {
			generators: []Generator{{Matrix: []Generator{dirs("", "services/app-{name}"), environments}}},
			want: []string{"services/app-shop map[env:dev name:shop size:1]",
				"services/app-shop map[env:prod name:shop size:3]"},
		},
		"the settings file of a directory, also in a matrix": {
			generators: []Generator{
				{Matrix: []Generator{
					{Directories: &Directories{Include: []string{"envs/*/*/net"}, SettingsFile: "cairn.yaml"}},
					{List: []map[string]any{{}}}}}},
			want: []string{"envs/dev/web/net map[]", "envs/prod/web/net map[] envs/prod/web/net/cairn.yaml"},
		},
		"a param of two generators": {
			generators: []Generator{{Matrix: []Generator{dirs("", "envs/{env}/web/net"), environments}}},
			wrong:      "generators[0]: matrix[1]: params.env is of two generators"},
		"more items than the limit": {generators: []Generator{dirs("", "**")}, wrong: "more than spec.maxStacks (5)"},
		"a matrix of too many": {
			generators: []Generator{
				{Matrix: []Generator{environments, {List: []map[string]any{{"a": 1}, {"a": 2}, {"a": 3}}}}}},
			wrong: "more than spec.maxStacks (5)"},
		"a path outside":              {generators: []Generator{dirs("", "../{name}")}, wrong: "remove the .."},
		"a slash at the start":        {generators: []Generator{dirs("", "/envs/{name}")}, wrong: "without a slash"},
		"a name twice":                {generators: []Generator{dirs("", "{a}/{a}")}, wrong: "{a} is in it twice"},
		"a name that CEL cannot have": {generators: []Generator{dirs("", "envs/{my-env}")}, wrong: "a name in braces"},
		"an exclude that is no glob":  {generators: []Generator{dirs("envs/[", "envs/{a}")}, wrong: "no valid glob"},
		"two kinds at once": {
			generators: []Generator{{Directories: &Directories{}, List: []map[string]any{{}}}}, wrong: "set one of"},
	} {
		t.Run(name, func(t *testing.T) {
			items, err := Items(t.Context(), tt.generators, repository, nil, 5)
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) || items != nil {
					t.Fatalf("%v, %v", items, err)
				}
				return
			}
			if diff := cmp.Diff(tt.want, words(items)); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}
