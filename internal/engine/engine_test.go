package engine

import (
	"archive/zip"
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
)

func TestArguments(t *testing.T) {
	tofu, terraform := OpenTofu, Terraform
	grunt := Terragrunt.Around(terraform, "/bin/terraform", "/c")
	run := []string{
		"run", "--non-interactive", "--no-color", "--no-auto-init", "--no-auto-retry",
		"--log-level=error", "--log-custom-format=%msg(path=relative)", "--tf-forward-stdout",
		"--tf-path=/bin/terraform", "--download-dir=/c", "--",
	}
	files := []string{"/v/000-a.tfvars", "/v/zz.tfvars.json"}
	for name, test := range map[string]struct{ got, want []string }{
		"init": {tofu.Args(Init{Events: "/e", VariableFiles: files}),
			[]string{"init", "-input=false", "-no-color", "-json-into=/e", "-var-file=/v/000-a.tfvars",
				"-var-file=/v/zz.tfvars.json"}},
		"init of a plan's pod": {tofu.Args(Init{Events: "/e", Locked: true}),
			[]string{"init", "-input=false", "-no-color", "-json-into=/e", "-lockfile=readonly"}},
		"plan": {tofu.Args(Plan{Events: "/e", VariableFiles: files, Out: "/p", Destroy: true}),
			[]string{"plan", "-input=false", "-no-color", "-json-into=/e", "-lock=false", "-detailed-exitcode",
				"-out=/p", "-destroy",
				"-var-file=/v/000-a.tfvars", "-var-file=/v/zz.tfvars.json"}},
		"plan with options": {tofu.Args(Plan{Events: "/e", Out: "/p", Targets: []string{"a.b", "module.c"},
			Excludes: []string{"a.d"}, Replace: []string{`a.e["x"]`}}),
			[]string{"plan", "-input=false", "-no-color", "-json-into=/e", "-lock=false", "-detailed-exitcode",
				"-out=/p",
				"-target=a.b", "-target=module.c", "-exclude=a.d", `-replace=a.e["x"]`}},
		"plan of the state alone": {tofu.Args(Plan{Events: "/e", Out: "/p", RefreshOnly: true}),
			[]string{"plan", "-input=false", "-no-color", "-json-into=/e", "-lock=false", "-detailed-exitcode",
				"-out=/p", "-refresh-only"}},
		"apply": {tofu.Args(Apply{Events: "/e", VariableFiles: files, Plan: "/p"}),
			[]string{"apply", "-input=false", "-no-color", "-json-into=/e", "-var-file=/v/000-a.tfvars",
				"-var-file=/v/zz.tfvars.json", "/p"}},
		"show": {tofu.Args(Show{Plan: "/p", VariableFiles: files[:1]}),
			[]string{"show", "-no-color", "-json", "-var-file=/v/000-a.tfvars", "-plan=/p"}},
		"output":  {tofu.Args(Outputs{}), []string{"output", "-no-color", "-json"}},
		"version": {tofu.Version(), []string{"version", "-json"}},
		"init of Terraform": {terraform.Args(Init{Events: "/e", VariableFiles: files[:1], Locked: true}),
			[]string{"init", "-input=false", "-no-color", "-lockfile=readonly", "-var-file=/v/000-a.tfvars"}},
		"plan of Terraform": {terraform.Args(Plan{Events: "/e", VariableFiles: files[:1], Out: "/p", Destroy: true}),
			[]string{"plan", "-input=false", "-no-color", "-json", "-lock=false", "-detailed-exitcode", "-out=/p",
				"-destroy", "-var-file=/v/000-a.tfvars"}},
		"apply of an old Terraform": {terraform.Args(Apply{Events: "/e", VariableFiles: files, Plan: "/p",
			Version: "1.9.8"}),
			[]string{"apply", "-input=false", "-no-color", "-json", "/p"}},
		"apply of an unknown version of Terraform": {terraform.Args(Apply{VariableFiles: files, Plan: "/p"}),
			[]string{"apply", "-input=false", "-no-color", "-json", "/p"}},
		"apply of a new Terraform": {terraform.Args(Apply{VariableFiles: files[:1], Plan: "/p", Version: "1.10.0"}),
			[]string{"apply", "-input=false", "-no-color", "-json", "-var-file=/v/000-a.tfvars", "/p"}},
		"show of Terraform": {terraform.Args(Show{Plan: "/p", VariableFiles: files}),
			[]string{"show", "-no-color", "-json", "/p"}},
		"output of Terraform": {terraform.Args(Outputs{VariableFiles: files}),
			[]string{"output", "-no-color", "-json"}},
		"version of Terraform":  {terraform.Version(), []string{"version", "-json"}},
		"version of Terragrunt": {grunt.Version(), []string{"--version"}},
		"init of Terragrunt":    {grunt.Args(Init{}), append(slices.Clone(run), terraform.Args(Init{})...)},
		"plan of Terragrunt": {grunt.Args(Plan{Out: "/p"}),
			append(slices.Clone(run), terraform.Args(Plan{Out: "/p"})...)},
		"apply of Terragrunt": {grunt.Args(Apply{Plan: "/p", VariableFiles: files, Version: "1.1.3"}),
			append(slices.Clone(run), terraform.Args(Apply{Plan: "/p"})...)},
		"show of Terragrunt": {grunt.Args(Show{Plan: "/p"}),
			append(slices.Clone(run), terraform.Args(Show{Plan: "/p"})...)},
		"output of Terragrunt": {grunt.Args(Outputs{}), append(slices.Clone(run), terraform.Args(Outputs{})...)},
	} {
		if diff := cmp.Diff(test.want, test.got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestMeets(t *testing.T) {
	for _, test := range []struct {
		version, constraint string
		want, fails         bool
	}{
		{"1.12.6", "~> 1.12", true, false},
		{"1.12.6", ">= 1.12.1, < 2", true, false},
		{"1.12.6", "~> 1.11.0", false, false},
		{"1.12.6", "1.12.5", false, false},
		{"1.13.0-beta1", ">= 1.13", true, false},
		{"1.13.0-beta1", "= 1.13.0-beta1", true, false},
		{"1.13.0-beta2", "= 1.13.0-beta1", false, false},
		{"1.12.6", "newest", false, true},
		{"dev", "~> 1.12", false, true},
	} {
		got, err := Meets(test.version, test.constraint)
		if got != test.want || (err != nil) != test.fails {
			t.Errorf("%s meets %q: %v, %v", test.version, test.constraint, got, err)
		}
	}
}

func TestParseVersion(t *testing.T) {
	got, err := ParseVersion([]byte(`{"terraform_version": "1.12.6", "platform": "linux_amd64"}`))
	if err != nil || got != "1.12.6" {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := ParseVersion([]byte("terragrunt version v1.1.3\n")); err != nil || got != "1.1.3" {
		t.Errorf("%q, %v", got, err)
	}
	warned := "\nWarning: Unable to open CLI configuration file\n\n{\n  \"terraform_version\": \"1.12.6\",\n  " +
		"\"platform\": {\n}\n}"
	if got, err := ParseVersion([]byte(warned)); err != nil || got != "1.12.6" {
		t.Errorf("%q, %v", got, err)
	}
	for _, bad := range []string{"", "{}", "OpenTofu v1.12.6", "terragrunt version"} {
		if got, err := ParseVersion([]byte(bad)); err == nil {
			t.Errorf("%q gave %q", bad, got)
		}
	}
}

func TestCheckCode(t *testing.T) {
	const fine = `resource "terraform_data" "x" {}`
	for name, test := range map[string]struct {
		files map[string]string
		want  string
		links map[string]string
	}{
		"plain code": {map[string]string{"main.tf": fine}, "", nil},
		"a backend in the code": {
			map[string]string{"main.tf": "terraform {\n  backend \"s3\" {}\n}"}, "", nil},
		"a backend in an override": {
			map[string]string{"main.tf": fine, "override.tf": "terraform {\n  backend \"s3\" {}\n}"}, "", nil},
		"code that cannot be read": {map[string]string{"main.tf": "terraform {"}, "", nil},
		"JSON that cannot be read": {map[string]string{"main.tf.json": "{"}, "", nil},
		"a cloud block not in the root": {
			map[string]string{"main.tf": fine, "m/main.tf": "terraform {\n  cloud {}\n}"}, "", nil},
		"a cloud block in a file that no engine reads": {map[string]string{"a.tf": "terraform {\n cloud {}\n}",
			"a.tofu": fine, ".b.tf": "terraform {\n cloud {}\n}"}, "", nil},
		"no code": {map[string]string{"README.md": "x", "m/main.tf": fine},
			"there is no code: no file named *.tf or *.tofu in the root module", nil},
		"a cloud block": {map[string]string{"main.tf": "terraform {\n  cloud {\n  }\n}"},
			"main.tf:2: the code keeps its state in a cloud block; move the state into Cairn and take the block away",
			nil},
		"a cloud block in broken code": {map[string]string{"main.tf": "terraform {\n  cloud {\n  }\n}\nresource {"},
			"main.tf:2: the code keeps its state in a cloud block; move the state into Cairn and take the block away",
			nil},
		"a cloud block in JSON": {map[string]string{"main.tofu.json": "{\"terraform\": {\n\"cloud\": {}}}"},
			"main.tofu.json:2: the code keeps its state in a cloud block; move the state into Cairn and take " +
				"the block away", nil},
		"a later override": {map[string]string{"main.tf": fine,
			"zzz_override.tf": "terraform {\n  backend \"s3\" {}\n}"},
			"zzz_override.tf:2: an override file whose name sorts after zz_cairn_override.tf must not have a " +
				"backend block", nil},
		"a later override of another block": {map[string]string{"main.tf": fine, "zzz_override.tf": fine}, "", nil},
		"our own name": {map[string]string{"main.tf": fine, "zz_cairn_override.tf": ""},
			"the code has a file zz_cairn_override.tf; this name is Cairn's own", nil},
		"our own name in its place": {map[string]string{"main.tf": fine, "zz_cairn_override.tofu": ""},
			"the code has a file zz_cairn_override.tofu; this name is Cairn's own", nil},
		"a state": {map[string]string{"main.tf": fine, "terraform.tfstate": "{}"},
			"the code comes with a state (terraform.tfstate), which Cairn would ignore: move it into Cairn or take " +
				"the file away", nil},
		"a dangling symlink": {map[string]string{"main.tf": fine},
			`shared.tf is a symlink to "../common/shared.tf", which is not in the repository: correct the symlink, or delete it`,
			map[string]string{"shared.tf": "../common/shared.tf"}},
		"a dangling symlink that no engine reads": {map[string]string{"main.tf": fine}, "",
			map[string]string{"README.md": "gone.md"}},
	} {
		files := fstest.MapFS{}
		for file, text := range test.files {
			files[file] = &fstest.MapFile{Data: []byte(text)}
		}
		for name, target := range test.links {
			files[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink}
		}
		got := ""
		if err := CheckCode(OpenTofu, Backend{}, files); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestCheckCodeForTerragrunt(t *testing.T) {
	const fine = `terraform { source = "../m" }`
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"no code of its own": {map[string]string{"terragrunt.hcl": fine}, ""},
		"in JSON":            {map[string]string{"terragrunt.hcl.json": "{}"}, ""},
		"code only": {map[string]string{"main.tf": ""},
			"there is no terragrunt.hcl in the root module's folder"},
		"a cloud block": {map[string]string{"terragrunt.hcl": fine, "main.tf": "terraform {\n  cloud {}\n}"},
			"main.tf:2: the code keeps its state in a cloud block; move the state into Cairn and take the block away"},
	} {
		files := fstest.MapFS{}
		for file, text := range test.files {
			files[file] = &fstest.MapFile{Data: []byte(text)}
		}
		got := ""
		if err := CheckCode(Terragrunt, Backend{}, files); err != nil {
			got = err.Error()
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}

func TestCheckBackend(t *testing.T) {
	for name, test := range map[string]struct {
		created string
		reject  bool
	}{
		"ours":     {`{"version":3,"backend":{"type":"http","config":{}}}`, false},
		"another":  {`{"version":3,"backend":{"type":"s3","config":{}}}`, true},
		"none":     {`{"version":3}`, true},
		"no JSON":  {`backend`, true},
		"no block": {"", true},
	} {
		files := fstest.MapFS{}
		if test.created != "" {
			files[".terraform/terraform.tfstate"] = &fstest.MapFile{Data: []byte(test.created)}
		}
		var rejected *Rejection
		if _, err := CheckBackend(Backend{}, files); errors.As(err, &rejected) != test.reject ||
			(err != nil) != test.reject {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzCheckCode(f *testing.F) {
	f.Add("main.tf", []byte("terraform {\n  cloud {}\n}"))
	f.Add("main.tf.json", []byte(`{"terraform": [{"cloud": {}}]}`))
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		CheckCode(OpenTofu, Backend{}, fstest.MapFS{name: &fstest.MapFile{Data: text}})
	})
}

func TestPlannedLockFile(t *testing.T) {
	var plan bytes.Buffer
	w := zip.NewWriter(&plan)
	for _, name := range []string{"tfplan", LockFile} {
		f, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		f.Write([]byte("of " + name))
	}
	w.Close()
	for name, test := range map[string]struct{ plan, want string }{
		"a plan":           {plan.String(), "of " + LockFile},
		"an encrypted one": {`{"meta":{},"encrypted_data":"x"}`, ""},
		"nothing":          {"", ""},
	} {
		got, err := PlannedLockFile(bytes.NewReader([]byte(test.plan)), int64(len(test.plan)))
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
