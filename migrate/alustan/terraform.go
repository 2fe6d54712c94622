// Package alustan converts Terraforms of alustan's controllers, which run a user's scripts in an image with the code.
// Terraform, always v1alpha1, has had three schemas, which differ in their fields:
//
//   - the first: scripts.apply and .destroy (text or a key of a ConfigMap), backend, gitRepo with an SSH key;
//   - the second: scripts.deploy and .destroy are files of the repository, the SSH key is that of the installation;
//   - the third: the same scripts, in an image that the user builds; nothing names a repository.
package alustan

import (
	"cmp"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/convert/manifest"
)

// Kinds of alustan.
var Kinds = []convert.Kind{
	{System: "alustan", GroupKind: schema.GroupKind{Group: "alustan.io", Kind: "Terraform"},
		Versions: []string{"v1alpha1"}, Resource: "terraforms", Stack: true, Convert: convertTerraform},
}

func convertTerraform(c *convert.Conversion, o *convert.Object) {
	spec := o.At("spec")
	if !spec.Exists() {
		o.Fail("spec", "it is missing")
		return
	}
	s := v1alpha1.StackSpec{
		Engine: v1alpha1.Engine{Name: v1alpha1.EngineTerraform},
		Apply:  v1alpha1.ApplyAutomatic,
		// The code may have a backend block that names the key of the state: any other place would be empty, and
		// everything would be created again.
		Backend: &v1alpha1.Backend{FromCode: true},
	}
	o.Note(manifest.Became, "", "spec.engine: alustan ran Terraform 1.8.1; the code's required_version counts now, "+
		"or spec.engine.version")
	o.Note(manifest.Became, "", "spec.apply Automatic: alustan needed no approval")
	files := spec.At("scripts", "deploy").Exists() || spec.At("containerRegistry", "semanticVersion").Exists() ||
		spec.At("provider").Exists()
	convertVariables(o, &s, !files)
	convertBackend(o, &s)
	convertScripts(o, &s)
	convertPostDeploy(o, &s)
	noteServiceAccount(o, spec.At("containerRegistry", "semanticVersion").Exists())
	spec.At("provider").NotNeeded("it put the cloud's command line tool into the image and listed resources in the " +
		"status; scripts that need the tool take an image that has it, in spec.runner.image or by a Dockerfile, and " +
		"cairn state list lists the resources")
	spec.At("environment").Unsupported("it named a cluster to Argo CD, which is not Cairn's to do: label Argo CD's "+
		"cluster Secret with environment=%s yourself",
		spec.At("environment").Text())
	from := convertSource(o, c, &s)
	convertImage(o, &s)
	if spec.At("gitRepo").Exists() {
		// Both built the image again in intervals, and ran the script in it. The third reacts to changes of the object
		// only.
		s.Drift = &v1alpha1.Drift{Interval: &metav1.Duration{Duration: 6 * time.Hour}, OnDrift: v1alpha1.DriftApply}
		o.Note(manifest.Became, "", "spec.drift, every 6h: alustan ran the script again that often by default")
	}
	c.AddStack(o, s, from)
}

// convertVariables are the environment of the scripts, and nothing else: engines take those that begin with TF_VAR_,
// and ignore them where the code declares no such variable. In spec.variables such a variable fails the Run. alike is
// true when the object has variables of the code by their own names, as the examples of the first schema have.
func convertVariables(o *convert.Object, s *v1alpha1.StackSpec, alike bool) {
	backend, variables := o.At("spec", "backend"), o.At("spec", "variables")
	for _, f := range variables.Fields() {
		value := scalar(f)
		if backend.At(f.Name).Exists() {
			f.Ignored("spec.backend.%s is put over it", f.Name)
			continue
		}
		if !addEnvironment(f, s, value) {
			continue
		}
		switch name, of := strings.CutPrefix(f.Name, "TF_VAR_"); {
		case of:
			f.Became("spec.env %s, as it was: that is the code's variable %s, and scripts read it too", f.Name, name)
		case alike && variableName.MatchString(f.Name) && !variables.At("TF_VAR_"+f.Name).Exists():
			s.Env = append(s.Env, corev1.EnvVar{Name: "TF_VAR_" + f.Name, Value: value})
			f.Became("spec.env %s, as it was for the scripts, and TF_VAR_%s for the code, where it declares that "+
				"variable. alustan passed it to the scripts only: where no script passed it to the code, the first "+
				"plan may have changes", f.Name, f.Name)
		default:
			f.Became("spec.env %s, as it was", f.Name)
		}
	}
	if variables.Exists() && len(variables.Fields()) == 0 {
		variables.NotNeeded("it is empty")
	}
}

