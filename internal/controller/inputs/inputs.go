// Package inputs is the document of all that decides a Run's result. Its digest names it: two Runs with one digest
// would do the same. The document is stored in the bucket under its digest, so that a Run does what it was created
// for even when the Stack has changed since, and a destroy knows what was applied.
package inputs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// Document is all that decides a Run's result.
type Document struct {
	// Source is the digest of the code's archive, and Path the root module's folder in it. Folder is the name of the
	// folder that the code is unpacked to, since path.cwd has it; empty for code without a repository.
	Source string `json:"source"`
	Folder string `json:"folder,omitempty"`
	Path   string `json:"path,omitempty"`
	// Engine that plans and applies.
	Engine v1alpha1.Engine `json:"engine"`
	// Wrapped are the engines that Terragrunt may run, the best first, with the version that the Stack or its code
	// sets for each. Empty when neither sets one, and for other engines.
	Wrapped []v1alpha1.WrappedEngine `json:"wrapped,omitempty"`
	// Variables, VariableFiles, Env and EnvFrom as the Stack has them. The values in Secrets are not here: Versions
	// are.
	Variables     []v1alpha1.Variable     `json:"variables,omitempty"`
	VariableFiles []v1alpha1.VariableFile `json:"variableFiles,omitempty"`
	Env           []corev1.EnvVar         `json:"env,omitempty"`
	EnvFrom       []corev1.EnvFromSource  `json:"envFrom,omitempty"`
	// ModuleCredentials are for the hosts that the code fetches modules from.
	ModuleCredentials []v1alpha1.ModuleCredentials `json:"moduleCredentials,omitempty"`
	// Image, ServiceAccountName, Resources and Template are what the engine runs in and as: the parts of
	// spec.runner that may change the result, or let a failed Run succeed.
	Image              string                `json:"image,omitempty"`
	ServiceAccountName string                `json:"serviceAccountName,omitempty"`
	Resources          v1alpha1.Resources    `json:"resources,omitzero"`
	Template           *apiextensionsv1.JSON `json:"template,omitempty"`
	// Build is the image that is built to run in, in place of Image.
	Build *Build `json:"build,omitempty"`
	// Workspace of the engine; empty for "default".
	Workspace string `json:"workspace,omitempty"`
	// Backend keeps the state, if Cairn does not.
	Backend *v1alpha1.Backend `json:"backend,omitempty"`
	// Outputs is where outputs go, so that a new Run writes them to a new place.
	Outputs *v1alpha1.Outputs `json:"outputs,omitempty"`
	// Hooks and Policies with their text: they are code, and a Run takes them as they were when it was created.
	Hooks    []Hook   `json:"hooks,omitempty"`
	Policies []Policy `json:"policies,omitempty"`
	// Commands are the scripts in place of the engine's apply and destroy, with their text for the same reason.
	Commands Commands `json:"commands,omitzero"`
	// Versions of the Secrets and ConfigMaps that the above refers to, by "kind/name": uid and resourceVersion for
	// a Secret, whose value the operator never reads. For an output of another Stack, "Stack/name#output", the
	// fingerprint of its value. For all outputs of a Stack whose Terragrunt unit the code reads, "Stack/name", a
	// fingerprint of them.
	Versions map[string]string `json:"versions,omitempty"`
}

// Hook is a script around a step.
type Hook struct {
	Step      v1alpha1.HookStep    `json:"step"`
	When      v1alpha1.HookTime    `json:"when"`
	Script    string               `json:"script"`
	OnFailure v1alpha1.HookFailure `json:"onFailure,omitempty"`
}

// Commands are the scripts in place of the engine's apply and destroy; empty for the engine's own.
type Commands struct {
	Apply   string `json:"apply,omitempty"`
	Destroy string `json:"destroy,omitempty"`
}

// Policy is a ConfigMap with policies: the text of each, by key.
type Policy struct {
	Name  string            `json:"name"`
	Files map[string]string `json:"files"`
}

// Encode returns the document's bytes and their digest. Equal documents have equal bytes.
func (d Document) Encode() (data []byte, digest string, err error) {
	data, err = json.Marshal(d)
	if err != nil {
		return nil, "", err
	}
	return data, Digest(data), nil
}

// Digest names bytes as everywhere in Cairn: "sha256:" and 64 hex digits.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Decode reads what Encode wrote.
func Decode(data []byte) (Document, error) {
	var d Document
	err := json.Unmarshal(data, &d)
	return d, err
}
