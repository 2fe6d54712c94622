package migrate

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// alustan's controllers run a person's scripts in an image with the code. Terraform, always v1alpha1, has had three schemas, which are told
// apart by their fields:
//
//   - the first: scripts.apply and .destroy (text or a ConfigMap's key), backend, gitRepo with an SSH key;
//   - the second: scripts.deploy and .destroy are files of the repository, the SSH key is the install's;
//   - the third: the same scripts, in an image that somebody else builds; nothing names a repository.
var alustan = []kind{
	{system: "alustan", group: "alustan.io", versions: []string{"v1alpha1"}, name: "Terraform", plural: "terraforms", stack: true, convert: alustanTerraform},
}

func alustanTerraform(c *conversion, o *object) {
	spec := o.at("spec")
	if !spec.there() {
		o.fail("spec", "it is missing")
		return
	}
	s := v1alpha1.StackSpec{
		Engine: v1alpha1.Engine{Name: v1alpha1.EngineTerraform},
		Apply:  v1alpha1.ApplyAutomatic,
		// The code may have a backend block that names the key of the state: any other place would be empty, and
		// everything would be created again.
		Backend: &v1alpha1.Backend{FromCode: true},
	}
	o.note(Became, "", "spec.engine: alustan ran Terraform 1.8.1; the code's required_version counts now, or spec.engine.version")
	o.note(Became, "", "spec.apply Automatic: alustan asked nobody")
	files := spec.at("scripts", "deploy").there() || spec.at("containerRegistry", "semanticVersion").there() || spec.at("provider").there()
	o.alustanVariables(&s, !files)
	o.alustanBackend(&s)
	o.alustanScripts(&s)
	o.alustanPostDeploy(&s)
	o.alustanAccount(spec.at("containerRegistry", "semanticVersion").there())
	spec.at("provider").notNeeded("it put the cloud's command line tool into the image and listed resources in the status; scripts that need the " +
		"tool take an image that has it, in spec.runner.image or by a Dockerfile, and cairn state list tells the resources")
	spec.at("environment").cannot("it named a cluster to Argo CD, which is not Cairn's to do: label Argo CD's cluster Secret with environment=%s yourself",
		spec.at("environment").text())
	from := o.alustanSource(c, &s)
	o.alustanImage(&s)
	if spec.at("gitRepo").there() {
		// Both made the image again every so often, and ran the script in it. The third looks at changes of the object only.
		s.Drift = &v1alpha1.Drift{Interval: hours(6), OnDrift: v1alpha1.DriftApply}
		o.note(Became, "", "spec.drift, every 6h: alustan ran the script again that often unless its install said otherwise")
	}
	c.add(o, s, from)
}

// alustanVariables are the environment of the scripts, and nothing else: engines take those that begin with TF_VAR_,
// and ignore them where the code declares no such variable. In spec.variables such a variable fails the Run. alike says
// that the object gives variables of the code by their own names, as the examples of the first schema do.
func (o *object) alustanVariables(s *v1alpha1.StackSpec, alike bool) {
	backend, variables := o.at("spec", "backend"), o.at("spec", "variables")
	for _, f := range variables.fields() {
		value := f.scalar()
		if backend.at(f.name).there() {
			f.ignored("spec.backend.%s is put over it", f.name)
			continue
		}
		if !f.environment(s, value) {
			continue
		}
		switch name, of := strings.CutPrefix(f.name, "TF_VAR_"); {
		case of:
			f.became("spec.env %s, as it was: that is the code's variable %s, and scripts read it too", f.name, name)
		case alike && variableName.MatchString(f.name) && !variables.at("TF_VAR_"+f.name).there():
			s.Env = append(s.Env, corev1.EnvVar{Name: "TF_VAR_" + f.name, Value: value})
			f.became("spec.env %s, as it was for the scripts, and TF_VAR_%s for the code, where it declares that variable. alustan gave it to the scripts only: where "+
				"no script gave it to the code, the first plan may have changes", f.name, f.name)
		default:
			f.became("spec.env %s, as it was", f.name)
		}
	}
	if variables.there() && len(variables.fields()) == 0 {
		variables.notNeeded("it is empty")
	}
}

// alustanBackend is the bucket and the table that alustan created, for code without a backend block too. A block in the
// code still says the key.
func (o *object) alustanBackend(s *v1alpha1.StackSpec) {
	backend := o.at("spec", "backend")
	if !backend.there() {
		o.note(Became, "spec.backend", "spec.backend.fromCode: the code says where its state is. With scripts that write that file themselves, write "+
			"spec.backend (docs/state.md)%s", o.alustanBlueprint())
		return
	}
	for _, f := range backend.fields() {
		if f.environment(s, f.scalar()) {
			f.became("spec.env %s, as it was for the scripts", f.name)
		}
	}
	provider := backend.at("provider").text()
	if provider != "aws" || backend.at("s3").scalar() == "" {
		o.note(Became, "spec.backend", "spec.backend.fromCode: alustan knew the provider aws with a bucket only, and did nothing for %q; the state is where the backend "+
			"block of the code says", provider)
		return
	}
	place := place{Backend: v1alpha1.Backend{FromCode: true, Type: "s3", Create: true}}
	place.text("key", o.namespace()+"/"+o.ref.Name+"/terraform.tfstate")
	for _, argument := range [][2]string{{"bucket", "s3"}, {"region", "region"}, {"dynamodb_table", "dynamoDB"}} {
		if value := backend.at(argument[1]).scalar(); value != "" {
			place.text(argument[0], value)
		}
	}
	s.Backend = &place.Backend
	o.note(Became, "spec.backend", "spec.backend {fromCode: true, type: s3, create: true}: the first Run creates the bucket and the table, with the rights of the runner's "+
		"account; alustan did with its own. A backend block of the code still says where the state is. Without one, or for what it lacks, config counts, with the key %s: "+
		"where a script gave another key to init, write that one", place.say("key"))
	if o.ref.Namespace == "" {
		o.note(Todo, "metadata.namespace", "the object has no namespace, and default is in the key of its state: in two namespaces the same key would be two Stacks with one "+
			"state. Write the namespace into spec.backend.config.key")
	}
}

