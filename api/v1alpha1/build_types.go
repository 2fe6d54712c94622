package v1alpha1

// Build configures a container image that Cairn builds in the cluster and then runs the engine in. The first Run
// that needs the image builds it. Cairn builds it again when one of these fields, the Dockerfile or a file of the
// context changes. The installation must allow builds (chart value runner.build.enabled); otherwise the Stack
// waits with reason BuildNotAllowed.
type Build struct {
	// Image is the image repository to push to, without tag and digest. Runs use the pushed image by its
	// digest. Example: registry.example.com/acme/terraform.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=400
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([-.a-zA-Z0-9]*[a-zA-Z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+$`
	Image string `json:"image"`

	// Dockerfile is the path of the Dockerfile from the root of the repository. For code from a ConfigMap or
	// inline, it is a file name. Default: Dockerfile. Example: images/terraform/Dockerfile.
	// +kubebuilder:default=Dockerfile
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=500
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.startsWith('-') && !self.split('/').exists(p, p == '..')",message="must be a path relative to the root of the code, without a leading / and without .."
	// +optional
	Dockerfile string `json:"dockerfile,omitempty"`

	// Optional skips the build if the code has no such Dockerfile. The Stack then uses the default image of
	// the installation. Default: false, the Stack waits with reason DockerfileNotFound.
	// +optional
	Optional bool `json:"optional,omitempty"`

	// Context is the directory that the Dockerfile can copy files from, as a path from the root of the
	// repository. A change of any file in it triggers a build, so use a small directory. "." is the whole
	// repository. Default: the directory of the Dockerfile.
	// +kubebuilder:validation:MaxLength=500
	// +kubebuilder:validation:XValidation:rule="!self.startsWith('/') && !self.startsWith('-') && !self.split('/').exists(p, p == '..')",message="must be a path relative to the root of the code, without a leading / and without .."
	// +optional
	Context string `json:"context,omitempty"`

	// Target is the stage of the Dockerfile to build. Default: the last stage.
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9][-._a-zA-Z0-9]*$`
	// +optional
	Target string `json:"target,omitempty"`

	// Args are values of ARG instructions of the Dockerfile. They are visible in the history of the image: do
	// not use secrets. At most 50. Example: [{name: VERSION, value: "1.2"}].
	// +kubebuilder:validation:MaxItems=50
	// +listType=map
	// +listMapKey=name
	// +optional
	Args []BuildArg `json:"args,omitempty"`

	// PushSecret is a Secret of type kubernetes.io/dockerconfigjson in the namespace of the Stack. The builder
	// pulls and pushes with it, and the kubelet pulls the built image with it. The pod of the engine has no
	// access to it. If unset, the builder uses no credentials.
	// +optional
	PushSecret *ObjectRef `json:"pushSecret,omitempty"`

	// Builder is the program that builds the image: Buildah, BuildKit or Kaniko. Default: Buildah.
	// +kubebuilder:default=Buildah
	// +optional
	Builder Builder `json:"builder,omitempty"`

	// BuilderImage is the image that contains the builder. Default: the image that the installation configures
	// for this builder (chart value runner.build.images).
	// +kubebuilder:validation:MaxLength=500
	// +optional
	BuilderImage string `json:"builderImage,omitempty"`

	// Insecure allows a registry without TLS or with a certificate that is not trusted. Default: false.
	// +optional
	Insecure bool `json:"insecure,omitempty"`

	// Cache is an image repository in which the builder caches layers between builds. If unset, layers are not
	// cached. Example: registry.example.com/acme/terraform-cache.
	// +kubebuilder:validation:MaxLength=400
	// +kubebuilder:validation:Pattern=`^[a-zA-Z0-9]([-.a-zA-Z0-9]*[a-zA-Z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)+$`
	// +optional
	Cache string `json:"cache,omitempty"`
}

// BuildArg is the value of an ARG instruction of a Dockerfile.
type BuildArg struct {
	// Name is the name of the ARG.
	// +kubebuilder:validation:MaxLength=100
	// +kubebuilder:validation:Pattern=`^[a-zA-Z_][a-zA-Z0-9_]*$`
	Name string `json:"name"`
	// Value is the value of the ARG. Default: empty.
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
	// BuilderBuildah is Buildah, https://buildah.io.
	BuilderBuildah Builder = "Buildah"
	// BuilderBuildKit is BuildKit, https://github.com/moby/buildkit.
	BuilderBuildKit Builder = "BuildKit"
	// BuilderKaniko is Kaniko, https://github.com/GoogleContainerTools/kaniko.
	BuilderKaniko Builder = "Kaniko"
)

// BuiltImage is an image that Cairn built for a Stack.
type BuiltImage struct {
	// Key is the digest of everything that the image is built from.
	Key string `json:"key"`
	// Digest is the digest of the image in its registry. Unset while the build is in progress. Example:
	// sha256:1f3c....
	// +optional
	Digest string `json:"digest,omitempty"`
	// Run is the name of the Run that built the image.
	// +optional
	Run string `json:"run,omitempty"`
}
