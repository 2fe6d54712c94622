// Package tofucontroller converts Terraforms of tofu-controller, and the Flux sources that they read from. By default
// tofu-controller keeps states in the engine's kubernetes backend, in Secret tfstate-<workspace>-<name>, and overrides
// the backend of the code. Deleting an object destroys its resources only if the object sets that.
package tofucontroller

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/convert/manifest"
	"cairn.dev/cairn/migrate/pod"
)

const group = "infra.contrib.fluxcd.io"

// Kinds of tofu-controller.
var Kinds = []convert.Kind{
	{System: "tofu-controller", GroupKind: schema.GroupKind{Group: group, Kind: "Terraform"},
		Versions: []string{"v1alpha2", "v1alpha1"}, Resource: "terraforms", Stack: true, Convert: convertTerraform,
		References: references},
}

func references(o *convert.Object) []convert.Key {
	ref := o.At("spec", "sourceRef")
	found := []convert.Key{{Group: sourceGroup, Kind: ref.At("kind").Text(),
		Namespace: cmp.Or(ref.At("namespace").Text(), o.Ref.Namespace), Name: ref.At("name").Text()}}
	for _, f := range o.At("spec", "backendConfigsFrom").Items() {
		if f.At("kind").Text() == "ConfigMap" {
			found = append(found, convert.Key{Kind: "ConfigMap", Namespace: o.Ref.Namespace, Name: f.At("name").Text()})
		}
	}
	return found
}

// Defaults of tofu-controller.
const (
	defaultServiceAccount   = "tf-runner"
	defaultRetryInterval    = 15 * time.Second
	defaultMaxRetryInterval = 24 * time.Hour
)

// isOfPullRequest returns true for a Terraform or a source that the branch planner created for a pull request.
func isOfPullRequest(o *convert.Object) bool {
	return o.At("metadata", "labels", "infra.weave.works/branch-planner").Exists()
}

func convertTerraform(c *convert.Conversion, o *convert.Object) {
	if isOfPullRequest(o) {
		o.NoteOfPullRequest()
		return
	}
	spec := o.At("spec")
	s := v1alpha1.StackSpec{}
	from := convertSource(c, o, &s)
	if from == nil {
		for _, f := range spec.Fields() {
			f.Unsupported("no Stack is created for this object: see spec.sourceRef")
		}
		return
	}
	s.Engine.Name = v1alpha1.EngineOpenTofu
	o.Note(manifest.Became, "spec.engine", "spec.engine.name OpenTofu, as in the runner's image; an image of your "+
		"own with terraform in it ran that: then set spec.engine")
	var r pod.Runner
	convertState(c, o, &s)
	convertVariables(o, &s, &r)
	convertApply(o, &s)
	convertRetry(o, &s)
	convertRunner(o, &r)
	convertFiles(o, &s, &r)
	convertOutputs(o, &s)
	convertDependencies(c, o, &s)
	noteOthers(o)
	r.Apply(&s)
	for _, f := range o.At("metadata", "annotations").Fields() {
		if strings.HasPrefix(f.Name, "break-the-glass.tf-controller/") {
			f.NotNeeded("cairn shell opens a shell")
		}
	}
	c.AddStack(o, s, from)
}

// convertSource is the Repository of the code; nil when no Stack can have it.
func convertSource(c *convert.Conversion, o *convert.Object, s *v1alpha1.StackSpec) *convert.Repository {
	ref := o.At("spec", "sourceRef")
	if ref.At("kind").Text() != "GitRepository" {
		ref.Unsupported("%s %s: code is from git, a ConfigMap or the Stack itself. NO STACK IS CREATED for this object",
			ref.At("kind").Text(), ref.At("name").Text())
		return nil
	}
	s.Source.Git = &v1alpha1.GitSource{}
	at := o.At("spec", "path")
	in, err := convert.PathInRepository(at.Text())
	if err != nil {
		at.Fail("%w", err)
	}
	s.Source.Git.Path = in
	at.Became("spec.source.git.path")
	for _, name := range []string{"apiVersion", "kind", "name", "namespace"} {
		ref.At(name).Became("spec.source.git.repository")
	}
	namespace := ref.At("namespace").Text()
	if namespace == "" {
		namespace = o.Ref.Namespace
	}
	name := ref.At("name").Text()
	source := c.Find(sourceGroup, "GitRepository", namespace, name)
	if source == nil {
		from := c.UnconvertedRepository(o, ref)
		ref.ToDo("GitRepository %s/%s is not in the input: add it (%s), or create Repository %s with its "+
			"URL and Secret",
			namespace, name, convert.Kubectl(namespace, "get gitrepository %s -o yaml", convert.Quote(name)), from.Name)
		return from
	}
	from := c.RepositoryOf(source)
	switch {
	case from == nil && len(source.Errors) > 0: // its own mistake is reported already
		return &convert.Repository{}
	case from == nil:
		from = c.UnconvertedRepository(o, ref)
		ref.ToDo("GitRepository %s/%s is not converted: create Repository %s with its URL and Secret", namespace,
			name, from.Name)
		return from
	}
	if namespace != o.Ref.Namespace && !slices.Contains(from.Spec.AllowedNamespaces, o.Ref.Namespace) {
		from.Spec.AllowedNamespaces = append(from.Spec.AllowedNamespaces, o.Ref.Namespace)
		slices.Sort(from.Spec.AllowedNamespaces)
	}
	return from
}

