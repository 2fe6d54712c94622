// Package podspec builds the pods of attempts: Cairn's own part, the Stack's template over it, and its limits.
package podspec

import (
	"cmp"
	"fmt"
	"path"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"k8s.io/utils/ptr"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
)

// Settings are the installation's part of a runner pod.
type Settings struct {
	// ServerURL is the URL of the server for runners, https.
	ServerURL string
	// CABundle returns the PEM of the certificate authorities of the server.
	CABundle func() []byte
	// RunnerImage has cairn-runner, which is copied from it into the engine's container.
	RunnerImage string
	// RunnerCommand is cairn-runner within RunnerImage.
	RunnerCommand string
	// EngineHasRunner reports whether EngineImage has this version's runner where it would be copied to.
	EngineHasRunner bool
	// EngineImage has the engine, for Stacks that name no image of their own.
	EngineImage string
	// RunnerPullPolicy and EnginePullPolicy are those of the two images; the API server's default when empty.
	RunnerPullPolicy, EnginePullPolicy corev1.PullPolicy
	// ProviderImages have unpacked providers, which the runner finds below the folder of its inputs.
	ProviderImages []string
	// ImagePullSecrets are names of Secrets in the namespaces of Stacks. A pod that names some does not get those of
	// its ServiceAccount.
	ImagePullSecrets []string
	// AllowUnrestricted lets templates create pods that do not fit Pod Security "restricted", or that have a token for
	// the Kubernetes API.
	AllowUnrestricted bool
	// TokenAudiences are those for which templates may ask for tokens of the pod's ServiceAccount.
	TokenAudiences []string
	// MetadataKeys are labels and annotations, and their prefixes if they end in a slash, that templates can set
	// besides those of each installation.
	MetadataKeys []string
	// Builds are for pods that build images.
	Builds BuildSettings
}

const labelManagedBy = "app.kubernetes.io/managed-by"

// gracePeriod is how long an engine that is interrupted may take to finish what is in flight and save its state.
const gracePeriod int64 = 600

// DefaultServiceAccount is the ServiceAccount that is there in every namespace.
const DefaultServiceAccount = "default"

// Directories of a runner pod.
const (
	dirToken  = runinfo.DirCairn + "/token"
	dirInputs = runinfo.DirCairn + "/inputs"
)

// tokenVolumeName is of the volume with the token for the server; inputsVolume begins the names of those that places
// are in.
const (
	tokenVolumeName = "token"
	inputsVolume    = "inputs-"
)

// homeVariable: an image's user may have no home, or one that is not to be written to.
var homeVariable = corev1.EnvVar{Name: "HOME", Value: runinfo.DirWork + "/home"}

// binVolume is what the runner is copied to.
const binVolume = "bin"

// runnerContainer copies the runner into the pod, before all others.
const runnerContainer = "runner"

// BuildPod builds the pod of an attempt, without the template of the Stack. It holds no Kubernetes permission and fits
// Pod Security "restricted".
func BuildPod(run *v1alpha1.Run, stack *v1alpha1.Stack, doc inputs.Document, phase v1alpha1.AttemptPhase, number int32,
	set Settings) *corev1.Pod {
	planned := plannedImage(run, phase)
	volumes, mounts := VolumesOf(run, doc).mount(dirInputs)
	volumes = append(volumes,
		corev1.Volume{Name: binVolume, VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		corev1.Volume{Name: "work", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		tokenVolume(),
	)
	bin := corev1.VolumeMount{Name: binVolume, MountPath: runinfo.DirBin}
	engine := corev1.Container{
		Name:  runinfo.ShellContainer,
		Image: cmp.Or(planned, doc.Image, set.EngineImage),
		Command: []string{runinfo.DirBin + "/cairn-runner", "run", "--server=" + set.ServerURL, "--token=" + dirToken +
			"/token", "--work=" + runinfo.DirWork, "--inputs=" + dirInputs},
		Env: append([]corev1.EnvVar{
			{Name: "CAIRN_SERVER_CA_PEM", Value: string(set.CABundle())},
			homeVariable,
		}, doc.Env...),
		EnvFrom:         doc.EnvFrom,
		Resources:       resourcesOf(doc),
		SecurityContext: restricted(),
		VolumeMounts: append(mounts, bin,
			corev1.VolumeMount{Name: "work", MountPath: runinfo.DirWork},
			corev1.VolumeMount{Name: tokenVolumeName, MountPath: dirToken, ReadOnly: true}),
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
	}
	if doc.Image == "" {
		engine.ImagePullPolicy = set.EnginePullPolicy
	}
	if phase != v1alpha1.AttemptBuild {
		images, at := providerVolumes(set.ProviderImages)
		volumes, engine.VolumeMounts = append(volumes, images...), append(engine.VolumeMounts, at...)
	}
	var pullSecrets []corev1.LocalObjectReference
	for _, name := range set.ImagePullSecrets {
		pullSecrets = append(pullSecrets, corev1.LocalObjectReference{Name: name})
	}
	if doc.Build != nil && doc.Build.Spec.PushSecret != nil { // who may push to a registry may pull from it
		pullSecrets = append(pullSecrets, corev1.LocalObjectReference{Name: doc.Build.Spec.PushSecret.Name})
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: run.Namespace,
			Name:      runinfo.PodName(run.Name, phase, number),
			Labels: map[string]string{
				labelManagedBy:     "cairn",
				runinfo.LabelStack: runinfo.LabelValue(stack.Name),
				runinfo.LabelRun:   runinfo.LabelValue(run.Name),
			},
			Annotations: map[string]string{ // an apply is not to be moved
				"cluster-autoscaler.kubernetes.io/safe-to-evict": "false",
				"karpenter.sh/do-not-disrupt":                    "true",
			},
			OwnerReferences: []metav1.OwnerReference{owner(run)},
		},
		Spec: corev1.PodSpec{
			RestartPolicy:                 corev1.RestartPolicyNever,
			ServiceAccountName:            cmp.Or(doc.ServiceAccountName, DefaultServiceAccount),
			AutomountServiceAccountToken:  ptr.To(false),
			EnableServiceLinks:            ptr.To(false),
			TerminationGracePeriodSeconds: ptr.To(gracePeriod),
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To(int64(65532)), RunAsGroup: ptr.To(int64(65532)),
				FSGroup:        ptr.To(int64(65532)),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			InitContainers: []corev1.Container{{
				Name:            runnerContainer,
				Image:           set.RunnerImage,
				ImagePullPolicy: set.RunnerPullPolicy,
				Command:         []string{set.RunnerCommand, "copy", runinfo.DirBin + "/cairn-runner"},
				Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("10m"),
						corev1.ResourceMemory: resource.MustParse("32Mi")}},
				SecurityContext: readOnly(restricted()),
				VolumeMounts:    []corev1.VolumeMount{bin},
			}},
			Containers:       []corev1.Container{engine},
			Volumes:          volumes,
			ImagePullSecrets: pullSecrets,
		},
	}
	if planned == "" && doc.Image == "" && doc.Template == nil && set.EngineHasRunner {
		removeCopy(&pod.Spec)
	}
	return pod
}

