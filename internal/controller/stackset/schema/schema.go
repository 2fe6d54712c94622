// Package schema checks Stacks and StackSets as the API server does when they are created: by the
// CustomResourceDefinitions of this version of Cairn, with their rules in CEL. It needs no cluster.
package schema

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/listtype"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	metadata "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiservercel "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"

	"cairn.dev/cairn/api/v1alpha1"
	chart "cairn.dev/cairn/charts/cairn"
	"cairn.dev/cairn/internal/controller/stackset/template"
)

// Fault is a field that the API server rejects.
type Fault struct {
	// Field is its path, such as spec.variables[0].name.
	Field string
	// Value that the object has there. It is nil for a field without a value.
	Value any
	// Reason describes what is wrong, without the value.
	Reason string
}

// Text describes the fault with its value, without the field.
func (f Fault) Text() string {
	if f.Value == nil {
		return f.Reason
	}
	return template.Value(f.Value) + ": " + f.Reason
}

// The resources that are checked.
var (
	stacks    = sync.OnceValues(func() (*resource, error) { return load("stacks") })
	stackSets = sync.OnceValues(func() (*resource, error) { return load("stacksets") })
)

// Stack returns what the API server rejects of a new Stack, as JSON values with metadata and spec. An error is one of
// the schema.
func Stack(ctx context.Context, object map[string]any) ([]Fault, error) {
	return check(ctx, stacks, "Stack", object)
}

// StackSet returns what the API server rejects of a new StackSet. An error is one of the schema.
func StackSet(ctx context.Context, object map[string]any) ([]Fault, error) {
	return check(ctx, stackSets, "StackSet", object)
}

// resource is the schema of a resource.
type resource struct {
	fields *structural.Structural
	values validation.SchemaValidator
	rules  *cel.Validator
}

// load reads the schema of a resource from the chart.
func load(plural string) (*resource, error) {
	data, err := chart.Manifests.ReadFile("files/crds/" + v1alpha1.GroupVersion.Group + "_" + plural + ".yaml")
	if err != nil {
		return nil, err
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(data, crd); err != nil {
		return nil, err
	}
	isCurrent := func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
		return v.Name == v1alpha1.GroupVersion.Version
	}
	at := slices.IndexFunc(crd.Spec.Versions, isCurrent)
	if at < 0 {
		return nil, fmt.Errorf("CustomResourceDefinition %s has no version %s", crd.Name, v1alpha1.GroupVersion.Version)
	}
	props := &apiextensions.JSONSchemaProps{}
	declared := crd.Spec.Versions[at].Schema.OpenAPIV3Schema
	err = apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(declared, props, nil)
	if err != nil {
		return nil, err
	}
	r := &resource{}
	if r.fields, err = structural.NewStructural(props); err != nil {
		return nil, err
	}
	r.values, _, err = validation.NewSchemaValidator(props)
	r.rules = cel.NewValidator(r.fields, true, apiservercel.PerCallLimit)
	return r, err
}

// check is what the API server does with a new custom resource (customResourceStrategy.Validate in apiextensions).
func check(
	ctx context.Context, of func() (*resource, error), kind string, object map[string]any,
) (faults []Fault, err error) {
	r, err := of()
	if err != nil {
		return nil, fmt.Errorf("the schema of %s: %w", kind, err)
	}
	created := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(object)}
	created.SetAPIVersion(v1alpha1.GroupVersion.String())
	created.SetKind(kind)
	if created.GetNamespace() == "" {
		created.SetNamespace("default") // a command or a StackSet sets it
	}
	defaulting.PruneNonNullableNullsWithoutDefaults(created.Object, r.fields)
	defaulting.Default(created.Object, r.fields)
	errs := metadata.ValidateObjectMetaAccessor(created, true, nameFaults, field.NewPath("metadata"))
	errs = append(errs, validation.ValidateCustomResource(nil, created.Object, r.values)...)
	errs = append(errs, listtype.ValidateListSetsAndMaps(nil, r.fields, created.Object)...)
	if len(errs) == 0 { // rules expect what the schema requires
		errs, _ = r.rules.Validate(ctx, nil, r.fields, created.Object, nil, apiservercel.RuntimeCELCostBudget)
	}
	for _, e := range errs {
		faults = append(faults, faultOf(e, created.Object))
	}
	return faults, nil
}

// nameFaults returns what is wrong with a name. The text of Kubernetes has a regular expression.
func nameFaults(name string, prefix bool) []string {
	faults := metadata.NameIsDNSSubdomain(name, prefix)
	for i, text := range faults {
		if strings.Contains(text, "RFC 1123") {
			faults[i] = "a name has lowercase letters, digits, - and ., and begins and ends with a letter or a " +
				"digit; for example, ${params.name.lowerAscii().replace('_', '-')} changes a param"
		}
	}
	return faults
}

// faultOf returns the fault of an error. Its value is that of the object: a rule reports the type of an object only.
func faultOf(e *field.Error, object map[string]any) Fault {
	fault := Fault{Field: e.Field, Reason: e.Detail}
	if fault.Field == "<nil>" {
		fault.Field = "metadata" // a rule of the whole object is about its name
	}
	fault.Value, _ = ValueAt(object, fault.Field)
	switch e.Type {
	case field.ErrorTypeRequired:
		fault.Reason = strings.TrimSuffix("required: "+e.Detail, ": ")
	case field.ErrorTypeDuplicate:
		fault.Reason = "duplicate value"
	}
	return fault
}

// ValueAt returns the value at a path such as spec.variables[0].value.
func ValueAt(value any, path string) (any, bool) {
	for part := range strings.SplitSeq(strings.ReplaceAll(path, "[", ".["), ".") {
		switch in := value.(type) {
		case map[string]any:
			next, found := in[part]
			if !found {
				return nil, false
			}
			value = next
		case []any:
			at, err := strconv.Atoi(strings.Trim(part, "[]"))
			if err != nil || at < 0 || at >= len(in) {
				return nil, false
			}
			value = in[at]
		default:
			return nil, false
		}
	}
	return value, true
}