func convertApply(o *convert.Object, s *v1alpha1.StackSpec) {
	spec := o.At("spec")
	approve := spec.At("approvePlan")
	onDrift := v1alpha1.DriftReport
	switch approve.Text() {
	case "auto":
		s.Apply, onDrift = v1alpha1.ApplyAutomatic, v1alpha1.DriftApply
	case "disable":
		s.Apply = v1alpha1.ApplyNever
	default:
		s.Apply = v1alpha1.ApplyManual
	}
	if approve.Text() == "" {
		o.Note(manifest.Became, approve.Path, "spec.apply Manual: absent, a plan waits for an approval")
	} else {
		approve.Became("spec.apply %s", s.Apply)
	}
	if force := spec.At("force"); force.Bool() && !spec.At("planOnly").Bool() {
		s.Apply, onDrift = v1alpha1.ApplyAutomatic, v1alpha1.DriftApply
		force.Became("spec.apply Automatic; what has not changed is not applied again")
	} else {
		force.NotNeeded("Cairn plans whenever something changed")
	}
	if spec.At("planOnly").Bool() {
		s.Apply, onDrift = v1alpha1.ApplyNever, v1alpha1.DriftReport
		spec.At("planOnly").Became("spec.apply Never")
	}
	spec.At("planOnly").Became("spec.apply")

	every, _ := spec.At("interval").Duration()
	switch {
	case spec.At("disableDriftDetection").Bool():
		s.Drift = &v1alpha1.Drift{Interval: &metav1.Duration{}}
		spec.At("interval").NotNeeded("it is the time between two looks for drift, which are turned off; changes are " +
			"seen as they happen")
	case every.Duration > 0:
		s.Drift = &v1alpha1.Drift{
			Interval: &metav1.Duration{Duration: min(max(every.Duration, 10*time.Second), 8760*time.Hour)},
			OnDrift:  onDrift}
		spec.At("interval").Became("spec.drift.interval: the time between two looks for drift; changes are seen as " +
			"they happen")
	default:
		spec.At("interval").NotNeeded("it is no time")
	}
	if s.Drift != nil && s.Drift.Interval.Duration == 0 {
		spec.At("disableDriftDetection").Became("spec.drift.interval 0s")
	} else {
		spec.At("disableDriftDetection").Became("spec.drift")
	}
	s.Suspend = s.Suspend || spec.At("suspend").Bool()
	spec.At("suspend").Became("spec.suspend")
	if spec.At("destroy").Bool() {
		s.Suspend = true
		spec.At("destroy").Unsupported("a Stack that is there does not stay destroyed, so this one is suspended: " +
			"when all is destroyed, delete it; to destroy with Cairn, cairn destroy")
	}
	spec.At("destroy").NotNeeded("nothing is to be destroyed")
	at := spec.At("destroyResourcesOnDeletion")
	s.DeletionPolicy = v1alpha1.DeletionOrphan
	if at.Bool() {
		s.DeletionPolicy = v1alpha1.DeletionDestroy
	}
	o.Note(manifest.Became, at.Path, "spec.deletionPolicy %s", s.DeletionPolicy)
}

func convertRetry(o *convert.Object, s *v1alpha1.StackSpec) {
	spec := o.At("spec")
	wait, ok := spec.At("retryInterval").Duration()
	if !ok {
		wait.Duration = defaultRetryInterval
	}
	if spec.At("retryInterval").Exists() || spec.At("retryStrategy").Exists() {
		most := wait.Duration
		if spec.At("retryStrategy").Text() == "ExponentialBackoff" {
			longest, ok := spec.At("maxRetryInterval").Duration()
			if most = defaultMaxRetryInterval; ok {
				most = longest.Duration
			}
		}
		s.Retry.Backoff = &metav1.Duration{Duration: min(max(wait.Duration, 0), 8760*time.Hour)}
		s.Retry.MaxBackoff = &metav1.Duration{Duration: min(max(most, 0), 8760*time.Hour)}
	}
	spec.At("retryInterval").Became("spec.retry.backoff")
	spec.At("retryStrategy").Became("spec.retry.maxBackoff: the same as backoff where the wait is to be static, for " +
		"Cairn's doubles up to it")
	if spec.At("retryStrategy").Text() == "ExponentialBackoff" {
		spec.At("maxRetryInterval").Became("spec.retry.maxBackoff")
	} else {
		spec.At("maxRetryInterval").Ignored("it has no effect without retryStrategy ExponentialBackoff")
	}
	if retries := spec.At("remediation", "retries"); spec.At("remediation").Exists() {
		limit := int32(min(max(retries.Int(), 0), 100))
		if retries.Int() < 0 {
			limit = 100
		}
		s.Retry.Limit = &limit
		o.Note(manifest.Became, "spec.remediation", "spec.retry.limit %d: of failures for a passing reason; others "+
			"are not tried again on the same inputs", limit)
		retries.Became("spec.retry.limit")
	} else {
		o.Note(manifest.Became, "spec.remediation", "spec.retry.limit is Cairn's 3: absent, it tries again "+
			"for ever there")
	}
}

