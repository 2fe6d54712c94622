package stackset

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	strictjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/controller/stackset/render"
	"cairn.dev/cairn/internal/controller/stackset/schema"
)

// largestFile is the maximum size of a file with StackSets.
const largestFile = 8 << 20

// readSet returns the StackSet in a YAML or JSON file, or in standard input for "-". Other objects are skipped. Of
// several StackSets, name selects one.
func readSet(ctx context.Context, s *session.Session, file, name string) (*v1alpha1.StackSet, error) {
	var data []byte
	var err error
	if file == "-" {
		data, err = s.ReadInput(ctx, largestFile)
	} else {
		data, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, err
	}
	sets, err := decodeSets(ctx, data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	var names []string
	for _, set := range sets {
		if set.Name == name || name == "" && len(sets) == 1 {
			return set, nil
		}
		names = append(names, set.Name)
	}
	switch {
	case len(sets) == 0:
		return nil, fmt.Errorf("%s has no StackSet", file)
	case name != "":
		return nil, fmt.Errorf("%s has no StackSet %s, but %s", file, name, strings.Join(names, ", "))
	}
	return nil, fmt.Errorf("%s has several StackSets: select one of %s with --name", file, strings.Join(names, ", "))
}

// decodeSets returns the StackSets of YAML documents. What the API server rejects of a StackSet is an error.
func decodeSets(ctx context.Context, data []byte) (sets []*v1alpha1.StackSet, err error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return sets, nil
		}
		if err != nil {
			return nil, err
		}
		object, err := yaml.YAMLToJSONStrict(document)
		if err != nil {
			return nil, err
		}
		set := &v1alpha1.StackSet{}
		unknown, err := strictjson.UnmarshalStrict(object, set)
		switch {
		case set.Kind != "StackSet":
			continue // whatever it is, also what does not decode
		case set.APIVersion != v1alpha1.GroupVersion.String():
			return nil, fmt.Errorf("the apiVersion of StackSet %s is not %s", set.Name, v1alpha1.GroupVersion)
		case err != nil:
			return nil, fmt.Errorf("StackSet %s: %w", set.Name, err)
		case len(unknown) > 0:
			return nil, fmt.Errorf("StackSet %s: %w", set.Name, errors.Join(unknown...))
		}
		if err := checkSet(ctx, object); err != nil {
			return nil, fmt.Errorf("StackSet %s: %w", set.Name, err)
		}
		sets = append(sets, set)
	}
}

// checkSet checks a StackSet by the schema of the API.
func checkSet(ctx context.Context, data []byte) error {
	object, err := render.Object(data)
	if err != nil {
		return err
	}
	faults, err := schema.StackSet(ctx, object)
	if err != nil {
		return err
	}
	var all []error
	for _, f := range faults {
		all = append(all, errors.New(screen.Clean(f.Field+": "+f.Text())))
	}
	return errors.Join(all...)
}
