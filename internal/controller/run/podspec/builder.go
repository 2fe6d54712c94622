package podspec

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/pod-security-admission/api"

	"k8s.io/utils/ptr"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/runnerapi"
)

// BuildSettings are the installation's part of a pod that builds an image.
type BuildSettings struct {
	// Allowed lets Stacks build images.
	Allowed bool
	// Images has the image of each builder, for Stacks that name none.
	Images map[v1alpha1.Builder]string
	// Unconfined takes the pod out of the node's default profiles of seccomp and AppArmor, which keep a builder that is
	// not root from creating namespaces. Without it the pod fits Pod Security "baseline".
	Unconfined bool
	// UserNamespace runs the pod with users of its own (hostUsers: false).
	UserNamespace bool
}

// BuilderImages are the builders' own images, where the installation names no others.
var BuilderImages = map[v1alpha1.Builder]string{
	v1alpha1.BuilderBuildah:  "quay.io/containers/buildah:v1.43.1",
	v1alpha1.BuilderBuildKit: "docker.io/moby/buildkit:v0.25.1-rootless",
	v1alpha1.BuilderKaniko:   "gcr.io/kaniko-project/executor:v1.24.0",
}

const (
	// builderUser is the one that the images of Buildah and BuildKit have users of its own for.
	builderUser int64 = 1000
	// builderGrace is how long a build that is to end has: it has nothing to save.
	builderGrace int64 = 60
	// pushVolume has the credentials to push with.
	pushVolume = "push"
	// DirPush is the folder of pushVolume, below the inputs folder.
	DirPush = "push"
)

// kanikoCapabilities is what Kaniko needs as root, to unpack images in its own container and to run their programs. All
// of it fits Pod Security "baseline".
var kanikoCapabilities = []corev1.Capability{"CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "SETFCAP", "SETGID", "SETUID",
	"SYS_CHROOT"}

// newBuilderPod is the pod of an attempt that builds an image. It has the credentials to push with, and nothing else of
// the Stack: no variables, no environment, no ServiceAccount but the namespace's default, and of its template only the
// fields about scheduling.
func newBuilderPod(run *v1alpha1.Run, stack *v1alpha1.Stack, doc inputs.Document, number int32,
	set Settings) (*corev1.Pod, error) {
	if !set.Builds.Allowed {
		return nil, &InvalidError{"spec.runner.build: this installation builds no images (--allow-image-builds)"}
	}
	spec := doc.Build.Spec
	image := cmp.Or(spec.BuilderImage, set.Builds.Images[spec.Builder])
	if image == "" {
		return nil, &InvalidError{
			fmt.Sprintf("spec.runner.build: the installation names no image of %s: name one in builderImage",
				spec.Builder)}
	}
	pod := BuildPod(run, stack, inputs.Document{Image: image, Resources: doc.Resources}, v1alpha1.AttemptBuild,
		number, set)
	pod.Spec.TerminationGracePeriodSeconds = ptr.To(builderGrace)
	pod.Spec.InitContainers[0].SecurityContext.SeccompProfile = &corev1.SeccompProfile{
		Type: corev1.SeccompProfileTypeRuntimeDefault}
	pod.Spec.SecurityContext, pod.Spec.Containers[0].SecurityContext = builderSecurity(spec.Builder, set.Builds)
	if set.Builds.UserNamespace {
		pod.Spec.HostUsers = ptr.To(false)
	}
	if spec.PushSecret != nil {
		pod.Spec.Volumes = append(pod.Spec.Volumes,
			corev1.Volume{Name: pushVolume, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{
				SecretName: spec.PushSecret.Name, Optional: ptr.To(true), // the runner reports what was not found
				Items: []corev1.KeyToPath{{Key: corev1.DockerConfigJsonKey, Path: runnerapi.DockerConfig}},
			}}})
		pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts,
			corev1.VolumeMount{Name: pushVolume, MountPath: path.Join(dirInputs, DirPush), ReadOnly: true})
	}
	if err := schedule(pod, doc.Template); err != nil {
		return nil, err
	}
	// the installation decides that, and old annotations set it too
	if !set.AllowUnrestricted && !set.Builds.Unconfined {
		if why := podSecurityViolation(api.LevelBaseline, pod); why != "" {
			return nil, &InvalidError{"of spec.runner.template: " + why}
		}
	}
	if !set.AllowUnrestricted {
		if err := checkMetadata(doc.Template, set.MetadataKeys); err != nil {
			return nil, err
		}
	}
	return pod, nil
}

