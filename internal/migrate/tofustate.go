package migrate

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// tofuState says where the state is: it stays there.
func (c *conversion) tofuState(o *object, s *v1alpha1.StackSpec) {
	spec := o.at("spec")
	at := spec.at("backendConfig")
	var p *place
	switch custom := at.at("customConfiguration"); {
	case spec.at("cloud").there():
		c.tofuCloud(o, s)
		at.ignored("with spec.cloud it is not looked at")
		spec.at("backendConfigsFrom").ignored("with spec.cloud it is not looked at")
		spec.at("workspace").notNeeded("the state is moved")
		return
	case at.at("disable").truth():
		p = &place{Backend: v1alpha1.Backend{FromCode: true}}
		at.at("disable").became("spec.backend.fromCode: the backend block of the code")
		at.at("disable").todo("look that the code has a backend block: without one its state was in a pod, and is gone")
		for _, name := range []string{"secretSuffix", "inClusterConfig", "customConfiguration", "configPath", "labels"} {
			at.at(name).ignored("with disable it is not looked at")
		}
	case custom.text() != "":
		var err error
		if p, err = readBackend(custom.text()); err != nil {
			c.moveState(o, s, custom, err.Error())
			return
		}
		custom.became("spec.backend type %s: the same arguments, and the state stays where it is", p.Type)
		for _, name := range []string{"secretSuffix", "inClusterConfig", "configPath", "labels"} {
			at.at(name).ignored("with customConfiguration it is not looked at")
		}
	default:
		p = tofuKubernetes(o)
	}
	at.at("disable").notNeeded("it is not disabled")
	tofuWorkspace(o, p)
	if p.Type == "" && !p.FromCode {
		c.moveState(o, s, spec.at("workspace"), "in a workspace, and a Stack has the default one")
		return
	}
	c.tofuArguments(o, p)
	if p.Type == "kubernetes" {
		kubernetesAccess(o, p)
	}
	p.secretState(o, at.at("customConfiguration"))
	s.Backend = &p.Backend
}

// tofuKubernetes is the Secret that tofu-controller keeps a state in.
func tofuKubernetes(o *object) *place {
	at := o.at("spec", "backendConfig")
	p := &place{Backend: v1alpha1.Backend{Type: "kubernetes"}}
	suffix := o.ref.Name
	if at.there() {
		suffix = at.at("secretSuffix").text()
		if suffix == "" {
			suffix = o.ref.Name
			o.note(Ignored, at.at("secretSuffix").path, "empty, with which the engine takes no backend: the name is taken, as without backendConfig")
		}
	}
	p.text("secret_suffix", suffix)
	p.text("namespace", o.stateNamespace())
	at.at("secretSuffix").became("spec.backend.config.secret_suffix")
	at.at("configPath").notNeeded("the Secret of spec.backend.configFrom says how to reach the cluster; config_path %s names no file, with which the engine takes that", noKubeconfig)
	at.at("inClusterConfig").notNeeded("the Secret of spec.backend.configFrom says how to reach the cluster: Cairn's runners have no token of Kubernetes")
	if labels := at.at("labels"); labels.there() {
		raw, err := json.Marshal(labels.textMap())
		if err != nil {
			labels.fail("%w", err)
		}
		p.raw("labels", raw)
		labels.became("spec.backend.config.labels")
	}
	o.note(Became, "spec.backendConfig", "spec.backend type kubernetes: the state stays in Secret tfstate-%s-%s", workspaceOf(o), suffix)
	return p
}

// stateNamespace is that of the object; where a file says none, kubectl would take default.
func (o *object) stateNamespace() string {
	if o.ref.Namespace != "" {
		return o.ref.Namespace
	}
	o.note(Todo, "metadata.namespace", "no namespace is said, and default is taken for the place of the state: convert with -n NAMESPACE")
	return "default"
}

func workspaceOf(o *object) string {
	if name := o.at("spec", "workspace").text(); name != "" {
		return name
	}
	return "default"
}

// tofuWorkspace finds the state of a workspace: a Stack has the default one, and some backends can name another's state.
func tofuWorkspace(o *object, p *place) {
	at, name := o.at("spec", "workspace"), workspaceOf(o)
	switch {
	case name == "default":
		at.became("spec.backend: the state of the default workspace")
	case p.Type == "s3" && p.say("key") != "":
		prefix := p.say("workspace_key_prefix")
		if prefix == "" {
			prefix = "env:"
		}
		p.text("key", prefix+"/"+name+"/"+p.say("key"))
		delete(p.Config, "workspace_key_prefix")
		at.became("spec.backend.config.key %s, where s3 keeps that workspace", p.say("key"))
	case p.FromCode:
		at.cannot("a Stack has the state of the default workspace: give the place of the other one in spec.backend, or move its state (docs/migrate.md, Workspaces)")
	default:
		p.Backend = v1alpha1.Backend{}
	}
}

