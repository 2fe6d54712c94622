package tofucontroller

import (
	"encoding/json"
	"slices"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/convert/manifest"
	"cairn.dev/cairn/migrate/states"
)

// convertState sets the backend to where the state is: it stays there.
func convertState(c *convert.Conversion, o *convert.Object, s *v1alpha1.StackSpec) {
	spec := o.At("spec")
	at := spec.At("backendConfig")
	var p *convert.Backend
	switch custom := at.At("customConfiguration"); {
	case spec.At("cloud").Exists():
		convertCloud(o, s)
		at.Ignored("it has no effect with spec.cloud")
		spec.At("backendConfigsFrom").Ignored("it has no effect with spec.cloud")
		spec.At("workspace").NotNeeded("the state is moved")
		return
	case at.At("disable").Bool():
		p = &convert.Backend{Backend: v1alpha1.Backend{FromCode: true}}
		at.At("disable").Became("spec.backend.fromCode: the backend block of the code")
		at.At("disable").ToDo(
			"check that the code has a backend block: without one its state was in a pod, and is lost")
		for _, name := range []string{"secretSuffix", "inClusterConfig", "customConfiguration", "configPath",
			"labels"} {
			at.At(name).Ignored("it has no effect with disable")
		}
	case custom.Text() != "":
		var err error
		if p, err = states.ReadBackend(custom.Text()); err != nil {
			moveState(o, s, custom, workspaceOf(o), err.Error())
			if name := workspaceOf(o); !convert.IsDefaultWorkspace(name) {
				s.Workspace = name // which the code may read
			}
			return
		}
		custom.Became("spec.backend type %s: the same arguments, and the state stays where it is", p.Type)
		for _, name := range []string{"secretSuffix", "inClusterConfig", "configPath", "labels"} {
			at.At(name).Ignored("it has no effect with customConfiguration")
		}
	default:
		p = defaultState(o)
	}
	at.At("disable").NotNeeded("it is not disabled")
	setFromConfigMaps(c, o, p)
	convertWorkspace(o, s)
	convertBackendArguments(c, o, p)
	if p.Type == "kubernetes" {
		states.RequireKubernetesToken(o, p)
	}
	states.AddSecretArguments(p, o, at.At("customConfiguration"))
	s.Backend = &p.Backend
}

// defaultState is the Secret that tofu-controller keeps a state in.
func defaultState(o *convert.Object) *convert.Backend {
	at := o.At("spec", "backendConfig")
	p := &convert.Backend{Backend: v1alpha1.Backend{Type: "kubernetes"}}
	suffix := o.Ref.Name
	if at.Exists() {
		suffix = at.At("secretSuffix").Text()
		if suffix == "" {
			suffix = o.Ref.Name
			o.Note(manifest.Ignored, at.At("secretSuffix").Path,
				"empty, with which the engine takes no backend: the name is taken, as without backendConfig")
		}
	}
	p.Set("secret_suffix", suffix)
	p.Set("namespace", stateNamespace(o))
	at.At("secretSuffix").Became("spec.backend.config.secret_suffix")
	at.At("configPath").NotNeeded("the Secret of spec.backend.configFrom configures how to reach the cluster; "+
		"config_path %s names no file, with which the engine takes that", states.NoKubeconfig)
	at.At("inClusterConfig").NotNeeded("the Secret of spec.backend.configFrom configures how to reach the cluster: " +
		"Cairn's runners have no token of Kubernetes")
	if labels := at.At("labels"); labels.Exists() {
		raw, err := json.Marshal(labels.TextMap())
		if err != nil {
			labels.Fail("%w", err)
		}
		p.SetRaw("labels", raw)
		labels.Became("spec.backend.config.labels")
	}
	o.Note(manifest.Became, "spec.backendConfig", "spec.backend type kubernetes: the state stays in Secret "+
		"tfstate-%s-%s", workspaceOf(o), suffix)
	return p
}

