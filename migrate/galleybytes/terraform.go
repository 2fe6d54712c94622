// Package galleybytes converts Terraforms of GalleyBytes' terraform-operator, which overrides the backend of the code
// with that of the object, and runs scripts around the engine's commands, each in a pod of its own. v1beta1 and
// v1alpha2 differ in a few fields; v1alpha1 has the same in one flat map (v1alpha1.go).
package galleybytes

import (
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/convert/manifest"
	"cairn.dev/cairn/migrate/pod"
	"cairn.dev/cairn/migrate/states"
)

// Kinds of terraform-operator.
var Kinds = []convert.Kind{
	{System: "terraform-operator", GroupKind: schema.GroupKind{Group: "tf.galleybytes.com", Kind: "Terraform"},
		Versions: []string{"v1beta1"}, Resource: "terraforms", Stack: true, Convert: convertTerraform},
	{System: "terraform-operator", GroupKind: schema.GroupKind{Group: "tf.isaaguilar.com", Kind: "Terraform"},
		Versions: []string{"v1alpha2", "v1alpha1"}, Resource: "terraforms", Stack: true, Convert: convertTerraform},
}

// terraform is an object under way, with where its version has what.
type terraform struct {
	*convert.Object
	c *convert.Conversion
	s *v1alpha1.StackSpec
	r *pod.Runner
	// source, version, selectors and inline are the ways to name the code, of which the last that is there wins.
	source, inline   manifest.Field
	selectors        []manifest.Field
	backend          manifest.Field
	downloads        manifest.Field
	requiresApproval bool
	// sources are files of v0.3 that were put beside the code; isV03 is true when only v0.3 has fields of this object.
	sources manifest.Field
	isV03   bool
}

func convertTerraform(c *convert.Conversion, o *convert.Object) {
	spec := o.At("spec")
	g := &terraform{Object: o, c: c, s: &v1alpha1.StackSpec{}, r: &pod.Runner{}}
	old := strings.HasSuffix(o.Ref.APIVersion, "/v1alpha1")
	if old {
		g.readV1alpha1()
	} else {
		module := spec.At("terraformModule")
		g.source, g.inline = module.At("source"), module.At("inline")
		g.selectors = []manifest.Field{module.At("configMapSeclector"), module.At("configMapSelector")}
		g.backend, g.downloads = spec.At("backend"), spec.At("setup", "resourceDownloads")
		g.requiresApproval = spec.At("requireApproval").Bool()
		module.At("version").Ignored("nothing reads it")
	}
	from, ok := g.code()
	if !ok {
		for _, f := range spec.Fields() {
			f.Unsupported("no Stack is created for this object: see the note on its code")
		}
		return
	}
	g.engine()
	g.state()
	g.apply()
	g.outputs()
	g.access(from)
	if old {
		g.tasksOfV1alpha1()
	} else {
		g.tasks()
		g.images()
	}
	g.resources()
	g.noteOthers()
	g.r.Apply(g.s)
	c.AddStack(o, *g.s, from)
}

// code is where the code is: inline wins over a ConfigMap, that over an address. The ok is false when no Stack can have
// it.
func (g *terraform) code() (*convert.Repository, bool) {
	chosen := ""
	pick := func(f manifest.Field, what string) bool {
		if !f.Exists() || f.Value == "" {
			return false
		}
		if chosen != "" {
			f.Ignored("%s wins over it", chosen)
			return false
		}
		chosen = what
		return true
	}
	if pick(g.inline, "inline code") {
		g.s.Source.Inline = map[string]string{"inline-module.tf": g.inline.Text()}
		g.inline.Became("spec.source.inline")
	}
	for _, f := range g.selectors {
		if pick(f, "the ConfigMap") {
			g.s.Source.ConfigMap = &v1alpha1.ObjectRef{Name: f.At("name").Text()}
			f.At("name").Became("spec.source.configMap: the same ConfigMap")
			if f.At("key").Text() != "" {
				f.At("key").Unsupported("every key of the ConfigMap is a file: where it has others than %s, or this "+
					"one does not end in .tf, create a ConfigMap with %s.tf alone", f.At("key").Text(),
					strings.TrimSuffix(f.At("key").Text(), ".tf"))
			}
		}
	}
	if !pick(g.source, "the address") {
		if chosen == "" {
			g.Fail("spec", "it names no code")
		}
		return nil, chosen != ""
	}
	a, err := convert.ReadAddress(g.source.Text())
	if err != nil {
		g.source.Unsupported("%v: code is from git, a ConfigMap or the Stack itself. NO STACK IS CREATED for this "+
			"object. A module of a registry: write a few lines of code that call it", err)
		return nil, false
	}
	g.s.Source.Git = &v1alpha1.GitSource{Path: strings.Split(a.Path, "//")[0], Ref: convert.ShortRef(a.Ref)}
	if a.Ref == "" {
		g.s.Source.Git.Ref = "master"
		g.Note(manifest.Became, g.source.Path, "spec.source.git.ref master: the default of an address without a ref")
	}
	g.source.Became("Repository with spec.url %s; spec.source.git", a.URL)
	if len(a.More) > 0 {
		g.source.NotNeeded("of the address: %s", strings.Join(a.More, ", "))
	}
	if a.Secret {
		g.source.ToDo("the user or password in the address is left out: put it into a Secret for the Repository's " +
			"spec.credentials")
	}
	return g.c.Repository(g.Ref.Namespace, a.URL, g.credentialsFor(a)), true
}

