package closure

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
)

func output(value string) string { return "output \"o\" {\n  value = " + value + "\n}\n" }

func localExec(command string) string {
	return "resource \"terraform_data\" \"a\" {\n  provisioner \"local-exec\" {\n" + command + "\n  }\n}\n"
}

func TestFilesThatCodeReadsOutsideOfItsFolderAreIncluded(t *testing.T) {
	// No code reads these.
	others := repository{"README": "", "envs/other/main.tf": "", "envs/x.txt": "", "shared/x.txt": "",
		"scripts/x.txt": ""}
	for name, tt := range map[string]struct {
		repository repository
		files      string
		open       string
	}{
		"a file": {
			repository: repository{"envs/app/main.tf": output(`file("${path.module}/../names.json")`),
				"envs/names.json": "{}"},
			files: "envs/app/main.tf envs/names.json",
		},
		"a file that is read if it exists": {
			repository: repository{
				"envs/app/main.tf": output(
					`fileexists("${path.module}/../v.json") ? jsondecode(file("${path.module}/../v.json")) : {}`),
				"envs/v.json": "{}"},
			files: "envs/app/main.tf envs/v.json",
		},
		"a path relative to the folder where the engine runs": {
			repository: repository{"envs/app/main.tf": output(`filesha256("../../lib/a.zip")`), "lib/a.zip": "x"},
			files:      "envs/app/main.tf lib/a.zip",
		},
		"paths with path.root and path.cwd": {
			repository: repository{
				"envs/app/main.tf": output(
					`[file("${path.root}/../a"), file("${path.cwd}/../b"), file("${abspath(path.root)}/../c")]`),
				"envs/a": "", "envs/b": "", "envs/c": ""},
			files: "envs/a envs/app/main.tf envs/b envs/c",
		},
		"a path with the parent of the folder, without ..": {
			repository: repository{"envs/app/main.tf": output(`file("${dirname(abspath(path.module))}/a")`),
				"envs/a": ""},
			files: "envs/a envs/app/main.tf",
		},
		"files that a called module reads, in any folder": {
			repository: repository{
				"envs/app/main.tf": module("m", "../../modules/m"),
				"modules/m/main.tf": output(
					`[file("${path.module}/../data/a"), file("${path.module}/b"), file("${path.root}/../c")]`),
				"modules/m/b":         "",
				"modules/data/a":      "",
				"modules/data/unread": "",
				"envs/c":              "",
				"modules/c":           "",
			},
			files: "envs/app/main.tf envs/c modules/data/a modules/m/b modules/m/main.tf",
		},
		"a path that functions join": {
			repository: repository{
				"envs/app/main.tf": output(
					`[file(join("/", [path.module, "..", "a"])), file(format("%s/../%s", path.module, "b"))]`),
				"envs/a": "", "envs/b": ""},
			files: "envs/a envs/app/main.tf envs/b",
		},
		"a path with a local value of another file": {
			repository: repository{
				"envs/app/locals.tf": "locals {\n  dir = \"${path.module}/../../config\"\n  team = " +
					"\"${local.dir}/team\"\n}\n",
				"envs/app/main.tf":   output(`file("${local.team}/a.yaml")`),
				"config/team/a.yaml": "", "config/team/b.yaml": "",
			},
			files: "config/team/a.yaml envs/app/locals.tf envs/app/main.tf",
		},
		"a directory of an archive": {
			repository: repository{"envs/app/main.tf": "data \"archive_file\" \"a\" {\n  source_dir = " +
				"\"${path.module}/../src\"\n}\n", "envs/src/a.py": "", "envs/src/b/c.py": ""},
			files: "envs/app/main.tf envs/src/a.py envs/src/b/c.py",
		},
		"all files of a fileset": {
			repository: repository{
				"envs/app/main.tf": output(
					`[for f in fileset("${path.module}/../../policies", "*.json") : file("${path.module}/../../policies/${f}")]`), "policies/a.json": "", "policies/b.json": ""},
			files: "envs/app/main.tf policies/a.json policies/b.json",
		},
		"all files that a path with a variable may name": {
			repository: repository{
				"envs/app/main.tf": output(`yamldecode(file("${path.module}/../conf-${var.env}.yaml"))`),
				"envs/conf-a.yaml": "", "envs/conf-b.yaml": "", "envs/conf-c.json": "", "envs/conf-d/e.yaml": "",
				"envs/a.yaml": "",
			},
			files: "envs/app/main.tf envs/conf-a.yaml envs/conf-b.yaml envs/conf-d/e.yaml",
		},
		"a directory whose path ends in a variable": {
			repository: repository{
				"envs/app/main.tf": output(`fileset("${path.module}/../conf/${var.env}", "**")`),
				"envs/conf/a/b":    "", "envs/conf/c": "",
			},
			files: "envs/app/main.tf envs/conf/a/b envs/conf/c",
		},
		"a pattern of a fileset that goes up": {
			repository: repository{"envs/app/main.tf": output(`fileset(path.module, "../**/common.yml")`),
				"envs/x/common.yml": "", "envs/x/other.yml": "", "common.yml": ""},
			files: "envs/app/main.tf envs/x/common.yml",
		},
		"a pattern from the working directory, in a module": {
			repository: repository{
				"envs/app/main.tf":  module("m", "../../modules/m"),
				"modules/m/main.tf": output(`[for f in fileset(path.cwd, "../../lib/*.py") : f]`),
				"lib/a.py":          "", "lib/b": "", "envs/lib/a.py": "",
			},
			files: "envs/app/main.tf lib/a.py modules/m/main.tf",
		},
		"the local value of an override file": {
			repository: repository{
				"envs/app/a_override.tf": "locals {\n  file = \"../new\"\n}\n",
				"envs/app/main.tf":       "locals {\n  file = \"../old\"\n}\n" + output("file(local.file)"),
				"envs/new":               "", "envs/old": "",
			},
			files: "envs/app/a_override.tf envs/app/main.tf envs/new",
		},
		"a path in a loop": {
			repository: repository{
				"envs/app/main.tf": output(`{for n in ["a", "b"] : n => file("${path.module}/../keys/${n}.pub")}`),
				"envs/keys/a.pub":  "", "envs/keys/c.txt": ""},
			files: "envs/app/main.tf envs/keys/a.pub",
		},
		"a path in JSON": {
			repository: repository{
				"envs/app/main.tf.json": `{"locals": {"d": "${path.module}/../d"}, "output": {"o": {"value": "${file(\"${local.d}/a\")}"}}}`, "envs/d/a": "", "envs/d/b": ""},
			files: "envs/app/main.tf.json envs/d/a",
		},
		"a path in a variable file of the folder": {
			repository: repository{"envs/app/main.tf": `variable "chart" {}`,
				"envs/app/terraform.tfvars": `chart = "../charts/a"`, "envs/charts/a/Chart.yaml": "",
				"envs/charts/b/Chart.yaml": ""},
			files: "envs/app/main.tf envs/app/terraform.tfvars envs/charts/a/Chart.yaml",
		},
		"a file behind a symlink": {
			repository: repository{"envs/app/main.tf": output(`file("${path.module}/../link/a")`),
				"envs/link": "-> ../real", "real/a": "", "other/a": ""},
			files: "envs/app/main.tf envs/link real/a",
		},
		"a script that a provisioner runs, and the files that it reads above its folder": {
			repository: repository{
				"envs/app/main.tf":   localExec(`command = "bash ${path.module}/../bin/build.sh --out ${self.id}"`),
				"envs/bin/build.sh*": "#!/bin/sh\n. \"$(dirname \"$0\")/../lib/common.sh\"\n", "envs/bin/other.sh": "",
				"envs/lib/common.sh": "", "envs/lib/x": "",
			},
			files: "envs/app/main.tf envs/bin/build.sh envs/lib/common.sh",
		},
		"a script of the folder that reads files above it": {
			repository: repository{
				"envs/app/main.tf": "data \"external\" \"e\" {\n  program = [\"python3\", " +
					"\"${path.module}/gen.py\"]\n}\n",
				"envs/app/gen.py":     "print(open('../names.json').read())\n",
				"envs/names.json":     "{}",
				"envs/app/unrelated":  "",
				"envs/app/sub/x":      "",
				"envs/namesakes.json": "",
			},
			files: "envs/app/gen.py envs/app/main.tf envs/app/sub/x envs/app/unrelated envs/names.json",
		},
		"a path in an expression that is too long to be evaluated": {
			repository: repository{"envs/app/main.tf": output("[" + strings.Repeat(`"aaaaaaaaaaaaaaaa", `, 300) +
				`file("../a")]`), "envs/a": ""},
			files: "envs/a envs/app/main.tf",
		},
		"no file for a path in a description": {
			repository: repository{"envs/app/main.tf": "variable \"v\" {\n  description = \"see ../x.txt\"\n}\n"},
			files:      "envs/app/main.tf",
		},
		"no file for dots that are no path": {
			repository: repository{"envs/app/main.tf": output(`"1..2 and so on ... v1.2..x"`)},
			files:      "envs/app/main.tf",
		},
		"no file outside of the repository": {
			repository: repository{
				"envs/app/main.tf": output(`[file("../../../x.txt"), file("/etc/../x.txt"), file("~/../x.txt")]`)},
			files: "envs/app/main.tf",
		},
		"the whole repository for its path": {
			repository: repository{"envs/app/main.tf": "locals {\n  root = \"${path.module}/../..\"\n}\n" +
				output("local.root")},
			open: "envs/app/main.tf:5: the path of the whole repository",
		},
		"the whole repository for a path that goes up from an unknown directory": {
			repository: repository{"envs/app/main.tf": output(`file("${var.dir}/../x.txt")`)},
			open:       `envs/app/main.tf:2: a path that goes up from an unknown directory: "*/../x.txt"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := maps.Clone(others)
			for _, files := range []repository{others, tt.repository} {
				for name, content := range files {
					all[name] = cmp.Or(content, "x = 1\n")
				}
			}
			got := mustOf(t, all, Wanted{Path: "envs/app"})
			if tt.open != "" {
				if diff := gocmp.Diff([]string{tt.open}, got.Open); diff != "" {
					t.Error(diff)
				}
				return
			}
			var files []string
			for _, e := range got.Files {
				files = append(files, e.Path)
			}
			if diff := gocmp.Diff(strings.Fields(tt.files), files); diff != "" {
				t.Error(diff)
			}
			if len(got.Open) > 0 {
				t.Error(got.Open)
			}
		})
	}
}

// Files that the engine did not find, though the code found them by an absolute path: nothing in it goes up.
func TestFilesOfComputedPathsAreIncluded(t *testing.T) {
	const lost = ": a path that is computed from an absolute path"
	for name, tt := range map[string]struct {
		repository repository
		files      string
		open       string
	}{
		"the root of the repository by replace": {
			repository: repository{"envs/app/main.tf": locals(`root = replace(abspath(path.module), "/envs/app", "")`) +
				output(`file("${local.root}/conf/a")`)},
			files: "conf/a envs/app/main.tf",
		},
		"the root of the repository by replace with a pattern": {
			repository: repository{
				"envs/app/main.tf": output(`file("${replace(path.cwd, "//envs/.*$/", "")}/conf/a")`)},
			files: "conf/a envs/app/main.tf",
		},
		"the root of the repository by split": {
			repository: repository{"envs/app/main.tf": output(`file("${split("/envs/", path.cwd)[0]}/conf/a")`)},
			files:      "conf/a envs/app/main.tf",
		},
		"the root of the repository by regex": {
			repository: repository{
				"envs/app/main.tf": output(`file("${regex("^(.*)/envs/", abspath(path.root))[0]}/conf/a")`)},
			files: "conf/a envs/app/main.tf",
		},
		"the root of the repository by slice": {
			repository: repository{"envs/app/main.tf": locals("parts = split(\"/\", path.cwd)") +
				output(`file("${join("/", slice(local.parts, 0, length(local.parts) - 2))}/conf/a")`)},
			files: "conf/a envs/app/main.tf",
		},
		"the root of the repository by trimsuffix": {
			repository: repository{"envs/app/main.tf": output(`file("${trimsuffix(path.cwd, "envs/app")}conf/a")`)},
			files:      "conf/a envs/app/main.tf",
		},
		"the root of the repository by dirname": {
			repository: repository{"envs/app/main.tf": output(`file("${dirname(dirname(path.cwd))}/conf/a")`)},
			files:      "conf/a envs/app/main.tf",
		},
		"the root of the repository by substr": {
			repository: repository{
				"envs/app/main.tf": output(`file("${substr(path.cwd, 0, length(split("", path.cwd)) - 9)}/conf/a")`)},
			files: "conf/a envs/app/main.tf",
		},
		"the name of the folder above in a path": {
			repository: repository{"envs/app/main.tf": locals(`parts = split("/", abspath(path.module))`) +
				output(`file("${path.module}/../../${element(local.parts, length(local.parts) - 2)}.yaml")`),
				"envs.yaml": "", "app.yaml": ""},
			files: "envs.yaml envs/app/main.tf",
		},
		"a path with a name that depends on the directory of the checkout": {
			repository: repository{
				"envs/app/main.tf": output(`file("${path.module}/../../conf/${split("/", path.cwd)[1]}.yaml")`),
				"conf/code.yaml":   ""},
			files: "conf/code.yaml envs/app/main.tf",
		},
		"a part of a path with a variable": {
			repository: repository{"envs/app/main.tf": output(`file(format("%s/../../conf/%s", path.cwd, var.name))`),
				"conf/b": ""},
			files: "conf/a conf/b envs/app/main.tf",
		},
		"a path that functions of the engine's namespace compute": {
			repository: repository{
				"envs/app/main.tf": output(
					`core::file("${core::dirname(core::dirname(core::abspath(path.module)))}/conf/a")`)},
			files: "conf/a envs/app/main.tf",
		},
		"replace with a variable": {
			repository: repository{"envs/app/main.tf": output(`file("${replace(path.cwd, var.folder, "")}/conf/a")`)},
			open:       "envs/app/main.tf:2" + lost,
		},
		"regex with a counted repetition": {
			repository: repository{
				"envs/app/main.tf": output(`file("${regex("^(/.{3,40})/envs/", path.cwd)[0]}/conf/a")`)},
			open: "envs/app/main.tf:2" + lost,
		},
		"parts of a path that a loop joins": {
			repository: repository{"envs/app/main.tf": locals(`parts = split("/", path.cwd)`) + output(
				`join("/", [for p in local.parts : p if p != "envs"])`)},
			open: "envs/app/main.tf:5" + lost,
		},
		"parts of a path in a loop": {
			repository: repository{"envs/app/main.tf": locals(`parts = split("/live/", path.cwd)`) + output(
				`[for p in local.parts : fileexists("${p}/a")]`)},
			open: "envs/app/main.tf:5" + lost,
		},
		"a function of a provider": {
			repository: repository{"envs/app/main.tf": output(`file(provider::path::parent(path.cwd, 2))`)},
			open:       "envs/app/main.tf:2" + lost,
		},
		"a directory of a variable, without its last name": {
			repository: repository{"envs/app/main.tf": output(`file("${dirname(abspath(var.dir))}/a")`)},
			open:       "envs/app/main.tf:2" + lost,
		},
		"a directory above the repository": {
			repository: repository{"envs/app/main.tf": output(`fileset(dirname(dirname(dirname(path.cwd))), "**")`)},
			open:       "envs/app/main.tf:2: the path of the whole repository; envs/app/main.tf:2" + lost,
		},
		"names out of an absolute path": {
			repository: repository{"envs/app/main.tf": output(
				`[basename(path.cwd), lower("${basename(abspath(path.root))}-${var.env}"), md5(path.cwd),
				split("/", path.cwd)[2], replace(basename(path.cwd), "_", var.x)]`)},
			files: "envs/app/main.tf",
		},
		"loops over the files of an absolute path": {
			repository: repository{
				"envs/app/main.tf": output(
					`merge([for f in fileset(path.cwd, "*.yaml") : yamldecode(file("${path.cwd}/${f}"))]...)`)},
			files: "envs/app/main.tf",
		},
		"an object with an absolute path and a variable": {
			repository: repository{"envs/app/main.tf": locals("app = { dir = path.cwd, name = var.name }") +
				output(`[trimprefix(local.app.name, "x-"), [for k in local.app : "${k}-x"]]`)},
			files: "envs/app/main.tf",
		},
		"a template that reads a file": {
			repository: repository{"envs/app/main.tf": output(`templatefile("${path.module}/a.tftpl", {})`),
				"envs/app/a.tftpl": `${file("../../conf/a")}`},
			files: "conf/a envs/app/a.tftpl envs/app/main.tf",
		},
		"a template that reads a file of a variable": {
			repository: repository{
				"envs/app/main.tf": output(
					`templatefile("a.tftpl", { conf = "${path.module}/../../", names = keys(var.x) })`),
				"envs/app/a.tftpl": `%{ for n in names }${fileexists("${conf}conf/${n}") ? file("${conf}conf/${n}") : ""}%{ endfor }`},
			open: "envs/app/main.tf:2: the path of the whole repository",
		},
		"a template with a part of a path from a variable": {
			repository: repository{"envs/app/main.tf": output(`templatefile("a.tftpl", { dir = "../../con" })`),
				"envs/app/a.tftpl": `${file("${dir}f/a")}`},
			files: "conf/a envs/app/a.tftpl envs/app/main.tf",
		},
		"templates whose name is a variable": {
			repository: repository{"envs/app/main.tf": output(`templatefile("${path.module}/${var.name}.tftpl", {})`),
				"envs/app/t/a.tftpl": "${\n  fileset(\"../../conf\", \"*\")}"},
			files: "conf/a conf/b envs/app/main.tf envs/app/t/a.tftpl",
		},
		"a template that renders another one": {
			repository: repository{"envs/app/main.tf": output(`templatefile("a.tftpl", {})`),
				"envs/app/a.tftpl": `${templatefile("../b.tftpl", { n = "a" })}`,
				"envs/b.tftpl":     `${file("../../conf/${n}")}`},
			files: "conf/a envs/app/a.tftpl envs/app/main.tf envs/b.tftpl",
		},
		"a template that takes an absolute path apart": {
			repository: repository{"envs/app/main.tf": output(`templatefile("a.tftpl", {})`),
				"envs/app/a.tftpl": `${file("${dirname(abspath(x))}/a")}`},
			open: "envs/app/a.tftpl:1" + lost,
		},
		"a template that renders itself": {
			repository: repository{"envs/app/main.tf": output(`templatefile("a.tftpl", {})`),
				"envs/app/a.tftpl": `${templatefile("a.tftpl", {})}`},
			open: "envs/app/a.tftpl: templates that render more others than Cairn follows",
		},
		"a template without paths": {
			repository: repository{"envs/app/main.tf": output(`templatefile("${path.module}/a.sh", { a = path.cwd })`),
				"envs/app/a.sh": "cd ..\n${a} profile(../x)"},
			files: "envs/app/a.sh envs/app/main.tf",
		},
		"JSON with a key twice": {
			repository: repository{
				"envs/app/main.tf.json": `{"output": {"a": {"value": "${file(\"../../conf/a\")}"}}, "output": {"b": {"value": "x"}}, "data": {"a": {"b": {"c": "../../conf/b"}}}, "data": {}}`},
			files: "conf/a conf/b envs/app/main.tf.json",
		},
		"a program in another directory": {
			repository: repository{"envs/app/main.tf": "data \"external\" \"e\" {\n  program = [\"sh\", " +
				"\"print.sh\"]\n  working_dir = \"${path.module}/../print\"\n}\n",
				"envs/print/print.sh": "cat ../data/a.json\n", "envs/data/a.json": "", "data/a.json": ""},
			files: "envs/app/main.tf envs/data/a.json envs/print/print.sh",
		},
		"a program in another directory, in JSON": {
			repository: repository{
				"envs/app/main.tf.json": `{"data": {"external": {"e": {"program": ["sh", "print.sh"], "working_dir": "${path.module}/../print"}}}}`, "envs/print/print.sh": "cat ../data/a.json\n", "envs/data/a.json": ""},
			files: "envs/app/main.tf.json envs/data/a.json envs/print/print.sh",
		},
		"an argument that goes up from the working directory": {
			repository: repository{
				"envs/app/main.tf": localExec("command = \"cat ../../x.json\"\n working_dir = \"../../a/b/c\""),
				"a/b/c/d":          "", "a/x.json": ""},
			files: "a/b/c/d a/x.json envs/app/main.tf",
		},
		"a program of the folder, without path.module": {
			repository: repository{"envs/app/main.tf": "data \"external\" \"e\" {\n  program = [\"python3\", " +
				"\"gen.py\"]\n}\n", "envs/app/gen.py": "open('../names.json')\n", "envs/names.json": ""},
			files: "envs/app/gen.py envs/app/main.tf envs/names.json",
		},
		"a command that changes the directory": {
			repository: repository{
				"envs/app/main.tf": localExec(
					`command = "cd ${path.module}/../print && ./print.sh ../data/b.json"`),
				"envs/print/print.sh*": "cat ../data/a.json\n", "envs/data/a.json": "", "envs/data/b.json": ""},
			files: "envs/app/main.tf envs/data/a.json envs/data/b.json envs/print/print.sh",
		},
		"a script that changes the directory": {
			repository: repository{"envs/app/main.tf": localExec(`command = "./run.sh"`),
				"envs/app/run.sh*": "#!/bin/sh\ncd sub/dir\ncat ../../../names.json\n", "envs/app/sub/dir/x": "",
				"envs/names.json": ""},
			files: "envs/app/main.tf envs/app/run.sh envs/app/sub/dir/x envs/names.json",
		},
		"a script that changes to its own directory": {
			repository: repository{"envs/app/main.tf": localExec(`command = "../bin/run.sh"`),
				"envs/bin/run.sh*": "#!/bin/sh\nDIR=$(dirname \"$0\")\ncd \"$DIR\"\n. ./lib.sh\n. ../other.sh\n",
				"envs/bin/lib.sh":  "", "envs/other.sh": "", "envs/bin/unused": ""},
			files: "envs/app/main.tf envs/bin/lib.sh envs/bin/run.sh envs/other.sh",
		},
		"a script that changes to an unknown directory": {
			repository: repository{"envs/app/main.tf": localExec(`command = "./run.sh"`),
				"envs/app/run.sh*": "#!/bin/sh\ncd \"$TARGET\"\ncat ../names.json\n"},
			open: "envs/app/run.sh: a program that goes up from an unknown directory",
		},
		"a command that changes to an unknown directory": {
			repository: repository{"envs/app/main.tf": localExec(`command = "cd ${var.dir} && cat ../names.json"`)},
			open:       "envs/app/main.tf:3: a program that goes up from an unknown directory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			all := repository{"envs/other/main.tf": "x = 1\n", "conf/a": "a: 1\n", "conf/sub/c": "c: 1\n",
				"scripts/x": "x\n"}
			if strings.Contains(tt.files, "conf/b") {
				all["conf/b"] = "b: 1\n"
			}
			for name, content := range tt.repository {
				all[name] = cmp.Or(content, "x = 1\n")
			}
			if tt.open == "" && !strings.Contains(tt.files, "conf/sub") {
				delete(all, "conf/sub/c")
			}
			got := mustOf(t, all, Wanted{Path: "envs/app"})
			if diff := gocmp.Diff(tt.open, strings.Join(got.Open, "; ")); diff != "" {
				t.Error(diff)
			}
			var files []string
			for _, e := range got.Files {
				files = append(files, e.Path)
			}
			if diff := gocmp.Diff(strings.Fields(tt.files), files); diff != "" && tt.open == "" {
				t.Error(diff)
			}
		})
	}
}

