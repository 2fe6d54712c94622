package closure

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const included = `include "root" {
  path = find_in_parent_folders()
}
`

func TestUnit(t *testing.T) {
	for name, tt := range map[string]struct {
		app   string
		files repository
		want  Unit
		wrong string
	}{
		"a source": {app: source(`"../../modules/app"`), want: Unit{Runs: true}},
		"a source that nothing has to be read of": {
			app: source(`"git::https://example.com/x.git//y?ref=${local.ref}"`), want: Unit{Runs: true},
		},
		"code":    {files: repository{"live/app/main.tf": ""}, want: Unit{Runs: true}},
		"neither": {app: "terraform {\n extra_arguments \"x\" {\n }\n}\n"},
		"a source of configuration": {app: "locals {\n x = read_terragrunt_config(\"../x.hcl\")\n}\n",
			files: repository{"live/x.hcl": source(`"./x"`)}},
		"the source of a file that it includes": {
			app: included, files: repository{
				"terragrunt.hcl": source(`"${get_repo_root()}//${path_relative_to_include()}"`)},
			want: Unit{Runs: true, Includes: []string{""}},
		},
		"a file of another name that it includes": {
			app: include(`"../x.hcl"`), files: repository{"live/x.hcl": source(`"./x"`)}, want: Unit{Runs: true},
		},
		"dependencies, of files that it includes too": {
			app:   source(`"x"`) + include(`"../x.hcl"`) + orders(`"../db"`),
			files: repository{"live/x.hcl": depends(`"../vpc"`)},
			want:  Unit{Runs: true, Dependencies: []Dependency{{"live/db", false}, {"live/vpc", true}}},
		},
		"a path of functions and locals": {
			app:  depends(`"${get_repo_root()}/live/${local.name}"`) + "locals {\n name = \"vpc\"\n}\n",
			want: Unit{Dependencies: []Dependency{{"live/vpc", true}}},
		},
		"a dependency that is not enabled": {app: depends(`get_env("X")`, "enabled = false")},
		"a dependency that may not be enabled, without a unit": {
			app: depends(`"../none"`, "enabled = local.x") + "dependency \"y\" {\n config_path = \"../gone\"\n " +
				"enabled = local.y\n}\n",
			files: repository{"live/none/x": ""},
		},
		"what inputs name is not read": {
			app: "inputs = {\n x = file(\"../gone\")\n y = \"${get_env(\"X\")}/../../x\"\n}\n"},
		"configuration of an unknown path that no dependency has a part of": {
			app:  "locals {\n x = read_terragrunt_config(get_env(\"X\"))\n}\n" + orders(`"../db"`),
			want: Unit{Dependencies: []Dependency{{"live/db", false}}},
		},
		"a dependency of an unknown path": {
			app: "\n" + depends(`get_env("VPC")`), wrong: "live/app/terragrunt.hcl:3: dependency x: only Terragrunt " +
				"can evaluate its path",
		},
		"a dependency of a value of the stack": {app: depends(`values.vpc`),
			wrong: "terragrunt.hcl:2: dependency x: only Terragrunt"},
		"one unknown path of dependencies": {app: orders(`"../db", get_env("X")`),
			wrong: "terragrunt.hcl:2: dependencies: only Terragrunt"},
		"an include of an unknown path": {app: include(`get_env("X")`),
			wrong: "terragrunt.hcl:2: include x: only Terragrunt"},
		"a dependency that does not exist": {
			app:   depends(`"../gone"`),
			wrong: `live/app/terragrunt.hcl:2: dependency x is at "../gone", but the repository has no "live/gone"`,
		},
		"a dependency outside of the repository": {app: depends(`"../../../x"`), wrong: "outside of the repository"},
		"a dependency that is no unit": {
			app: depends(`"../none"`), files: repository{"live/none/main.tf": ""},
			wrong: `dependency x is at "../none", and there is no terragrunt.hcl in live/none`,
		},
		"a file that does not parse": {app: "\nterraform {",
			wrong: "live/app/terragrunt.hcl: line 2: Unclosed configuration block"},
		"an included file that does not parse": {
			app: include(`"../x.hcl"`), files: repository{"live/x.hcl": "a ="}, wrong: "live/x.hcl: line 1: ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := repository{"live/app/terragrunt.hcl": tt.app, "live/vpc/terragrunt.hcl": "",
				"live/db/terragrunt.hcl": depends(`get_env("X")`)}
			maps.Copy(r, tt.files)
			tree, blobs := r.commit(t)
			got, err := New(Options{}).Unit(t.Context(), tree, blobs, "live/app")
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) || !IsCorrectable(err) {
					t.Errorf("%v, want %s", err, tt.wrong)
				}
				return
			}
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}
}

// A unit is read again when a file changes that decided about it, and only then.
func TestUnitOfACommit(t *testing.T) {
	r := repository{"live/app/terragrunt.hcl": included + depends(`"../vpc"`), "live/vpc/terragrunt.hcl": "",
		"terragrunt.hcl": "", "README": "1"}
	c := New(Options{})
	for _, step := range []struct {
		name    string
		changes repository
		reads   bool
		want    Unit
		wrong   bool
	}{
		{"first", nil, true, Unit{Includes: []string{""}, Dependencies: []Dependency{{"live/vpc", true}}}, false},
		{"another file", repository{"README": "2"}, false,
			Unit{Includes: []string{""}, Dependencies: []Dependency{{"live/vpc", true}}}, false},
		{"code of a dependency", repository{"live/vpc/main.tf": "#"}, false,
			Unit{Includes: []string{""}, Dependencies: []Dependency{{"live/vpc", true}}}, false},
		{"a source above", repository{"terragrunt.hcl": source(`"x"`)}, true,
			Unit{Runs: true, Includes: []string{""}, Dependencies: []Dependency{{"live/vpc", true}}}, false},
		{"a nearer file to include", repository{"live/terragrunt.hcl": "# x"}, true,
			Unit{Includes: []string{"live"}, Dependencies: []Dependency{{"live/vpc", true}}}, false},
		{"a new file of code", repository{"live/app/main.tf": "#"}, false, Unit{Runs: true, Includes: []string{"live"},
			Dependencies: []Dependency{{"live/vpc", true}}}, false},
		{"no dependency", repository{"live/vpc/terragrunt.hcl": ""}, false, Unit{}, true},
	} {
		r = r.with(step.changes)
		tree, blobs := r.commit(t)
		got, err := c.Unit(t.Context(), tree, blobs, "live/app")
		if diff := cmp.Diff(step.want, got); diff != "" || (err != nil) != step.wrong {
			t.Error(step.name, err, diff)
		}
		if reads := blobs.reads.Load() > 0; reads != step.reads {
			t.Errorf("%s: read blobs: %t", step.name, reads)
		}
	}
}

func TestUnitThatCannotBeRead(t *testing.T) {
	tree, _ := repository{"live/app/terragrunt.hcl": source(`"x"`)}.commit(t)
	if _, err := New(Options{}).Unit(t.Context(), tree, &objects{}, "live/app"); err == nil || IsCorrectable(err) {
		t.Error(err)
	}
}
