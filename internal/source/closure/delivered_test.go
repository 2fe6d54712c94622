package closure

import (
	"cmp"
	"strings"
	"testing"
)

func TestDownloadedModuleReadsAboveTheRootModule(t *testing.T) {
	const at = "env/.terraform/modules/m"
	for name, test := range map[string]struct {
		code, read string
		delivered  repository
		triggers   []string
		want       string
	}{
		"a file that is absent":       {"", `file("${path.root}/../a.json")`, nil, nil, "a.json"},
		"a file that was delivered":   {"", `file("${path.root}/../a.json")`, repository{"a.json": "{}"}, nil, ""},
		"a file that the code names":  {`output "a" { value = "../a.json" }`, `file("../a.json")`, nil, nil, ""},
		"an absolute path":            {"", `fileexists("${path.cwd}/../a.json")`, nil, nil, "a.json"},
		"the own files of the module": {"", `file("${path.module}/a/../b")`, nil, nil, ""},
		"a file in the root module":   {"", `fileexists("${path.root}/a.json")`, nil, nil, ""},
		"a file above the repository": {"", `file("../../a.json")`, nil, nil, ""},
		"a text that is no file":      {"", `"see ../README.md"`, nil, nil, ""},
		"a directory in part":         {"", `fileset("../a", "**")`, repository{"a/b": "b"}, nil, "a"},
		"a pattern that goes up":      {"", `fileset(".", "../a/*")`, repository{"a/b": "b"}, nil, "a"},
		"the root of the repository":  {"", `fileset("${path.root}/..", "*")`, nil, nil, "."},
		"a name that is not known":    {"", `file("../a/${var.x}.json")`, nil, nil, "a"},
		"a path that is not known":    {"", `file("${var.x}/../a.json")`, nil, nil, "?"},
		"a directory of a trigger":    {"", `fileset("../a", "**")`, repository{"a/b": "b"}, []string{"a/*"}, ""},
		"an absent file of a trigger": {"", `file("../a/b.json")`, nil, []string{"a/*.json"}, ""},
		"another file of a trigger":   {"", `file("../a/b.txt")`, nil, []string{"a/*.json"}, "a/b.txt"},
		"all files":                   {"", `file("../a/b.txt")`, nil, []string{"**"}, ""},
		"the whole repository":        {`output "a" { value = "../" }`, `file("../a")`, nil, nil, ""},
		"a directory of the closure": {`module "l" { source = "../l" }`, `fileset("../l", "*")`,
			repository{"l/a.tf": "# l"}, nil, ""},
		"a document that is left out": {`module "l" { source = "../l" }`, `file("../l/a.md")`,
			repository{"l/a.tf": "# l"}, nil, "l/a.md"},
		"a local value": {"", "local.file }\nlocals {\n file = file(local.path)\n path = \"../a\"",
			nil, nil, "a"},
		"a template of the module": {"", `templatefile("${path.module}/t", {})`,
			repository{at + "/t": `${file("../a")}`}, nil, "a"},
		"a file whose path has a link": {"", `file("../l/a")`, repository{"l": "-> d", "d/b": ""}, nil, "l/a"},
	} {
		t.Run(name, func(t *testing.T) {
			files := repository{
				"env/main.tf": "module \"m\" { source = \"git::https://example.org/m\" }\n" + test.code,
				at + "/m.tf":  `output "x" { value = ` + test.read + " }",
			}.with(test.delivered)
			tree, blobs := files.commit(t)
			w := Wanted{Path: "env", Triggers: test.triggers, Language: LanguageOfOpenTofu}
			missing, unknown, err := New(Options{}).Undelivered(t.Context(), tree, blobs, w, []string{at})
			if err != nil {
				t.Fatal(err)
			}
			got := ""
			if missing != nil {
				got = cmp.Or(missing.Path, ".")
				if !strings.HasPrefix(missing.At, ".terraform/modules/m/") {
					t.Errorf("at %q", missing.At)
				}
			}
			if len(unknown) > 0 {
				got += "?"
			}
			if got != test.want {
				t.Errorf("got %q, want %q; unknown %q", got, test.want, unknown)
			}
		})
	}
}
