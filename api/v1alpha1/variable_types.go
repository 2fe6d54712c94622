package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ObjectRef references an object in the same namespace.
type ObjectRef struct {
	// Name is the name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
}

// KeyRef references one key of an object in the namespace of the Stack.
type KeyRef struct {
	// Name is the name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Key is the key within data of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key"`
}

// Variable sets the value of an input variable of the code. Exactly one of value and valueFrom must be set.
//
// +kubebuilder:validation:MinProperties=2
// +kubebuilder:validation:MaxProperties=2
type Variable struct {
	// Name is the name of the variable as the code declares it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[\pL_][\pL\pN_-]*$`
	Name string `json:"name"`

	// Value is the value of the variable, of any JSON type. The Stack stores it in plain text: use valueFrom
	// for secrets. Examples: 3, "eu-west-1", {zones: [a, b]}.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +optional
	Value *apiextensionsv1.JSON `json:"value,omitempty"`

	// ValueFrom is the source of the value. Keys of Secrets and ConfigMaps are strings; outputs of Stacks keep
	// their type.
	// +optional
	ValueFrom *ValueFrom `json:"valueFrom,omitempty"`
}

// ValueFrom is the source of the value of a variable.
//
// +kubebuilder:validation:ExactlyOneOf=secret;configMap;stack
type ValueFrom struct {
	// Secret is a key of a Secret in the namespace of the Stack. The value never appears in logs or status.
	// Example: {name: db, key: password}.
	// +optional
	Secret *KeyRef `json:"secret,omitempty"`
	// ConfigMap is a key of a ConfigMap in the namespace of the Stack. Example: {name: settings, key: region}.
	// +optional
	ConfigMap *KeyRef `json:"configMap,omitempty"`
	// Stack is an output of another Stack. The other Stack becomes a dependency, as in dependsOn. A change of
	// this output starts a Run; changes of other outputs do not. Sensitive outputs stay sensitive. Example:
	// {name: net, output: vpc_id}.
	// +optional
	Stack *OutputRef `json:"stack,omitempty"`
}

// OutputRef references an output of another Stack.
type OutputRef struct {
	// Name is the name of the Stack.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Namespace is the namespace of the Stack. Another one than that of this Stack requires a StackGrant there.
	// Default: the namespace of this Stack. Example: network.
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// Output is the name of the output in the code of that Stack.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Output string `json:"output"`
}

// Key returns the name of the Stack, with the namespace if that is set.
func (r OutputRef) Key() types.NamespacedName {
	return types.NamespacedName{Namespace: r.Namespace, Name: r.Name}
}

// String returns the name of the Stack, as namespace/name if the namespace is set.
func (r OutputRef) String() string {
	if r.Namespace == "" {
		return r.Name
	}
	return r.Key().String()
}

// VariableFile references an object that contains variable files (*.tfvars and *.tfvars.json keys), or one
// variable file of the source.
//
// +kubebuilder:validation:ExactlyOneOf=secret;configMap;path
type VariableFile struct {
	// Secret is a Secret in the namespace of the Stack. Its values never appear in logs or status.
	// +optional
	Secret *ObjectRef `json:"secret,omitempty"`
	// ConfigMap is a ConfigMap in the namespace of the Stack.
	// +optional
	ConfigMap *ObjectRef `json:"configMap,omitempty"`
	// Path is the path of a *.tfvars or *.tfvars.json file of the source: from the root of the repository for
	// git, otherwise next to the code. The engine loads terraform.tfvars and *.auto.tfvars automatically, so
	// they need no entry. Example: envs/prod.tfvars.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=500
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(p, p == '..') && self.matches('\\\\.tfvars(\\\\.json)?$')",message="must be a relative path of a .tfvars or .tfvars.json file, without a leading / and without .."
	// +optional
	Path string `json:"path,omitempty"`
}