// moveState is for states that cannot stay where they are: Cairn keeps them, and nothing is planned before they are here.
func (c *conversion) moveState(o *object, s *v1alpha1.StackSpec, at field, why string) {
	s.Suspend = true
	path := at.path
	o.note(Cannot, path, "%s: Cairn keeps the state, and the Stack is suspended until it is here", why)
	o.note(Todo, path, "with the old code and backend: tofu init; tofu state pull > %s.tfstate. Then cairn state push %s %s.tfstate --yes; cairn resume %s (docs/migrate.md, Moving a state)",
		quote(o.stack), quote(o.stack), quote(o.stack), quote(o.stack))
	for _, f := range o.at("spec", "backendConfig").fields() {
		if !o.told[f.path] {
			f.notNeeded("the state is moved")
		}
	}
	o.at("spec", "backendConfigsFrom").notNeeded("the state is moved")
	o.at("spec", "workspace").notNeeded("the state is moved")
}

// tofuCloud is a workspace of Terraform Cloud. Its token is not copied.
func (c *conversion) tofuCloud(o *object, s *v1alpha1.StackSpec) {
	at := o.at("spec", "cloud")
	c.moveState(o, s, at, "it runs and keeps the state elsewhere")
	at.at("token").todo("it is in clear in the object, and is not copied: take it back where it was given")
}

// tofuArguments are arguments of the backend from Secrets and ConfigMaps.
func (c *conversion) tofuArguments(o *object, p *place) {
	for _, f := range o.at("spec", "backendConfigsFrom").items() {
		name := f.at("name").text()
		wanted := f.at("keys").texts()
		f.at("optional").cannot("a Secret that is named has to be there")
		switch f.at("kind").text() {
		case "Secret":
			if len(wanted) == 0 {
				p.configFrom(name)
				f.became("spec.backend.configFrom: the same Secret, each key an argument")
				continue
			}
			made := shorten(o.stack, 190) + "-backend-" + digest(name)
			p.configFrom(made)
			var files []string
			for _, key := range wanted {
				files = append(files, key, fromKey(o.ref.Namespace, name, key))
			}
			f.became("spec.backend.configFrom: Secret %s, for all keys of it are arguments", made)
			f.todo("make Secret %s: %s", made, makeSecret(o.ref.Namespace, made, files...))
		default:
			values := c.find("", "ConfigMap", o.ref.Namespace, name)
			if values == nil {
				f.todo("write what ConfigMap %s has into spec.backend.config: %s", name, kubectl(o.ref.Namespace, "get configmap %s -o yaml", quote(name)))
				continue
			}
			for _, item := range values.at("data").fields() {
				if len(wanted) == 0 || slices.Contains(wanted, item.name) {
					p.text(item.name, item.text())
				}
			}
			f.became("spec.backend.config: what is in ConfigMap %s", name)
		}
	}
}

// noKubeconfig is no file. The engine takes host and token from arguments only where a kubeconfig is named: one that is not there it leaves out, and
// without a name it wants one.
const noKubeconfig = "/none"

// kubernetesAccess has the engine reach the cluster's API with a token of its own, from a Secret.
func kubernetesAccess(o *object, p *place) {
	for _, name := range []string{"in_cluster_config", "config_path", "config_context", "config_paths"} {
		delete(p.Config, name)
	}
	name := backendSecret(o)
	p.Secrets = slices.DeleteFunc(p.Secrets, func(s string) bool { return s == "token" })
	if len(p.Secrets) == 0 {
		p.configFrom(name)
	}
	p.text("config_path", noKubeconfig)
	o.note(Todo, "spec.backend", "runners have no token of Kubernetes: make Secret %s with keys host, token and cluster_ca_certificate, of an account that may do no more than keep states (docs/migrate.md, States in Secrets)", name)
}

// tofuVariables are values for the code: those of varsFrom win over those of vars, and these over values.
func (c *conversion) tofuVariables(o *object, s *v1alpha1.StackSpec, r *runner) {
	spec := o.at("spec")
	if values := spec.at("values"); values.there() {
		raw, err := json.Marshal(values.value)
		switch {
		case err != nil:
			values.fail("%w", err)
		case strings.Contains(string(raw), "${{"):
			values.cannot("it has a template in it (${{ }}): write the values, or take outputs of a Stack by spec.variables valueFrom.stack. The variable values is not set")
		default:
			s.Variables = append(s.Variables, v1alpha1.Variable{Name: "values", Value: &apiextensionsv1.JSON{Raw: raw}})
			values.became("spec.variables values")
		}
	}
	for _, f := range spec.at("readInputsFromSecrets").items() {
		f.cannot("only the template of values reads it there: take outputs of a Stack by spec.variables valueFrom.stack, or a key of the Secret by valueFrom.secret")
	}
	for _, f := range spec.at("vars").items() {
		c.tofuVariable(f, s)
	}
	for _, f := range spec.at("varsFrom").items() {
		c.tofuVariablesFrom(o, f, s, r)
	}
	o.lastOfEachVariable(s)
	for _, f := range spec.at("tfVarsFiles").items() {
		in, err := inRepository(f.text())
		if err != nil || !strings.HasSuffix(in, ".tfvars") && !strings.HasSuffix(in, ".tfvars.json") {
			f.cannot("%s: a variable file is in the repository, and ends in .tfvars or .tfvars.json", f.text())
			continue
		}
		s.VariableFiles = append(s.VariableFiles, v1alpha1.VariableFile{Path: in})
		f.became("spec.variableFiles path %s", in)
		if len(s.Variables) > 0 {
			f.todo("files win over vars there, and spec.variables over files here: look where both say the same variable")
		}
	}
	o.note(Cannot, "", "if the code has a file main.tf.tpl: it is no code for the engine; render it, and keep main.tf in the repository")
}

