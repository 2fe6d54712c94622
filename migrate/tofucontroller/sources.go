package tofucontroller

import (
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/convert/manifest"
)

const sourceGroup = "source.toolkit.fluxcd.io"

// SourceKinds are the sources of Flux. They stay as they are: Flux may need them for other purposes. A GitRepository
// becomes a Repository too, with the same Secret, whose keys are the same.
var SourceKinds = []convert.Kind{
	{System: "flux", GroupKind: schema.GroupKind{Group: sourceGroup, Kind: "GitRepository"},
		Versions: []string{"v1", "v1beta2", "v1beta1"}, Resource: "gitrepositories", Convert: convertGitRepository},
	{System: "flux", GroupKind: schema.GroupKind{Group: sourceGroup, Kind: "OCIRepository"},
		Versions: []string{"v1", "v1beta2"}, Resource: "ocirepositories", Convert: noteUnsupportedSource},
	{System: "flux", GroupKind: schema.GroupKind{Group: sourceGroup, Kind: "Bucket"},
		Versions: []string{"v1", "v1beta2", "v1beta1"}, Resource: "buckets", Convert: noteUnsupportedSource},
}

func noteUnsupportedSource(_ *convert.Conversion, o *convert.Object) {
	o.Note(manifest.Unsupported, "spec", "code is from git, a ConfigMap or the Stack itself; see the objects that "+
		"read from it")
}

func convertGitRepository(c *convert.Conversion, o *convert.Object) {
	if isOfPullRequest(o) {
		o.NoteOfPullRequest()
		return
	}
	if !isReferenced(c, o) {
		o.Note(manifest.NotNeeded, "spec", "no Terraform object of the input reads from it")
		return
	}
	spec := o.At("spec")
	made, _, ok := c.AddRepository(o, spec.At("url"))
	if !ok {
		return
	}
	convertRef(spec.At("ref"), made)
	if every, ok := spec.At("interval").Duration(); ok && every.Duration >= 1e9 {
		made.Spec.Interval = &metav1.Duration{Duration: every.Duration}
		spec.At("interval").Became("spec.interval")
	}
	if most, ok := spec.At("timeout").Duration(); ok && most.Duration > 0 {
		spec.At("timeout").NotNeeded("spec.timeout is 10m, since the first fetch is of the whole repository")
	}
	if name := spec.At("secretRef", "name").Text(); name != "" {
		made.Spec.Credentials = &v1alpha1.SecretSource{Secret: v1alpha1.ObjectRef{Name: name}}
		spec.At("secretRef").Became("spec.credentials: the same Secret, whose keys are the same")
	}
	if spec.At("recurseSubmodules").Bool() {
		made.Spec.Submodules = true
	}
	spec.At("recurseSubmodules").Became("spec.submodules")
	if spec.At("suspend").Bool() {
		spec.At("suspend").Unsupported("a Repository is still fetched; suspend the Stacks")
	}
	spec.At("suspend").NotNeeded("it is not suspended")
	spec.At("provider").Unsupported("an identity of the cloud is not supported: set a Secret in spec.credentials")
	spec.At("ignore").NotNeeded("what belongs to a Stack is its folder and the local modules that the code reaches")
	spec.At("sparseCheckout").NotNeeded("a Stack gets its own files only")
	spec.At("gitImplementation").NotNeeded("git itself is used")
	spec.At("include").Unsupported("a Stack reads from one repository")
	spec.At("verify").Unsupported("signatures of commits are not verified")
	spec.At("proxySecretRef").Unsupported("a proxy is an option of the installation")
	spec.At("accessFrom").Unsupported("spec.allowedNamespaces lists the namespaces whose Stacks may read")
}

// isReferenced returns true if a Terraform object of the input reads from a source.
func isReferenced(c *convert.Conversion, source *convert.Object) bool {
	return slices.ContainsFunc(c.Objects, func(o *convert.Object) bool {
		if o.Kind == nil || o.Kind.System != "tofu-controller" {
			return false
		}
		ref := o.At("spec", "sourceRef")
		namespace := ref.At("namespace").Text()
		if namespace == "" {
			namespace = o.Ref.Namespace
		}
		return ref.At("kind").Text() == source.Ref.Kind && ref.At("name").Text() == source.Ref.Name &&
			namespace == source.Ref.Namespace
	})
}

// convertRef is the ref of a source: a commit wins over a name, that over a range of versions, a tag and a branch.
// Without any it is the branch master, also where that is not the default branch of the repository.
func convertRef(f manifest.Field, made *convert.Repository) {
	chosen := ""
	for _, name := range []string{"commit", "name", "semver", "tag", "branch"} {
		at := f.At(name)
		switch {
		case at.Text() == "":
		case name == "semver":
			at.Unsupported("a range of versions is not taken: write a tag into spec.ref")
		case chosen != "":
			at.NotNeeded("%s wins over it", chosen)
		default:
			chosen = name
			made.Spec.Ref = convert.ShortRef(at.Text())
			at.Became("spec.ref %s", made.Spec.Ref)
			if strings.HasPrefix(at.Text(), "refs/pull/") || strings.HasPrefix(at.Text(), "refs/merge-requests/") {
				at.ToDo("a ref that is neither a branch nor a tag is not fetched: name a branch")
			}
		}
	}
	if chosen == "" && f.At("semver").Text() == "" {
		made.Spec.Ref = "master"
		f.Object.Note(manifest.Became, f.Path, "spec.ref master: the default of a GitRepository without a ref")
	}
}
