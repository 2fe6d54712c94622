package v1alpha1

// Build makes the image that the engine runs in, in the cluster, before the first Run that needs it. It is made again only when
// something of this changes, or a file of its context. The installation has to allow it (runner.build.enabled of the chart).
type Build struct {
	// Image is the repository to push to, without a tag or a digest: Runs take what was pushed by its digest.
	// Example: registry.example.com/acme/terraform.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=400
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([-.a-zA-Z0-9]*[a-zA-Z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+$`
	Image string `json:"image"`

	// Dockerfile is its path from the root of the repository or, of code that is not from git, the name of its file.
	// +kubebuilder:default=Dockerfile
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=500
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.startsWith('-') && !self.split('/').exists(p, p == '..')",message="a path from the root of the code, without .. in it"
	// +optional
	Dockerfile string `json:"dockerfile,omitempty"`

	// Optional builds no image when the code has no such Dockerfile: the Stack then runs in the default image of the installation.
	// Default: false, the Stack waits with DockerfileNotFound. Example: true.
	// +optional
	Optional bool `json:"optional,omitempty"`

	// Context is the folder whose files the Dockerfile may copy, from the same root; "." is all of it. A change of any file in
	// it builds anew, so it is best a small folder. Default: the Dockerfile's folder.
	// +kubebuilder:validation:MaxLength=500
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.startsWith('-') && !self.split('/').exists(p, p == '..')",message="a path from the root of the code, without .. in it"
	// +optional
	Context string `json:"context,omitempty"`

	// Target is the stage of the Dockerfile to build. Default: the last one.
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][-._a-zA-Z0-9]*$`
	// +optional
	Target string `json:"target,omitempty"`

	// Args are values for the Dockerfile's ARG instructions. They are in the image's history for all to see: no secrets.
	// +kubebuilder:validation:MaxItems=50
	// +listType=map
	// +listMapKey=name
	// +optional
	Args []BuildArg `json:"args,omitempty"`

	// PushSecret is of type kubernetes.io/dockerconfigjson, in the Stack's namespace: the builder pulls and pushes with it, and the
	// kubelet pulls the image with it. The engine's pod does not have it.
	// +optional
	PushSecret *ObjectRef `json:"pushSecret,omitempty"`

	// Builder that does it: Buildah, BuildKit or Kaniko.
	// +kubebuilder:default=Buildah
	// +optional
	Builder Builder `json:"builder,omitempty"`

	// BuilderImage has the builder. Default: what the install names for that builder.
	// +kubebuilder:validation:MaxLength=500
	// +optional
	BuilderImage string `json:"builderImage,omitempty"`

	// Insecure lets the registry of the image have no certificate, or one that nobody trusts.
	// +optional
	Insecure bool `json:"insecure,omitempty"`

	// Cache is a repository for layers, so that a build begins where the last one got to. Absent: nothing is kept between builds.
	// Example: registry.example.com/acme/terraform-cache.
	// +kubebuilder:validation:MaxLength=400
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([-.a-zA-Z0-9]*[a-zA-Z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+$`
	// +optional
	Cache string `json:"cache,omitempty"`
}

// BuildArg is a value for an ARG of a Dockerfile.
type BuildArg struct {
	// Name of the ARG.
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][a-zA-Z0-9_]*$`
	Name string `json:"name"`
	// Value of it.
	// +kubebuilder:validation:MaxLength=2000
	// +optional
	Value string `json:"value,omitempty"`
}

// Builder is a program that builds images.
//
// +kubebuilder:validation:Enum=Buildah;BuildKit;Kaniko
type Builder string

// Builders.
const (
	BuilderBuildah  Builder = "Buildah"
	BuilderBuildKit Builder = "BuildKit"
	BuilderKaniko   Builder = "Kaniko"
)

// BuiltImage is an image that was built for a Stack.
type BuiltImage struct {
	// Key is the digest over all that the image is built from.
	Key string `json:"key"`
	// Digest of the image, as its registry knows it; empty while it is built.
	// +optional
	Digest string `json:"digest,omitempty"`
	// Run that built it.
	// +optional
	Run string `json:"run,omitempty"`
}
