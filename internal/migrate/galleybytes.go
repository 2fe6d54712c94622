package migrate

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// terraform-operator writes the backend that its object has over the one of the code, and runs scripts around the engine's commands, each in a pod of its own.
// v1beta1 and v1alpha2 are the same but for a few fields; v1alpha1 says the same in one flat map (galleybytesold.go).

var galleybytes = []kind{
	{system: "terraform-operator", group: "tf.galleybytes.com", versions: []string{"v1beta1"}, name: "Terraform", plural: "terraforms", stack: true, convert: galleyTerraform},
	{system: "terraform-operator", group: "tf.isaaguilar.com", versions: []string{"v1alpha2", "v1alpha1"}, name: "Terraform", plural: "terraforms", stack: true, convert: galleyTerraform},
}

// galley is an object under way, with where its version has what.
type galley struct {
	*object
	c *conversion
	s *v1alpha1.StackSpec
	r *runner
	// source, version, selectors and inline are the ways to name the code, of which the last that is there wins.
	source, inline   field
	selectors        []field
	backend          field
	downloads        field
	requiresApproval bool
	// sources are files of v0.3 that were put beside the code; of03 says that only v0.3 has fields of this object.
	sources field
	of03    bool
}

func galleyTerraform(c *conversion, o *object) {
	spec := o.at("spec")
	g := &galley{object: o, c: c, s: &v1alpha1.StackSpec{}, r: &runner{}}
	old := strings.HasSuffix(o.ref.APIVersion, "/v1alpha1")
	if old {
		g.old()
	} else {
		module := spec.at("terraformModule")
		g.source, g.inline = module.at("source"), module.at("inline")
		g.selectors = []field{module.at("configMapSeclector"), module.at("configMapSelector")}
		g.backend, g.downloads = spec.at("backend"), spec.at("setup", "resourceDownloads")
		g.requiresApproval = spec.at("requireApproval").truth()
		module.at("version").ignored("nothing reads it")
	}
	from, ok := g.code()
	if !ok {
		for _, f := range spec.fields() {
			f.cannot("no Stack is made of this object: see what is said of its code")
		}
		return
	}
	g.engine()
	g.state()
	g.apply()
	g.outputs()
	g.access(from)
	if old {
		g.oldTasks()
	} else {
		g.tasks()
		g.images()
	}
	g.resources()
	g.rest()
	g.r.add(g.s)
	c.add(o, *g.s, from)
}

// code is where the code is: inline wins over a ConfigMap, that over an address. The ok is false when no Stack can have it.
func (g *galley) code() (*repository, bool) {
	chosen := ""
	pick := func(f field, what string) bool {
		if !f.there() || f.value == "" {
			return false
		}
		if chosen != "" {
			f.ignored("%s wins over it", chosen)
			return false
		}
		chosen = what
		return true
	}
	if pick(g.inline, "inline code") {
		g.s.Source.Inline = map[string]string{"inline-module.tf": g.inline.text()}
		g.inline.became("spec.source.inline")
	}
	for _, f := range g.selectors {
		if pick(f, "the ConfigMap") {
			g.s.Source.ConfigMap = &v1alpha1.ObjectRef{Name: f.at("name").text()}
			f.at("name").became("spec.source.configMap: the same ConfigMap")
			if f.at("key").text() != "" {
				f.at("key").cannot("every key of the ConfigMap is a file: where it has others than %s, or this one does not end in .tf, make a ConfigMap with %s.tf alone", f.at("key").text(), strings.TrimSuffix(f.at("key").text(), ".tf"))
			}
		}
	}
	if !pick(g.source, "the address") {
		if chosen == "" {
			g.fail("spec", "it names no code")
		}
		return nil, chosen != ""
	}
	a, err := readAddress(g.source.text())
	if err != nil {
		g.source.cannot("%v: code is from git, a ConfigMap or the Stack itself. NO STACK IS MADE of this object. A module of a registry: write a few lines of code that call it", err)
		return nil, false
	}
	g.s.Source.Git = &v1alpha1.GitSource{Path: strings.Split(a.Path, "//")[0], Ref: plainRef(a.Ref)}
	if a.Ref == "" {
		g.s.Source.Git.Ref = "master"
		g.note(Became, g.source.path, "spec.source.git.ref master: where an address says no ref, that is it")
	}
	g.source.became("Repository with spec.url %s; spec.source.git", a.URL)
	if len(a.More) > 0 {
		g.source.notNeeded("of the address: %s", strings.Join(a.More, ", "))
	}
	if a.Secret {
		g.source.todo("the user or password in the address is left out: put it into a Secret for the Repository's spec.credentials")
	}
	return g.c.repository(g.ref.Namespace, a.URL, g.credentialsFor(a)), true
}

func (g *galley) engine() {
	version := g.at("spec", "terraformVersion")
	g.s.Engine.Name = v1alpha1.EngineTerraform
	if v := version.text(); v != "" && v != "latest" {
		g.s.Engine.Version = v
	}
	version.became("spec.engine Terraform %s", g.s.Engine.Version)
	if !version.there() {
		g.note(Became, version.path, "spec.engine Terraform; absent, it was the newest there, and is what the code asks for or the install's default now")
	}
}

