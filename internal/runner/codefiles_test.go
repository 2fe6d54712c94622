package runner

import (
	"strings"
	"testing"
)

// A root module may share a file of code with others by a symlink.
func TestSymlinkToCodeElsewhereInTheRepository(t *testing.T) {
	s := newTestServer(t)
	order := s.plan(1, s.put(file("net/main.tf", two), link("net/shared.tf", "../common/shared.tf"),
		file("common/shared.tf", `output "shared" { value = 1 }`)))
	order.Path = "net"
	run(t, s, nil, order)
	if done := s.done(1).Done; done.Failure != nil || done.Plan == nil || done.Plan.Add != 2 {
		t.Errorf("%+v", done)
	}
}

// The error of an engine does not show that git has a placeholder instead of a file.
func TestFailuresNameFilesThatAreNotInGit(t *testing.T) {
	pointer := "version https://git-lfs.github.com/spec/v1\n" + "oid sha256:" + strings.Repeat("0", 64) + "\nsize 12\n"
	for name, test := range map[string]struct {
		code  []entry
		class string
		want  []string
	}{
		"an LFS pointer in place of JSON": {
			[]entry{file("net/main.tf", `output "a" { value = jsondecode(file("data.json")) }`),
				file("net/data.json", pointer), file("a.png", pointer)}, "ConfigurationError",
			[]string{"jsondecode", "Git LFS pointers",
				"set spec.lfs: true on the Repository to fetch net/data.json, a.png"},
		},
		"an LFS pointer in place of code": {
			[]entry{file("net/main.tf", pointer)}, "ConfigurationError",
			[]string{"Git LFS pointers", "fetch net/main.tf"},
		},
		"a dangling symlink in the root module": {
			[]entry{file("net/main.tf", two), link("net/shared.tf", "../common/shared.tf")}, "ConfigurationError",
			[]string{`shared.tf is a symlink to "../common/shared.tf", which is not in the repository: correct the symlink, or delete it`},
		},
		"a dangling symlink in another module": {
			[]entry{file("net/main.tf", `module "m" { source = "../m" }`), link("m/main.tf", "nowhere.tf")},
			"ConfigurationError",
			[]string{"Failed to read file", "m/main.tf -> nowhere.tf"},
		},
		"a mistake in the code alone": {
			[]entry{file("net/main.tf", `output "a" { value = nothing }`),
				file("net/note", "version https://example.org")}, "ConfigurationError", nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestServer(t)
			order := s.plan(1, s.put(test.code...))
			order.Path = "net"
			run(t, s, nil, order)
			failure := s.done(1).Done.Failure
			if failure == nil || failure.Class != test.class {
				t.Fatalf("%+v", failure)
			}
			for _, want := range test.want {
				if !strings.Contains(failure.Message, want) {
					t.Errorf("%q is not in %q", want, failure.Message)
				}
			}
			if test.want == nil && strings.Contains(failure.Message, ";") {
				t.Errorf("it names files: %q", failure.Message)
			}
		})
	}
}
