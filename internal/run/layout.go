package run

import (
	"encoding/json"
	"fmt"
	"path"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/inputs"
	"cairn.dev/cairn/internal/runnerapi"
)

// A place is a Secret or ConfigMap that the kubelet puts into a folder below the runner's inputs folder. The pod and
// the order are both made from the list of places, so that they cannot disagree.
type place struct {
	dir       string
	secret    string
	configMap string
	// keys to put there; all when empty. A key that is missing is for the runner to name.
	keys []string
	// hidden says that the runner has to know all values in the folder as secret, whatever else it is for.
	hidden bool
}

// places are all folders of a Run's inputs, and what is told of them.
type places struct {
	list        []place
	files       []runnerapi.VariableFiles
	variables   []runnerapi.Variable
	secretEnv   []string
	credentials []runnerapi.ModuleCredentials
	backend     *runnerapi.Backend
}

// layout says where the kubelet puts what a Run reads. A destroy gets from the store what the last apply was given,
// whatever became of the objects that it came from; only its environment and what is for the hosts of modules are not kept.
func layout(run *v1alpha1.Run, doc inputs.Document) places {
	var p places
	if run.Spec.Operation != v1alpha1.OperationDestroy {
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
			p.list = append(p.list, place{dir: fmt.Sprintf("env/%d", i), secret: e.SecretRef.Name, hidden: true})
		}
	}
	env, mounted := engineSecrets(doc.Template)
	p.secretEnv = append(p.secretEnv, env...)
	for i, name := range mounted {
		p.list = append(p.list, place{dir: fmt.Sprintf("template/%d", i), secret: name, hidden: true})
	}
	p.addBackend(doc.Backend)
	for i, m := range doc.ModuleCredentials {
		pl := place{dir: fmt.Sprintf("git/%d", i), secret: m.Secret.Name, hidden: true}
		p.list = append(p.list, pl)
		p.credentials = append(p.credentials, runnerapi.ModuleCredentials{Host: m.Host, Dir: pl.dir})
	}
	return p
}

// addBackend adds the engine's own backend and its secret arguments. They are not kept for a destroy: it needs the Secrets.
func (p *places) addBackend(b *v1alpha1.Backend) {
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
		pl := place{dir: fmt.Sprintf("backend/%02d", i), secret: from.Secret.Name, hidden: true}
		p.list = append(p.list, pl)
		p.backend.ConfigDirs = append(p.backend.ConfigDirs, pl.dir)
	}
}

// addFiles adds the variable files, in their order. One of the code is there when the code is: it needs no place. In git
// the path is from the repository's root, elsewhere from the root module, and both are the root of the code's archive.
func (p *places) addFiles(doc inputs.Document) {
	for i, f := range doc.VariableFiles {
		if f.Path != "" {
			p.files = append(p.files, runnerapi.VariableFiles{Path: path.Clean(f.Path)})
			continue
		}
		pl := place{dir: fmt.Sprintf("files/%02d", i)}
		if f.Secret != nil {
			pl.secret = f.Secret.Name
		} else {
			pl.configMap = f.ConfigMap.Name
		}
		p.list = append(p.list, pl)
		p.files = append(p.files, runnerapi.VariableFiles{Dir: pl.dir, Secret: pl.secret != ""})
	}
}

func (p *places) addVariables(doc inputs.Document) {
	for i, v := range doc.Variables {
		if v.ValueFrom == nil {
			p.variables = append(p.variables, runnerapi.Variable{Name: v.Name, Value: v.Value.Raw})
			continue
		}
		if of := v.ValueFrom.Stack; of != nil {
			p.variables = append(p.variables, runnerapi.Variable{Name: v.Name, Stack: of.Name, Output: of.Output})
			continue
		}
		pl := place{dir: fmt.Sprintf("variables/%02d", i)}
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
			Name: v.Name, File: path.Join(pl.dir, ref.Key), From: fmt.Sprintf("key %s of %s %s", ref.Key, kind, ref.Name),
			Secret: pl.secret != "",
		})
	}
}

// tell puts the places into an order.
func (p places) tell(order *runnerapi.Order) {
	order.VariableFiles, order.Variables = p.files, p.variables
	order.SecretEnv, order.ModuleCredentials, order.Backend = p.secretEnv, p.credentials, p.backend
	for _, pl := range p.list {
		if pl.hidden {
			order.SecretDirs = append(order.SecretDirs, pl.dir)
		}
	}
}

// mount puts the places into a pod.
func (p places) mount(root string) (volumes []corev1.Volume, mounts []corev1.VolumeMount) {
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
				LocalObjectReference: corev1.LocalObjectReference{Name: pl.configMap}, Items: items, Optional: &optional,
			}
		}
		volumes = append(volumes, v)
		mounts = append(mounts, corev1.VolumeMount{Name: v.Name, MountPath: path.Join(root, pl.dir), ReadOnly: true})
	}
	return volumes, mounts
}