// convertBackend is the bucket and the table that alustan created, for code without a backend block too. A block in the
// code still sets the key.
func convertBackend(o *convert.Object, s *v1alpha1.StackSpec) {
	backend := o.At("spec", "backend")
	if !backend.Exists() {
		o.Note(manifest.Became, "spec.backend", "spec.backend.fromCode: the code configures where its state is. With "+
			"scripts that write that file themselves, write spec.backend ("+version.Docs+"how-to/backends.md)%s",
			publishedStateKey(o))
		return
	}
	for _, f := range backend.Fields() {
		if addEnvironment(f, s, scalar(f)) {
			f.Became("spec.env %s, as it was for the scripts", f.Name)
		}
	}
	provider := backend.At("provider").Text()
	if provider != "aws" || scalar(backend.At("s3")) == "" {
		o.Note(manifest.Became, "spec.backend", "spec.backend.fromCode: alustan knew the provider aws with a bucket "+
			"only, and did nothing for %q; the state is where the backend block of the code puts it", provider)
		return
	}
	place := convert.Backend{Backend: v1alpha1.Backend{FromCode: true, Type: "s3", Create: true}}
	place.Set("key", namespaceOrDefault(o)+"/"+o.Ref.Name+"/terraform.tfstate")
	for _, argument := range [][2]string{{"bucket", "s3"}, {"region", "region"}, {"dynamodb_table", "dynamoDB"}} {
		if value := scalar(backend.At(argument[1])); value != "" {
			place.Set(argument[0], value)
		}
	}
	s.Backend = &place.Backend
	o.Note(manifest.Became, "spec.backend", "spec.backend {fromCode: true, type: s3, create: true}: the first Run "+
		"creates the bucket and the table, with the rights of the runner's account; alustan did with its own. A "+
		"backend block of the code still decides where the state is. Without one, or for what it lacks, config "+
		"counts, with the key %s: where a script passed another key to init, write that one", place.Get("key"))
	if o.Ref.Namespace == "" {
		o.Note(manifest.ToDo, "metadata.namespace", "the object has no namespace, and default is in the key of its "+
			"state: in two namespaces the same key would be two Stacks with one state. Write the namespace into "+
			"spec.backend.config.key")
	}
}

// noteServiceAccount adds a note on the ServiceAccount by which scripts and backends reached a cloud. No object names
// it: the controllers of the third schema created one for each Terraform, with the annotations of their own and the
// right to do anything in the cluster.
func noteServiceAccount(o *convert.Object, made bool) {
	if !made {
		o.Note(manifest.Became, "", "spec.runner runs as the namespace's default account, as alustan's pods did")
		return
	}
	account := "terraform-" + o.Ref.Name
	o.Note(manifest.ToDo, "", "spec.runner runs as the namespace's default account: alustan's pods ran as %s, which "+
		"it created with the annotations of ServiceAccount terraform-sa of its installation. Where a cloud, or the "+
		"bucket of the state, trusts that name, create a ServiceAccount with these annotations and set it in "+
		"spec.runner.serviceAccountName; %s itself may do anything in the cluster", account, account)
}