func locals(text string) string { return "locals {\n  " + text + "\n}\n" }

func TestThreeDotsAreNoPath(t *testing.T) {
	for text, want := range map[string][]string{
		"echo 'please wait...' && echo \"...\"": nil,
		"Usage: build.sh [options] ...":         nil,
		"git diff $BASE...$HEAD":                nil,
		"git diff ${BASE}..${HEAD}":             nil,
		"cat ..hidden":                          nil,
		`["a", "b", ...]`:                       nil,
		"cd .. && ls":                           {".."},
		`cd ".."; . ../lib.sh`:                  {"..", "../lib.sh"},
		`. "$(dirname "$0")/../lib.sh"`:         {"../lib.sh"},
		`cat "$DIR"/../a/../b.txt`:              {"../a/../b.txt"},
		"go test ../...":                        {".."},
		`cp .../x ../y`:                         {"../y"},
	} {
		if diff := gocmp.Diff(want, PathsIn(text)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
}

func TestPathsInAScriptStartWhereItRuns(t *testing.T) {
	for text, want := range map[string][]string{
		"cat a":                               nil,
		"cd sub/dir && cat ../../../a":        {"../../../a", "sub/dir/../../../a"},
		"cd ..; cat ../a":                     {"..", "../a", "../../a"},
		"cd \"$DIR\"; cat ../a":               {"../a", unknown},
		"DIR=$(mktemp -d)\ncd $DIR; ../a":     {"../a"},
		`cd "$(dirname "$0")/.." && cat ../a`: {"..", "../a", "../../a"},
		"R=$(cd \"$(dirname \"$0\")/..\" && pwd)\ncd $R\ncat ../a": {"..", "../a", "../../a"},
		"cd \"$DIR\"; cat a": nil,
	} {
		if diff := gocmp.Diff(want, PathsInScript(text)); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	got := mustOf(t, repository{"app/main.tf": "", "x": "x\n"},
		Wanted{Path: "app", Paths: PathsInScript("cd $A; ../a")})
	if len(got.Open) != 1 || len(got.Files) != 2 {
		t.Errorf("%v, %d files", got.Open, len(got.Files))
	}
}

func TestCreatingAFileThatCodeChecksForChangesTheDigest(t *testing.T) {
	before := repository{"envs/app/main.tf": output(
		`fileexists("${path.module}/../v.json") ? file("${path.module}/../v.json") : ""`), "envs/x": "x"}
	c := New(Options{})
	digest := func(r repository) string {
		tree, blobs := r.commit(t)
		d, err := c.Digest(t.Context(), tree, blobs, Wanted{Path: "envs/app"})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	was := digest(before)
	if digest(before.with(repository{"envs/x": "changed"})) != was {
		t.Error("a file that no code reads changed the digest")
	}
	created := digest(before.with(repository{"envs/v.json": "{}"}))
	if created == was {
		t.Error("the file was created and the digest is the same")
	}
	if digest(before.with(repository{"envs/v.json": "[]"})) == created {
		t.Error("the file changed and the digest is the same")
	}
}

// The full evaluation of each of these would need unlimited memory or time.
func TestExpressionsThatGrowAreNotEvaluated(t *testing.T) {
	for name, code := range map[string]string{
		"locals that double":      doublingLocals(60),
		"a local that is its own": "locals {\n  a = \"../${local.b}\"\n  b = \"../${local.a}\"\n}\n",
		"a format with a width":   output(`format("../%999999999d", 1)`),
		"join in join": output(strings.Repeat(`join("../xxxxxxxxxxxxxxxxx", [`, 40) + `"a"` +
			strings.Repeat(`,"b","c","d"])`, 40)),
		"loops in loops": output(strings.Repeat(`[for a in ["..", "..", "..", "..", "..", "..", "..", ".."] : `, 30) +
			`"../x"` + strings.Repeat("]", 30)),
		"a long sum": output(strings.Repeat(`"../a" == `, 30_000) + `"../b"`),
		"many paths": output("[" + strings.Repeat(`"../a", `, 25_000) + `"../b"]`),
	} {
		t.Run(name, func(t *testing.T) { mustOf(t, repository{"app/main.tf": code, "x": ""}, Wanted{Path: "app"}) })
	}
}

// doublingLocals has local values a0, a1..., each twice as long as the one before.
func doublingLocals(n int) string {
	code := "locals {\n  a0 = \"../aaaaaaaaaaaaaaaa\"\n"
	for i := range n {
		code += fmt.Sprintf("  a%d = \"${local.a%d}${local.a%d}\"\n", i+1, i, i)
	}
	return code + "}\n"
}

// A list of lists has few bytes of text, and takes memory for each element.
func TestLocalListsThatGrowAreUnknown(t *testing.T) {
	code := "locals {\n  a0 = [[], [], [], [], [], [], [], []]\n"
	for i := range 3 {
		code += fmt.Sprintf("  a%d = [\"..\"%s]\n", i+1, strings.Repeat(fmt.Sprintf(", local.a%d", i), 40))
	}
	c, err := readCode([]byte(code+"}\n"), false)
	if err != nil {
		t.Fatal(err)
	}
	s := &scope{locals: c.paths.locals, known: map[string]cty.Value{}, weights: map[string]int{}}
	for i := range 4 {
		elements := 0
		_ = cty.Walk(s.local(fmt.Sprintf("a%d", i)), func(cty.Path, cty.Value) (bool, error) {
			elements++
			return true, nil
		})
		if elements > longestText/elementWeight || i == 0 && elements != 9 {
			t.Errorf("a%d has %d elements", i, elements)
		}
	}
}

func TestTheLocalValuesOfAModuleAreLimited(t *testing.T) {
	s := &scope{locals: map[string]hclsyntax.Expression{}, known: map[string]cty.Value{}, weights: map[string]int{}}
	for i := range 2000 {
		s.locals[fmt.Sprintf("a%d", i)] = &hclsyntax.LiteralValueExpr{Val: cty.StringVal(strings.Repeat("a", 4000))}
	}
	known := 0
	for i := range 2000 {
		if s.local(fmt.Sprintf("a%d", i)) != cty.DynamicVal {
			known++
		}
	}
	if known < 900 || known > 1050 {
		t.Errorf("%d of 4,000 bytes each are known, and 4 MiB are the limit", known)
	}
}

// An expression that refers to many long values would be evaluated to a text of megabytes, only to be dropped.
func TestAnExpressionThatRefersToManyLongValuesIsUnknown(t *testing.T) {
	code := "locals {\n  a = \"../" + strings.Repeat("a", 3000) + "\"\n}\n"
	c, err := readCode([]byte(code), false)
	if err != nil {
		t.Fatal(err)
	}
	s := &scope{locals: c.paths.locals, known: map[string]cty.Value{}, weights: map[string]int{}}
	for n, known := range map[int]bool{10: true, 30: false} {
		expr, diags := hclsyntax.ParseExpression([]byte(`"`+strings.Repeat("${local.a}", n)+`"`), "", hcl.InitialPos)
		if diags.HasErrors() {
			t.Fatal(diags)
		}
		if got := s.value(expr); got.IsKnown() != known {
			t.Errorf("%d values: %#v", n, got.Type())
		}
	}
}

// Each step of a search does a limited amount of work. With more, the closure is the whole repository.
func TestWorkIsLimited(t *testing.T) {
	const work = 2_000_000
	files := repository{"x": ""}
	for i := range 500 {
		files[fmt.Sprintf("f/%d", i)] = fmt.Sprint(i)
	}
	unknown, config := "", ""
	for i := range 100 {
		unknown += fmt.Sprintf("output \"o%d\" {\n  value = file(\"../${var.x}%d\")\n}\n", i, i)
		config += fmt.Sprintf("dependency \"d%d\" {\n  config_path = \"../%s\"\n}\n", i, strings.Repeat("./", 2000))
	}
	deep := strings.Repeat("(", 500) + "local.x" + strings.Repeat(")", 500)
	for name, tt := range map[string]struct {
		code       string
		terragrunt bool
	}{
		"expressions that nest":       {code: output("[" + strings.Repeat(deep+", ", 20) + "1]")},
		"paths with unknown parts":    {code: unknown},
		"long paths":                  {code: config, terragrunt: true},
		"much code":                   {code: strings.Repeat("# a comment\n", 20_000)},
		"many triggers with a * each": {code: "# none"},
	} {
		t.Run(name, func(t *testing.T) {
			w := Wanted{Path: "app", Terragrunt: tt.terragrunt}
			r := files.with(repository{"app/main.tf": tt.code})
			if tt.terragrunt {
				r = files.with(repository{"app/terragrunt.hcl": tt.code})
			}
			if tt.code == "# none" {
				for i := range 100 {
					w.Triggers = append(w.Triggers, fmt.Sprintf("**/*%d", i))
				}
			}
			tree, blobs := r.commit(t)
			got, err := New(Options{Work: work}).Of(t.Context(), tree, blobs, w)
			if err != nil {
				t.Fatal(err)
			}
			if len(got.Open) != 1 || !strings.Contains(got.Open[0], "more paths than Cairn follows") ||
				len(got.Files) != len(r) {
				t.Errorf("%d of %d files, %v", len(got.Files), len(r), got.Open)
			}
		})
	}
}

func TestALocalValueThatIsTooLongIsUnknown(t *testing.T) {
	c, err := readCode([]byte(doublingLocals(20)), false)
	if err != nil {
		t.Fatal(err)
	}
	s := &scope{locals: c.paths.locals, known: map[string]cty.Value{}, weights: map[string]int{}}
	for i := range 20 {
		if text, ok := asText(s.local(fmt.Sprintf("a%d", i))); ok && len(text) > longestText {
			t.Errorf("the local value a%d has %d bytes", i, len(text))
		}
	}
}
