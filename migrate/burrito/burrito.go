// Package burrito converts burrito's layers and repositories. Burrito keeps what layers share in their
// TerraformRepository: a setting of the layer overrides it, or is merged into it. States are where the code's own
// backend block puts them. Deleting a layer destroys nothing.
package burrito

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/convert/manifest"
)

const group = "config.terraform.padok.cloud"

// Kinds of burrito.
var Kinds = []convert.Kind{
	{System: "burrito", GroupKind: schema.GroupKind{Group: group, Kind: "TerraformRepository"},
		Versions: []string{"v1alpha1"}, Resource: "terraformrepositories", Convert: convertRepository},
	{System: "burrito", GroupKind: schema.GroupKind{Group: group, Kind: "TerraformLayer"},
		Versions: []string{"v1alpha1"}, Resource: "terraformlayers", Stack: true, Convert: convertLayer,
		References: references},
	{System: "burrito", GroupKind: schema.GroupKind{Group: group, Kind: "TerraformRun"}, Versions: []string{"v1alpha1"},
		Resource: "terraformruns", Convert: noteNotNeeded},
	{System: "burrito", GroupKind: schema.GroupKind{Group: group, Kind: "TerraformPullRequest"},
		Versions: []string{"v1alpha1"}, Resource: "terraformpullrequests", Convert: noteNotNeeded},
}

func references(o *convert.Object) []convert.Key {
	ref := o.At("spec", "repository")
	return []convert.Key{{Group: group, Kind: "TerraformRepository", Namespace: cmp.Or(ref.At("namespace").Text(),
		o.Ref.Namespace), Name: ref.At("name").Text()}}
}

// driftInterval is how often layers are planned for drift. It is an option of burrito's installation, and in no object.
const driftInterval = time.Hour

func convertRepository(c *convert.Conversion, o *convert.Object) {
	spec := o.At("spec")
	at := spec.At("repository", "url")
	made, a, ok := c.AddRepository(o, at)
	if !ok {
		return
	}
	noteCredentials(o, at, made, a)
	if pods := spec.At("maxConcurrentRunnerPods"); pods.Exists() {
		made.Spec.Limits = &v1alpha1.RepositoryLimits{Runs: int32(min(max(pods.Int(), 0), 1000))}
		pods.Became("Repository %s: spec.limits.runs", made.Name)
	}
	made.Spec.Engine = defaultEngine(spec, made.Name)
	const laid = "the default of each TerraformLayer of this repository: see there"
	for _, name := range []string{"remediationStrategy", "overrideRunnerSpec", "runHistoryPolicy", "syncWindows"} {
		for _, f := range leaves(spec.At(name)) {
			f.Became(laid)
		}
	}
	for _, f := range spec.At("overrideRunnerSpec").Fields() {
		f.Became(laid)
	}
	for _, f := range spec.At("syncWindows").Items() {
		for _, name := range []string{"kind", "actions", "schedule", "duration", "layers"} {
			f.At(name).Became(laid)
		}
	}
}

// leaves are the fields of these names that burrito's maps of settings have.
func leaves(f manifest.Field) []manifest.Field {
	var known []manifest.Field
	for _, names := range [][]string{{"autoApply"}, {"applyWithoutPlanArtifact"}, {"onError", "maxRetries"}, {"runs"}} {
		known = append(known, f.At(names...))
	}
	return known
}

// noteCredentials adds a note on the Secret that a Repository needs. Burrito finds its own by their type and the URL in
// them, and no object names them.
func noteCredentials(o *convert.Object, at manifest.Field, made *convert.Repository, a convert.Address) {
	name := convert.Shorten(made.Name, 200) + "-git"
	switch {
	case strings.HasPrefix(a.URL, "http"):
		at.ToDo("if the repository is private, create Secret %s and name it in spec.credentials; keys username and "+
			"password, or githubAppID, githubAppInstallationID and githubAppPrivateKey: %s",
			name, convert.CreateSecret(o.Ref.Namespace, name, "username", "FILE_WITH_USER", "password",
				"FILE_WITH_PASSWORD_OR_TOKEN"))
	default:
		made.Spec.Credentials = &v1alpha1.SecretSource{Secret: v1alpha1.ObjectRef{Name: name}}
		at.ToDo("create Secret %s; burrito's has the key under sshPrivateKey: %s", name,
			convert.CreateSecret(o.Ref.Namespace, name, "identity",
				convert.FileFromSecret(o.Ref.Namespace, "BURRITOS_SECRET", "sshPrivateKey"), "known_hosts",
				convert.KnownHosts(a.Host)))
	}
	at.ToDo("for webhooks create a Secret with burrito's webhookSecret and name it in spec.webhook; the Git provider "+
		"then calls /hooks/%s/%s", o.Ref.Namespace, made.Name)
}

