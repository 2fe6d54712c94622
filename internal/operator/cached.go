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
	"cairn.dev/cairn/internal/run"
	"cairn.dev/cairn/internal/run/runinfo"
	"cairn.dev/cairn/internal/stack"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/state/storage"
)

// cacheOptions keep in memory only what decisions need: of pods only the runners', until they have succeeded (one
// that the cache does not have is read from the API server); of Secrets and ConfigMaps only the metadata, and
// nothing of the Secrets that hold states, of which each Stack has thirty; of none the managed fields. A server
// shows Runs to users as they are. An operator alone has no Runs that succeeded, since the status of their Stacks
// has what decisions need; of other finished Runs what later ones need, and of States the newest version.
func cacheOptions(o Options) cache.Options {
	options := cache.Options{
		DefaultTransform: stripManagedFields,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Pod{}: {
				Label: withLabel(runinfo.LabelRun, selection.Exists), Field: without("status.phase", corev1.PodSucceeded), Transform: leanPod,
			},
			metadataOf("Secret"):    {Label: withLabel(storage.Label, selection.DoesNotExist), Transform: stripAnnotations},
			metadataOf("ConfigMap"): {Transform: stripAnnotations},
		},
	}
	if !o.Server {
		options.ByObject[&v1alpha1.Stack{}] = cache.ByObject{Transform: leanStack}
		options.ByObject[&v1alpha1.State{}] = cache.ByObject{Transform: leanState}
		options.ByObject[&v1alpha1.Run{}] = cache.ByObject{Field: without("status.phase", v1alpha1.PhaseSucceeded), Transform: leanRun}
	}
	if !o.Shard.all() {
		options.NewInformer = o.Shard.newInformer
	}
	return options
}

func without[T ~string](field string, value T) fields.Selector {
	return fields.OneTermNotEqualSelector(field, string(value))
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
