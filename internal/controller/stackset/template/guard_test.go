package template

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/api/v1alpha1"
)

// stackFields are all fields of the spec of a Stack, down to lists and objects of the first level, with their classes.
// A new field is guarded, and belongs here: is it free, can a user who pushes to the repository choose it.
var stackFields = map[string]class{
	"source.configMap": guarded, "source.inline": guarded,
	"source.git.repository": guarded, "source.git.ref": guarded, "source.git.path": free, "source.git.triggers": free,
	"variables[].name": guarded, "variables[].value": free, "variables[].valueFrom": guarded,
	"variableFiles[].secret": guarded, "variableFiles[].configMap": guarded, "variableFiles[].path": free,
	"env": guarded, "envFrom": guarded, "engine": guarded, "workspace": guarded, "backend": guarded,
	"commands": guarded,
	"apply":    choice, "requireApprovalFor": guarded, "drift": guarded, "windows": guarded, "dependsOn[].name": free,
	"dependsOn[].namespace": guarded,
	"moduleCredentials":     guarded, "preventSelfApproval": guarded, "hooks": guarded, "policies": guarded,
	"outputs": guarded,
	"retry":   guarded, "timeout": guarded, "deletionPolicy": choice, "suspend": guarded, "runHistoryLimit": guarded,
	"runner": guarded, "pullRequests": guarded,
}

func TestEachFieldOfAStackHasAClass(t *testing.T) {
	left := map[string]bool{}
	for field := range stackFields {
		left[field] = true
	}
	var visit func(of reflect.Type, path string)
	visit = func(of reflect.Type, path string) {
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			field, is := path+name, of.Field(i).Type
			if want, known := stackFields[field]; known {
				delete(left, field)
				if got := classOf("spec." + strings.ReplaceAll(field, "[]", "[7]")); got != want {
					t.Errorf("spec.%s has class %d, want %d", field, got, want)
				}
				continue
			}
			for is.Kind() == reflect.Pointer {
				is = is.Elem()
			}
			switch {
			case !slices.ContainsFunc(strings.Fields(names(stackFields)), func(known string) bool {
				return strings.HasPrefix(known, field+".") || strings.HasPrefix(known, field+"[].")
			}):
				t.Errorf("spec.%s has no class: can a user who pushes to the repository choose it", field)
			case is.Kind() == reflect.Slice:
				visit(is.Elem(), field+"[].")
			default:
				visit(is, field+".")
			}
		}
	}
	visit(reflect.TypeFor[v1alpha1.StackSpec](), "")
	for field := range left {
		t.Errorf("a Stack has no field spec.%s", field)
	}
	for _, field := range []string{"spec.somethingNew", "spec.source", "spec.source.git", "spec.variables",
		"spec.variables[0]", "spec", "", "metadata", "metadata.namespaceX", "metadata.labels", "metadata.labels.env",
		"metadata.labels.directory.cairn.dev", "metadata.labels.directory.cairn.devX/env",
		"metadata.labels.x.directory.cairn.dev/env", "metadata.annotationsX", "spec.applyX",
		"spec.variables[0].valueFrom.secret.name"} {
		if classOf(field) != guarded {
			t.Errorf("%q is not guarded", field)
		}
	}
}

func names(fields map[string]class) string {
	var all []string
	for name := range fields {
		all = append(all, name)
	}
	return strings.Join(all, " ")
}

