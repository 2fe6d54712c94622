package template

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const canSet = "a settings file can set dependsOn[].name, source.git.triggers, variableFiles[].path, " +
	"variables[].name and variables[].value"

func TestSettings(t *testing.T) {
	for name, tt := range map[string]struct{ text, want, wrong string }{
		"all that it can set": {`
# Owner: team-net
---
variables: [{name: replicas, value: 3}, {name: zones, value: {a: [1, true, null]}}]
variableFiles: [{path: net.tfvars}]
dependsOn: [{name: prod-net}]
source: {git: {triggers: ["policies/**"]}}
`, `{"dependsOn":[{"name":"prod-net"}],"source":{"git":{"triggers":["policies/**"]}},"variableFiles":[{"path":"net.tfvars"}],` +
			`"variables":[{"name":"replicas","value":3},{"name":"zones","value":{"a":[1,true,null]}}]}`, ""},
		"nothing":        {"", "null", ""},
		"only a comment": {"# later\n", "null", ""},
		"a text that looks like an expression": {`variables: [{name: a, value: "${params.env}"}]`,
			`{"variables":[{"name":"a","value":"${params.env}"}]}`, ""},
		"no digit of a number is lost": {`variables: [{name: a, value: 9007199254740993}]`,
			`{"variables":[{"name":"a","value":9007199254740993}]}`, ""},
		"a field that it cannot set": {"runner: {serviceAccountName: admin}", "",
			`runner.serviceAccountName cannot be set here, and has the value "admin": ` + canSet},
		"a field of an entry": {"variables: [{name: a, value: 1}, {name: b, valueFrom: {secret: " +
			"{name: db, key: password}}}]", "",
			`variables[1].valueFrom.secret.key cannot be set here, and has the value "password": ` + canSet},
		"a field that no Stack has": {"variabels: []", "",
			"variabels cannot be set here, and has the value []"},
		"a field in another case": {"Apply: Automatic", "",
			`Apply cannot be set here, and has the value "Automatic"`},
		"a list without its entries": {"variables:", "",
			"variables cannot be set here, and has the value null"},
		"a path as the name of a field": {"source.git.triggers: [a]", "",
			`source.git.triggers cannot be set here, and has the value ["a"]`},
		"an entry as the name of a field": {"variables[0]: {name: a}", "",
			`variables[0] cannot be set here, and has the value {"name":"a"}`},
		"a long value": {"apply: " + strings.Repeat("x", 1000), "", strings.Repeat("x", 98) +
			"…: a settings file"},
		"a list": {"[{name: a}]", "", `[{"name":"a"}] is no object with fields`},
		"a text": {"oid sha256:1f3c", "", `"oid sha256:1f3c" is no object with fields`},
		"a field twice": {"dependsOn: [{name: a}]\ndependsOn: [{name: b}]", "",
			`key "dependsOn" already set`},
		"several documents": {"dependsOn: [{name: a}]\n---\ndependsOn: [{name: b}]", "",
			"it has several documents"},
		"more than is permitted": {"variables: [{name: a, value: " + strings.Repeat("x", MostSettings) +
			"}]", "", "more than 16384 bytes"},
		"more than is permitted, by aliases": {"variables: [{name: a, value: &a [" + strings.Repeat("x, ", 1000) +
			"]}, {name: b, value: [" + strings.Repeat("*a, ", 100) + "]}]", "", "more than 16384 bytes"},
		"what is no YAML": {"a: [", "", "did not find expected node content"},
	} {
		t.Run(name, func(t *testing.T) {
			settings, err := Settings([]byte(tt.text))
			if tt.wrong != "" {
				if err == nil || !strings.Contains(err.Error(), tt.wrong) || settings != nil {
					t.Errorf("%v, %v, want the error %q", settings, err, tt.wrong)
				}
				return
			}
			got, _ := json.Marshal(settings)
			if diff := cmp.Diff(tt.want, string(got)); err != nil || diff != "" {
				t.Errorf("%v\n%s", err, diff)
			}
		})
	}
}

// Users who push to the repository write the file: it must not decide which identity, credentials, commands or rules a
// Stack has.
func TestSettingsFileSetsNothingElse(t *testing.T) {
	var values []string
	for field := range stackFields {
		values = append(values, settingOf(field))
	}
	values = append(values, settingOf("spec.apply"), settingOf("metadata.name"), settingOf("metadata.labels"),
		settingOf("metadata.annotations"),
		settingOf("labels"), settingOf("somethingNew"), settingOf("dependsOn[].namespace"),
		`{"source":{"git":{"triggers":["a"],"ref":"main"}}}`)
	accepted := 0
	for _, value := range values {
		settings, err := Settings([]byte(value))
		switch {
		case slices.Contains([]string{
			settingOf("dependsOn[].name"), settingOf("source.git.triggers"), settingOf("variableFiles[].path"),
			settingOf("variables[].name"),
			settingOf("variables[].value"),
		}, value):
			if accepted++; err != nil {
				t.Error(err)
			}
		case err == nil:
			t.Errorf("a settings file can set %v", settings)
		}
	}
	if accepted != len(settable) {
		t.Errorf("%d fields are accepted, and %d are settable", accepted, len(settable))
	}
}

// settingOf is a settings file with one field, such as variables[].name.
func settingOf(field string) string {
	text, after := "{", "}"
	for part := range strings.SplitSeq(field, ".") {
		name, isList := strings.CutSuffix(part, "[]")
		text += `"` + name + `":`
		if isList {
			text, after = text+"[{", "}]"+after
		} else {
			text, after = text+"{", "}"+after
		}
	}
	last := len(text) - 1
	return text[:last] + `"x"` + after[1:]
}

// A settings file sets what captures may be read in, and the names of entries beside that.
func TestSettableFieldsAreFree(t *testing.T) {
	for _, field := range settable {
		entry, isName := strings.CutSuffix(field, "].name")
		if classOf(field) != free && (!isName || classOf(entry+"].value") != free) {
			t.Errorf("%s can be set, and is not free", field)
		}
		if _, listed := stackFields[strings.TrimPrefix(field, "spec.")]; !listed {
			t.Errorf("%s is no field of a Stack", field)
		}
	}
}
