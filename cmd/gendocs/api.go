package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"reflect"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
)

// resources are the resources of the API, in the order of the page.
var resources = []struct {
	plural string
	object any
}{
	{"stacks", v1alpha1.Stack{}}, {"stacksets", v1alpha1.StackSet{}}, {"variablesets", v1alpha1.VariableSet{}},
	{"stackpolicies", v1alpha1.StackPolicy{}},
	{"runs", v1alpha1.Run{}}, {"states", v1alpha1.State{}}, {"repositories", v1alpha1.Repository{}},
	{"stackgrants", v1alpha1.StackGrant{}},
	{"notifications", v1alpha1.Notification{}}, {"driftpauses", v1alpha1.DriftPause{}},
	{"pipelines", v1alpha1.Pipeline{}},
}

// api collects the text about the types of the API.
type api struct {
	// comments are the doc comments of the types.
	comments map[string]string
	// sections are the names of the types that have a section already.
	sections []string
	queue    []typeOfField
	out      strings.Builder
}

// typeOfField is a type with the schema of the first field that has it.
type typeOfField struct {
	t      reflect.Type
	schema apiextensionsv1.JSONSchemaProps
}

// apiPage returns a section for each resource of the API, with the types of its fields.
func apiPage(repository fs.FS) (string, error) {
	comments, err := typeComments(repository, "api/v1alpha1")
	if err != nil {
		return "", err
	}
	a := api{comments: comments}
	for _, r := range resources {
		data, err := fs.ReadFile(repository, "charts/cairn/files/crds/cairn.dev_"+r.plural+".yaml")
		if err != nil {
			return "", err
		}
		crd := apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(data, &crd); err != nil {
			return "", err
		}
		a.resource(reflect.TypeOf(r.object), *crd.Spec.Versions[0].Schema.OpenAPIV3Schema)
	}
	return a.out.String(), nil
}

// typeComments returns the doc comments of the types of a package, without markers.
func typeComments(repository fs.FS, folder string) (map[string]string, error) {
	files, err := fs.Glob(repository, folder+"/*.go")
	if err != nil {
		return nil, err
	}
	comments := map[string]string{}
	for _, name := range files {
		source, err := fs.ReadFile(repository, name)
		if err != nil {
			return nil, err
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source,
			parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range file.Decls {
			decl, ok := d.(*ast.GenDecl)
			if !ok || decl.Tok != token.TYPE {
				continue
			}
			for _, s := range decl.Specs {
				spec := s.(*ast.TypeSpec)
				doc := spec.Doc
				if doc == nil {
					doc = decl.Doc
				}
				text, _, _ := strings.Cut(doc.Text(), "\n+")
				comments[spec.Name.Name] = text
			}
		}
	}
	return comments, nil
}

// resource writes the section of a resource, and those of the types that no resource before has.
func (a *api) resource(t reflect.Type, schema apiextensionsv1.JSONSchemaProps) {
	fmt.Fprintf(&a.out, "## %s\n\n", t.Name())
	a.out.WriteString(paragraph(prose(schema.Description)))
	a.rules(schema)
	var rows [][]string
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "spec" || name == "status" {
			s := schema.Properties[name]
			rows = append(rows, []string{"`" + name + "`", a.typeName(field.Type, s), a.describe(schema, name, s)})
		}
	}
	a.out.WriteString(table([]string{"Field", "Type", "Description"}, rows))
	for len(a.queue) > 0 {
		next := a.queue[0]
		a.queue = a.queue[1:]
		a.section(next)
	}
}

// section writes the section of a type.
func (a *api) section(of typeOfField) {
	fmt.Fprintf(&a.out, "### %s\n\n", of.t.Name())
	a.out.WriteString(paragraph(prose(a.comments[of.t.Name()])))
	a.rules(of.schema)
	a.out.WriteString(table([]string{"Field", "Type", "Description"}, a.fields(of)))
}

// fields returns the rows of the fields of a type, with those of embedded types.
func (a *api) fields(of typeOfField) (rows [][]string) {
	for i := range of.t.NumField() {
		field := of.t.Field(i)
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "" && strings.Contains(options, "inline") {
			rows = append(rows, a.fields(typeOfField{field.Type, of.schema})...)
			continue
		}
		s, ok := of.schema.Properties[name]
		if !ok {
			continue
		}
		rows = append(rows, []string{"`" + name + "`", a.typeName(field.Type, s), a.describe(of.schema, name, s)})
	}
	return rows
}