// params.size is of a list; params.env and params.name are captures.
func TestGuard(t *testing.T) {
	account := func(expression string) string {
		return `{"metadata":{"name":"${params.env}-${params.name}"},"spec":{"runner":{"serviceAccountName":"` +
			expression + `"}}}`
	}
	apply := func(name, expression string) string {
		return `{"metadata":{"name":"` + name + `"},"spec":{"apply":"` + expression + `"}}`
	}
	label := func(labels string) string {
		return `{"metadata":{"name":"${params.env}-${params.name}","labels":` + labels + `}}`
	}
	const both = "${params.env}-${params.name}"
	const noCapture, notOfAList, noDirectory = "users who push to the repository choose captures",
		"only params of lists", "directory is not permitted"
	for name, tt := range map[string]struct{ template, wrong string }{
		"a param of a list":               {account("sa-${params.size}"), ""},
		"a param of a list, by index":     {account("${params['size']}"), ""},
		"a param of a list, optional":     {account("${params.?size.orValue('x')}"), ""},
		"a text":                          {account("runner"), ""},
		"a capture":                       {account("${params.env}"), noCapture},
		"a capture in a text":             {account("sa-${params.env}"), noCapture},
		"a capture by index":              {account("${params['env']}"), noCapture},
		"an optional capture":             {account("${params.?env.orValue('x')}"), noCapture},
		"an optional capture by index":    {account("${params[?'env'].orValue('x')}"), noCapture},
		"that there is a capture":         {account("${has(params.env) ? 'a' : 'b'}"), noCapture},
		"a choice by a capture":           {account("${params.env == 'prod' ? 'a' : 'b'}"), noCapture},
		"a param that is unknown":         {account("${params.other}"), noCapture},
		"a dynamic index":                 {account("${params['e' + 'nv']}"), notOfAList},
		"an index that another param has": {account("${params[params.size]}"), notOfAList},
		"params as an index":              {account("${dyn({'a': 'b'})[params]}"), notOfAList},
		"params as a whole":               {account("${params}"), notOfAList},
		"params in a list":                {account("${[params][0].env}"), notOfAList},
		"params in a map":                 {account("${{'p': params}.p.env}"), notOfAList},
		"the values of all params":        {account("${params.map(k, params.size)[0]}"), notOfAList},
		"params by a macro":               {account("${[params].map(p, p.env)[0]}"), notOfAList},
		"params behind a dot":             {account("${.params.env}"), noCapture},
		"params as an argument":           {account("${dyn(params).env}"), notOfAList},
		"the directory":                   {account("${directory}"), noDirectory},
		"a part of the directory":         {account("${directory.split('/')[0]}"), noDirectory},
		"the directory behind a dot":      {account("${.directory}"), noDirectory},
		"an object with a capture in it": {`{"spec":{"runner":"${{'serviceAccountName': params.env}}"}}`,
			noCapture},
		"a list with a capture in it": {`{"spec":{"hooks":["${params.env}"]}}`, noCapture},
		"a variable of a Secret": {
			`{"spec":{"variables":[{"name":"a","valueFrom":{"secret":{"name":"${params.env}","key":"a"}}}]}}`,
			noCapture},
		"all variables": {`{"spec":{"variables":"${[{'name': 'a', 'value': params.env}]}"}}`,
			noCapture},
		"the ref": {`{"spec":{"source":{"git":{"ref":"${params.env}"}}}}`, noCapture},
		"fields that are free": {
			`{"metadata":{"name":"${params.name}","labels":{"directory.cairn.dev/c":"${directory}"},"annotations":{"a.b/c":"${directory}"}},"spec":{"source":{"git":{"path":"${directory}"}},"variables":[{"name":"a","value":"${params}"}],"dependsOn":[{"name":"${params.env}-net"}]}}`, ""},
		"a label of a directory": {label(`{"directory.cairn.dev/env":"${params.env}"}`), ""},
		"a label of a list":      {label(`{"size":"${params.size}","env":"prod"}`), ""},
		"another label": {label(`{"env":"${params.env}"}`), noCapture +
			". Name the label directory.cairn.dev/env, and"},
		"another label with the directory": {label(`{"example.com/env":"${directory.split('/')[1]}"}`),
			"Name the label directory.cairn.dev/env, and"},
		"a choice of another label": {label(`{"env":"${params.env == 'prod' ? 'prod' : 'dev'}"}`),
			noCapture},
		"names of labels by a capture": {label(`"${{params.env: 'x'}}"`), noCapture},
		"a choice of rules by the start of names": {
			apply(both, "${params.env == 'prod' ? 'Manual' : params['env'] == 'dev' ? 'Automatic' : 'Never'}"), ""},
		"a choice of rules by the end of names": {apply(both, "${params.name == 'net' ? 'Manual' : 'Automatic'}"),
			""},
		"a choice by a list": {
			apply("${params.name}", "${params.size > 2 ? 'Manual' : 'Automatic'}"), ""},
		"a choice that the name does not show": {
			apply("${params.name}-x", "${params.env == 'prod' ? 'Manual' : 'Automatic'}"),
			"metadata.name must begin with ${params.env}"},
		"nor in its middle": {
			apply("a-${params.env}-b", "${params.env == 'prod' ? 'Manual' : 'Automatic'}"),
			"metadata.name must begin with ${params.env}"},
		"nor without a text beside it": {
			apply("${params.env}${params.name}", "${params.env == 'prod' ? 'Manual' : 'Automatic'}"),
			"metadata.name must begin with ${params.env}"},
		"nor by a part of it": {
			apply("${params.env.substring(1)}-x", "${params.env == 'prod' ? 'Manual' : 'Automatic'}"),
			"metadata.name must begin with ${params.env}"},
		"a choice by the directory": {apply(both, "${directory == 'a' ? 'Manual' : 'Automatic'}"),
			noDirectory},
		"a choice of what a capture has": {apply(both, "${params.env == 'prod' ? 'Manual' : params.env}"),
			noCapture},
		"a choice in a text": {apply(both, "${params.env == 'prod' ? 'Man' : 'Automatic'}ual"),
			noCapture},
		"rules that a capture has": {apply(both, "${params.env}"), noCapture},
		"no choice of self-approval by a capture": {`{"metadata":{"name":"` + both +
			`"},"spec":{"preventSelfApproval":"${params.env == 'prod'}"}}`, noCapture},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Compile([]byte(tt.template), []string{"size"})
			if (err == nil) != (tt.wrong == "") || (err != nil && !strings.Contains(err.Error(), tt.wrong)) {
				t.Errorf("got %v, want %q", err, tt.wrong)
			}
		})
	}
}