func convertDependencies(c *convert.Conversion, o *convert.Object, s *v1alpha1.StackSpec) {
	for _, f := range o.At("spec", "dependsOn").Items() {
		name, namespace := f.At("name").Text(), cmp.Or(f.At("namespace").Text(), o.Ref.Namespace)
		if other := c.Find(group, "Terraform", namespace, name); other != nil && other.StackName != "" {
			name = other.StackName
		}
		dependency := v1alpha1.Dependency{Name: name}
		if namespace != o.Ref.Namespace {
			dependency.Namespace = namespace
		}
		if slices.ContainsFunc(s.DependsOn, func(d v1alpha1.Dependency) bool {
			return d.Name == name && d != dependency
		}) {
			f.Unsupported("%s/%s: spec.dependsOn has another Stack of this name", namespace, name)
			continue
		}
		if !slices.Contains(s.DependsOn, dependency) {
			s.DependsOn = append(s.DependsOn, dependency)
		}
		if dependency.Namespace != "" {
			f.ToDo("create a StackGrant in namespace %s that allows Stacks of namespace %s to depend on Stack %s",
				namespace,
				o.Ref.Namespace, name)
			continue
		}
		f.Became("spec.dependsOn %s", name)
	}
}

// noteOthers speaks of what has no place in a Stack.
func noteOthers(o *convert.Object) {
	spec := o.At("spec")
	spec.At("alwaysCleanupRunnerPod").NotNeeded("a pod is gone when its Run has ended; spec.runner.idleTimeout lets " +
		"it wait for an approval")
	spec.At("runnerTerminationGracePeriodSeconds").NotNeeded("pods have 10 minutes to let the engine save its state")
	spec.At("upgradeOnInit").NotNeeded("init never upgrades: the lock file of the code selects the providers, and " +
		"the apply has those of the plan")
	spec.At("refreshBeforeApply").NotNeeded("the plan refreshes, and what is applied is that plan")
	spec.At("enableInventory").NotNeeded("cairn state list shows the resources")
	spec.At("storeReadablePlan").NotNeeded("every plan is kept, and shown by cairn diff and the web UI")
	spec.At("plan").NotNeeded("plans hold no lock of Cairn's, and applies always do")
	spec.At("breakTheGlass").NotNeeded("cairn shell opens a shell with the state")
	spec.At("enterprise").Ignored("nothing reads it")
	spec.At("branchPlanner").ToDo("set spec.pullRequests of the Repository: Cairn plans pull requests, each for the " +
		"Stacks that it affects (" + version.Docs + "how-to/pull-requests.md)")
	spec.At("targets").Unsupported("a plan is of all the code: what is outside the targets will be in it. Look at " +
		"the first plan, or take that out of the code")
	spec.At("parallelism").Unsupported("arguments of the engine are Cairn's own; the engine runs ten " +
		"operations at a time")
	spec.At("tfstate", "forceUnlock").Unsupported("locks are never removed automatically; use cairn state unlock")
	spec.At("tfstate", "lockIdentifier").Unsupported("cairn state unlock STACK ID")
	spec.At("tfstate", "lockTimeout").NotNeeded("a Run that meets a lock is tried again: spec.retry")
	spec.At("healthChecks").Unsupported("write a hook {step: apply, when: After} that looks (" + version.Docs +
		"how-to/hooks.md); exit code 75 tries again")
	spec.At("webhooks").Unsupported("use spec.policies, which evaluate plans (" + version.Docs +
		"how-to/policies.md), or a hook {step: plan, when: After}, which has CAIRN_PLAN_JSON")
	spec.At("cliConfigSecretRef").Unsupported("the CLI's configuration is Cairn's own. Credentials of a registry: " +
		"spec.env TF_TOKEN_<host>, from the Secret; a mirror is an option of the installation")
}
