// Package pod takes over the settings that other systems have of their pods.
package pod

import (
	"cmp"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/convert/manifest"
	"cairn.dev/cairn/migrate/states"
)

// Runner collects a system's settings of its pods, for spec.env, spec.envFrom and spec.runner.
type Runner struct {
	v1alpha1.Runner
	env     []corev1.EnvVar
	EnvFrom []corev1.EnvFromSource
	// labels and annotations of the pod.
	labels, Annotations map[string]string
	// pod is the template's part for the pod, engine that for the container of the engine.
	pod, engine map[string]any
	// workspace that a variable selects; otherWorkspace is true when its name is not in the object.
	workspace      string
	otherWorkspace bool
}

// Apply puts what was found into a Stack.
func (r *Runner) Apply(spec *v1alpha1.StackSpec) {
	spec.Env, spec.EnvFrom = r.env, r.EnvFrom
	spec.Runner = r.Runner
	spec.Suspend = spec.Suspend || r.otherWorkspace
	spec.Workspace = cmp.Or(spec.Workspace, r.workspace)
	template := map[string]any{}
	metadata := map[string]any{}
	if len(r.labels) > 0 {
		metadata["labels"] = r.labels
	}
	if len(r.Annotations) > 0 {
		metadata["annotations"] = r.Annotations
	}
	if len(metadata) > 0 {
		template["metadata"] = metadata
	}
	pod := maps.Clone(r.pod)
	if len(r.engine) > 0 {
		engine := maps.Clone(r.engine)
		engine["name"] = "engine"
		if pod == nil {
			pod = map[string]any{}
		}
		pod["containers"] = []any{engine}
	}
	if len(pod) > 0 {
		template["spec"] = pod
	}
	if len(template) == 0 {
		return
	}
	raw, err := json.Marshal(template)
	if err != nil {
		return // all in it was read from JSON
	}
	spec.Runner.Template = &apiextensionsv1.JSON{Raw: raw}
}

// AddToPod takes a field over into the pod's template; lists are appended to the existing ones, and maps overwrite
// their keys.
func (r *Runner) AddToPod(f manifest.Field, name string) {
	if r.pod == nil {
		r.pod = map[string]any{}
	}
	r.take(r.pod, f, name)
	f.Became("spec.runner.template: %s of the pod", name)
}

// AddToContainer is ofPod for the container of the engine.
func (r *Runner) AddToContainer(f manifest.Field, name string) {
	if r.engine == nil {
		r.engine = map[string]any{}
	}
	r.take(r.engine, f, name)
	f.Became("spec.runner.template: %s of container engine", name)
}

func (r *Runner) take(into map[string]any, f manifest.Field, name string) {
	switch value := f.Value.(type) {
	case nil:
	case []any:
		before, _ := into[name].([]any)
		into[name] = slices.Concat(before, value)
	case map[string]any:
		before, _ := into[name].(map[string]any)
		merged := maps.Clone(before)
		if merged == nil {
			merged = map[string]any{}
		}
		maps.Copy(merged, value)
		into[name] = merged
	default:
		into[name] = value
	}
}

// AddVolumes copies volumes, and adds a note to those that no runner may have.
func (r *Runner) AddVolumes(f manifest.Field) {
	if !f.Exists() {
		return
	}
	r.AddToPod(f, "volumes")
	for _, v := range f.Items() {
		if v.At("hostPath").Exists() {
			v.ToDo("a folder of the node fits no pod of Pod Security restricted: take another kind of volume, or " +
				"allow it in the installation (allowUnrestrictedRunners)")
		}
		if name := v.At("name").Text(); ownVolume.MatchString(name) {
			v.ToDo("a volume of that name is Cairn's own: call it something else, here and in volumeMounts")
		}
	}
}

// ownVolume is the name of a volume of Cairn's own.
var ownVolume = regexp.MustCompile(`^(bin|work|token|inputs-.*)$`)

// AddMetadata takes labels and annotations of the pod over.
func (r *Runner) AddMetadata(labels, annotations manifest.Field) {
	for _, part := range []struct {
		of   manifest.Field
		into *map[string]string
	}{{labels, &r.labels}, {annotations, &r.Annotations}} {
		for _, item := range part.of.Fields() {
			domain, _, _ := strings.Cut(item.Name, "/")
			if domain == "cairn.dev" || strings.HasSuffix(domain, ".cairn.dev") ||
				item.Name == "app.kubernetes.io/managed-by" {
				item.NotNeeded("Cairn sets it itself")
				continue
			}
			if *part.into == nil {
				*part.into = map[string]string{}
			}
			(*part.into)[item.Name] = item.Text()
			item.Became("spec.runner.template: metadata of the pod")
		}
	}
}

// amount is a quantity that a Stack takes.
var amount = regexp.MustCompile(`^[0-9]{1,15}(\.[0-9]{1,9})?(m|k|M|G|T|Ki|Mi|Gi|Ti)?$`)

