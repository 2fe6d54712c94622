package podspec

import (
	"encoding/json"
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/controller/inputs"
	"cairn.dev/cairn/internal/lifecycle/runinfo"
	"cairn.dev/cairn/internal/runnerapi"
)

// A Volume is a Secret or ConfigMap that the kubelet mounts in a folder below the inputs folder of the runner. The pod
// and the order are both created from the list of volumes, so that they cannot disagree.
type Volume struct {
	dir       string
	secret    string
	configMap string
	// keys to put there; all when empty. A key that is missing is for the runner to name.
	keys []string
	// hidden reports whether the runner has to know all values in the folder as secret, whatever else it is for.
	hidden bool
}

// Volumes are all folders with the inputs of a Run, and what an order has of them.
type Volumes struct {
	list        []Volume
	files       []runnerapi.VariableFiles
	variables   []runnerapi.Variable
	secretEnv   []string
	credentials []runnerapi.ModuleCredentials
	backend     *runnerapi.Backend
}

// VolumesOf computes where the kubelet mounts what a Run reads. A destroy gets from the server what the last apply was
// given, whatever became of the objects that it came from; only its environment and what is for the hosts of modules
// are not kept.
func VolumesOf(run *v1alpha1.Run, doc inputs.Document) Volumes {
	var p Volumes
	if !runinfo.PlansDestroy(run) {
		p.addFiles(doc)
		p.addVariables(doc)
	}
	for _, e := range doc.Env {
		if e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			p.secretEnv = append(p.secretEnv, e.Name)
		}
	}
	for i, e := range doc.EnvFrom {
		if e.SecretRef != nil {
			p.list = append(p.list, Volume{dir: fmt.Sprintf("env/%d", i), secret: e.SecretRef.Name, hidden: true})
		}
	}
	env, mounted := engineSecrets(doc.Template)
	p.secretEnv = append(p.secretEnv, env...)
	for i, name := range mounted {
		p.list = append(p.list, Volume{dir: fmt.Sprintf("template/%d", i), secret: name, hidden: true})
	}
	p.addBackend(doc.Backend)
	for i, m := range doc.ModuleCredentials {
		pl := Volume{dir: fmt.Sprintf("git/%d", i), secret: m.Secret.Name, hidden: true}
		p.list = append(p.list, pl)
		p.credentials = append(p.credentials, runnerapi.ModuleCredentials{Host: m.Host, Dir: pl.dir})
	}
	return p
}

// addBackend adds the engine's own backend and its secret arguments. They are not kept for a destroy: it needs the
// Secrets.
func (p *Volumes) addBackend(b *v1alpha1.Backend) {
	if b == nil {
		return
	}
	p.backend = &runnerapi.Backend{Type: b.Type, FromCode: b.FromCode && b.Type != "", Create: b.Create}
	for name, value := range b.Config {
		if p.backend.Config == nil {
			p.backend.Config = map[string]json.RawMessage{}
		}
		p.backend.Config[name] = value.Raw
	}
	for i, from := range b.ConfigFrom {
		pl := Volume{dir: fmt.Sprintf("backend/%02d", i), secret: from.Secret.Name, hidden: true}
		p.list = append(p.list, pl)
		p.backend.ConfigDirs = append(p.backend.ConfigDirs, pl.dir)
	}
}

// addFiles adds the variable files, in their order. One of the code is there when the code is: it needs no place. In
// git the path is from the repository's root, elsewhere from the root module, and both are the root of the code's
// archive.
func (p *Volumes) addFiles(doc inputs.Document) {
	for i, f := range doc.VariableFiles {
		if f.Path != "" {
			p.files = append(p.files, runnerapi.VariableFiles{Path: path.Clean(f.Path)})
			continue
		}
		pl := Volume{dir: fmt.Sprintf("files/%02d", i)}
		if f.Secret != nil {
			pl.secret = f.Secret.Name
		} else {
			pl.configMap = f.ConfigMap.Name
		}
		p.list = append(p.list, pl)
		p.files = append(p.files, runnerapi.VariableFiles{Dir: pl.dir, Secret: pl.secret != ""})
	}
}

func (p *Volumes) addVariables(doc inputs.Document) {
	for i, v := range doc.Variables {
		if v.ValueFrom == nil {
			p.variables = append(p.variables, runnerapi.Variable{Name: v.Name, Value: v.Value.Raw})
			continue
		}
		if of := v.ValueFrom.Stack; of != nil {
			p.variables = append(p.variables, runnerapi.Variable{Name: v.Name, Stack: of.String(), Output: of.Output})
			continue
		}
		pl := Volume{dir: fmt.Sprintf("variables/%02d", i)}
		ref := v.ValueFrom.Secret
		if ref != nil {
			pl.secret = ref.Name
		} else {
			ref = v.ValueFrom.ConfigMap
			pl.configMap = ref.Name
		}
		pl.keys = []string{ref.Key}
		p.list = append(p.list, pl)
		kind := "Secret"
		if pl.secret == "" {
			kind = "ConfigMap"
		}
		p.variables = append(p.variables, runnerapi.Variable{
			Name: v.Name, File: path.Join(pl.dir, ref.Key), From: fmt.Sprintf("key %s of %s %s", ref.Key,
				kind, ref.Name),
			Secret: pl.secret != "",
		})
	}
}

// AddTo writes the volumes to an order.
func (p Volumes) AddTo(order *runnerapi.Order) {
	order.VariableFiles, order.Variables = p.files, p.variables
	order.SecretEnv, order.ModuleCredentials, order.Backend = p.secretEnv, p.credentials, p.backend
	for _, pl := range p.list {
		if pl.hidden {
			order.SecretDirs = append(order.SecretDirs, pl.dir)
		}
	}
}

// mount puts the places into a pod.
func (p Volumes) mount(root string) (volumes []corev1.Volume, mounts []corev1.VolumeMount) {
	optional := true // what is missing is for the decision or the runner to name; a pod that hangs names nothing
	for i, pl := range p.list {
		var items []corev1.KeyToPath
		for _, k := range pl.keys {
			items = append(items, corev1.KeyToPath{Key: k, Path: k})
		}
		v := corev1.Volume{Name: fmt.Sprintf(inputsVolume+"%d", i)}
		if pl.secret != "" {
			v.Secret = &corev1.SecretVolumeSource{SecretName: pl.secret, Items: items, Optional: &optional}
		} else {
			v.ConfigMap = &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: pl.configMap}, Items: items,
				Optional: &optional,
			}
		}
		volumes = append(volumes, v)
		mounts = append(mounts, corev1.VolumeMount{Name: v.Name, MountPath: path.Join(root, pl.dir), ReadOnly: true})
	}
	return volumes, mounts
}

// WithImage is the document with the image that was built for it.
func WithImage(doc inputs.Document, phase v1alpha1.AttemptPhase, image *v1alpha1.BuiltImage) (inputs.Document, error) {
	if doc.Build == nil || phase == v1alpha1.AttemptBuild {
		return doc, nil
	}
	key, err := doc.Build.Key()
	if err != nil {
		return doc, err
	}
	if image == nil || image.Digest == "" || image.Key != key {
		return doc, fmt.Errorf("the image %s of %s is not built yet", doc.Build.Spec.Image, phase)
	}
	doc.Image = doc.Build.Spec.Image + "@" + image.Digest
	return doc, nil
}
