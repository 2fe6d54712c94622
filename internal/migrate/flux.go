package migrate

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// Flux's sources are what tofu-controller's objects read from. They stay as they are: Flux may need them for other things. A GitRepository
// becomes a Repository too, with the same Secret, whose keys are the same.

const fluxSources = "source.toolkit.fluxcd.io"

var flux = []kind{
	{system: "flux", group: fluxSources, versions: []string{"v1", "v1beta2", "v1beta1"}, name: "GitRepository", plural: "gitrepositories", convert: fluxGit},
	{system: "flux", group: fluxSources, versions: []string{"v1", "v1beta2"}, name: "OCIRepository", plural: "ocirepositories", convert: fluxOther},
	{system: "flux", group: fluxSources, versions: []string{"v1", "v1beta2", "v1beta1"}, name: "Bucket", plural: "buckets", convert: fluxOther},
}

func fluxOther(_ *conversion, o *object) {
	o.note(Cannot, "spec", "code is from git, a ConfigMap or the Stack itself; see the objects that read from it")
}

func fluxGit(c *conversion, o *object) {
	if !c.wanted(o) {
		o.note(NotNeeded, "spec", "no Terraform object of the input reads from it")
		return
	}
	spec := o.at("spec")
	made, _, ok := c.repositoryAt(o, spec.at("url"))
	if !ok {
		return
	}
	fluxRef(spec.at("ref"), made)
	if every, ok := duration(spec.at("interval")); ok && every.Duration >= 1e9 {
		made.Spec.Interval = &metav1.Duration{Duration: every.Duration}
		spec.at("interval").became("spec.interval")
	}
	if most, ok := duration(spec.at("timeout")); ok && most.Duration > 0 {
		spec.at("timeout").notNeeded("spec.timeout is 10m, since the first fetch is of the whole repository")
	}
	if name := spec.at("secretRef", "name").text(); name != "" {
		made.Spec.Credentials = &v1alpha1.SecretSource{Secret: v1alpha1.ObjectRef{Name: name}}
		spec.at("secretRef").became("spec.credentials: the same Secret, whose keys are the same")
	}
	if spec.at("recurseSubmodules").truth() {
		made.Spec.Submodules = true
	}
	spec.at("recurseSubmodules").became("spec.submodules")
	if spec.at("suspend").truth() {
		spec.at("suspend").cannot("a Repository goes on being fetched; suspend the Stacks")
	}
	spec.at("suspend").notNeeded("it is not suspended")
	spec.at("provider").cannot("an identity of the cloud is not taken: give a Secret in spec.credentials")
	spec.at("ignore").notNeeded("what belongs to a Stack is its folder and the local modules that the code reaches")
	spec.at("sparseCheckout").notNeeded("a Stack gets its own files only")
	spec.at("gitImplementation").notNeeded("git itself is used")
	spec.at("include").cannot("a Stack reads from one repository")
	spec.at("verify").cannot("signatures of commits are not looked at")
	spec.at("proxySecretRef").cannot("a proxy is for the install to say")
	spec.at("accessFrom").cannot("spec.allowedNamespaces says whose Stacks may read")
}

// wanted says whether a Terraform object of the input reads from a source.
func (c *conversion) wanted(source *object) bool {
	return slices.ContainsFunc(c.objects, func(o *object) bool {
		if o.kind == nil || o.kind.system != "tofu-controller" {
			return false
		}
		ref := o.at("spec", "sourceRef")
		namespace := ref.at("namespace").text()
		if namespace == "" {
			namespace = o.ref.Namespace
		}
		return ref.at("kind").text() == source.ref.Kind && ref.at("name").text() == source.ref.Name && namespace == source.ref.Namespace
	})
}

// fluxRef is the ref of a source: a commit wins over a name, that over a range of versions, a tag and a branch.
func fluxRef(f field, made *repository) {
	chosen := ""
	for _, name := range []string{"commit", "name", "semver", "tag", "branch"} {
		at := f.at(name)
		switch {
		case at.text() == "":
		case name == "semver":
			at.cannot("a range of versions is not taken: write a tag into spec.ref")
		case chosen != "":
			at.notNeeded("%s wins over it", chosen)
		default:
			chosen = name
			made.Spec.Ref = plainRef(at.text())
			at.became("spec.ref %s", made.Spec.Ref)
			if strings.HasPrefix(at.text(), "refs/pull/") || strings.HasPrefix(at.text(), "refs/merge-requests/") {
				at.todo("a ref that is neither a branch nor a tag is not fetched: name a branch")
			}
		}
	}
}
