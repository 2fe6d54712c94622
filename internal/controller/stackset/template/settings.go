package template

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/internal/base/shorten"
)

// MostSettings is how many bytes a settings file can have, also as JSON.
const MostSettings = 16 << 10

// Settings returns the fields of the spec of a Stack that a settings file has, which is YAML without expressions. A
// field that it cannot set is an error.
func Settings(text []byte) (settings map[string]any, err error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return settings, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := yaml.YAMLToJSONStrict(document)
		switch {
		case err != nil:
			return nil, err
		case string(data) == "null": // only comments
			continue
		case len(data) > MostSettings:
			return nil, fmt.Errorf("it has more than %d bytes as JSON", MostSettings)
		case settings != nil:
			return nil, errors.New("it has several documents")
		case data[0] != '{':
			return nil, fmt.Errorf("%s is no object with fields", Value(json.RawMessage(data)))
		}
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		if err := decoder.Decode(&settings); err != nil {
			return nil, err
		}
		if err := checkSettings("spec", settings); err != nil {
			return nil, err
		}
	}
}

// checkSettings returns an error with the first field that is not settable.
func checkSettings(field string, value any) error {
	general := index.ReplaceAllString(field, "[]")
	if slices.Contains(settable, general) {
		return nil
	}
	switch value := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(value)) {
			if strings.ContainsAny(name, ".[") { // it would read as several fields
				return notSettable(join(field, name), value[name])
			}
			if err := checkSettings(join(field, name), value[name]); err != nil {
				return err
			}
		}
		if len(value) > 0 {
			return nil
		}
	case []any:
		for i, member := range value {
			if err := checkSettings(field+"["+strconv.Itoa(i)+"]", member); err != nil {
				return err
			}
		}
		if len(value) > 0 {
			return nil
		}
	}
	return notSettable(field, value)
}

func notSettable(field string, value any) error {
	var all []string
	for _, known := range settable {
		all = append(all, strings.TrimPrefix(known, "spec."))
	}
	last := len(all) - 1
	return fmt.Errorf("%s cannot be set here, and has the value %s: a settings file can set %s and %s",
		shorten.Line(strings.TrimPrefix(field, "spec."), 200), Value(value), strings.Join(all[:last], ", "), all[last])
}

// Value is a value for a message: the beginning of its JSON.
func Value(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		return "that JSON does not have"
	}
	return shorten.Characters(string(data), 100)
}
