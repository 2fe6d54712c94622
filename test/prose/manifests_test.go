package main

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/stackset/render"
)

// fencedYAML is a block of YAML, which may be indented as a part of a list.
var fencedYAML = regexp.MustCompile("(?s)\n( *)```yaml(\n.*?\n) *```")

var kindOfCairn = regexp.MustCompile(`kind: (Stack|StackSet|StackGrant|Repository)\n`)

// manifests returns the Stacks, StackSets, StackGrants and Repositories in the blocks of YAML of a page. A block that
// is only a spec is one of a Stack.
func manifests(page string) (all []string) {
	for _, block := range fencedYAML.FindAllStringSubmatch(page, -1) {
		text := strings.ReplaceAll(block[2], "\n"+block[1], "\n")
		for _, document := range strings.Split(text, "\n---\n") {
			document = strings.TrimPrefix(document, "\n")
			if strings.HasPrefix(document, "spec:\n") {
				document = "kind: Stack\n" + document
			}
			if kindOfCairn.MatchString(document) {
				all = append(all, document)
			}
		}
	}
	return all
}

// decode decodes a manifest, and rejects fields that the API does not have.
func decode(manifest string) error {
	var kind metav1.TypeMeta
	if err := yaml.Unmarshal([]byte(manifest), &kind); err != nil {
		return err
	}
	switch kind.Kind {
	case "Stack":
		return yaml.UnmarshalStrict([]byte(manifest), &v1alpha1.Stack{})
	case "StackSet":
		set := &v1alpha1.StackSet{}
		if err := yaml.UnmarshalStrict([]byte(manifest), set); err != nil {
			return err
		}
		return generates(set)
	case "StackGrant":
		return yaml.UnmarshalStrict([]byte(manifest), &v1alpha1.StackGrant{})
	case "Repository":
		return yaml.UnmarshalStrict([]byte(manifest), &v1alpha1.Repository{})
	}
	return nil // it only names one
}

func TestManifestsOfDocumentationAreValid(t *testing.T) {
	checked := 0
	err := filepath.WalkDir("../../docs", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && entry.Name() == "node_modules" {
			return filepath.SkipDir
		}
		if err != nil || filepath.Ext(name) != ".md" {
			return err
		}
		text, err := os.ReadFile(name)
		for _, manifest := range manifests(string(text)) {
			if err := decode(manifest); err != nil {
				t.Errorf("%s: %v:\n%s", name, err, manifest)
			}
			checked++
		}
		return err
	})
	if err != nil || checked < 20 {
		t.Fatal(checked, err)
	}
}

var wildcard = regexp.MustCompile(`\{\w+\}|\*+`)

// generates renders a StackSet for a directory of each of its patterns. Each capture is a namespace that it lists.
func generates(set *v1alpha1.StackSet) error {
	var files []string
	captured := append(set.Spec.Namespaces, "x")[0]
	for _, g := range set.Spec.Generators {
		for _, items := range append(g.Matrix, g.StackSetItems) {
			if items.Directories == nil {
				continue
			}
			for _, pattern := range items.Directories.Include {
				files = append(files, wildcard.ReplaceAllString(pattern, captured)+"/main.tf")
			}
		}
	}
	renderer, problem := render.New(set)
	if problem == nil {
		_, problem, _ = renderer.Stacks(context.Background(), files, nil)
	}
	if problem != nil {
		return errors.New(problem.Message)
	}
	return nil
}

func TestInvalidManifestIsReported(t *testing.T) {
	page := "1. Set it:\n\n   ```yaml\n   spec:\n     envFrom: [{secret: {name: aws}}]\n   ```\n"
	found := manifests(page)
	if len(found) != 1 || decode(found[0]) == nil {
		t.Error(found)
	}
}
