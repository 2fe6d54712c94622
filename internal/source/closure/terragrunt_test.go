package closure

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func include(path string) string { return "include \"x\" {\n  path = " + path + "\n}\n" }

func source(path string) string { return "terraform {\n  source = " + path + "\n}\n" }

// doubling returns locals, each with the text of the one before twice.
func doubling() string {
	text := "locals {\n l0 = \"/x\"\n"
	for i := range 62 {
		text += fmt.Sprintf(" l%d = \"${local.l%d}${local.l%d}\"\n", i+1, i, i)
	}
	return text + "}\n" + source("local.l62")
}

func depends(on string, more ...string) string {
	return "dependency \"x\" {\n config_path = " + on + "\n" + strings.Join(more, "\n") + "\n}\n"
}

func orders(list string) string { return "dependencies {\n paths = [" + list + "]\n}\n" }

func TestDependenciesOfATerragruntUnit(t *testing.T) {
	for name, tt := range map[string]struct {
		app    string
		common string
		want   []Dependency
	}{
		"outputs of a dependency may be read": {
			app: depends(`"../vpc"`), want: []Dependency{{"live/vpc", true}},
		},
		"mock outputs change nothing": {
			app: depends(`"../vpc"`, `mock_outputs = { id = "x" }`), want: []Dependency{{"live/vpc", true}},
		},
		"a dependency that skips outputs sets an order": {
			app: depends(`"../vpc"`, "skip_outputs = true"), want: []Dependency{{"live/vpc", false}},
		},
		"outputs that may be skipped may be read": {
			app:  depends(`"../vpc"`, `skip_outputs = get_env("SKIP", "") == "yes"`),
			want: []Dependency{{"live/vpc", true}},
		},
		"a dependency with skip_outputs = false has outputs": {
			app: depends(`"../vpc"`, "skip_outputs = false", "enabled = true"), want: []Dependency{{"live/vpc", true}},
		},
		"a dependency that is not enabled is ignored": {
			app: depends(`"../vpc"`, "enabled = false"),
		},
		"a dependency that is not enabled may lead nowhere": {
			app: depends(`"../gone"`, "enabled = false") + "dependency \"y\" {\n config_path = \"\"\n enabled " +
				"= false\n}\n",
		},
		"a dependency that may not be enabled may lead nowhere": {
			app: depends(`"../gone"`, `enabled = get_env("X", "") == "yes"`) +
				"dependency \"y\" {\n config_path = \"../vpc\"\n enabled = local.y\n}\n",
			want: []Dependency{{"live/vpc", true}},
		},
		"dependencies set an order": {
			app: orders(`"../db", "../vpc"`), want: []Dependency{{"live/db", false}, {"live/vpc", false}},
		},
		"a unit that is named twice is one dependency": {
			app: orders(`"../vpc"`) + depends(`"../vpc"`), want: []Dependency{{"live/vpc", true}},
		},
		"a unit may be named by its file": {
			app: depends(`"../vpc/terragrunt.hcl"`), want: []Dependency{{"live/vpc", true}},
		},
		"paths are evaluated": {
			app:  depends(`"${get_repo_root()}/live/${local.name}"`) + "locals {\n name = \"vpc\"\n}\n",
			want: []Dependency{{"live/vpc", true}},
		},
		"a path that cannot be evaluated sets no order": {
			app: depends(`get_env("VPC")`) + orders(`"../db"`), want: []Dependency{{"live/db", false}},
		},
		"the root of the repository may be a unit": {
			app: depends("get_repo_root()"), want: []Dependency{{"", true}},
		},
		"an included file has dependencies": {
			app: include("find_in_parent_folders(\"common.hcl\")"), common: orders(`"../db"`),
			want: []Dependency{{"live/db", false}},
		},
		"configuration that is read has dependencies": {
			app:    "locals {\n c = read_terragrunt_config(\"${get_repo_root()}/common.hcl\")\n}\n",
			common: depends(`"live/vpc"`), want: []Dependency{{"live/vpc", true}},
		},
		"a unit that is only read does not depend on its reader": {
			app:    "locals {\n c = read_terragrunt_config(\"${get_repo_root()}/common.hcl\")\n}\n",
			common: depends(`"live/app"`) + orders(`"live/db"`), want: []Dependency{{"live/db", false}},
		},
		"dependencies of a dependency are its own": {
			app: depends(`"../db"`), want: []Dependency{{"live/db", true}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := repository{
				"live/app/terragrunt.hcl": tt.app, "common.hcl": tt.common, "terragrunt.hcl": "",
				"live/vpc/terragrunt.hcl": "", "live/db/terragrunt.hcl": depends(`"../far"`),
				"live/far/terragrunt.hcl": "",
			}
			got := mustOf(t, r, Wanted{Path: "live/app", Terragrunt: true}).Dependencies
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAFolderWithATerragruntStack(t *testing.T) {
	const stack = "unit \"vpc\" {\n source = \"../../units/vpc\"\n path = \"vpc\"\n}\n"
	for name, tt := range map[string]struct {
		repository repository
		terragrunt bool
		reason     string
	}{
		"Terragrunt has no unit to run": {repository{"live/app/terragrunt.stack.hcl": stack}, true,
			"TerragruntStackNotSupported"},
		"another engine has no code to run": {repository{"live/app/terragrunt.stack.hcl": stack}, false,
			"TerragruntStackNotSupported"},
		"a unit in the same folder runs": {repository{"live/app/terragrunt.stack.hcl": stack,
			"live/app/terragrunt.hcl": ""}, true, ""},
		"code in the same folder runs": {repository{"live/app/terragrunt.stack.hcl": stack,
			"live/app/main.tf": ""}, false, ""},
		"code in the same folder is no unit": {repository{"live/app/terragrunt.stack.hcl": stack,
			"live/app/main.tf": ""}, true, "TerragruntStackNotSupported"},
		"a folder without one has no code": {repository{"live/app/x": ""}, true, "CodeNotFound"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := of(t, tt.repository, Wanted{Path: "live/app", Terragrunt: tt.terragrunt})
			if Reason(err) != tt.reason {
				t.Errorf("got %q: %v", Reason(err), err)
			}
			if tt.reason == "TerragruntStackNotSupported" &&
				!strings.Contains(err.Error(), "live/app: run `terragrunt stack generate` there, commit") {
				t.Error(err)
			}
		})
	}
}

func TestFilesOfATerragruntUnit(t *testing.T) {
	for name, tt := range map[string]struct {
		repository repository
		files      string
		open       []string
		wrong      string
	}{
		"the folder and the configuration above it": {
			repository: repository{"live/app/terragrunt.hcl": "", "live/app/x": "", "live/env.hcl": "",
				"live/.terraform.lock.hcl": "", "root.hcl": "", "README": "", "live/db/terragrunt.hcl": "",
				".terragrunt-version": "0.60.0"},
			files: ".terragrunt-version live/app/terragrunt.hcl live/app/x live/env.hcl root.hcl",
		},
		"the module, up to the //, and the modules that it calls": {
			repository: repository{"live/app/terragrunt.hcl": source(`"../../modules//app"`),
				"modules/app/main.tf": module("net", "../net"), "modules/net/x": "", "modules/other/x": "",
				"net/x": ""},
			files: "live/app/terragrunt.hcl modules/app/main.tf modules/net/x modules/other/x",
		},
		"modules that the module calls outside of it": {
			repository: repository{"live/app/terragrunt.hcl": source(`"../../modules/app"`),
				"modules/app/main.tf": module("net", "../net"), "modules/net/x": "", "modules/other/x": ""},
			files: "live/app/terragrunt.hcl modules/app/main.tf modules/net/x",
		},
		"no remote module": {
			repository: repository{
				"live/app/terragrunt.hcl": source(`"git::https://example.com/x.git//y?ref=${local.ref}"`), "x": ""},
			files: "live/app/terragrunt.hcl",
		},
		"includes by path, and what they name from the unit's directory": {
			repository: repository{"live/app/terragrunt.hcl": include(`"../../common/app.hcl"`),
				"common/app.hcl": source(`"../../modules/app"`), "modules/app/x": "", "common/other.hcl": ""},
			files: "common/app.hcl live/app/terragrunt.hcl modules/app/x",
		},
		"a file that is only searched for, as its path is used": {
			repository: repository{
				"live/app/terragrunt.hcl": source(`"${dirname(find_in_parent_folders("marker.txt"))}/m"`),
				"live/marker.txt":         "", "live/m/x": "", "live/y": ""},
			files: "live/app/terragrunt.hcl live/m/x live/marker.txt",
		},
		"files that include each other": {
			repository: repository{"live/app/terragrunt.hcl": include(`"../../common/a.hcl"`),
				"common/a.hcl": include(`"b.hcl"`), "common/b.hcl": include(`"a.hcl"`)},
			files: "common/a.hcl common/b.hcl live/app/terragrunt.hcl",
		},
		"includes without a label": {
			repository: repository{"live/app/terragrunt.hcl": "include {\n path = \"../../common/app.hcl\"\n}",
				"common/app.hcl": ""},
			files: "common/app.hcl live/app/terragrunt.hcl",
		},
		"includes that are searched for above": {
			repository: repository{
				"live/app/terragrunt.hcl": include("find_in_parent_folders(\"root.hcl\")") +
					"include \"c\" {\n path = \"${dirname(find_in_parent_folders(\"root.hcl\"))}/common/app.hcl\"\n}\n",
				"root.hcl": "", "live/root.hcl": source(`"${get_repo_root()}/modules//app"`), "live/common/app.hcl": "",
				"modules/app/x": "",
			},
			files: "live/app/terragrunt.hcl live/common/app.hcl live/root.hcl modules/app/x root.hcl",
		},
		"the fallback for an include that is not found": {
			repository: repository{"live/app/terragrunt.hcl": include(`find_in_parent_folders("none.hcl", "../x.txt")`),
				"live/x.txt": "", "live/y.txt": ""},
			files: "live/app/terragrunt.hcl live/x.txt",
		},
		"units that it depends on, with their files": {
			repository: repository{
				"live/app/terragrunt.hcl": "dependency \"vpc\" {\n config_path = \"../vpc\"\n}\ndependencies {\n " +
					"paths = [\"../db\"]\n}\n",
				"live/vpc/terragrunt.hcl": source(`"../../modules/vpc"`) +
					"dependency \"app\" {\n config_path = \"../app\"\n}\n", "live/db/terragrunt.hcl": "",
				"live/other/terragrunt.hcl": "", "modules/vpc/x": "",
			},
			files: "live/app/terragrunt.hcl live/db/terragrunt.hcl live/vpc/terragrunt.hcl modules/vpc/x",
		},
		"files that functions read, from the unit or from the file": {
			repository: repository{
				"live/app/terragrunt.hcl": include(`"../../common/app.hcl"`) +
					"locals {\n a = yamldecode(file(\"${get_repo_root()}/a.yaml\"))\n b = " +
					"read_tfvars_file(\"../b.tfvars\")\n}\ninputs = {\n c = " +
					"jsondecode(sops_decrypt_file(find_in_parent_folders(\"c.json\")))\n d = " +
					"mark_as_read(\"../../d\")\n}\n",
				"common/app.hcl": "locals {\n e = templatefile(\"e.tpl\", {})\n none = fileexists(\"none\")\n}\n",
				"a.yaml":         "", "live/b.tfvars": "", "c.json": "", "d": "", "common/e.tpl": "", "other": "",
			},
			files: "a.yaml c.json common/app.hcl common/e.tpl d live/app/terragrunt.hcl live/b.tfvars",
		},
		"a folder that is read, files of variables, and scripts": {
			repository: repository{
				"live/app/terragrunt.hcl": "locals {\n f = fileset(\"../../files\", \"*\")\n r = run_cmd(\"sh\", " +
					"\"${get_path_to_repo_root()}/r.sh\")\n}\nterraform {\n extra_arguments \"x\" {\n  " +
					"required_var_files = [\"${get_repo_root()}/a.tfvars\"]\n  arguments = " +
					"[\"-lock-timeout=${get_env(\"T\")}\", \"-var-file=../../b.tfvars\"]\n }\n before_hook \"h\" {\n " +
					" execute = [\"sh\", \"${get_repo_root()}/h.sh\"]\n }\n}\n",
				"files/x": "", "r.sh": "", "a.tfvars": "", "b.tfvars": "", "h.sh": "", "other": "",
			},
			files: "a.tfvars b.tfvars files/x h.sh live/app/terragrunt.hcl r.sh",
		},
		"files that scripts of hooks read": {
			repository: repository{
				"live/app/terragrunt.hcl": "terraform {\n before_hook \"h\" {\n  execute = [\"sh\", " +
					"\"${get_repo_root()}/bin/h.sh\"]\n }\n}\n",
				"bin/h.sh":   "#!/bin/sh\n. \"$(dirname \"$0\")/lib.sh\"\ncat \"$(dirname \"$0\")/../conf/a\"\n",
				"bin/lib.sh": "", "bin/other.sh": "", "conf/a": "", "conf/b": "",
			},
			files: "bin/h.sh bin/lib.sh conf/a live/app/terragrunt.hcl",
		},
		"configuration that is read, and the files that it reads from its own folder": {
			repository: repository{
				"live/app/terragrunt.hcl": "locals {\n env = read_terragrunt_config(\"../../common/env.hcl\")\n}\n",
				"common/env.hcl": source(`"../none"`) +
					"locals {\n a = file(\"${get_terragrunt_dir()}/a\")\n b = " +
					"file(\"${get_original_terragrunt_dir()}/../b\")\n}\n",
				"common/a": "", "live/b": "", "other": "",
			},
			files: "common/a common/env.hcl live/app/terragrunt.hcl live/b",
		},
		"paths from the folder of the included file": {
			repository: repository{
				"live/app/terragrunt.hcl": include("find_in_parent_folders(\"root.hcl\")"),
				"root.hcl": source(
					`"${get_parent_terragrunt_dir()}/modules/${path_relative_to_include()}"`) +
					"locals {\n a = file(\"${path_relative_from_include()}/a\")\n b = " +
					"file(\"/.repository/${get_path_from_repo_root()}/../b\")\n}\n",
				"modules/live/app/x": "", "modules/other/x": "", "a": "", "live/b": "",
			},
			files: "a live/app/terragrunt.hcl live/b modules/live/app/x root.hcl",
		},
		"the source from an included local": {
			repository: repository{
				"live/app/terragrunt.hcl": "include \"root\" {\n path = " +
					"find_in_parent_folders(\"root.hcl\")\n}\ninclude \"common\" {\n path = " +
					"\"${dirname(find_in_parent_folders(\"root.hcl\"))}/_common/app.hcl\"\n expose = true\n}\n" +
					source(`"${include.common.locals.base}//app"`),
				"live/_common/app.hcl": "locals {\n env = " +
					"read_terragrunt_config(find_in_parent_folders(\"env.hcl\"))\n base = " +
					"\"${get_repo_root()}/modules\"\n}\n", "live/env.hcl": "", "live/root.hcl": "", "modules/app/x": "",
				"other": "",
			},
			files: "live/_common/app.hcl live/app/terragrunt.hcl live/env.hcl live/root.hcl modules/app/x",
		},
		"no remote module of an included local": {
			repository: repository{
				"live/app/terragrunt.hcl": "include \"common\" {\n path = find_in_parent_folders(\"common.hcl\")\n " +
					"expose = true\n}\n" + source(`"${include.common.locals.base}?ref=v1"`),
				"live/common.hcl": "locals {\n base = \"git::git@github.com:example/modules.git//app\"\n}\n",
				"other":           "",
			},
			files: "live/app/terragrunt.hcl live/common.hcl",
		},
		"all files, when an included local is unknown": {
			repository: repository{
				"live/app/terragrunt.hcl": "include \"common\" {\n path = find_in_parent_folders(\"common.hcl\")\n}\n" +
					source(`"${include.common.locals.base}//app"`),
				"live/common.hcl": "locals {\n base = get_env(\"BASE\")\n}\n", "other": "",
			},
			files: "live/app/terragrunt.hcl live/common.hcl other",
			open:  []string{"live/app/terragrunt.hcl:5: terraform"},
		},
		"a folder that is searched for above": {
			repository: repository{"live/app/terragrunt.hcl": source(`"${find_in_parent_folders("modules")}/app"`),
				"modules/app/x": "", "modules/other/x": ""},
			files: "live/app/terragrunt.hcl modules/app/x",
		},
		"locals that are texts": {
			repository: repository{
				"live/app/terragrunt.hcl": "locals {\n c = \"${local.b}/app\"\n b = " +
					"\"${get_repo_root()}/${local.a}\"\n a = \"modules\"\n}\n" + source("local.c"),
				"modules/app/x": "", "other": "",
			},
			files: "live/app/terragrunt.hcl modules/app/x",
		},
		"all files, when the path of a file is unknown": {
			repository: repository{"live/app/terragrunt.hcl": "locals {\n a = file(\"../${get_env(\"A\")}\")\n}\n",
				"x": ""},
			files: "live/app/terragrunt.hcl x", open: []string{"live/app/terragrunt.hcl:2: file"},
		},
		"an end, when locals double each other": {
			repository: repository{"live/app/terragrunt.hcl": doubling(), "x": ""},
			files:      "live/app/terragrunt.hcl x", open: []string{"live/app/terragrunt.hcl:67: terraform"},
		},
		"all files, when a path has a variable": {
			repository: repository{"live/app/terragrunt.hcl": source(`"${var.modules}/app"`), "x": ""},
			files:      "live/app/terragrunt.hcl x", open: []string{"live/app/terragrunt.hcl:2: terraform"},
		},
		"all files, when a file that is searched for above is not found": {
			repository: repository{"live/app/terragrunt.hcl": include("find_in_parent_folders()"), "x": ""},
			files:      "live/app/terragrunt.hcl x", open: []string{"live/app/terragrunt.hcl:2: include x"},
		},
		"code in the folder of the configuration": {
			repository: repository{"live/app/terragrunt.hcl": "", "live/app/main.tf": module("a", "../../a"),
				"a/x": ""},
			files: "a/x live/app/main.tf live/app/terragrunt.hcl",
		},
		"the valid parts of a file with syntax errors": {
			repository: repository{"live/app/terragrunt.hcl": source(`"../../a"`) + "x {{{ \"", "a/x": ""},
			files:      "a/x live/app/terragrunt.hcl",
		},
		"a module that is not found": {repository: repository{"live/app/terragrunt.hcl": "\n" +
			source(`"../../a"`)},
			wrong: `live/app/terragrunt.hcl:3: terraform is at "../../a", but the repository has no "a";`},
		"no such part of a module": {repository: repository{"live/app/terragrunt.hcl": source(`"../../a//b"`),
			"a/x": ""}, wrong: `live/app/terragrunt.hcl:2: terraform has the source "b", but the repository has no directory "a/b";`},
		"a module out of the repository": {repository: repository{"live/app/terragrunt.hcl": source(`"../../../a"`)},
			wrong: "outside of the repository"},
		"an absolute path": {repository: repository{"live/app/terragrunt.hcl": source(`"/etc"`),
			"etc/x": ""}, wrong: "outside of the repository"},
		"an include that is not found": {repository: repository{"live/app/terragrunt.hcl": include(`"../none.hcl"`)},
			wrong: "live/app/terragrunt.hcl:2: include x"},
		"a unit that is not found": {
			repository: repository{"live/app/terragrunt.hcl": "dependency \"vpc\" {\n config_path = \"../vpc\"\n}\n"},
			wrong:      "dependency vpc"},
		"a path out by get_repo_root": {
			repository: repository{"live/app/terragrunt.hcl": source(`"${get_repo_root()}/../x"`), "x/y": ""},
			wrong:      "outside of the repository"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := of(t, tt.repository, Wanted{Path: "live/app", Terragrunt: true})
			if tt.wrong != "" {
				if Reason(err) != "ModuleNotFound" || !strings.Contains(err.Error(), tt.wrong) {
					t.Errorf("got %s: %v", Reason(err), err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.files, got.paths()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(tt.open, got.Open); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestALocalOfTerragruntThatRefersToItselfIsUnknown(t *testing.T) {
	text := "locals {\n a = \"${local.b}/x\"\n b = \"${local.a}/y\"\n}\n"
	got := mustOf(t, repository{"live/app/terragrunt.hcl": text + source("local.a"), "x": ""},
		Wanted{Path: "live/app", Terragrunt: true})
	if len(got.Open) != 1 {
		t.Error(got.Open)
	}
}

// Locals that refer to each other in a long chain take as long as as many that do not.
func TestManyLocalsOfTerragruntAreEvaluatedOnce(t *testing.T) {
	text := "locals {\n l0 = \"../../a\"\n"
	for i := range 8_000 {
		text += fmt.Sprintf(" l%d = local.l%d\n", i+1, i)
	}
	r := repository{"live/app/terragrunt.hcl": text + "}\n" + source("local.l20"), "a/x": "", "b/y": ""}
	began := time.Now()
	if got := mustOf(t, r, Wanted{Path: "live/app", Terragrunt: true}).paths(); got != "a/x live/app/terragrunt.hcl" {
		t.Error(got)
	}
	if took := time.Since(began); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
}

func TestVersionsThatTerragruntRequires(t *testing.T) {
	got := mustOf(t, repository{
		"live/app/terragrunt.hcl": include("find_in_parent_folders(\"root.hcl\")") + source(`"../../m"`) +
			"terragrunt_version_constraint = \">= 0.60\"\n",
		"root.hcl": "terraform_version_constraint = \">= 1.8\"\n", "m/main.tofu": requires("< 2"),
		".terragrunt-version": "0.67.1",
	}, Wanted{Path: "live/app", Terragrunt: true}).Engine
	want := Engine{
		OpenTofu:  Version{Required: []string{">= 1.8", "< 2"}},
		Terraform: Version{Required: []string{">= 1.8"}},
		Terragrunt: Version{Pin: Pin{Constraint: "= 0.67.1"}, File: ".terragrunt-version",
			Required: []string{">= 0.60"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestANewConfigurationFileAboveChangesTheDigest(t *testing.T) {
	c := New(Options{})
	r := repository{"live/app/terragrunt.hcl": include("find_in_parent_folders(\"root.hcl\")"), "root.hcl": "", "x": ""}
	seen := map[string]string{}
	for name, next := range map[string]repository{
		"as it was": r, "one more": r.with(repository{"live/x.hcl": "#"}),
		"a nearer one": r.with(repository{"live/root.hcl": "#"}), "one changed": r.with(repository{"root.hcl": "#"}),
	} {
		tree, blobs := next.commit(t)
		digest, err := c.Digest(t.Context(), tree, blobs, Wanted{Path: "live/app", Terragrunt: true})
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[digest]; ok {
			t.Errorf("%s: the digest is the same as for %s", name, other)
		}
		seen[digest] = name
	}
	tree, blobs := r.with(repository{"x": "y", "other/terragrunt.hcl": "#"}).commit(t)
	if digest, _ := c.Digest(t.Context(), tree, blobs, Wanted{Path: "live/app", Terragrunt: true}); seen[digest] !=
		"as it was" {
		t.Error("the digest changed with a file outside of the closure")
	}
}

func TestTheNumberOfUnitsAndIncludesIsLimited(t *testing.T) {
	on := func(name string) string { return "dependency \"x\" {\n config_path = \"../" + name + "\"\n}\n" }
	tree, blobs := repository{"a/terragrunt.hcl": on("b"), "b/terragrunt.hcl": on("c"),
		"c/terragrunt.hcl": on("a")}.commit(t)
	w := Wanted{Path: "a", Terragrunt: true}
	if _, err := New(Options{Modules: 3}).Of(t.Context(), tree, blobs, w); err != nil {
		t.Error(err)
	}
	if _, err := New(Options{Modules: 2}).Of(t.Context(), tree, blobs, w); Reason(err) != "SourceTooLarge" {
		t.Errorf("got %v", err)
	}
	tree, blobs = repository{"a/terragrunt.hcl": include(`"../b"`), "b": include(`"../c"`), "c": ""}.commit(t)
	if _, err := New(Options{Modules: 3}).Of(t.Context(), tree, blobs, w); err != nil {
		t.Error(err)
	}
	if _, err := New(Options{Modules: 2}).Of(t.Context(), tree, blobs, w); Reason(err) != "SourceTooLarge" {
		t.Errorf("got %v", err)
	}
}
