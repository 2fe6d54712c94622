package podspec

import (
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
)

// spec.runner.template is laid over the pod that Cairn builds, as `kubectl patch --type=strategic` would. What comes
// out is compared with what went in: what a rule below calls Cairn's own has to be as it was, however the template
// changes it.

// largestTemplate is how many bytes a template may have.
const largestTemplate = 64 << 10

// InvalidError is why no pod can be created from what a Stack asks for. The same inputs always fail.
type InvalidError struct{ why string }

func (u *InvalidError) Error() string { return u.why }

// New is the pod of an attempt as the API server gets it. What it rejects is an *InvalidError.
func New(run *v1alpha1.Run, stack *v1alpha1.Stack, doc inputs.Document, phase v1alpha1.AttemptPhase, number int32,
	set Settings) (*corev1.Pod, error) {
	if phase == v1alpha1.AttemptBuild && doc.Build != nil {
		return newBuilderPod(run, stack, doc, number, set)
	}
	pod := BuildPod(run, stack, doc, phase, number, set)
	if err := applyTemplate(pod, doc.Template); err != nil {
		return nil, err
	}
	if set.AllowUnrestricted {
		return pod, nil
	}
	if why := unrestrictedReason(pod, set.TokenAudiences); why != "" {
		return nil, &InvalidError{why + "; change spec.runner.template, or allow it in the installation " +
			"(--allow-unrestricted-runners)"}
	}
	if err := checkMetadata(doc.Template, set.MetadataKeys); err != nil {
		return nil, err
	}
	return pod, nil
}

// checkMetadata returns which label or annotation of a template the installation does not allow.
func checkMetadata(raw *apiextensionsv1.JSON, allowed []string) error {
	t, err := readTemplate(raw)
	if err != nil {
		return err
	}
	if why := foreignKey(t, allowed); why != "" {
		return invalidTemplate("%s", why)
	}
	return nil
}

// CheckTemplate returns what is wrong with the template of a document, whatever the installation allows.
func CheckTemplate(doc inputs.Document) error {
	if doc.Template == nil {
		return nil
	}
	set := Settings{CABundle: func() []byte { return nil }}
	return applyTemplate(BuildPod(&v1alpha1.Run{}, &v1alpha1.Stack{}, doc, v1alpha1.AttemptPlan, 1, set), doc.Template)
}

// readTemplate reads a template. Unknown fields are errors: a field with a typing error would be ignored. A priority of
// the cluster's own components is one for each pod that a template is for.
func readTemplate(raw *apiextensionsv1.JSON) (corev1.PodTemplateSpec, error) {
	if raw == nil {
		return corev1.PodTemplateSpec{}, nil
	}
	var t corev1.PodTemplateSpec
	if len(raw.Raw) > largestTemplate {
		return t, invalidTemplate("it has %d bytes, and at most %d are taken", len(raw.Raw), largestTemplate)
	}
	strict, err := kjson.UnmarshalStrict(raw.Raw, &t)
	switch {
	case err != nil:
		return t, invalidTemplate("%s", strings.TrimPrefix(err.Error(), "json: "))
	case len(strict) > 0:
		return t, invalidTemplate("%s", strict[0])
	}
	if why := systemPriority(t); why != "" {
		return t, invalidTemplate("%s", why)
	}
	return t, nil
}

func invalidTemplate(format string, args ...any) error {
	return &InvalidError{"spec.runner.template: " + fmt.Sprintf(format, args...)}
}

// applyTemplate lays a template over a pod.
func applyTemplate(pod *corev1.Pod, raw *apiextensionsv1.JSON) error {
	if raw == nil {
		return nil
	}
	if _, err := readTemplate(raw); err != nil {
		return err
	}
	was := corev1.PodTemplateSpec{Spec: pod.Spec}
	was.Labels, was.Annotations = pod.Labels, pod.Annotations
	built, err := json.Marshal(was)
	if err != nil {
		return err
	}
	merged, err := strategicpatch.StrategicMergePatch(built, raw.Raw, was)
	if err != nil {
		return invalidTemplate("%v", err)
	}
	var is corev1.PodTemplateSpec
	if err := json.Unmarshal(merged, &is); err != nil {
		return invalidTemplate("%v", err)
	}
	inOrder(&was.Spec, &is.Spec)
	for _, rule := range []func(was, is *corev1.PodTemplateSpec) string{
		ownsMetadata, ownsPod, ownsContainers, ownsEngine, ownsRunner, ownsParts, ownsEnvironment, ownsVolumes,
		ownsMounts, ownsTokens,
	} {
		if why := rule(&was, &is); why != "" {
			return invalidTemplate("%s", why)
		}
	}
	restrictContainers(is.Spec.InitContainers)
	pod.Labels, pod.Annotations, pod.Spec = is.Labels, is.Annotations, is.Spec
	return nil
}

