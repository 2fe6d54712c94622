package migrate

import (
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// tofu-controller keeps states in the engine's kubernetes backend unless it is told otherwise, in Secret tfstate-<workspace>-<name>; that overrides what
// the code says. What it makes is destroyed with its object only where that says so.

const tofuGroup = "infra.contrib.fluxcd.io"

var tofuController = []kind{
	{system: "tofu-controller", group: tofuGroup, versions: []string{"v1alpha2", "v1alpha1"}, name: "Terraform", plural: "terraforms", stack: true, convert: tofuTerraform},
}

// What tofu-controller takes where an object says nothing.
const (
	tofuAccount       = "tf-runner"
	tofuRetryInterval = 15 * time.Second
	tofuMaxInterval   = 24 * time.Hour
)

func tofuTerraform(c *conversion, o *object) {
	spec := o.at("spec")
	s := v1alpha1.StackSpec{}
	from := c.tofuSource(o, &s)
	if from == nil {
		for _, f := range spec.fields() {
			f.cannot("no Stack is made of this object: see spec.sourceRef")
		}
		return
	}
	s.Engine.Name = v1alpha1.EngineOpenTofu
	o.note(Became, "spec.engine", "spec.engine.name OpenTofu, as in the runner's image; one of your own with terraform in it ran that: say so in spec.engine")
	var r runner
	c.tofuState(o, &s)
	c.tofuVariables(o, &s, &r)
	tofuApply(o, &s)
	tofuRetry(o, &s)
	tofuRunner(o, &r)
	tofuFiles(o, &s, &r)
	tofuOutputs(o, &s)
	tofuDependencies(c, o, &s)
	tofuRest(o)
	r.add(&s)
	for _, f := range o.at("metadata", "annotations").fields() {
		if strings.HasPrefix(f.name, "break-the-glass.tf-controller/") {
			f.notNeeded("cairn shell opens a shell")
		}
	}
	c.add(o, s, from)
}

// tofuSource is the Repository of the code; nil when no Stack can have it.
func (c *conversion) tofuSource(o *object, s *v1alpha1.StackSpec) *repository {
	ref := o.at("spec", "sourceRef")
	if ref.at("kind").text() != "GitRepository" {
		ref.cannot("%s %s: code is from git, a ConfigMap or the Stack itself. NO STACK IS MADE of this object", ref.at("kind").text(), ref.at("name").text())
		return nil
	}
	s.Source.Git = &v1alpha1.GitSource{}
	at := o.at("spec", "path")
	in, err := inRepository(at.text())
	if err != nil {
		at.fail("%w", err)
	}
	s.Source.Git.Path = in
	at.became("spec.source.git.path")
	for _, name := range []string{"apiVersion", "kind", "name", "namespace"} {
		ref.at(name).became("spec.source.git.repository")
	}
	namespace := ref.at("namespace").text()
	if namespace == "" {
		namespace = o.ref.Namespace
	}
	name := ref.at("name").text()
	source := c.find(fluxSources, "GitRepository", namespace, name)
	if source == nil {
		from := c.stranger(o, ref)
		ref.todo("GitRepository %s/%s is not in the input: give it too (%s), or make Repository %s with its URL and Secret",
			namespace, name, kubectl(namespace, "get gitrepository %s -o yaml", quote(name)), from.Name)
		return from
	}
	from := c.named(source)
	switch {
	case from == nil && len(source.wrong) > 0: // its own mistake is told already
		return &repository{}
	case from == nil:
		from = c.stranger(o, ref)
		ref.todo("nothing is made of GitRepository %s/%s: make Repository %s with its URL and Secret", namespace, name, from.Name)
		return from
	}
	if namespace != o.ref.Namespace && !slices.Contains(from.Spec.AllowedNamespaces, o.ref.Namespace) {
		from.Spec.AllowedNamespaces = append(from.Spec.AllowedNamespaces, o.ref.Namespace)
		slices.Sort(from.Spec.AllowedNamespaces)
	}
	return from
}

func tofuApply(o *object, s *v1alpha1.StackSpec) {
	spec := o.at("spec")
	approve := spec.at("approvePlan")
	onDrift := v1alpha1.DriftReport
	switch approve.text() {
	case "auto":
		s.Apply, onDrift = v1alpha1.ApplyAutomatic, v1alpha1.DriftApply
	case "disable":
		s.Apply = v1alpha1.ApplyNever
	default:
		s.Apply = v1alpha1.ApplyManual
	}
	if approve.text() == "" {
		o.note(Became, approve.path, "spec.apply Manual: absent, a plan waits for a person")
	} else {
		approve.became("spec.apply %s", s.Apply)
	}
	if force := spec.at("force"); force.truth() && !spec.at("planOnly").truth() {
		s.Apply, onDrift = v1alpha1.ApplyAutomatic, v1alpha1.DriftApply
		force.became("spec.apply Automatic; what has not changed is not applied again")
	} else {
		force.notNeeded("Cairn plans whenever something changed")
	}
	if spec.at("planOnly").truth() {
		s.Apply, onDrift = v1alpha1.ApplyNever, v1alpha1.DriftReport
		spec.at("planOnly").became("spec.apply Never")
	}
	spec.at("planOnly").became("spec.apply")

	every, _ := duration(spec.at("interval"))
	switch {
	case spec.at("disableDriftDetection").truth():
		s.Drift = &v1alpha1.Drift{Interval: &metav1.Duration{}}
		spec.at("interval").notNeeded("it is the time between two looks for drift, which are turned off; changes are seen as they happen")
	case every.Duration > 0:
		s.Drift = &v1alpha1.Drift{Interval: &metav1.Duration{Duration: min(max(every.Duration, 10*time.Second), 8760*time.Hour)}, OnDrift: onDrift}
		spec.at("interval").became("spec.drift.interval: the time between two looks for drift; changes are seen as they happen")
	default:
		spec.at("interval").notNeeded("it is no time")
	}
	if s.Drift != nil && s.Drift.Interval.Duration == 0 {
		spec.at("disableDriftDetection").became("spec.drift.interval 0s")
	} else {
		spec.at("disableDriftDetection").became("spec.drift")
	}
	s.Suspend = s.Suspend || spec.at("suspend").truth()
	spec.at("suspend").became("spec.suspend")
	if spec.at("destroy").truth() {
		s.Suspend = true
		spec.at("destroy").cannot("a Stack that is there does not stay destroyed, so this one is suspended: when all is destroyed, delete it; to destroy with Cairn, cairn destroy")
	}
	spec.at("destroy").notNeeded("nothing is to be destroyed")
	at := spec.at("destroyResourcesOnDeletion")
	s.DeletionPolicy = v1alpha1.DeletionOrphan
	if at.truth() {
		s.DeletionPolicy = v1alpha1.DeletionDestroy
	}
	o.note(Became, at.path, "spec.deletionPolicy %s", s.DeletionPolicy)
}

func tofuRetry(o *object, s *v1alpha1.StackSpec) {
	spec := o.at("spec")
	wait, ok := duration(spec.at("retryInterval"))
	if !ok {
		wait.Duration = tofuRetryInterval
	}
	if spec.at("retryInterval").there() || spec.at("retryStrategy").there() {
		most := wait.Duration
		if spec.at("retryStrategy").text() == "ExponentialBackoff" {
			longest, ok := duration(spec.at("maxRetryInterval"))
			if most = tofuMaxInterval; ok {
				most = longest.Duration
			}
		}
		s.Retry.Backoff = &metav1.Duration{Duration: min(max(wait.Duration, 0), 8760*time.Hour)}
		s.Retry.MaxBackoff = &metav1.Duration{Duration: min(max(most, 0), 8760*time.Hour)}
	}
	spec.at("retryInterval").became("spec.retry.backoff")
	spec.at("retryStrategy").became("spec.retry.maxBackoff: the same as backoff where the wait is to be static, for Cairn's doubles up to it")
	if spec.at("retryStrategy").text() == "ExponentialBackoff" {
		spec.at("maxRetryInterval").became("spec.retry.maxBackoff")
	} else {
		spec.at("maxRetryInterval").ignored("without retryStrategy ExponentialBackoff it is not looked at")
	}
	if retries := spec.at("remediation", "retries"); spec.at("remediation").there() {
		limit := int32(min(max(retries.number(), 0), 100))
		if retries.number() < 0 {
			limit = 100
		}
		s.Retry.Limit = &limit
		o.note(Became, "spec.remediation", "spec.retry.limit %d: of failures for a passing reason; others are not tried again on the same inputs", limit)
		retries.became("spec.retry.limit")
	} else {
		o.note(Became, "spec.remediation", "spec.retry.limit is Cairn's 3: absent, it tries again for ever there")
	}
}

func tofuDependencies(c *conversion, o *object, s *v1alpha1.StackSpec) {
	for _, f := range o.at("spec", "dependsOn").items() {
		name, namespace := f.at("name").text(), f.at("namespace").text()
		if namespace != "" && namespace != o.ref.Namespace {
			f.cannot("%s/%s: a Stack depends on those of its own namespace", namespace, name)
			continue
		}
		if other := c.find(tofuGroup, "Terraform", o.ref.Namespace, name); other != nil && other.stack != "" {
			name = other.stack
		}
		dependency := v1alpha1.Dependency{Name: name}
		if !slices.Contains(s.DependsOn, dependency) {
			s.DependsOn = append(s.DependsOn, dependency)
		}
		f.became("spec.dependsOn %s", name)
	}
}

// tofuRest speaks of what has no place in a Stack.
func tofuRest(o *object) {
	spec := o.at("spec")
	spec.at("alwaysCleanupRunnerPod").notNeeded("a pod is gone when its Run has ended; spec.runner.idleTimeout lets it wait for an approval")
	spec.at("runnerTerminationGracePeriodSeconds").notNeeded("pods have 10 minutes to let the engine save its state")
	spec.at("upgradeOnInit").notNeeded("init never upgrades: the lock file of the code says which providers, and the apply has those of the plan")
	spec.at("refreshBeforeApply").notNeeded("the plan refreshes, and what is applied is that plan")
	spec.at("enableInventory").notNeeded("cairn state list shows what there is")
	spec.at("storeReadablePlan").notNeeded("every plan is kept, and shown by cairn diff and the web UI")
	spec.at("plan").notNeeded("plans hold no lock of Cairn's, and applies always do")
	spec.at("breakTheGlass").notNeeded("cairn shell opens a shell with the state")
	spec.at("enterprise").ignored("nothing reads it")
	spec.at("branchPlanner").cannot("plans for pull requests are not made")
	spec.at("targets").cannot("a plan is of all the code: what is outside the targets will be in it. Look at the first plan, or take that out of the code")
	spec.at("parallelism").cannot("arguments of the engine are Cairn's own; the engine does ten things at a time")
	spec.at("tfstate", "forceUnlock").cannot("no lock is taken away on a guess; cairn state unlock is for a person who knows")
	spec.at("tfstate", "lockIdentifier").cannot("cairn state unlock STACK ID")
	spec.at("tfstate", "lockTimeout").notNeeded("a Run that meets a lock is tried again: spec.retry")
	spec.at("healthChecks").cannot("write a hook {step: apply, when: After} that looks (docs/hooks.md); exit code 75 tries again")
	spec.at("webhooks").cannot("spec.policies look at plans (docs/policy.md), or a hook {step: plan, when: After}, which is told CAIRN_PLAN_JSON")
	spec.at("cliConfigSecretRef").cannot("the CLI's configuration is Cairn's own. Credentials of a registry: spec.env TF_TOKEN_<host>, from the Secret; a mirror is for the install to say")
}