func noteNotNeeded(_ *convert.Conversion, o *convert.Object) {
	o.Note(manifest.NotNeeded, "spec", "burrito creates such objects itself; Cairn creates its own Runs")
}

// pullRequestLabel is the label of layers that burrito creates for a pull request.
const pullRequestLabel = "burrito/managed-by"

func convertLayer(c *convert.Conversion, o *convert.Object) {
	if o.At("metadata", "labels", pullRequestLabel).Exists() {
		o.NoteOfPullRequest()
		return
	}
	spec := o.At("spec")
	repo := repositoryOf(c, o, spec.At("repository"))
	layered := layerSettings{layer: spec, c: c}
	if repo != nil {
		layered.repo = repo.At("spec")
	}
	s := v1alpha1.StackSpec{Backend: &v1alpha1.Backend{FromCode: true}}
	o.Note(manifest.Became, "spec.backend", "spec.backend.fromCode: burrito stores no states itself; the backend "+
		"block of the code configures where it is, and it stays there")

	s.Source.Git = &v1alpha1.GitSource{}
	at := spec.At("path")
	in, err := convert.PathInRepository(at.Text())
	if err != nil {
		at.Fail("%w", err)
	}
	s.Source.Git.Path = in
	at.Became("spec.source.git.path")
	s.Source.Git.Ref = convert.ShortRef(spec.At("branch").Text())
	spec.At("branch").Became("spec.source.git.ref")
	convertTriggers(o, &s)
	spec.At("additionalTargetRefs").Unsupported("plans for pull requests into other branches are not supported")

	var from *convert.Repository
	if repo != nil {
		from = c.RepositoryOf(repo)
	}
	layered.engine(&s, from)
	layered.apply(o, &s)
	layered.runner(o, &s)
	convertWindows(o, layered, &s)
	noteAnnotations(o)
	if from == nil {
		from = c.UnconvertedRepository(o, spec.At("repository"))
	} else if from.Namespace != o.Ref.Namespace && !slices.Contains(from.Spec.AllowedNamespaces, o.Ref.Namespace) {
		from.Spec.AllowedNamespaces = append(from.Spec.AllowedNamespaces, o.Ref.Namespace)
		slices.Sort(from.Spec.AllowedNamespaces)
		spec.At("repository", "namespace").Became("Repository %s/%s: spec.allowedNamespaces has %s", from.Namespace,
			from.Name, o.Ref.Namespace)
	}
	c.AddStack(o, s, from)
}

// repositoryOf is the TerraformRepository of a layer; nil when it is not in the input.
func repositoryOf(c *convert.Conversion, o *convert.Object, at manifest.Field) *convert.Object {
	namespace := at.At("namespace").Text()
	if namespace == "" {
		namespace = o.Ref.Namespace
	}
	at.At("name").Became("spec.source.git.repository.name")
	at.At("namespace").Became("spec.source.git.repository.namespace, where it is another than the Stack's")
	return c.Find(group, "TerraformRepository", namespace, at.At("name").Text())
}

