package migrate

import (
	"path"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// burrito keeps what layers share in their TerraformRepository: what a layer says itself wins, or is laid over it. States are where the code's own
// backend block says. A layer that is deleted destroys nothing.

const burritoGroup = "config.terraform.padok.cloud"

var burrito = []kind{
	{system: "burrito", group: burritoGroup, versions: []string{"v1alpha1"}, name: "TerraformRepository", plural: "terraformrepositories", convert: burritoRepository},
	{system: "burrito", group: burritoGroup, versions: []string{"v1alpha1"}, name: "TerraformLayer", plural: "terraformlayers", stack: true, convert: burritoLayer},
	{system: "burrito", group: burritoGroup, versions: []string{"v1alpha1"}, name: "TerraformRun", plural: "terraformruns", convert: burritoOwn},
	{system: "burrito", group: burritoGroup, versions: []string{"v1alpha1"}, name: "TerraformPullRequest", plural: "terraformpullrequests", convert: burritoOwn},
}

// burritoDrift is how often layers are planned for drift. Burrito's install says it, no object does.
const burritoDrift = time.Hour

func burritoRepository(c *conversion, o *object) {
	spec := o.at("spec")
	at := spec.at("repository", "url")
	made, a, ok := c.repositoryAt(o, at)
	if !ok {
		return
	}
	c.burritoCredentials(o, at, made, a)
	if pods := spec.at("maxConcurrentRunnerPods"); pods.there() {
		made.Spec.Limits = &v1alpha1.RepositoryLimits{Runs: int32(min(max(pods.number(), 0), 1000))}
		pods.became("Repository %s: spec.limits.runs", made.Name)
	}
	made.Spec.Engine = burritoDefault(spec, made.Name)
	const laid = "laid under what each TerraformLayer of this repository says: see there"
	for _, name := range []string{"remediationStrategy", "overrideRunnerSpec", "runHistoryPolicy", "syncWindows"} {
		for _, f := range leaves(spec.at(name)) {
			f.became(laid)
		}
	}
	for _, f := range spec.at("overrideRunnerSpec").fields() {
		f.became(laid)
	}
	for _, f := range spec.at("syncWindows").items() {
		for _, name := range []string{"kind", "actions", "schedule", "duration", "layers"} {
			f.at(name).became(laid)
		}
	}
}

// leaves are the fields of these names that burrito's maps of settings have.
func leaves(f field) []field {
	var known []field
	for _, names := range [][]string{{"autoApply"}, {"applyWithoutPlanArtifact"}, {"onError", "maxRetries"}, {"runs"}} {
		known = append(known, f.at(names...))
	}
	return known
}

// burritoCredentials says which Secret a Repository needs. Burrito finds its own by their type and the URL in them, and no object names them.
func (c *conversion) burritoCredentials(o *object, at field, made *repository, a address) {
	name := shorten(made.Name, 200) + "-git"
	switch {
	case strings.HasPrefix(a.URL, "http"):
		at.todo("if the repository is private, make Secret %s and name it in spec.credentials; keys username and password, or githubAppID, githubAppInstallationID and githubAppPrivateKey: %s",
			name, makeSecret(o.ref.Namespace, name, "username", "FILE_WITH_USER", "password", "FILE_WITH_PASSWORD_OR_TOKEN"))
	default:
		made.Spec.Credentials = &v1alpha1.SecretSource{Secret: v1alpha1.ObjectRef{Name: name}}
		at.todo("make Secret %s; burrito's has the key under sshPrivateKey: %s", name,
			makeSecret(o.ref.Namespace, name, "identity", fromKey(o.ref.Namespace, "BURRITOS_SECRET", "sshPrivateKey"), "known_hosts", knownHosts(a.Host)))
	}
	at.todo("for webhooks make a Secret with burrito's webhookSecret and name it in spec.webhook; the forge calls /hooks/%s/%s then", o.ref.Namespace, made.Name)
}

func burritoOwn(_ *conversion, o *object) {
	o.note(NotNeeded, "spec", "burrito makes such objects itself; Cairn makes Runs of its own")
}

func burritoLayer(c *conversion, o *object) {
	spec := o.at("spec")
	repo := c.burritoRepositoryOf(o, spec.at("repository"))
	layered := layered{layer: spec, c: c}
	if repo != nil {
		layered.repo = repo.at("spec")
	}
	s := v1alpha1.StackSpec{Backend: &v1alpha1.Backend{FromCode: true}}
	o.note(Became, "spec.backend", "spec.backend.fromCode: burrito has no place for states of its own; the backend block of the code says where it is, and it stays there")

	s.Source.Git = &v1alpha1.GitSource{}
	at := spec.at("path")
	in, err := inRepository(at.text())
	if err != nil {
		at.fail("%w", err)
	}
	s.Source.Git.Path = in
	at.became("spec.source.git.path")
	s.Source.Git.Ref = plainRef(spec.at("branch").text())
	spec.at("branch").became("spec.source.git.ref")
	burritoTriggers(o, &s)
	spec.at("additionalTargetRefs").cannot("plans for pull requests into other branches are not made")

	var from *repository
	if repo != nil {
		from = c.named(repo)
	}
	layered.engine(&s, from)
	layered.apply(o, &s)
	layered.runner(o, &s)
	c.burritoWindows(o, layered, &s)
	burritoAnnotations(o)
	if from == nil {
		from = c.stranger(o, spec.at("repository"))
	} else if from.Namespace != o.ref.Namespace && !slices.Contains(from.Spec.AllowedNamespaces, o.ref.Namespace) {
		from.Spec.AllowedNamespaces = append(from.Spec.AllowedNamespaces, o.ref.Namespace)
		slices.Sort(from.Spec.AllowedNamespaces)
		spec.at("repository", "namespace").became("Repository %s/%s: spec.allowedNamespaces has %s", from.Namespace, from.Name, o.ref.Namespace)
	}
	c.add(o, s, from)
}

// burritoRepositoryOf is the TerraformRepository of a layer; nil when it is not in the input.
func (c *conversion) burritoRepositoryOf(o *object, at field) *object {
	namespace := at.at("namespace").text()
	if namespace == "" {
		namespace = o.ref.Namespace
	}
	at.at("name").became("spec.source.git.repository.name")
	at.at("namespace").became("spec.source.git.repository.namespace, where it is another than the Stack's")
	return c.find(burritoGroup, "TerraformRepository", namespace, at.at("name").text())
}

// named is the Repository that was made of an object.
func (c *conversion) named(o *object) *repository {
	for _, r := range c.repositories {
		if r.of == o {
			return r
		}
	}
	return nil
}

// stranger stands for a Repository that is not made here: its object is not in the input.
func (c *conversion) stranger(o *object, at field) *repository {
	if name := at.at("name"); name.text() == "" {
		name.fail("it names no object: the Stack needs the name of its Repository")
	}
	of := key{o.kind.system, at.at("kind").text(), or(at.at("namespace").text(), o.ref.Namespace), at.at("name").text()}
	at.todo("%s %s/%s is not in the input: convert it too, for its settings are not in this Stack", "the repository's object", of.namespace, of.name)
	return c.missing(of)
}

// missing is a Repository that a person has to make, of what of names. It has the name of none that is made here.
func (c *conversion) missing(of key) *repository {
	for _, r := range c.strangers {
		if r.stands == of {
			return r
		}
	}
	r := &repository{named: true, stands: of}
	r.Namespace, r.Name = of.namespace, c.freeRepository(of.namespace, of.name, of.group)
	c.strangers = append(c.strangers, r)
	return r
}

// burritoTriggers are paths beside the layer's own: burrito takes them from its folder, though its documentation shows them from the repository's root.
func burritoTriggers(o *object, s *v1alpha1.StackSpec) {
	f := o.at("metadata", "annotations", "config.terraform.padok.cloud/additionnal-trigger-paths")
	if !f.there() {
		return
	}
	for _, part := range strings.Split(f.text(), ",") {
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
	f.became("spec.source.git.triggers %s, from the repository's root; local modules that the code reaches need none", strings.Join(s.Source.Git.Triggers, ", "))
}

// burritoAnnotations speaks of what burrito writes for itself into its objects.
func burritoAnnotations(o *object) {
	for _, f := range o.at("metadata", "annotations").fields() {
		if o.told[f.path] {
			continue
		}
		if domain, _, _ := strings.Cut(f.name, "/"); strings.HasSuffix(domain, ".terraform.padok.cloud") {
			f.notNeeded("burrito keeps there what it did last; Cairn has Runs for that")
		}
	}
}

// layered is a layer over its repository.
type layered struct {
	c           *conversion
	layer, repo field
}

// pick is a setting: the layer's, else the repository's.
func (l layered) pick(names ...string) field {
	if f := l.layer.at(names...); f.there() && f.value != "" {
		return f
	}
	if l.repo.of != nil {
		return l.repo.at(names...)
	}
	return field{of: l.layer.of, path: l.layer.at(names...).path}
}

// each says something of a setting, in the layer.
func (l layered) became(format string, names ...string) {
	l.layer.at(names...).became("%s", format)
}

func (l layered) apply(o *object, s *v1alpha1.StackSpec) {
	s.Apply = v1alpha1.ApplyManual
	onDrift := v1alpha1.DriftReport
	if l.pick("remediationStrategy", "autoApply").truth() {
		s.Apply, onDrift = v1alpha1.ApplyAutomatic, v1alpha1.DriftApply
	}
	l.became("spec.apply: "+string(s.Apply), "remediationStrategy", "autoApply")
	s.Drift = &v1alpha1.Drift{Interval: &metav1.Duration{Duration: burritoDrift}, OnDrift: onDrift}
	o.note(Became, "spec.drift", "spec.drift.interval 1h, spec.drift.onDrift %s: burrito's install says how often (controller.timers.driftDetection), no object does; write what you want", onDrift)
	if retries := l.pick("remediationStrategy", "onError", "maxRetries"); retries.there() {
		limit := int32(min(max(retries.number(), 0), 100))
		s.Retry.Limit = &limit
	}
	l.became("spec.retry.limit; only failures for a passing reason are tried again", "remediationStrategy", "onError", "maxRetries")
	if f := l.pick("remediationStrategy", "applyWithoutPlanArtifact"); f.truth() {
		o.note(Cannot, l.layer.at("remediationStrategy", "applyWithoutPlanArtifact").path, "what is applied is always the plan that was shown")
	}
	l.layer.at("remediationStrategy", "applyWithoutPlanArtifact").notNeeded("what is applied is always the plan that was shown")
	if runs := l.pick("runHistoryPolicy", "runs"); runs.there() {
		history := int32(min(max(runs.number(), 0), 100))
		s.RunHistoryLimit = &history
	}
	l.became("spec.runHistoryLimit, which is 100 at most", "runHistoryPolicy", "runs")
	s.DeletionPolicy = v1alpha1.DeletionOrphan
	o.note(Became, "spec.deletionPolicy", "spec.deletionPolicy Orphan: deleting a layer destroys nothing there")
}
