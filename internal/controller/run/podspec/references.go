package podspec

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
)

// A TemplateRead is an object that a template's pod reads: the pod cannot start without it.
type TemplateRead struct {
	Kind, Name string
	// Why is the field that reads it.
	Why string
	// Optional ones may be missing.
	Optional bool
	// Decides reports whether another version of it may change the result: the engine has it in its environment.
	Decides bool
}

// TemplateReads are the objects that spec.runner.template names; none when it cannot be read.
func TemplateReads(raw *apiextensionsv1.JSON) []TemplateRead {
	if raw == nil {
		return nil
	}
	t, err := readTemplate(raw)
	if err != nil {
		return nil
	}
	var reads []TemplateRead
	add := func(kind, name, why string, optional *bool, decides bool) {
		if name != "" {
			reads = append(reads, TemplateRead{kind, name, "spec.runner.template: " + why, optional != nil && *optional,
				decides})
		}
	}
	for _, c := range slices.Concat(t.Spec.Containers, t.Spec.InitContainers) {
		engine := c.Name == runinfo.ShellContainer
		for _, e := range c.Env {
			why := fmt.Sprintf("env %s of container %s", e.Name, c.Name)
			if from := e.ValueFrom; from != nil && from.SecretKeyRef != nil {
				add("Secret", from.SecretKeyRef.Name, why, from.SecretKeyRef.Optional, engine)
			}
			if from := e.ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
				add("ConfigMap", from.ConfigMapKeyRef.Name, why, from.ConfigMapKeyRef.Optional, engine)
			}
		}
		for _, e := range c.EnvFrom {
			why := "envFrom of container " + c.Name
			if e.SecretRef != nil {
				add("Secret", e.SecretRef.Name, why, e.SecretRef.Optional, false)
			}
			if e.ConfigMapRef != nil {
				add("ConfigMap", e.ConfigMapRef.Name, why, e.ConfigMapRef.Optional, false)
			}
		}
	}
	for _, v := range t.Spec.Volumes {
		why := "volume " + v.Name
		if v.Secret != nil {
			add("Secret", v.Secret.SecretName, why, v.Secret.Optional, false)
		}
		if v.ConfigMap != nil {
			add("ConfigMap", v.ConfigMap.Name, why, v.ConfigMap.Optional, false)
		}
		if v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			if s.Secret != nil {
				add("Secret", s.Secret.Name, why, s.Secret.Optional, false)
			}
			if s.ConfigMap != nil {
				add("ConfigMap", s.ConfigMap.Name, why, s.ConfigMap.Optional, false)
			}
		}
	}
	return reads
}

// engineSecrets are what of a template the engine could print and no user may read: variables that are from Secrets, by
// name, and the Secrets in the volumes that it mounts.
func engineSecrets(raw *apiextensionsv1.JSON) (env, mounted []string) {
	t, err := readTemplate(raw)
	if err != nil {
		return nil, nil // no pod is created from it
	}
	i := slices.IndexFunc(t.Spec.Containers, func(c corev1.Container) bool { return c.Name == runinfo.ShellContainer })
	if i < 0 {
		return nil, nil
	}
	for _, e := range t.Spec.Containers[i].Env {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			env = append(env, e.Name)
		}
	}
	for _, v := range t.Spec.Volumes {
		if !slices.ContainsFunc(t.Spec.Containers[i].VolumeMounts, func(m corev1.VolumeMount) bool {
			return m.Name == v.Name
		}) {
			continue
		}
		if v.Secret != nil {
			mounted = append(mounted, v.Secret.SecretName)
		}
		if v.Projected == nil {
			continue
		}
		for _, s := range v.Projected.Sources {
			if s.Secret != nil {
				mounted = append(mounted, s.Secret.Name)
			}
		}
	}
	return env, slices.Compact(slices.Sorted(slices.Values(mounted)))
}

// References lists the objects that the environment of a Run is read from, in the order of the spec.
func References(doc inputs.Document) []Reference {
	var needs []Reference
	add := func(kind, name, why string, optional *bool) {
		if optional == nil || !*optional {
			needs = append(needs, Reference{kind, name, why})
		}
	}
	for _, e := range doc.Env {
		if from := e.ValueFrom; from != nil && from.SecretKeyRef != nil {
			add("Secret", from.SecretKeyRef.Name, "env "+e.Name+" is read from it", from.SecretKeyRef.Optional)
		}
		if from := e.ValueFrom; from != nil && from.ConfigMapKeyRef != nil {
			add("ConfigMap", from.ConfigMapKeyRef.Name, "env "+e.Name+" is read from it", from.ConfigMapKeyRef.Optional)
		}
	}
	for _, e := range doc.EnvFrom {
		if e.SecretRef != nil {
			add("Secret", e.SecretRef.Name, "envFrom reads it", e.SecretRef.Optional)
		}
		if e.ConfigMapRef != nil {
			add("ConfigMap", e.ConfigMapRef.Name, "envFrom reads it", e.ConfigMapRef.Optional)
		}
	}
	for _, m := range doc.ModuleCredentials {
		add("Secret", m.Secret.Name, "credentials for modules from "+m.Host+" are read from it", nil)
	}
	for _, r := range TemplateReads(doc.Template) {
		add(r.Kind, r.Name, r.Why+" reads it", &r.Optional)
	}
	return needs
}

// Reference is an object that a pod cannot start without.
type Reference struct{ Kind, Name, Why string }