// builderSecurity is what a builder may do. Kaniko is root, confined as any container is. The others are an
// unprivileged user, who may become the users that newuidmap has for them: in a namespace of users of their own they
// are root.
func builderSecurity(builder v1alpha1.Builder, set BuildSettings) (*corev1.PodSecurityContext,
	*corev1.SecurityContext) {
	if builder == v1alpha1.BuilderKaniko {
		return &corev1.PodSecurityContext{
				RunAsUser: ptr.To(int64(0)), RunAsGroup: ptr.To(int64(0)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			}, &corev1.SecurityContext{
				AllowPrivilegeEscalation: ptr.To(false),
				Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"},
					Add: kanikoCapabilities},
			}
	}
	pod := &corev1.PodSecurityContext{
		RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To(builderUser), RunAsGroup: ptr.To(builderUser),
		FSGroup: ptr.To(builderUser),
	}
	container := &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"},
			Add: []corev1.Capability{"SETGID", "SETUID"}},
	}
	if set.Unconfined {
		container.SeccompProfile = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeUnconfined}
		container.AppArmorProfile = &corev1.AppArmorProfile{Type: corev1.AppArmorProfileTypeUnconfined}
	}
	return pod, container
}

// Proposed returns what plans of pull requests get of a template: the fields about scheduling, and labels and
// annotations that provide a pod with neither rights nor an identity in any installation. One that is invalid is
// returned as it is, for CheckTemplate to reject.
func Proposed(raw *apiextensionsv1.JSON) *apiextensionsv1.JSON {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}, Annotations: map[string]string{}}}
	if raw == nil || schedule(pod, raw) != nil {
		return raw
	}
	unlisted := func(key, _ string) bool { return !listed(key, metadataKeys) }
	maps.DeleteFunc(pod.Labels, unlisted)
	maps.DeleteFunc(pod.Annotations, unlisted)
	t := corev1.PodTemplateSpec{Spec: pod.Spec}
	t.Labels, t.Annotations = pod.Labels, pod.Annotations
	var part map[string]any
	data, err := json.Marshal(t)
	if err == nil {
		err = json.Unmarshal(data, &part)
	}
	if err == nil { // empty fields would replace those of Cairn
		delete(part["spec"].(map[string]any), "containers")
		delete(part["metadata"].(map[string]any), "creationTimestamp")
		data, err = json.Marshal(part)
	}
	if err != nil {
		return nil
	}
	return &apiextensionsv1.JSON{Raw: data}
}

// schedule copies from a template the fields about scheduling, and what a cluster's policies may ask for.
func schedule(pod *corev1.Pod, raw *apiextensionsv1.JSON) error {
	if raw == nil {
		return nil
	}
	t, err := readTemplate(raw)
	if err != nil {
		return err
	}
	for _, own := range []struct{ to, from map[string]string }{{pod.Labels, t.Labels},
		{pod.Annotations, t.Annotations}} {
		from := maps.Clone(own.from)
		maps.DeleteFunc(from, func(key, _ string) bool { return isOwn(key) })
		maps.Copy(own.to, from)
	}
	to, from := &pod.Spec, t.Spec
	to.NodeSelector, to.Affinity, to.Tolerations, to.TopologySpreadConstraints = from.NodeSelector, from.Affinity,
		from.Tolerations, from.TopologySpreadConstraints
	to.SchedulerName, to.PriorityClassName, to.SchedulingGates = from.SchedulerName, from.PriorityClassName,
		from.SchedulingGates
	to.DNSConfig, to.HostAliases = from.DNSConfig, from.HostAliases
	to.ImagePullSecrets = append(to.ImagePullSecrets, from.ImagePullSecrets...)
	return nil
}
