package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Retry configures how often, and after what delay, Cairn retries a Run after a transient failure.
type Retry struct {
	// Limit is the maximum number of retries after the first attempt. 0 disables retries. At most 100.
	// Default: 3.
	// +kubebuilder:default=3
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	// +optional
	Limit *int32 `json:"limit,omitempty"`

	// Backoff is the delay before the first retry. It doubles with each further retry. At most 8760h. Default:
	// 15s.
	// +kubebuilder:default="15s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('8760h')",message="at most 8760h"
	// +optional
	Backoff *metav1.Duration `json:"backoff,omitempty"`

	// MaxBackoff is the maximum delay between two attempts. After limit retries, a failed destroy of a deleted
	// Stack is started again at this interval. At most 8760h. Default: 10m.
	// +kubebuilder:default="10m"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('8760h')",message="at most 8760h"
	// +optional
	MaxBackoff *metav1.Duration `json:"maxBackoff,omitempty"`
}

// Runner configures the pods that run the engine.
//
// +kubebuilder:validation:XValidation:rule="!has(self.build) || !has(self.image)",message="image and build are mutually exclusive"
type Runner struct {
	// ServiceAccountName is the name of the ServiceAccount of the pod, in the namespace of the Stack. Use it
	// to grant access to a cloud with workload identity. The ServiceAccount needs no Kubernetes permissions.
	// Default: default.
	// +kubebuilder:validation:MaxLength=253
	// +optional
	ServiceAccountName string `json:"serviceAccountName,omitempty"`

	// Image is the container image that runs the engine. It must contain every program that the code and the
	// hooks call. Cairn copies its runner into the container and downloads the engine if the image does not
	// contain it. Default: the image that the installation configures (chart value runner.image). Example:
	// registry.example.com/acme/terraform:1.2.
	// +kubebuilder:validation:MaxLength=500
	// +optional
	Image string `json:"image,omitempty"`

	// Build builds the image in the cluster from a Dockerfile of the source. Cannot be combined with image. If
	// unset, Cairn builds no image.
	// +optional
	Build *Build `json:"build,omitempty"`

	// IdleTimeout is how long the pod of a plan waits for an approval before it exits. Cairn applies a plan
	// that is approved within this time in the same pod, and a later one in a new pod. 0s exits immediately.
	// At most 8760h. Default: 30s. Example: 10m.
	// +kubebuilder:default="30s"
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=20
	// +kubebuilder:validation:Pattern=`^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$`
	// +kubebuilder:validation:XValidation:rule="duration(self) <= duration('8760h')",message="at most 8760h"
	// +optional
	IdleTimeout *metav1.Duration `json:"idleTimeout,omitempty"`

	// Resources are the compute resources of the container that runs the engine. Default: requests of 100m CPU
	// and 256Mi memory, no limits.
	// +optional
	Resources Resources `json:"resources,omitempty"`

	// Template is a strategic merge patch for the pod, of kind PodTemplate. It can set labels, annotations,
	// nodeSelector, tolerations, affinity, volumes, imagePullSecrets, dnsConfig and init containers (with
	// restartPolicy: Always as sidecars). It can also set env, volumeMounts and securityContext of the
	// container engine. Cairn rejects unknown fields and fields that it manages itself: see
	// docs/how-to/pod-templates.md. The pod must meet the Pod Security Standard "restricted" unless the installation
	// allows more. At most 64 KiB. Example: {spec: {nodeSelector: {pool: runners}}}.
	// +kubebuilder:validation:Type=object
	// +kubebuilder:pruning:PreserveUnknownFields
	// +optional
	Template *apiextensionsv1.JSON `json:"template,omitempty"`
}

// Resources are the compute resources of a container, as in a pod.
type Resources struct {
	// Requests are the resources that the container is guaranteed. Example: {cpu: 500m, memory: 1Gi}.
	// +kubebuilder:validation:MaxProperties=10
	// +optional
	Requests map[corev1.ResourceName]Amount `json:"requests,omitempty"`
	// Limits are the maximum resources that the container can use. If unset, there are no limits. Example:
	// {memory: 2Gi}.
	// +kubebuilder:validation:MaxProperties=10
	// +optional
	Limits map[corev1.ResourceName]Amount `json:"limits,omitempty"`
}

// Amount is a Kubernetes quantity of a resource. The API stores it as written: clients could not decode an object
// with an invalid quantity, nor any list that contains it.
//
// +kubebuilder:validation:Type=""
// +kubebuilder:validation:XIntOrString
// +kubebuilder:validation:MaxLength=20
// +kubebuilder:validation:Pattern=`^[0-9]{1,15}(\.[0-9]{1,9})?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$`
type Amount struct {
	intstr.IntOrString `json:",inline"`
}
