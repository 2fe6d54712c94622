package imagebuild

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/runnerapi"
)

var update = flag.Bool("update", false, "write the golden files anew")

// The commands are those of an order with the fewest fields and of one with all fields.
func TestCommandsOfBuilders(t *testing.T) {
	var got strings.Builder
	for _, name := range []string{"Buildah", "BuildKit", "Kaniko"} {
		most := buildOf(name)
		most.Context, most.Target, most.Cache, most.Insecure = ".", "final", "registry.example.com/acme/cache", true
		most.Args = []string{"VERSION=1.2 3", "EMPTY="}
		for _, tt := range []struct {
			build runnerapi.Build
			push  string
		}{{buildOf(name), ""}, {most, "/cairn/inputs/push"}} {
			how, err := New(tt.build, Paths{Code: "/cairn/work/code", Work: "/cairn/work/image", Credentials: tt.push})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range how.Commands {
				fmt.Fprintf(&got, "%q\n", c)
			}
			fmt.Fprintf(&got, "%q\n\n", how.Env)
		}
	}
	path := filepath.Join("testdata", "builders.golden")
	if *update {
		if err := os.WriteFile(path, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s is another one (run with -update if that is meant):\n%s", path, diff)
	}
	if _, err := New(buildOf("Docker"), Paths{}); err == nil {
		t.Error("an unknown builder is accepted")
	}
}

func buildOf(builder string) runnerapi.Build {
	return runnerapi.Build{Builder: builder, Image: "registry.example.com/acme/terraform", Tag: "cairn-0123",
		Dockerfile: "images/Dockerfile", Context: "images"}
}

func TestDigestsOfBuilders(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, read := range map[string]func() (string, error){
		"a digest": func() (string, error) { return readDigest(write("a", pushed+"\n")) },
		"a metadata": func() (string, error) {
			return readMetadata(write("b", `{"containerimage.digest":"`+pushed+`"}`))
		},
	} {
		if got, err := read(); got != pushed || err != nil {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	for name, read := range map[string]func() (string, error){
		"no file":     func() (string, error) { return readDigest(filepath.Join(dir, "none")) },
		"a tag":       func() (string, error) { return readDigest(write("c", "latest")) },
		"no metadata": func() (string, error) { return readMetadata(filepath.Join(dir, "none")) },
		"another JSON": func() (string, error) {
			return readMetadata(write("d", `{"containerimage.digest":"latest"}`))
		},
		"no JSON at all":  func() (string, error) { return readMetadata(write("e", "x")) },
		"a digest and so": func() (string, error) { return readDigest(write("f", pushed+"\nmore")) },
	} {
		if got, err := read(); got != "" || err == nil {
			t.Errorf("%s: %q", name, got)
		}
	}
}

const pushed = "sha256:5ae2c3d1f9a1b2c3d4e5f60718293a4b5c6d7e8f9a0b1c2d3e4f5a6b7c8d9e0f"