// alustanAccount tells of the account by which scripts and backends reached a cloud. No object names it: the controllers of the third schema made one for
// each Terraform, with the annotations of their own and the right to do anything in the cluster.
func (o *object) alustanAccount(made bool) {
	if !made {
		o.note(Became, "", "spec.runner runs as the namespace's default account, as alustan's pods did")
		return
	}
	account := "terraform-" + o.ref.Name
	o.note(Todo, "", "spec.runner runs as the namespace's default account: alustan's pods ran as %s, which it made with the annotations of account terraform-sa of its "+
		"install. Where a cloud, or the bucket of the state, knows them by it, make an account with these annotations and name it in "+
		"spec.runner.serviceAccountName; %s itself may do anything in the cluster", account, account)
}

// alustanBlueprint tells where the scripts that alustan's makers publish keep a state.
func (o *object) alustanBlueprint() string {
	variables := o.at("spec", "variables")
	workspace, region := variables.at("TF_VAR_workspace"), variables.at("TF_VAR_region")
	if !workspace.there() || !region.there() {
		return ""
	}
	w, r := workspace.scalar(), region.scalar()
	return "; those of alustan/infrastructure keep it in S3 as env:/" + w + "/" + w + "/" + r + "/terraform.tfstate"
}

// alustanSource is the Repository of the code, or the name of one that a person has to make.
func (o *object) alustanSource(c *conversion, s *v1alpha1.StackSpec) *repository {
	repo := o.at("spec", "gitRepo")
	s.Source.Git = &v1alpha1.GitSource{}
	if !repo.there() {
		from := c.missing(key{o.kind.system, o.ref.Kind, o.ref.Namespace, o.stack})
		o.note(Todo, "spec.gitRepo", "the code was in the image only: make a Repository %s with the address that the image is built from, and spec.source.git.path "+
			"where the code is not at its root", from.Name)
		return from
	}
	url, folder := alustanAddress(repo.at("url").text())
	if url == "" {
		repo.at("url").fail("it is missing")
	}
	key := repo.at("sshKeySecret")
	secret := ""
	switch name := key.at("name").text(); {
	case strings.HasPrefix(url, "http"):
		key.ignored("the address is none of SSH")
	case name != "":
		secret = name + "-git"
		key.at("name").todo("the Repository wants a Secret %s with identity and known_hosts: %s, where known_hosts is as ssh-keyscan prints it",
			secret, makeSecret(o.namespace(), secret, "identity", fromKey(o.namespace(), name, key.at("key").text()), "known_hosts", "known_hosts"))
		key.at("key").became("the key identity of Secret %s", secret)
	default:
		secret = o.stack + "-git"
		repo.at("url").todo("Secret %s with identity and known_hosts, in namespace %s: alustan took the SSH key of its install (GIT_SSH_SECRET)", secret, o.namespace())
	}
	from := c.repository(o.ref.Namespace, url, secret)
	repo.at("url").became("spec.url of the Repository")
	if folder != "" {
		s.Source.Git.Path = folder
		repo.at("url").became("spec.source.git.path %s: a repository of github.com has two names, so the rest is a folder", folder)
	}
	s.Source.Git.Ref = repo.at("branch").text()
	repo.at("branch").became("spec.source.git.ref")
	return from
}

// alustanAddress takes a folder off an address of github.com, whose repositories have two names.
func alustanAddress(url string) (address, folder string) {
	for _, begin := range []string{"git@github.com:", "ssh://git@github.com/", "https://github.com/"} {
		path, of := strings.CutPrefix(url, begin)
		if !of {
			continue
		}
		if parts := strings.SplitN(strings.Trim(path, "/"), "/", 3); len(parts) == 3 {
			return begin + parts[0] + "/" + parts[1], strings.TrimSuffix(parts[2], ".git")
		}
	}
	return url, ""
}

// environment puts a variable into the pod's environment; false when Cairn does not take it.
func (f field) environment(s *v1alpha1.StackSpec, value string) bool {
	if f.name == "TF_WORKSPACE" || strings.HasPrefix(f.name, "CAIRN_") || strings.HasPrefix(f.name, "TF_CLI_ARGS") {
		f.cannot("Cairn keeps it from the engine: it would have it do something else than was approved; docs/hooks.md")
		return false
	}
	s.Env = append(s.Env, corev1.EnvVar{Name: f.name, Value: value})
	return true
}