// inOrder puts what was built before what the template adds: the runner goes first, and a variable may refer to those
// before it.
func inOrder(was, is *corev1.PodSpec) {
	builtFirst(was.InitContainers, is.InitContainers, func(c corev1.Container) string { return c.Name })
	builtFirst(was.Volumes, is.Volumes, func(v corev1.Volume) string { return v.Name })
	builtFirst(was.ImagePullSecrets, is.ImagePullSecrets, func(r corev1.LocalObjectReference) string { return r.Name })
	for i := range is.Containers {
		if engine := &is.Containers[i]; engine.Name == runinfo.ShellContainer {
			builtFirst(was.Containers[0].Env, engine.Env, func(e corev1.EnvVar) string { return e.Name })
			builtFirst(was.Containers[0].VolumeMounts, engine.VolumeMounts, func(m corev1.VolumeMount) string {
				return m.MountPath
			})
		}
	}
}

func builtFirst[T any](was, is []T, name func(T) string) {
	place := map[string]int{}
	for i, v := range slices.Backward(was) {
		place[name(v)] = i
	}
	at := func(v T) int {
		if i, ok := place[name(v)]; ok {
			return i
		}
		return len(was)
	}
	slices.SortStableFunc(is, func(a, b T) int { return at(a) - at(b) })
}

// restrictContainers sets the security context of the engine on containers that have none.
func restrictContainers(containers []corev1.Container) {
	for i := range containers {
		if containers[i].SecurityContext == nil {
			containers[i].SecurityContext = restricted()
		}
	}
}

func ownsMetadata(was, is *corev1.PodTemplateSpec) string {
	for _, field := range differing(was.ObjectMeta, is.ObjectMeta) {
		if field != "labels" && field != "annotations" {
			return fmt.Sprintf("metadata.%s is Cairn's own: only labels and annotations are taken", field)
		}
	}
	for name, pair := range map[string][2]map[string]string{"labels": {was.Labels, is.Labels},
		"annotations": {was.Annotations, is.Annotations}} {
		for _, key := range differing(pair[0], pair[1]) {
			if isOwn(key) {
				return fmt.Sprintf("metadata.%s[%s] is Cairn's own", name, key)
			}
		}
	}
	return ""
}

// ownsContainers: a container that runs on beside the engine would keep the pod from ending.
func ownsContainers(_, is *corev1.PodTemplateSpec) string {
	if len(is.Spec.Containers) == 0 {
		return "spec.containers may not be null"
	}
	for _, c := range is.Spec.Containers {
		if c.Name != runinfo.ShellContainer {
			return fmt.Sprintf("spec.containers[%s]: only %s may exist; use an init container with restartPolicy "+
				"Always, a sidecar that ends with the engine",
				c.Name, runinfo.ShellContainer)
		}
	}
	return ""
}

func ownsEngine(was, is *corev1.PodTemplateSpec) string {
	free := []string{"env", "imagePullPolicy", "resources", "securityContext", "volumeDevices", "volumeMounts"}
	instead := map[string]string{"image": "set spec.runner.image of the Stack",
		"envFrom": "set spec.envFrom of the Stack"}
	for _, field := range differing(was.Spec.Containers[0], is.Spec.Containers[0]) {
		if slices.Contains(free, field) {
			continue
		}
		hint := instead[field]
		if hint == "" {
			hint = "only " + strings.Join(free, ", ") + " are taken"
		}
		return fmt.Sprintf("spec.containers[%s].%s is Cairn's own: %s", runinfo.ShellContainer, field, hint)
	}
	return ""
}

// ownsRunner: the container that copies the runner goes first.
func ownsRunner(was, is *corev1.PodTemplateSpec) string {
	if len(is.Spec.InitContainers) == 0 {
		return "spec.initContainers may not be null"
	}
	for _, field := range differing(was.Spec.InitContainers[0], is.Spec.InitContainers[0]) {
		if field != "resources" {
			return fmt.Sprintf("spec.initContainers[%s] is Cairn's own, but for its resources", runnerContainer)
		}
	}
	return ""
}

