package snapshot

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

const stateName = "net-state-v7-0123456789ab-0"

// otherReferences are types of references and the fields with them that refer to other objects than Secrets.
var otherReferences = map[reflect.Type][]string{
	reflect.TypeFor[v1alpha1.ObjectRef]():               {"configMap"},
	reflect.TypeFor[v1alpha1.KeyRef]():                  {"configMap"},
	reflect.TypeFor[corev1.LocalObjectReference]():      {"configMap", "configMapKeyRef", "configMapRef"},
	reflect.TypeFor[corev1.SecretReference]():           nil,
	reflect.TypeFor[corev1.ObjectReference]():           nil,
	reflect.TypeFor[corev1.TypedLocalObjectReference](): {"dataSource"},
	reflect.TypeFor[corev1.TypedObjectReference]():      {"dataSourceRef"},
}

// fill sets one text after the other in a value of a type, calls found with the path of its fields, and unsets it.
func fill(t *testing.T, v reflect.Value, path []string, found func(path []string)) {
	isOther := func(field string) bool { return slices.Contains(path, field) }
	if fields, ok := otherReferences[v.Type()]; ok && !isSecretField(path) && !slices.ContainsFunc(fields, isOther) {
		t.Errorf("%s: a %s of no known kind: add it to otherReferences, or have the name of the field contain Secret",
			strings.Join(path, "."), v.Type())
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(stateName)
		found(path)
		v.SetString("")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem(), path, found)
		v.SetZero()
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return
		}
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0), path, found)
		v.SetZero()
	case reflect.Struct:
		for i := range v.NumField() {
			field := v.Type().Field(i)
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			switch {
			case !field.IsExported() || name == "-":
			case name == "":
				fill(t, v.Field(i), path, found)
			default:
				fill(t, v.Field(i), append(slices.Clone(path), name), found)
			}
		}
	default:
	}
}

func isSecretField(path []string) bool {
	return slices.ContainsFunc(path, func(f string) bool { return strings.Contains(strings.ToLower(f), "secret") })
}

// Each field of a Stack and of a pod that can name a Secret is found, also those that a later version adds.
func TestEachReferenceToAStateIsRejected(t *testing.T) {
	rejected := func(spec *v1alpha1.StackSpec, path []string) {
		t.Helper()
		problem, err := namesState(spec)
		if err != nil {
			t.Fatal(err)
		}
		got := problem != nil && strings.Contains(problem.Message, stateName+" holds a state")
		if got != isSecretField(path) {
			t.Errorf("%s: %+v", strings.Join(path, "."), problem)
		}
	}
	found := 0
	var spec v1alpha1.StackSpec
	fill(t, reflect.ValueOf(&spec).Elem(), []string{"spec"}, func(path []string) { rejected(&spec, path); found++ })
	var pod corev1.PodTemplateSpec
	fill(t, reflect.ValueOf(&pod).Elem(), nil, func(path []string) {
		raw, err := json.Marshal(pod)
		if err != nil {
			t.Fatal(err)
		}
		spec.Runner.Template = &apiextensionsv1.JSON{Raw: raw}
		rejected(&spec, path)
		found++
	})
	spec.Runner.Template = &apiextensionsv1.JSON{
		Raw: []byte(`{"secretName":"` + strings.Replace(stateName, "-state-v", `-\u0073tate-v`, 1) + `"}`),
	}
	rejected(&spec, []string{"secretName"})
	if found < 500 {
		t.Errorf("only %d fields were found", found)
	}
	spec.Runner.Template = &apiextensionsv1.JSON{Raw: fmt.Appendf(nil,
		`{"spec":{"volumes":[{"name":"v","csi":{"driver":"d","volumeAttributes":{"secretName":%q}}}]}}`, stateName)}
	rejected(&spec, []string{"secretName"})
}