// stateNamespace is that of the object; where a file has none, kubectl would use default.
func stateNamespace(o *convert.Object) string {
	if o.Ref.Namespace != "" {
		return o.Ref.Namespace
	}
	o.Note(manifest.ToDo, "metadata.namespace", "the object has no namespace, and default is used for the place of "+
		"the state: convert with -n NAMESPACE")
	return "default"
}

func workspaceOf(o *convert.Object) string {
	if name := o.At("spec", "workspace").Text(); name != "" {
		return name
	}
	return "default"
}

// convertWorkspace selects the workspace whose state the backend has.
func convertWorkspace(o *convert.Object, s *v1alpha1.StackSpec) {
	at, name := o.At("spec", "workspace"), workspaceOf(o)
	if convert.IsDefaultWorkspace(name) {
		at.Became("spec.backend: the state of the default workspace")
		return
	}
	s.Workspace = name
	at.Became("spec.workspace")
}

// convertCloud is a workspace of Terraform Cloud. Its token is not copied.
func convertCloud(o *convert.Object, s *v1alpha1.StackSpec) {
	at := o.At("spec", "cloud")
	moveState(o, s, at, "", "it runs and keeps the state elsewhere")
	at.At("token").ToDo("it is in clear in the object, and is not copied: take it back where it was given")
}

// setFromConfigMaps sets the arguments of the backend that ConfigMaps have: they override the others.
func setFromConfigMaps(c *convert.Conversion, o *convert.Object, p *convert.Backend) {
	for _, f := range o.At("spec", "backendConfigsFrom").Items() {
		values := c.Find("", "ConfigMap", o.Ref.Namespace, f.At("name").Text())
		if f.At("kind").Text() == "Secret" || values == nil {
			continue
		}
		wanted := f.At("keys").Texts()
		for _, item := range values.At("data").Fields() {
			if len(wanted) == 0 || slices.Contains(wanted, item.Name) {
				p.Set(item.Name, item.Text())
			}
		}
	}
}

// convertBackendArguments are arguments of the backend from Secrets, and the notes on those from ConfigMaps.
func convertBackendArguments(c *convert.Conversion, o *convert.Object, p *convert.Backend) {
	for _, f := range o.At("spec", "backendConfigsFrom").Items() {
		name := f.At("name").Text()
		wanted := f.At("keys").Texts()
		f.At("optional").Unsupported("a Secret that is named has to be there")
		switch f.At("kind").Text() {
		case "Secret":
			if len(wanted) == 0 {
				p.AddSecret(name)
				f.Became("spec.backend.configFrom: the same Secret, each key an argument")
				continue
			}
			made := convert.Shorten(o.StackName, 190) + "-backend-" + convert.Digest(name)
			p.AddSecret(made)
			var files []string
			for _, key := range wanted {
				files = append(files, key, convert.FileFromSecret(o.Ref.Namespace, name, key))
			}
			f.Became("spec.backend.configFrom: Secret %s, for all keys of it are arguments", made)
			f.ToDo("make Secret %s: %s", made, convert.CreateSecret(o.Ref.Namespace, made, files...))
		default:
			if c.Find("", "ConfigMap", o.Ref.Namespace, name) == nil {
				f.ToDo("write what ConfigMap %s has into spec.backend.config: %s", name,
					convert.Kubectl(o.Ref.Namespace, "get configmap %s -o yaml", convert.Quote(name)))
				continue
			}
			f.Became("spec.backend.config: what is in ConfigMap %s", name)
		}
	}
}

// moveState also covers the other fields that configure where the state was.
func moveState(o *convert.Object, s *v1alpha1.StackSpec, at manifest.Field, workspace, why string) {
	states.MoveState(o, s, at, workspace, why)
	for _, f := range o.At("spec", "backendConfig").Fields() {
		if !f.HasNote() {
			f.NotNeeded("the state is moved")
		}
	}
	o.At("spec", "backendConfigsFrom").NotNeeded("the state is moved")
	o.At("spec", "workspace").NotNeeded("the state is moved")
}
