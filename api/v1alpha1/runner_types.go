package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Retry says how often, and after which wait, a Run that failed for a passing reason is tried again.
type Retry struct {
	// Limit is how many tries may follow the first one; 0 never retries.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	Limit *int32 `json:"limit,omitempty"`

	// Backoff is the wait before the second try; it doubles with each further one.
	// +kubebuilder:default="15s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('8760h')",message="at most 8760h"
	// +optional
	Backoff *metav1.Duration `json:"backoff,omitempty"`

	// MaxBackoff is the longest wait between two tries. A destroy that failed as often as Limit allows is started
	// again after this time, for as long as the Stack is being deleted.
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('8760h')",message="at most 8760h"
	// +optional
	MaxBackoff *metav1.Duration `json:"maxBackoff,omitempty"`
}

// Runner shapes the pods that run the engine.
//
// +kubebuilder:validation:XValidation:rule="!has(self.build) || !has(self.image)",message="image and build exclude each other: the engine runs in the one that is named, or in the one that is built"
type Runner struct {
	// ServiceAccountName is the account the pod runs as, in the Stack's namespace; it is how a cloud knows the runner
	// (workload identity). It needs no Kubernetes permission. Default: the namespace's default account.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Image has the engine and whatever the code calls. Cairn's runner is copied into it and needs nothing of it.
	// Default: the image the operator was started with.
	// +kubebuilder:validation:MaxLength=500
	// +optional
	Image string `json:"image,omitempty"`

	// Build builds the image in the cluster, from a Dockerfile of the source, in place of Image.
	// +optional
	Build *Build `json:"build,omitempty"`

	// IdleTimeout is how long the pod of a plan waits for the approval before it exits. An approval within this time is applied in
	// the same pod; a later one needs a new pod. 0s exits at once. Default: 30s. Example: 10m.
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('8760h')",message="at most 8760h"
	// +optional
	IdleTimeout *metav1.Duration `json:"idleTimeout,omitempty"`

	// Resources of the container that runs the engine. Default: requests of 100m CPU and 256Mi memory.
	// +optional
	Resources Resources `json:"resources,omitempty"`

	// Template is laid over the pod, as a strategic merge patch of kind PodTemplate: labels and annotations, nodeSelector,
	// tolerations, affinity, volumes, imagePullSecrets, dnsConfig, init containers (with restartPolicy Always: sidecars), and of
	// the container `engine` env, volumeMounts and securityContext. Unknown fields are refused, and so is what is Cairn's
	// own: docs/tenancy.md has the list. The pod has to fit Pod Security "restricted", unless the install allows more.
	// At most 64 KiB. Example: {spec: {nodeSelector: {pool: runners}}}.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Template *apiextensionsv1.JSON `json:"template,omitempty"`
}

// Resources of a container, as in a pod.
type Resources struct {
	// Requests are what the container is promised. Example: {cpu: 500m, memory: 1Gi}.
	// +kubebuilder:validation:MaxProperties=10
	// +optional
	Requests map[corev1.ResourceName]Amount `json:"requests,omitempty"`
	// Limits are what it may use at most.
	// +kubebuilder:validation:MaxProperties=10
	// +optional
	Limits map[corev1.ResourceName]Amount `json:"limits,omitempty"`
}

// Amount of a resource: a Kubernetes quantity. It is kept as it was written, since an object that holds a quantity which
// cannot be read would keep every other one from being read too.
//
// +kubebuilder:validation:Type=""
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:MaxLength=20
// +kubebuilder:validation:Pattern=`^[0-9]{1,15}(\.[0-9]{1,9})?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$`
type Amount struct {
	intstr.IntOrString `json:",inline"`
}
