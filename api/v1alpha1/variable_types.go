package v1alpha1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// ObjectRef names an object in the Stack's namespace.
type ObjectRef struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
}

// KeyRef names one key of an object in the Stack's namespace.
type KeyRef struct {
	// Name of the object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Key within the object's data.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[-._a-zA-Z0-9]+$`
	Key string `json:"key"`
}

// Variable gives one input variable of the code a value. Exactly one of value and valueFrom is set.
//
// +kubebuilder:validation:MinProperties=2
// +kubebuilder:validation:MaxProperties=2
type Variable struct {
	// Name of the variable as the code declares it.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[\pL_][\pL\pN_-]*$`
	Name string `json:"name"`

	// Value is any JSON value. It is stored in the Stack in clear: use valueFrom for secrets.
	// +kubebuilder:pruning:PreserveUnknownFields
	// +kubebuilder:validation:Schemaless
	// +optional
	Value *apiextensionsv1.JSON `json:"value,omitempty"`

	// ValueFrom takes the value from another object: as a string, or an output of a Stack as it is.
	// +optional
	ValueFrom *ValueFrom `json:"valueFrom,omitempty"`
}

// ValueFrom says where a variable's value comes from.
//
// +kubebuilder:validation:ExactlyOneOf=secret;configMap;stack
type ValueFrom struct {
	// Secret key in the Stack's namespace. The value never appears in logs and status.
	// +optional
	Secret *KeyRef `json:"secret,omitempty"`
	// ConfigMap key in the Stack's namespace.
	// +optional
	ConfigMap *KeyRef `json:"configMap,omitempty"`
	// Stack whose output is the value. The other Stack is a dependency, as if it were in dependsOn; this one is run again
	// when that output changes, and only then. A sensitive output stays one.
	// +optional
	Stack *OutputRef `json:"stack,omitempty"`
}

// OutputRef names an output of another Stack in the same namespace.
type OutputRef struct {
	// Name of the Stack.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=200
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-.a-z0-9]*[a-z0-9])?$`
	Name string `json:"name"`
	// Output of its code.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Output string `json:"output"`
}

// VariableFile names an object whose *.tfvars and *.tfvars.json keys are variable files, or one such file of the source.
//
// +kubebuilder:validation:ExactlyOneOf=secret;configMap;path
type VariableFile struct {
	// Secret in the Stack's namespace. Its values never appear in logs and status.
	// +optional
	Secret *ObjectRef `json:"secret,omitempty"`
	// ConfigMap in the Stack's namespace.
	// +optional
	ConfigMap *ObjectRef `json:"configMap,omitempty"`
	// Path of a *.tfvars or *.tfvars.json file of the source: in git from the repository's root, otherwise beside the code.
	// Files that the engine reads by itself (terraform.tfvars, *.auto.tfvars) need not be named.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=500
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.split('/').exists(p, p == '..') && self.matches('\\\\.tfvars(\\\\.json)?$')",message="a path to a .tfvars or .tfvars.json file: no / at its beginning, no .. in it"
	// +optional
	Path string `json:"path,omitempty"`
}