// convertTriggers are paths beside the layer's own: burrito takes them from its folder, though its documentation shows
// them from the repository's root.
func convertTriggers(o *convert.Object, s *v1alpha1.StackSpec) {
	f := o.At("metadata", "annotations", "config.terraform.padok.cloud/additionnal-trigger-paths")
	if !f.Exists() {
		return
	}
	for _, part := range strings.Split(f.Text(), ",") {
		part = strings.TrimSpace(part)
		if part == "" {
			continue
		}
		in := strings.TrimPrefix(path.Clean("/"+part), "/")
		if strings.HasPrefix(part, "../") {
			in = strings.TrimPrefix(path.Clean("/"+s.Source.Git.Path+"/"+part), "/")
		}
		if in == "" {
			in = "**"
		} else {
			in += "/**"
		}
		if !slices.Contains(s.Source.Git.Triggers, in) {
			s.Source.Git.Triggers = append(s.Source.Git.Triggers, in)
		}
	}
	f.Became("spec.source.git.triggers %s, from the repository's root; local modules that the code reaches need none",
		strings.Join(s.Source.Git.Triggers, ", "))
}

// noteAnnotations speaks of what burrito writes for itself into its objects.
func noteAnnotations(o *convert.Object) {
	for _, f := range o.At("metadata", "annotations").Fields() {
		if f.HasNote() {
			continue
		}
		if domain, _, _ := strings.Cut(f.Name, "/"); strings.HasSuffix(domain, ".terraform.padok.cloud") {
			f.NotNeeded("burrito keeps there what it did last; Cairn has Runs for that")
		}
	}
}

// layerSettings is a layer over its repository.
type layerSettings struct {
	c           *convert.Conversion
	layer, repo manifest.Field
}

// pick is a setting: the layer's, else the repository's. An empty text or list of the layer is none.
func (l layerSettings) pick(names ...string) manifest.Field {
	f := l.layer.At(names...)
	switch list, isList := f.Value.([]any); {
	case isList && len(list) == 0:
		f.Ignored("it is empty, with which the setting of the repository counts")
	case f.Exists() && f.Value != "":
		return f
	}
	if l.repo.Object != nil {
		return l.repo.At(names...)
	}
	return manifest.Field{Object: l.layer.Object, Path: f.Path}
}

// became adds a note to a setting of the layer.
func (l layerSettings) became(format string, names ...string) {
	l.layer.At(names...).Became("%s", format)
}

func (l layerSettings) apply(o *convert.Object, s *v1alpha1.StackSpec) {
	s.Apply = v1alpha1.ApplyManual
	onDrift := v1alpha1.DriftReport
	if l.pick("remediationStrategy", "autoApply").Bool() {
		s.Apply, onDrift = v1alpha1.ApplyAutomatic, v1alpha1.DriftApply
	}
	l.became("spec.apply: "+string(s.Apply), "remediationStrategy", "autoApply")
	s.Drift = &v1alpha1.Drift{Interval: &metav1.Duration{Duration: driftInterval}, OnDrift: onDrift}
	o.Note(manifest.Became, "spec.drift", "spec.drift.interval 1h, spec.drift.onDrift %s: the interval is an option "+
		"of burrito's installation (controller.timers.driftDetection), and in no object; set the interval "+
		"that you want", onDrift)
	if retries := l.pick("remediationStrategy", "onError", "maxRetries"); retries.Exists() {
		limit := int32(min(max(retries.Int(), 0), 100))
		s.Retry.Limit = &limit
	}
	l.became("spec.retry.limit; only failures for a passing reason are tried again", "remediationStrategy", "onError",
		"maxRetries")
	if f := l.pick("remediationStrategy", "applyWithoutPlanArtifact"); f.Bool() {
		o.Note(manifest.Unsupported, l.layer.At("remediationStrategy", "applyWithoutPlanArtifact").Path,
			"what is applied is always the plan that was shown")
	}
	l.layer.At("remediationStrategy", "applyWithoutPlanArtifact").NotNeeded("what is applied is always the plan " +
		"that was shown")
	if runs := l.pick("runHistoryPolicy", "runs"); runs.Exists() {
		history := int32(min(max(runs.Int(), 0), 100))
		s.RunHistoryLimit = &history
	}
	l.became("spec.runHistoryLimit, which is 100 at most", "runHistoryPolicy", "runs")
	s.DeletionPolicy = v1alpha1.DeletionOrphan
	o.Note(manifest.Became, "spec.deletionPolicy",
		"spec.deletionPolicy Orphan: deleting a layer destroys nothing there")
}
