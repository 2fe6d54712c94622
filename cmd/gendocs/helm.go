package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"go.yaml.in/yaml/v3"
)

// valuesPage returns a section for each value of the chart at the top, with the values in it.
func valuesPage(repository fs.FS) (string, error) {
	data, err := fs.ReadFile(repository, "charts/cairn/values.yaml")
	if err != nil {
		return "", err
	}
	document := yaml.Node{}
	if err := yaml.Unmarshal(data, &document); err != nil {
		return "", err
	}
	var out strings.Builder
	var general [][]string
	sections := [][2]string{}
	top := document.Content[0]
	for i := 0; i < len(top.Content); i += 2 {
		key, value := top.Content[i], top.Content[i+1]
		if description(key) != "" {
			row, err := valueRow(key.Value, key, value)
			if err != nil {
				return "", err
			}
			general = append(general, row)
			continue
		}
		rows, err := values(key.Value, value)
		if err != nil {
			return "", err
		}
		sections = append(sections, [2]string{key.Value, table(columns, rows)})
	}
	out.WriteString("## General\n\n" + table(columns, general))
	for _, s := range sections {
		fmt.Fprintf(&out, "## %s\n\n%s", s[0], s[1])
	}
	return out.String(), nil
}

var columns = []string{"Value", "Type", "Default", "Description"}

// values returns the rows of a map and of the maps in it.
func values(path string, node *yaml.Node) (rows [][]string, err error) {
	for i := 0; i < len(node.Content); i += 2 {
		key, value := node.Content[i], node.Content[i+1]
		at := path + "." + key.Value
		if description(key) != "" {
			row, err := valueRow(at, key, value)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
			continue
		}
		if value.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("value %s has no description", at)
		}
		inner, err := values(at, value)
		if err != nil {
			return nil, err
		}
		rows = append(rows, inner...)
	}
	return rows, nil
}

// description returns the text of the comment above a key, as helm-docs reads it.
func description(key *yaml.Node) string {
	_, text, ok := strings.Cut(key.HeadComment, "# -- ")
	if !ok {
		return ""
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(text, "\n# ", " ")), " ")
}

func valueRow(path string, key, value *yaml.Node) ([]string, error) {
	var decoded any
	if err := value.Decode(&decoded); err != nil {
		return nil, err
	}
	kind := map[string]string{
		"!!str": "string", "!!bool": "boolean", "!!int": "integer", "!!float": "number", "!!seq": "list",
		"!!map":  "map",
		"!!null": "any",
	}[value.Tag]
	text, err := json.Marshal(decoded)
	if err != nil {
		return nil, err
	}
	return []string{"`" + path + "`", kind, "`" + string(text) + "`", prose(stop(description(key)))}, nil
}