// A directory that moves between environments must not become the Stack of another one with other rules.
func TestCaptureThatChoosesIsKnownByTheName(t *testing.T) {
	for name, pattern := range map[string]string{"the start": "${params.env}-${params.name}",
		"the end": "${params.name}.v1-${params.env}"} {
		t.Run(name, func(t *testing.T) {
			compiled, err := Compile([]byte(`{"metadata":{"name":"`+pattern+
				`"},"spec":{"apply":"${params.env == 'prod' ? 'Manual' : 'Automatic'}"}}`), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := compiled.Render(t.Context(), "envs/prod/a-b",
				map[string]any{"env": "prod", "name": "a-b"}); err != nil {
				t.Error(err)
			}
			_, err = compiled.Render(t.Context(), "envs/prod-a/b", map[string]any{"env": "prod-a", "name": "b"})
			if err == nil || !strings.Contains(err.Error(),
				`params.env decides about spec.apply or spec.deletionPolicy, so it must not contain "-"`) {
				t.Error(err)
			}
		})
	}
}

// The values are JSON values: none ends its string, or becomes a field.
func TestValuesInjectNothing(t *testing.T) {
	compiled, err := Compile([]byte(
		`{"metadata":{"annotations":{"team":"${params.team}","text":"a-${params.team}"}},"spec":{"source":{"git":{"path":"${directory}"}}}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	for hostile, want := range map[string]string{
		`a", "spec": {"apply": "Automatic"}, "x": "`: `a\", \"spec\": {\"apply\": \"Automatic\"}, \"x\": \"`,
		"a\nspec:\n  apply: Automatic":               `a\nspec:\n  apply: Automatic`,
		"${params.secret}":                           `${params.secret}`,
		"{{ .Values.x }}":                            `{{ .Values.x }}`,
		`\u0022}`:                                    `\\u0022}`,
	} {
		got, err := compiled.Render(t.Context(), hostile, map[string]any{"team": hostile, "secret": "s"})
		diff := cmp.Diff(`{"metadata":{"annotations":{"team":"`+want+`","text":"a-`+want+
			`"}},"spec":{"source":{"git":{"path":"`+want+`"}}}}`, string(got))
		if err != nil || diff != "" {
			t.Errorf("%v\n%s", err, diff)
		}
	}
}