func (g *galley) state() {
	if g.backend.text() == "" {
		g.c.moveState(g.object, g.s, g.backend, "without a backend block the operator's own template was the place (consul), which no object names")
		g.note(Became, g.backend.path, "spec.suspend, until the state is here; or give its place in spec.backend")
		return
	}
	p, err := readBackend(g.backend.text())
	if err != nil {
		g.c.moveState(g.object, g.s, g.backend, err.Error())
		return
	}
	g.backend.became("spec.backend type %s: the same arguments, and the state stays where it is", p.Type)
	if p.Type == "kubernetes" {
		kubernetesAccess(g.object, p)
	}
	p.secretState(g.object, g.backend)
	g.s.Backend = &p.Backend
}

func (g *galley) apply() {
	spec := g.at("spec")
	g.s.Apply = v1alpha1.ApplyAutomatic
	switch {
	case g.of03:
		g.applyOn()
	default:
		if g.requiresApproval {
			g.s.Apply = v1alpha1.ApplyManual
		}
		g.note(Became, "spec.requireApproval", "spec.apply %s; cairn approve, in place of a file on a volume", g.s.Apply)
	}
	g.s.DeletionPolicy = v1alpha1.DeletionDestroy
	if spec.at("ignoreDelete").truth() {
		g.s.DeletionPolicy = v1alpha1.DeletionOrphan
	}
	g.note(Became, "spec.ignoreDelete", "spec.deletionPolicy %s", g.s.DeletionPolicy)
}

func (g *galley) outputs() {
	spec := g.at("spec")
	if name := spec.at("outputsSecret"); name.text() != "" {
		g.s.Outputs = &v1alpha1.Outputs{Secret: &v1alpha1.ObjectRef{Name: name.text()}}
		name.became("spec.outputs.secret")
		name.todo("that Secret is the operator's, and Cairn leaves alone what it did not make: it goes with the old object, and then Cairn makes it. Until then Ready says so")
	}
	for _, name := range []string{"outputsToInclude", "outputsToOmit"} {
		spec.at(name).cannot("all outputs are in the Secret, those that were left out too: whoever may read it reads them. spec.outputs.configMap has those that are not sensitive")
	}
	spec.at("writeOutputsToStatus").notNeeded("status.outputs has those that are not sensitive; the operator wrote the others there in clear, too")
}

// access is who the pods are to clouds.
func (g *galley) access(from *repository) {
	spec := g.at("spec")
	account := spec.at("serviceAccount")
	g.r.ServiceAccountName = account.text()
	account.became("spec.runner.serviceAccountName")
	for _, f := range spec.at("credentials").items() {
		ref := f.at("secretNameRef")
		if name := ref.at("name").text(); name != "" {
			g.r.envFrom = append(g.r.envFrom, corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}})
			ref.at("name").became("spec.envFrom: the same Secret")
		}
		ref.at("key").ignored("all keys are variables")
		if other := ref.at("namespace").text(); other != "" && other != g.ref.Namespace {
			ref.at("namespace").ignored("the Secret of the object's own namespace is taken, here as there")
		}
		ref.at("namespace").notNeeded("it is the object's")
		if role := f.at("aws", "kiam"); role.text() != "" {
			if g.r.annotations == nil {
				g.r.annotations = map[string]string{}
			}
			g.r.annotations["iam.amazonaws.com/role"] = role.text()
			role.became("spec.runner.template: annotation iam.amazonaws.com/role of the pod")
		}
		annotations := f.at("serviceAccountAnnotations").textMap()
		if role := f.at("aws", "irsa"); role.text() != "" {
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations["eks.amazonaws.com/role-arn"] = role.text()
			role.became("the service account: see what is to do")
		}
		f.at("serviceAccountAnnotations").became("the service account: see what is to do")
		g.account(f, annotations)
	}
	if g.r.ServiceAccountName == "" {
		g.note(Became, account.path, "spec.runner runs as the namespace's default account: the operator made one for each generation, tf-...; where a cloud trusts that name, make an account and name it in spec.runner.serviceAccountName")
	}
	g.proxies()
	g.moduleCredentials(from)
}

// account says which service account to make.
func (g *galley) account(f field, annotations map[string]string) {
	if len(annotations) == 0 {
		return
	}
	if g.r.ServiceAccountName == "" {
		g.r.ServiceAccountName = shorten(g.stack, 190) + "-runner"
	}
	name := quote(g.r.ServiceAccountName)
	var pairs []string
	for _, key := range sortedKeys(annotations) {
		pairs = append(pairs, quote(key+"="+annotations[key]))
	}
	f.todo("make the account, and let the cloud trust it in place of tf-*: %s; %s", kubectl(g.ref.Namespace, "create serviceaccount %s", name),
		kubectl(g.ref.Namespace, "annotate serviceaccount %s %s", name, strings.Join(pairs, " ")))
}
