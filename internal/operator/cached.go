package operator

import (
	"unique"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/run"
	"cairn.dev/cairn/internal/controller/stack"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/storage"
)

// cacheOptions keep in memory only what decisions need: of pods only the runners', until they have succeeded (one
// that the cache does not have is read from the API server); of Secrets and ConfigMaps only the metadata, and
// nothing of the Secrets that hold states, of which each Stack has thirty; of none the managed fields; of States the
// newest version. An operator has no Runs that succeeded, since the status of their Stacks has what decisions need, and
// of other finished Runs what later ones need. A server alone has no finished Runs: no runner gets an order for one.
// What users list is in the catalog, and what they get is read from the API server.
func cacheOptions(o Options) cache.Options {
	finished := []v1alpha1.RunPhase{v1alpha1.PhaseSucceeded}
	if !o.Operator {
		finished = append(finished, v1alpha1.PhaseFailed, v1alpha1.PhaseCanceled, v1alpha1.PhaseSuperseded)
	}
	options := cache.Options{
		DefaultTransform: stripManagedFields,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {
				Label: withLabel(runinfo.LabelRun, selection.Exists), Field: without(corev1.PodSucceeded),
				Transform: leanPod,
			},
			metadataOf("Secret"): {Label: withLabel(storage.Label, selection.DoesNotExist),
				Transform: stripAnnotations},
			metadataOf("ConfigMap"): {Transform: stripAnnotations},
			&v1alpha1.Stack{}:       {Transform: leanStack},
			&v1alpha1.State{}:       {Transform: leanState},
			&v1alpha1.Run{}:         {Field: without(finished...), Transform: leanRun},
		},
	}
	if !o.Shard.all() {
		options.NewInformer = o.Shard.newInformer
	}
	return options
}

// without selects the objects that are in none of some phases.
func without[T ~string](phases ...T) fields.Selector {
	var all []fields.Selector
	for _, phase := range phases {
		all = append(all, fields.OneTermNotEqualSelector("status.phase", string(phase)))
	}
	return fields.AndSelectors(all...)
}

func withLabel(label string, is selection.Operator) labels.Selector {
	requirement, err := labels.NewRequirement(label, is, nil)
	if err != nil {
		panic(err) // the label is not one
	}
	return labels.NewSelector().Add(*requirement)
}

func metadataOf(kind string) *metav1.PartialObjectMetadata {
	m := &metav1.PartialObjectMetadata{}
	m.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return m
}

// stripManagedFields also uses one string for the namespace of all objects in it.
func stripManagedFields(o any) (any, error) {
	if m, ok := o.(metav1.Object); ok {
		m.SetManagedFields(nil)
		m.SetNamespace(unique.Make(m.GetNamespace()).Value())
	}
	return o, nil
}

// kindOf uses one string for all objects of a kind.
func kindOf(kind string) metav1.TypeMeta { return metav1.TypeMeta{APIVersion: apiVersion, Kind: kind} }

var apiVersion = v1alpha1.GroupVersion.String()

// stripAnnotations also because kubectl apply puts whole objects into one.
func stripAnnotations(o any) (any, error) {
	if m, ok := o.(metav1.Object); ok {
		m.SetAnnotations(nil)
	}
	return stripManagedFields(o)
}

func leanStack(o any) (any, error) {
	if s, ok := o.(*v1alpha1.Stack); ok {
		s.TypeMeta = kindOf("Stack")
		stack.Lean(s)
	}
	return stripManagedFields(o)
}

func leanState(o any) (any, error) {
	if s, ok := o.(*v1alpha1.State); ok {
		s.TypeMeta = kindOf("State")
		state.Lean(s)
	}
	return stripManagedFields(o)
}

func leanRun(o any) (any, error) {
	if r, ok := o.(*v1alpha1.Run); ok {
		run.TrimRun(r)
	}
	return stripManagedFields(o)
}

func leanPod(o any) (any, error) {
	if pod, ok := o.(*corev1.Pod); ok {
		run.TrimPod(pod)
	}
	return stripManagedFields(o)
}
