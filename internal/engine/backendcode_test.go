package engine

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/fstest"
)

func TestBackendArgumentsInCode(t *testing.T) {
	s3 := func(body string) string { return "terraform {\n  backend \"s3\" {\n" + body + "\n  }\n}\n" }
	for name, test := range map[string]struct {
		files map[string]string
		want  string
	}{
		"none":          {map[string]string{"a.tf": `output "x" { value = 1 }`}, "none"},
		"local is none": {map[string]string{"a.tf": "terraform {\n  backend \"local\" {}\n}\n"}, "none"},
		"literals have a value": {map[string]string{"a.tf": s3("endpoints = { s3 = \"x\" }\nuse_path_style = true")},
			`s3 {"endpoints":{"s3":"x"},"use_path_style":true}`},
		"a reference has none": {map[string]string{"a.tf": s3("bucket = var.b")}, `s3 {"bucket":null}`},
		"nor has a block":      {map[string]string{"a.tf": s3("assume_role {\n}")}, `s3 {"assume_role":null}`},
		"nor has a long literal": {
			map[string]string{"a.tf": s3(`bucket = "` + strings.Repeat("b", longestLiteral) + `"`)},
			`s3 {"bucket":null}`},
		"JSON is read too": {map[string]string{"a.tf.json": `{"terraform":{"backend":{"s3":{"bucket":"b"}}}}`},
			`s3 {"bucket":"b"}`},
		"an override file counts": {map[string]string{"a_override.tf": "terraform {\n  backend \"pg\" {}\n}\n",
			"main.tf": s3("")}, "pg {}"},
	} {
		root := fstest.MapFS{}
		for file, text := range test.files {
			root[file] = &fstest.MapFile{Data: []byte(text)}
		}
		found, err := FindBackend(root)
		if err != nil {
			t.Fatal(err)
		}
		got := "none"
		if found != nil {
			data, err := json.Marshal(found.Arguments)
			if err != nil {
				t.Fatal(err)
			}
			got = found.Type + " " + string(data)
		}
		if got != test.want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
