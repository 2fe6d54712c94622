package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"cairn.dev/cairn/internal/runnerapi"
)

// workspaces is code that has the name of the workspace in every place where code can have it.
func workspaces(module string) []entry {
	return []entry{
		file("main.tf", `
locals { name = "x-${terraform.workspace}" }
module "local" { source = "./m" }
module "git" { source = "git::file://`+module+`" }
resource "terraform_data" "size" { input = { default = 1, prod = 7 }[terraform.workspace] }
output "size" { value = terraform_data.size.output }
output "all" { value = join(" ", [local.name, module.local.name, module.git.name, local.json]) }
`),
		file("more.tf.json", `{"locals": {"json": "json-${terraform.workspace}"}}`),
		file("m/main.tf", `output "name" { value = terraform.workspace }`),
	}
}

// gitModule is a repository with a module that returns the name of the workspace.
func gitModule(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "main.tf"),
		[]byte(`output "name" { value = "git-${terraform.workspace}" }`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"init", "-q"}, {"add", "."}, {"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q",
			"-m", "a"},
	} {
		cmd := exec.Command("git", append([]string{"-C", dir}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	return dir
}

// Cairn's backend has no workspaces, and the code has one all the same.
func TestWorkspaceOfTheCode(t *testing.T) {
	module := gitModule(t)
	for _, engine := range bothEngines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			for i, test := range []struct{ workspace, size, all string }{
				{"", "1", `"x-default default git-default json-default"`},
				{"prod", "7", `"x-prod prod git-prod json-prod"`},
			} {
				order := s.plan(int32(3*i+1), s.put(workspaces(module)...))
				order.Engine, order.Workspace, order.Outputs = engine, test.workspace, true
				run(t, s, nil, s.planned(order, nil))
				if got := string(s.outputs["size"].Value) + " " + string(s.outputs["all"].Value); got != test.size+
					" "+test.all {
					t.Errorf("%q: %s\n%s", test.workspace, got, s.logs[order.Attempt+1])
				}
				order.Attempt += 2
				if again := s.replanned(order); again.Changes {
					t.Errorf("%q: it plans changes again: %s", test.workspace, s.logs[order.Attempt])
				}
			}
		})
	}
}

// A backend of the engine has workspaces, each with a state.
func TestWorkspaceOfABackend(t *testing.T) {
	t.Parallel()
	server := newPostgres(t)
	module := gitModule(t)
	for name, program := range map[string]string{"OpenTofu": "tofu", "Terraform": "terraform"} {
		t.Run(name, func(t *testing.T) {
			b := &runnerapi.Backend{Type: "pg", Config: schema("workspaces_" + program),
				ConfigDirs: []string{"backend/00"}}
			inputs := map[string]string{"backend/00/conn_str": server.URL()}
			s := newTestServer(t)
			order := s.plan(1, s.put(workspaces(module)...))
			order.Engine, order.Workspace, order.Backend, order.Outputs = name, "prod", b, true
			s.applied(order, inputs)
			if got := string(s.outputs["all"].Value); got != `"x-prod prod git-prod json-prod"` {
				t.Errorf("%s\n%s", got, s.logs[2])
			}
			dir := t.TempDir()
			text := "terraform {\n  backend \"pg\" {\n    conn_str    = \"" + server.URL() +
				"\"\n    schema_name = \"workspaces_" + program + "\"\n  }\n}\n"
			if err := os.WriteFile(filepath.Join(dir, "main.tf"), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			plainly(t, program, dir, "init", "-input=false")
			if got := strings.Join(strings.Fields(plainly(t, program, dir, "workspace", "list")),
				" "); got != "* default prod" {
				t.Errorf("the backend has %s", got)
			}
			plainly(t, program, dir, "workspace", "select", "prod")
			if there := strings.TrimSuffix(plainly(t, program, dir, "state", "pull"), "\n"); there != string(s.state) {
				t.Errorf("%s\n%s", there, s.state)
			}
		})
	}
}
