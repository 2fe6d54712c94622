package stackset

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
)

const live = `
apiVersion: cairn.dev/v1alpha1
kind: StackSet
metadata: {name: live, namespace: prod}
spec:
  repository: {name: infra}
  generators:
  - terragrunt: {include: ["live/{env}/{name}"], exclude: ["live/*/dns"]}
  template:
    metadata: {name: "${params.env}-${params.name}"}
    spec:
      source: {git: {repository: {name: infra}, path: "${directory}"}}
      engine: {name: Terragrunt}
`

// TestPreviewOfTerragruntUnits reads the units of the working tree, with what they include by functions and links.
func TestPreviewOfTerragruntUnits(t *testing.T) {
	const include, vpc = "include \"root\" {\n  path = find_in_parent_folders(\"root.hcl\")\n}\n",
		"dependency \"vpc\" {\n  config_path = \"../vpc\"\n}\n"
	dir := checkoutOf(t, map[string]string{
		".gitignore": "ignored\n",
		"root.hcl": "terraform {\n  source = " +
			"\"${get_repo_root()}//modules/${basename(get_terragrunt_dir())}\"\n}\n",
		"live/prod/terragrunt.hcl": "", "live/prod/vpc/terragrunt.hcl": include,
		"live/prod/dns/terragrunt.hcl":    include,
		"+live/prod/app/terragrunt.hcl":   include + vpc + "dependencies {\n  paths = [\"../dns\"]\n}\n",
		"live/more/unit/terragrunt.hcl/x": "",
	})
	out, errOut, err := previewOf(t, live, dir, "-o", "yaml")
	var list struct{ Items []v1alpha1.Stack }
	if err != nil || yaml.Unmarshal([]byte(out), &list) != nil || len(list.Items) != 2 {
		t.Fatalf("%v\n%s%s", err, out, errOut)
	}
	if app := list.Items[0]; app.Name != "prod-app" || len(app.Spec.DependsOn) != 1 ||
		app.Spec.DependsOn[0].Name != "prod-vpc" {
		t.Errorf("%s", out)
	}
	_, errOut, err = previewOf(t, live, dir)
	want := "StackSet live generates 2 Stacks.\nTerragrunt units that others depend on, and that have no Stack of " +
		"this StackSet (1), so that it sets no order: live/prod/dns.\n"
	if diff := cmp.Diff(want, errOut); err != nil || diff != "" {
		t.Error(err, diff)
	}
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ file, text, want string }{
		{"live/prod/app/terragrunt.hcl", include + "dependency \"x\" {\n  config_path = get_env(\"X\")\n}\n",
			"unit live/prod/app: live/prod/app/terragrunt.hcl:5: dependency x: only Terragrunt can evaluate its path"},
		{"live/prod/app/terragrunt.hcl", include + "dependency \"x\" {\n  config_path = \"../ignored\"\n}\n",
			`but the repository has no "live/prod/ignored"`},
		{"live/prod/net/terragrunt.stack.hcl", "", "Cairn does not run the terragrunt.stack.hcl in live/prod/net"},
	} {
		write("live/prod/ignored/terragrunt.hcl", "")
		write(tt.file, tt.text)
		if _, _, err := previewOf(t, live, dir); err == nil ||
			!strings.Contains(err.Error(), "GeneratorsInvalid: spec.generators[0]: terragrunt: ") ||
			!strings.Contains(err.Error(), tt.want) {
			t.Errorf("%v, want %s", err, tt.want)
		}
		if tt.file == "live/prod/app/terragrunt.hcl" {
			write(tt.file, include+vpc)
		}
	}
}
