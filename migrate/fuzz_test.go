package migrate

import (
	"bytes"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/generate"
)

// FuzzConvert checks that no input causes a panic or drops a field silently, and that the input is not modified.
func FuzzConvert(f *testing.F) {
	for _, file := range inputs(f) {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
		for _, document := range bytes.Split(text, []byte("\n---\n")) {
			f.Add(document)
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		objects, err := Read(text)
		if err != nil {
			return
		}
		copies := make([]unstructured.Unstructured, len(objects))
		for i := range objects {
			copies[i] = *objects[i].DeepCopy()
		}
		r, err := Convert(objects)
		References(objects)
		for i := range objects {
			if !sameObject(copies[i], objects[i]) {
				t.Errorf("the input was modified: %v", objects[i])
			}
		}
		if err != nil {
			return
		}
		for _, u := range objects {
			if convert.IndexOf(kinds, u.GetAPIVersion(), u.GetKind()) < 0 {
				continue
			}
			if left := uncovered(u, r.Notes); len(left) > 0 {
				t.Errorf("%s %s: no note mentions %v", u.GetKind(), u.GetName(), left)
			}
		}
		once, err := r.Manifests()
		if err != nil {
			t.Fatal(err)
		}
		r.Hold()
		if _, err := r.Manifests(); err != nil {
			t.Fatal(err)
		}
		again, err := Read(once)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := Convert(again)
		if err != nil {
			t.Fatalf("the result cannot be converted again: %v\n%s", err, once)
		}
		if text, err := twice.Manifests(); err != nil || !bytes.Equal(once, text) {
			t.Errorf("converted again, it is another: %v\n%s\n%s", err, once, text)
		}
	})
}

func sameObject(a, b unstructured.Unstructured) bool {
	left, err := a.MarshalJSON()
	if err != nil {
		return true // an object without a kind
	}
	right, err := b.MarshalJSON()
	return err == nil && bytes.Equal(left, right)
}

// FuzzGenerate checks that no repository causes a panic, and that each folder of code has a Stack or a note.
func FuzzGenerate(f *testing.F) {
	f.Add("main.tf", `terraform { required_version = "~> 1.5" }`, "a/main.tf", `module "b" { source = "../b" }`)
	f.Add("modules/a/main.tf", `provider "a" {}`, "terragrunt.hcl",
		`include "root" { path = find_in_parent_folders() }`)
	f.Add("a/b/main.tf.json", `{"terraform": {"backend": {"s3": {}}}}`, "x/terragrunt.hcl",
		`terraform { source = "../a" }`)
	f.Add("a/prod.tfvars", "a = 1", "a/.terraform-version", "1.5.7")
	f.Fuzz(func(t *testing.T, name, text, other, more string) {
		files := fstest.MapFS{}
		for path, text := range map[string]string{name: text, other: more} {
			if path != "" && !strings.Contains(path, "\x00") && len(path) < 200 {
				files[path] = &fstest.MapFile{Data: []byte(text)}
			}
		}
		r, err := generate.Generate(generate.Code{Files: files, URL: "https://git.example.com/acme/infra.git"})
		if err != nil {
			return
		}
		names := map[string]bool{}
		for _, s := range r.Stacks {
			if names[s.Name] {
				t.Errorf("two Stacks have the name %s", s.Name)
			}
			names[s.Name] = true
		}
		if _, err := r.Manifests(); err != nil {
			t.Fatal(err)
		}
	})
}