// AddResources takes requests and limits of the engine over.
func (r *Runner) AddResources(f manifest.Field) {
	for _, part := range []struct {
		name string
		into *map[corev1.ResourceName]v1alpha1.Amount
	}{{"limits", &r.Resources.Limits}, {"requests", &r.Resources.Requests}} {
		for _, item := range f.At(part.name).Fields() {
			value := v1alpha1.Amount{}
			switch quantity := item.Value.(type) {
			case string:
				value.IntOrString = intstr.FromString(quantity)
			case float64: // cpu: 0.5
				value.IntOrString = intstr.FromString(strconv.FormatFloat(quantity, 'f', -1, 64))
			case int64, int:
				value.IntOrString = intstr.FromString(strconv.FormatInt(item.Int(), 10))
				if n := item.Int(); n >= 0 && n < 1<<31 {
					value.IntOrString = intstr.FromInt32(int32(n))
				}
			default:
				item.Fail("a quantity is wanted, and this is %s", manifest.TypeName(item.Value))
				continue
			}
			if !amount.MatchString(value.String()) {
				item.Unsupported("a Stack takes quantities such as 500m, 2 or 1Gi: write it so into " +
					"spec.runner.resources")
				continue
			}
			if *part.into == nil {
				*part.into = map[corev1.ResourceName]v1alpha1.Amount{}
			}
			(*part.into)[corev1.ResourceName(item.Name)] = value
			item.Became("spec.runner.resources.%s", part.name)
		}
	}
	f.At("claims").Unsupported("devices are for spec.runner.template")
}

// AddEnvironment copies variables, except those that a runner does not pass to the engine.
func (r *Runner) AddEnvironment(f manifest.Field) {
	for _, item := range f.Items() {
		var variable corev1.EnvVar
		item.Decode(&variable)
		if variable.Name == "" {
			item.Fail("a variable has no name")
			continue
		}
		if r.argument(item, variable) {
			continue
		}
		if variable.ValueFrom != nil && variable.ValueFrom.ResourceFieldRef != nil {
			item.Unsupported("resourceFieldRef is not taken: write the value")
			continue
		}
		r.env = slices.DeleteFunc(r.env, func(e corev1.EnvVar) bool { return e.Name == variable.Name })
		r.env = append(r.env, variable)
		item.Became("spec.env %s", variable.Name)
		if variable.Value != "" && states.SecretArgument.MatchString(variable.Name) {
			item.ToDo("its name sounds like a secret, and its value is in clear, as it was: put it into a Secret and " +
				"take it by valueFrom")
		}
	}
}

// argument adds a note to a variable that does not reach the engine.
func (r *Runner) argument(f manifest.Field, e corev1.EnvVar) bool {
	switch {
	case strings.HasPrefix(e.Name, "CAIRN_"):
		f.Unsupported("%s: names that begin with CAIRN_ are Cairn's own", e.Name)
	case e.Name == "TF_WORKSPACE" && e.ValueFrom == nil && convert.IsDefaultWorkspace(e.Value):
		f.NotNeeded("TF_WORKSPACE: that is the workspace of a Stack without spec.workspace")
	case e.Name == "TF_WORKSPACE" && e.ValueFrom == nil:
		r.workspace = e.Value
		f.Became("spec.workspace")
	case e.Name == "TF_WORKSPACE":
		r.otherWorkspace = true
		f.Unsupported("TF_WORKSPACE: %s", states.OtherWorkspace)
	case strings.HasPrefix(e.Name, "TF_CLI_ARGS"):
		f.Unsupported("%s: arguments of the engine are Cairn's own, so that what was approved is what is applied",
			e.Name)
	case strings.HasPrefix(e.Name, "TF_HTTP_"):
		f.Unsupported("%s: set it in spec.backend.config, or its secrets by spec.backend.configFrom", e.Name)
	case e.Name == "TF_DATA_DIR", strings.HasPrefix(e.Name, "TG_") && !slices.Contains(keptOfTerragrunt, e.Name),
		strings.HasPrefix(e.Name, "TERRAGRUNT_"):
		f.Unsupported("%s: it is not passed to the engine, because it changes what the engine does", e.Name)
	default:
		return false
	}
	return true
}

// keptOfTerragrunt are the variables that a runner passes to Terragrunt.
var keptOfTerragrunt = []string{
	"TG_AUTH_PROVIDER_CMD", "TG_FEATURE", "TG_IAM_ASSUME_ROLE", "TG_IAM_ASSUME_ROLE_DURATION",
	"TG_IAM_ASSUME_ROLE_SESSION_NAME", "TG_IAM_ASSUME_ROLE_WEB_IDENTITY_TOKEN",
}

// AddEnvironmentFrom takes whole Secrets and ConfigMaps of variables over.
func (r *Runner) AddEnvironmentFrom(f manifest.Field) {
	for _, item := range f.Items() {
		var source corev1.EnvFromSource
		item.Decode(&source)
		r.EnvFrom = append(r.EnvFrom, source)
		item.Became("spec.envFrom")
	}
}

// MountSecret mounts a key of a Secret as a file.
func (r *Runner) MountSecret(volume, secret, key, at string) {
	if r.pod == nil {
		r.pod = map[string]any{}
	}
	if r.engine == nil {
		r.engine = map[string]any{}
	}
	volumes, _ := r.pod["volumes"].([]any)
	r.pod["volumes"] = append(volumes, map[string]any{
		"name": volume, "secret": map[string]any{"secretName": secret,
			"items": []any{map[string]any{"key": key, "path": "file"}}},
	})
	mounts, _ := r.engine["volumeMounts"].([]any)
	r.engine["volumeMounts"] = append(mounts, map[string]any{"name": volume, "mountPath": at, "readOnly": true})
}