// typeName returns the name of a field's type as Markdown, and queues its section.
func (a *api) typeName(t reflect.Type, schema apiextensionsv1.JSONSchemaProps) string {
	switch {
	case t.Kind() == reflect.Pointer:
		return a.typeName(t.Elem(), schema)
	case t == reflect.TypeFor[metav1.Duration]():
		return "duration"
	case t == reflect.TypeFor[metav1.Time]() || t == reflect.TypeFor[metav1.MicroTime]():
		return "time"
	case t == reflect.TypeFor[apiextensionsv1.JSON]():
		return "any"
	case t.Kind() == reflect.Slice && schema.Items != nil && schema.Items.Schema != nil:
		return "list of " + a.typeName(t.Elem(), *schema.Items.Schema)
	case t.Kind() == reflect.Map && schema.AdditionalProperties != nil && schema.AdditionalProperties.Schema != nil:
		return "map of " + a.typeName(t.Elem(), *schema.AdditionalProperties.Schema)
	case t.Kind() == reflect.Struct && strings.HasPrefix(t.PkgPath(), "cairn.dev/"):
		if !slices.Contains(a.sections, t.Name()) {
			a.sections = append(a.sections, t.Name())
			a.queue = append(a.queue, typeOfField{t, schema})
		}
		return fmt.Sprintf("[%s](#%s)", t.Name(), strings.ToLower(t.Name()))
	case t.PkgPath() != "" && !strings.HasPrefix(t.PkgPath(), "cairn.dev/") && t.Kind() == reflect.Struct:
		return t.Name() + " of Kubernetes"
	case schema.Type == "":
		return "any"
	}
	return schema.Type
}

// describe returns the description of a field of an object with its constraints.
func (a *api) describe(of apiextensionsv1.JSONSchemaProps, name string, s apiextensionsv1.JSONSchemaProps) string {
	parts := []string{prose(stop(s.Description))}
	if slices.Contains(of.Required, name) {
		parts = append(parts, "Required.")
	}
	if s.Default != nil && !strings.Contains(s.Description, "Default:") && string(s.Default.Raw) != "{}" {
		parts = append(parts, fmt.Sprintf("Default: `%s`.", s.Default.Raw))
	}
	parts = append(parts, constraints(s)...)
	if s.Items != nil && s.Items.Schema != nil {
		if of := constraints(*s.Items.Schema); len(of) > 0 && s.Items.Schema.Type != "object" {
			parts = append(parts, "Items: "+strings.Join(of, " "))
		}
	}
	if s.Type != "object" {
		for _, rule := range s.XValidations {
			parts = append(parts, "Rule: "+prose(stop(rule.Message)))
		}
	}
	return strings.Join(parts, " ")
}

// constraints returns the sentences about the values that the schema allows.
func constraints(s apiextensionsv1.JSONSchemaProps) (parts []string) {
	if strings.HasSuffix(s.Pattern, `(ms|s|m|h))+$`) { // a duration, which the introduction describes
		return nil
	}
	if len(s.Enum) > 0 {
		var values []string
		for _, v := range s.Enum {
			values = append(values, "`"+strings.Trim(string(v.Raw), `"`)+"`")
		}
		parts = append(parts, "One of "+strings.Join(values, ", ")+".")
	}
	number := func(format string, v *int64) {
		if v != nil && *v > 0 {
			parts = append(parts, fmt.Sprintf(format, *v))
		}
	}
	number("At most %d characters.", s.MaxLength)
	if !strings.Contains(s.Description, "At most") {
		number("At most %d items.", s.MaxItems)
		number("At most %d entries.", s.MaxProperties)
	}
	if s.Minimum != nil {
		parts = append(parts, fmt.Sprintf("Minimum: %v.", *s.Minimum))
	}
	if s.Maximum != nil {
		parts = append(parts, fmt.Sprintf("Maximum: %v.", *s.Maximum))
	}
	if s.Pattern != "" {
		parts = append(parts, "Pattern: `"+s.Pattern+"`.")
	}
	return parts
}

// rules writes the rules for the object as a whole.
func (a *api) rules(s apiextensionsv1.JSONSchemaProps) {
	if len(s.XValidations) == 0 {
		return
	}
	a.out.WriteString("Rules:\n\n")
	for _, rule := range s.XValidations {
		text := strings.TrimRight(paragraph("- "+prose(stop(rule.Message))), "\n")
		a.out.WriteString(strings.ReplaceAll(text, "\n", "\n  ") + "\n")
	}
	a.out.WriteString("\n")
}