func (g *terraform) engine() {
	version := g.At("spec", "terraformVersion")
	g.s.Engine.Name = v1alpha1.EngineTerraform
	if v := version.Text(); v != "" && v != "latest" {
		g.s.Engine.Version = v
	}
	version.Became("spec.engine Terraform %s", g.s.Engine.Version)
	if !version.Exists() {
		g.Note(manifest.Became, version.Path, "spec.engine Terraform; without it the operator used the newest "+
			"version; Cairn uses the version that the code requires, or the installation's default")
	}
}

func (g *terraform) state() {
	if g.backend.Text() == "" {
		states.MoveState(g.Object, g.s, g.backend, "", "without a backend block the operator's own template was the "+
			"place (consul), which no object names")
		g.Note(manifest.Became, g.backend.Path, "spec.suspend, until the state is here; or configure its backend in "+
			"spec.backend")
		return
	}
	p, err := states.ReadBackend(g.backend.Text())
	if err != nil {
		states.MoveState(g.Object, g.s, g.backend, "", err.Error())
		return
	}
	g.backend.Became("spec.backend type %s: the same arguments, and the state stays where it is", p.Type)
	if p.Type == "kubernetes" {
		states.RequireKubernetesToken(g.Object, p)
	}
	states.AddSecretArguments(p, g.Object, g.backend)
	g.s.Backend = &p.Backend
}

func (g *terraform) apply() {
	spec := g.At("spec")
	g.s.Apply = v1alpha1.ApplyAutomatic
	switch {
	case g.isV03:
		g.applyOn()
	default:
		if g.requiresApproval {
			g.s.Apply = v1alpha1.ApplyManual
		}
		g.Note(manifest.Became, "spec.requireApproval", "spec.apply %s; cairn approve, in place of a file on a volume",
			g.s.Apply)
	}
	g.s.DeletionPolicy = v1alpha1.DeletionDestroy
	if spec.At("ignoreDelete").Bool() {
		g.s.DeletionPolicy = v1alpha1.DeletionOrphan
	}
	g.Note(manifest.Became, "spec.ignoreDelete", "spec.deletionPolicy %s", g.s.DeletionPolicy)
}

func (g *terraform) outputs() {
	spec := g.At("spec")
	if name := spec.At("outputsSecret"); name.Text() != "" {
		g.s.Outputs = &v1alpha1.Outputs{Secret: &v1alpha1.ObjectRef{Name: name.Text()}}
		name.Became("spec.outputs.secret")
		name.ToDo("that Secret is the operator's, and Cairn does not change it. Once it is deleted with the old " +
			"object, Cairn creates it; until then the condition Ready reports the conflict")
	}
	for _, name := range []string{"outputsToInclude", "outputsToOmit"} {
		spec.At(name).Unsupported("all outputs are in the Secret, those that were left out too: every user who may " +
			"read it can read them. spec.outputs.configMap has those that are not sensitive")
	}
	spec.At("writeOutputsToStatus").NotNeeded("status.outputs has those that are not sensitive; the operator wrote " +
		"the others there in clear, too")
}

// access is who the pods are to clouds.
func (g *terraform) access(from *convert.Repository) {
	spec := g.At("spec")
	account := spec.At("serviceAccount")
	g.r.ServiceAccountName = account.Text()
	account.Became("spec.runner.serviceAccountName")
	for _, f := range spec.At("credentials").Items() {
		ref := f.At("secretNameRef")
		if name := ref.At("name").Text(); name != "" {
			g.r.EnvFrom = append(g.r.EnvFrom,
				corev1.EnvFromSource{
					SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}})
			ref.At("name").Became("spec.envFrom: the same Secret")
		}
		ref.At("key").Ignored("all keys are variables")
		if other := ref.At("namespace").Text(); other != "" && other != g.Ref.Namespace {
			ref.At("namespace").Ignored("the Secret of the object's own namespace is taken, here as there")
		}
		ref.At("namespace").NotNeeded("it is the object's")
		if role := f.At("aws", "kiam"); role.Text() != "" {
			if g.r.Annotations == nil {
				g.r.Annotations = map[string]string{}
			}
			g.r.Annotations["iam.amazonaws.com/role"] = role.Text()
			role.Became("spec.runner.template: annotation iam.amazonaws.com/role of the pod")
		}
		annotations := f.At("serviceAccountAnnotations").TextMap()
		if role := f.At("aws", "irsa"); role.Text() != "" {
			if annotations == nil {
				annotations = map[string]string{}
			}
			annotations["eks.amazonaws.com/role-arn"] = role.Text()
			role.Became("the service account: see what is to do")
		}
		f.At("serviceAccountAnnotations").Became("the service account: see what is to do")
		g.account(f, annotations)
	}
	if g.r.ServiceAccountName == "" {
		g.Note(manifest.Became, account.Path, "spec.runner runs as the namespace's default account: the operator "+
			"created one for each generation, tf-...; where a cloud trusts that name, create a ServiceAccount and "+
			"set it in spec.runner.serviceAccountName")
	}
	g.proxies()
	g.moduleCredentials(from)
}

// account adds a note on the ServiceAccount to create.
func (g *terraform) account(f manifest.Field, annotations map[string]string) {
	if len(annotations) == 0 {
		return
	}
	if g.r.ServiceAccountName == "" {
		g.r.ServiceAccountName = convert.Shorten(g.StackName, 190) + "-runner"
	}
	name := convert.Quote(g.r.ServiceAccountName)
	var pairs []string
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		pairs = append(pairs, convert.Quote(key+"="+annotations[key]))
	}
	f.ToDo("create the ServiceAccount, and let the cloud trust it in place of tf-*: %s; %s",
		convert.Kubectl(g.Ref.Namespace, "create serviceaccount %s", name),
		convert.Kubectl(g.Ref.Namespace, "annotate serviceaccount %s %s", name, strings.Join(pairs, " ")))
}