// lastOfEachVariable keeps the last of several variables of one name: spec.variables has each name once.
func (o *object) lastOfEachVariable(s *v1alpha1.StackSpec) {
	last := map[string]int{}
	for i, v := range s.Variables {
		if _, again := last[v.Name]; again {
			o.note(Became, "", "spec.variables %s: several values are given for it; the last one is taken, as before", v.Name)
		}
		last[v.Name] = i
	}
	var kept []v1alpha1.Variable
	for i, v := range s.Variables {
		if last[v.Name] == i {
			kept = append(kept, v)
		}
	}
	s.Variables = kept
}

func (c *conversion) tofuVariable(f field, s *v1alpha1.StackSpec) {
	name := f.at("name").text()
	if from := f.at("valueFrom"); from.there() && !f.at("value").there() {
		from.ignored("tofu-controller gives null for it, whatever it names")
		var source corev1.EnvVarSource
		from.into(&source)
		switch {
		case source.SecretKeyRef != nil:
			s.Variables = append(s.Variables, v1alpha1.Variable{Name: name, ValueFrom: &v1alpha1.ValueFrom{Secret: &v1alpha1.KeyRef{Name: source.SecretKeyRef.Name, Key: source.SecretKeyRef.Key}}})
		case source.ConfigMapKeyRef != nil:
			s.Variables = append(s.Variables, v1alpha1.Variable{Name: name, ValueFrom: &v1alpha1.ValueFrom{ConfigMap: &v1alpha1.KeyRef{Name: source.ConfigMapKeyRef.Name, Key: source.ConfigMapKeyRef.Key}}})
		default:
			from.cannot("a value is from a Secret or a ConfigMap")
			return
		}
		f.at("name").became("spec.variables %s: with the value that it names, as meant. If the first plan is not empty for it, take it out", name)
		return
	}
	if !f.at("value").there() {
		f.at("name").cannot("%s has no value, which was null there: it is left out, and the code's default is taken", name)
		f.of.told[f.at("value").path] = true
		return
	}
	raw, err := json.Marshal(f.at("value").value)
	if err != nil {
		f.fail("%w", err)
		return
	}
	s.Variables = append(s.Variables, v1alpha1.Variable{Name: name, Value: &apiextensionsv1.JSON{Raw: raw}})
	f.at("name").became("spec.variables %s", name)
	f.at("value").became("spec.variables %s", name)
	f.at("valueFrom").ignored("beside a value it is not looked at, nor otherwise")
}

// tofuVariablesFrom are keys of a Secret or ConfigMap: by name where it says which, otherwise whatever is in it, by the environment.
func (c *conversion) tofuVariablesFrom(o *object, f field, s *v1alpha1.StackSpec, r *runner) {
	name, isSecret := f.at("name").text(), f.at("kind").text() == "Secret"
	f.at("kind").became("spec.variables")
	f.at("name").became("spec.variables")
	optional := f.at("optional").truth()
	if !optional {
		f.at("optional").notNeeded("it is not optional")
	}
	if !f.at("varsKeys").there() {
		f.at("optional").became("spec.envFrom optional")
		source := corev1.EnvFromSource{Prefix: "TF_VAR_"}
		local := corev1.LocalObjectReference{Name: name}
		if isSecret {
			source.SecretRef = &corev1.SecretEnvSource{LocalObjectReference: local}
		} else {
			source.ConfigMapRef = &corev1.ConfigMapEnvSource{LocalObjectReference: local}
		}
		if optional && isSecret {
			source.SecretRef.Optional = &optional
		} else if optional {
			source.ConfigMapRef.Optional = &optional
		}
		r.envFrom = append(r.envFrom, source)
		o.note(Became, f.path, "spec.envFrom with the prefix TF_VAR_: each key of %s is a variable. It loses to *.tfvars files of the code and to spec.variables, over which it won there", name)
		return
	}
	if optional {
		f.at("optional").cannot("what is named has to be there")
	}
	for _, item := range f.at("varsKeys").items() {
		key, variable, found := strings.Cut(item.text(), ":")
		if !found {
			variable = key
		}
		ref := &v1alpha1.KeyRef{Name: name, Key: key}
		from := &v1alpha1.ValueFrom{ConfigMap: ref}
		if isSecret {
			from = &v1alpha1.ValueFrom{Secret: ref}
		}
		s.Variables = append(s.Variables, v1alpha1.Variable{Name: variable, ValueFrom: from})
		item.became("spec.variables %s", variable)
	}
}