// publishedStateKey is where the scripts that alustan's authors publish store a state.
func publishedStateKey(o *convert.Object) string {
	variables := o.At("spec", "variables")
	workspace, region := variables.At("TF_VAR_workspace"), variables.At("TF_VAR_region")
	if !workspace.Exists() || !region.Exists() {
		return ""
	}
	w, r := scalar(workspace), scalar(region)
	return "; those of alustan/infrastructure keep it in S3 as env:/" + w + "/" + w + "/" + r + "/terraform.tfstate"
}

// convertSource is the Repository of the code, or the name of one that the user has to create.
func convertSource(o *convert.Object, c *convert.Conversion, s *v1alpha1.StackSpec) *convert.Repository {
	repo := o.At("spec", "gitRepo")
	s.Source.Git = &v1alpha1.GitSource{}
	if !repo.Exists() {
		from := c.ExternalRepository(o, o.Ref.Kind, o.Ref.Namespace, o.StackName)
		o.Note(manifest.ToDo, "spec.gitRepo", "the code was in the image only: create a Repository %s with the "+
			"address that the image is built from, and spec.source.git.path where the code is not at its root",
			from.Name)
		return from
	}
	url, folder := splitGitHubAddress(repo.At("url").Text())
	if url == "" {
		repo.At("url").Fail("it is missing")
	}
	if a, err := convert.ReadAddress(url); err == nil && a.Secret {
		url, folder = a.URL, cmp.Or(a.Path, folder)
		repo.At("url").ToDo("the user or password in the URL is left out: put it into a Secret for the Repository's " +
			"spec.credentials, with keys username and password")
	}
	key := repo.At("sshKeySecret")
	secret := ""
	switch name := key.At("name").Text(); {
	case strings.HasPrefix(url, "http"):
		key.Ignored("the address is none of SSH")
	case name != "":
		secret = name + "-git"
		key.At("name").ToDo("the Repository wants a Secret %s with identity and known_hosts: %s, where known_hosts "+
			"is as ssh-keyscan prints it",
			secret, convert.CreateSecret(namespaceOrDefault(o), secret, "identity",
				convert.FileFromSecret(namespaceOrDefault(o), name, key.At("key").Text()), "known_hosts",
				"known_hosts"))
		key.At("key").Became("the key identity of Secret %s", secret)
	default:
		secret = o.StackName + "-git"
		repo.At("url").ToDo("Secret %s with identity and known_hosts, in namespace %s: alustan took the SSH key of "+
			"its install (GIT_SSH_SECRET)", secret, namespaceOrDefault(o))
	}
	from := c.Repository(o.Ref.Namespace, url, secret)
	repo.At("url").Became("spec.url of the Repository")
	if folder != "" {
		s.Source.Git.Path = folder
		repo.At("url").Became("spec.source.git.path %s: a repository of github.com has two names, so the rest "+
			"is a folder", folder)
	}
	s.Source.Git.Ref = repo.At("branch").Text()
	repo.At("branch").Became("spec.source.git.ref")
	return from
}

// splitGitHubAddress takes a folder off an address of github.com, whose repositories have two names.
func splitGitHubAddress(url string) (address, folder string) {
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

// addEnvironment puts a variable into the pod's environment; false when Cairn does not take it.
func addEnvironment(f manifest.Field, s *v1alpha1.StackSpec, value string) bool {
	switch {
	case f.Name == "TF_WORKSPACE" && convert.IsDefaultWorkspace(value):
		f.NotNeeded("that is the workspace of a Stack without spec.workspace")
		return false
	case f.Name == "TF_WORKSPACE":
		s.Workspace = value
		f.Became("spec.workspace")
		return false
	case strings.HasPrefix(f.Name, "CAIRN_"), strings.HasPrefix(f.Name, "TF_CLI_ARGS"):
		f.Unsupported("Cairn keeps it from the engine: it would have it do something else than was approved; " +
			version.Docs + "how-to/hooks.md")
		return false
	}
	s.Env = append(s.Env, corev1.EnvVar{Name: f.Name, Value: value})
	return true
}