// providerVolumes are the images of providers, and where the runner reads them.
func providerVolumes(images []string) (volumes []corev1.Volume, mounts []corev1.VolumeMount) {
	for i, image := range images {
		name := fmt.Sprintf(inputsVolume+"providers-%d", i)
		source := corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: image}}
		volumes = append(volumes, corev1.Volume{Name: name, VolumeSource: source})
		at := path.Join(dirInputs, runnerapi.ProviderImages, fmt.Sprintf("%02d", i))
		mounts = append(mounts, corev1.VolumeMount{Name: name, MountPath: at, ReadOnly: true})
	}
	return volumes, mounts
}

// plannedImage is the image of the plan that an attempt applies, by its digest; empty when another attempt begins or
// the digest is not known. Its runner may be of an older version than the server, so the current one is copied.
func plannedImage(run *v1alpha1.Run, phase v1alpha1.AttemptPhase) string {
	if phase != v1alpha1.AttemptApply || run.Status.Plan == nil {
		return ""
	}
	return run.Status.Plan.Image
}

// removeCopy takes out what copies the runner. A kubelet checks once a second whether an init container has ended, and
// until then nothing else starts.
func removeCopy(spec *corev1.PodSpec) {
	spec.InitContainers = nil
	spec.Volumes = slices.DeleteFunc(spec.Volumes, func(v corev1.Volume) bool { return v.Name == binVolume })
	spec.Containers[0].VolumeMounts = slices.DeleteFunc(spec.Containers[0].VolumeMounts,
		func(m corev1.VolumeMount) bool {
			return m.Name == binVolume
		})
}

// owner is the reference from a pod to its Run. It does not block the Run's deletion: that would need update of
// runs/finalizers where the API server has the admission plugin OwnerReferencesPermissionEnforcement, as OpenShift's
// has, and the operator has it not.
func owner(run *v1alpha1.Run) metav1.OwnerReference {
	ref := *metav1.NewControllerRef(run, v1alpha1.GroupVersion.WithKind("Run"))
	ref.BlockOwnerDeletion = nil
	return ref
}

func tokenVolume() corev1.Volume {
	return corev1.Volume{Name: tokenVolumeName,
		VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{
				Audience: runnerapi.Audience, ExpirationSeconds: ptr.To(int64(3600)), Path: "token",
			}}},
		}}}
}

func restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}

// readOnly is for a container that writes to volumes only. That is not known of the engine's image.
func readOnly(c *corev1.SecurityContext) *corev1.SecurityContext {
	c.ReadOnlyRootFilesystem = ptr.To(true)
	return c
}

func resourcesOf(doc inputs.Document) corev1.ResourceRequirements {
	if len(doc.Resources.Requests)+len(doc.Resources.Limits) == 0 {
		return corev1.ResourceRequirements{Requests: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("100m"), corev1.ResourceMemory: resource.MustParse("256Mi"),
		}}
	}
	return corev1.ResourceRequirements{Requests: quantities(doc.Resources.Requests),
		Limits: quantities(doc.Resources.Limits)}
}

// quantities parses amounts; the API server rejects invalid ones.
func quantities(amounts map[corev1.ResourceName]v1alpha1.Amount) corev1.ResourceList {
	list := corev1.ResourceList{}
	for name, amount := range amounts {
		if q, err := resource.ParseQuantity(amount.String()); err == nil {
			list[name] = q
		}
	}
	return list
}