// ownsEnvironment: the variables of Cairn and of spec.env. The folder that is its HOME may be another.
func ownsEnvironment(was, is *corev1.PodTemplateSpec) string {
	before := map[string][]corev1.EnvVar{}
	for _, e := range was.Spec.Containers[0].Env {
		before[e.Name] = append(before[e.Name], e)
	}
	now := map[string][]corev1.EnvVar{}
	for _, e := range is.Spec.Containers[0].Env {
		now[e.Name] = append(now[e.Name], e)
	}
	for _, name := range differing(before, now) {
		before := before[name]
		switch {
		case strings.HasPrefix(name, "CAIRN_"):
			return fmt.Sprintf("env %s of container %s is Cairn's own", name, runinfo.ShellContainer)
		case len(now[name]) == 0:
			return fmt.Sprintf("env of container %s may not be null", runinfo.ShellContainer)
		case len(before) > 1 || (len(before) == 1 && before[0] != homeVariable):
			return fmt.Sprintf("env %s of container %s is in spec.env of the Stack already", name,
				runinfo.ShellContainer)
		}
	}
	return ""
}

func ownsVolumes(was, is *corev1.PodTemplateSpec) string {
	own := map[string]corev1.Volume{}
	for _, v := range was.Spec.Volumes {
		own[v.Name] = v
	}
	for _, v := range is.Spec.Volumes {
		before, ours := own[v.Name]
		if (ours && len(differing(before, v)) > 0) || (!ours && strings.HasPrefix(v.Name, inputsVolume)) {
			return fmt.Sprintf("spec.volumes[%s] is Cairn's own: rename yours", v.Name)
		}
		delete(own, v.Name)
	}
	if len(own) > 0 {
		return "spec.volumes may not be null"
	}
	return ""
}

// ownsMounts: nothing is put where Cairn's files are, and they are put nowhere else.
func ownsMounts(was, is *corev1.PodTemplateSpec) string {
	own := map[string]bool{}
	for _, v := range was.Spec.Volumes {
		own[v.Name] = true
	}
	kept := was.Spec.Containers[0].VolumeMounts
	if len(is.Spec.Containers[0].VolumeMounts) < len(kept) {
		return fmt.Sprintf("volumeMounts of container %s may not be null", runinfo.ShellContainer)
	}
	for _, c := range slices.Concat(is.Spec.Containers, is.Spec.InitContainers[1:]) {
		for _, m := range c.VolumeMounts {
			if c.Name == runinfo.ShellContainer && slices.ContainsFunc(kept, func(k corev1.VolumeMount) bool {
				return len(differing(k, m)) == 0
			}) {
				continue
			}
			at := path.Clean("/" + m.MountPath)
			switch {
			case own[m.Name]:
				return fmt.Sprintf("volume %s is Cairn's own, and container %s may not mount it at %s", m.Name, c.Name,
					m.MountPath)
			case c.Name == runinfo.ShellContainer && (at == "/" || at == runinfo.DirCairn ||
				strings.HasPrefix(at, runinfo.DirCairn+"/")):
				return fmt.Sprintf("container %s has Cairn's own files at %s: volume %s cannot be mounted at %s",
					c.Name, runinfo.DirCairn, m.Name, m.MountPath)
			}
		}
	}
	return ""
}

// ownsTokens: another token for the server would be read by a container that starts before the runner. The server takes
// the first process that sends a request with such a token for the runner.
func ownsTokens(_, is *corev1.PodTemplateSpec) string {
	for _, v := range is.Spec.Volumes {
		if v.Name == tokenVolumeName || v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			if s.ServiceAccountToken != nil && s.ServiceAccountToken.Audience == runnerapi.Audience {
				return fmt.Sprintf("spec.volumes[%s] asks for a token for the audience %q, which is Cairn's own",
					v.Name, runnerapi.Audience)
			}
		}
	}
	return ""
}

// differing names the fields in which two objects differ, as JSON has them, in order.
func differing(was, is any) []string {
	before, after := fields(was), fields(is)
	var names []string
	for name := range before {
		if !reflect.DeepEqual(before[name], after[name]) {
			names = append(names, name)
		}
	}
	for name := range after {
		if _, ok := before[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// fields of an object that can be written as JSON.
func fields(object any) map[string]any {
	var all map[string]any
	if data, err := json.Marshal(object); err == nil {
		_ = json.Unmarshal(data, &all) // what was written can be read
	}
	return all
}
