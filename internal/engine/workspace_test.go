package engine

import (
	"os"
	"path/filepath"
	"testing"
)

func TestSetWorkspace(t *testing.T) {
	for name, test := range map[string]struct{ file, code, want string }{
		"an expression": {"main.tf", "locals { a = terraform.workspace }", `locals { a = "prod" }`},
		"of OpenTofu":   {"main.tofu", "locals { a = tofu.workspace }", `locals { a = "prod" }`},
		"in a template": {"main.tf", "locals { a = \"x-${terraform.workspace}.yml\" }",
			`locals { a = "x-${"prod"}.yml" }`},
		"in a heredoc": {"main.tf", "locals {\n  a = <<E\n%{ if terraform . workspace == \"x\" }y%{ endif }\nE\n}\n",
			"locals {\n  a = <<E\n%{ if \"prod\" == \"x\" }y%{ endif }\nE\n}\n"},
		"as an index": {"main.tf", "locals { a = var.m[terraform.workspace].size }",
			`locals { a = var.m["prod"].size }`},
		"a text": {"main.tf", "# terraform.workspace\nlocals { a = \"terraform.workspace " +
			"$${terraform.workspace}\" }", ""},
		"an attribute": {"main.tf", "locals { a = local.terraform.workspace }", ""},
		"code in JSON": {"main.tf.json",
			`{"locals": {"a": "${terraform.workspace}", "b": "é \" ${terraform.workspace}"}}`,
			`{"locals": {"a": "${\"prod\"}", "b": "é \" ${\"prod\"}"}}`},
		"a text in JSON": {"main.tofu.json", `{"//": "terraform.workspace"}`, ""},
		"another file":   {"main.tfvars", "a = terraform.workspace", ""},
		"in a module":    {"modules/a/main.tf", "locals { a = terraform.workspace }", `locals { a = "prod" }`},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, test.file)
		os.MkdirAll(filepath.Dir(path), 0o755)
		os.WriteFile(path, []byte(test.code), 0o444)
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		if err := SetWorkspace(root, "prod"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		want := test.want
		if want == "" {
			want = test.code
		}
		if got, _ := os.ReadFile(path); string(got) != want {
			t.Errorf("%s: %s", name, got)
		}
		root.Close()
	}
}

// The target of a symlink may be read as a text too.
func TestSetWorkspaceKeepsTheTargetOfASymlink(t *testing.T) {
	dir := t.TempDir()
	os.WriteFile(filepath.Join(dir, "shared.txt"), []byte("locals { a = terraform.workspace }"), 0o644)
	os.Symlink("shared.txt", filepath.Join(dir, "main.tf"))
	os.Symlink("/etc/passwd", filepath.Join(dir, "other.tf"))
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if err := SetWorkspace(root, "prod"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"shared.txt": "locals { a = terraform.workspace }",
		"main.tf": `locals { a = "prod" }`} {
		if got, _ := os.ReadFile(filepath.Join(dir, name)); string(got) != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
