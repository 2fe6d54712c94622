package podspec

import (
	"maps"
	"reflect"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// rejectedParts are the fields of parts of a pod that no template can set, with their reasons.
var rejectedParts = map[reflect.Type]map[string]string{
	reflect.TypeFor[corev1.PodSecurityContext]():   {"windowsOptions": "runners are for Linux"},
	reflect.TypeFor[corev1.SecurityContext]():      {"windowsOptions": "runners are for Linux"},
	reflect.TypeFor[corev1.ResourceRequirements](): {"claims": "see resourceClaims of a pod"},
	reflect.TypeFor[corev1.VolumeMount]():          {"bindMountOptions": "no use is known"},
	reflect.TypeFor[corev1.VolumeSource]():         {"gitRepo": "Kubernetes does not support it any longer"},
}

// A field that a version of Kubernetes adds is in no list yet: decide whether a template can set it. It cannot if it
// gives a container access to the processes, the memory or the files of another one.
func TestFieldsOfTemplatesAreListed(t *testing.T) {
	compare := func(of reflect.Type, allowed, rejected []string) {
		var fields []string
		for i := range of.NumField() {
			if name := jsonName(of.Field(i)); name != "" {
				fields = append(fields, name)
			}
		}
		slices.Sort(fields)
		listed := slices.Sorted(slices.Values(slices.Concat(allowed, rejected)))
		if diff := cmp.Diff(listed, fields); diff != "" {
			t.Errorf("%s: -listed +fields of Kubernetes:\n%s", of, diff)
		}
	}
	compare(reflect.TypeFor[corev1.PodSpec](), podFields, slices.Collect(maps.Keys(ownPodFields)))
	for of, allowed := range partFields {
		compare(of, allowed, slices.Collect(maps.Keys(rejectedParts[of])))
	}
}
