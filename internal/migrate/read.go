package migrate

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Read gives the objects of a text: YAML or JSON, any number of documents, lists taken apart.
func Read(text []byte) ([]unstructured.Unstructured, error) {
	var objects []unstructured.Unstructured
	documents := kyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for n := 1; ; n++ {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, err
		}
		found, err := readDocument(document)
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		objects = append(objects, found...)
	}
}

func readDocument(document []byte) ([]unstructured.Unstructured, error) {
	data, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, err
	}
	switch value := value.(type) {
	case nil: // nothing but comments
		return nil, nil
	case map[string]any:
		return takeApart(value)
	}
	return nil, errors.New("it is not an object of Kubernetes")
}

// takeApart gives the objects of a list, which may hold lists, or the one object that is none.
func takeApart(value map[string]any) ([]unstructured.Unstructured, error) {
	kind, _ := value["kind"].(string)
	items, isList := value["items"].([]any)
	if !isList || !strings.HasSuffix(kind, "List") {
		return []unstructured.Unstructured{{Object: numbers(value).(map[string]any)}}, nil
	}
	var objects []unstructured.Unstructured
	for i, item := range items {
		fields, ok := item.(map[string]any)
		if !ok {
			return nil, fmt.Errorf("items[%d] is not an object of Kubernetes", i)
		}
		in, err := takeApart(fields)
		if err != nil {
			return nil, fmt.Errorf("items[%d]: %w", i, err)
		}
		objects = append(objects, in...)
	}
	return objects, nil
}

// numbers makes of the numbers what objects of Kubernetes hold: whole ones where they are whole.
func numbers(value any) any {
	switch value := value.(type) {
	case json.Number:
		if n, err := value.Int64(); err == nil {
			return n
		}
		f, _ := value.Float64()
		return f
	case map[string]any:
		for name, in := range value {
			value[name] = numbers(in)
		}
	case []any:
		for i, in := range value {
			value[i] = numbers(in)
		}
	}
	return value
}
