package galleybytes

import (
	"cmp"
	"slices"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/migrate/convert/manifest"
)

// readV1alpha1 finds the fields of v1alpha1.
func (g *terraform) readV1alpha1() {
	spec := g.At("spec")
	g.source, g.inline = spec.At("terraformModule"), spec.At("terraformModuleInline")
	g.selectors = []manifest.Field{spec.At("terraformModuleConfigMap")}
	g.backend, g.downloads = spec.At("customBackend"), spec.At("resourceDownloads")
	g.readV03()
}

// tasksOfV1alpha1 are scripts, variables and images of v1alpha1.
func (g *terraform) tasksOfV1alpha1() {
	spec := g.At("spec")
	g.r.AddEnvironment(spec.At("env"))
	g.r.AddMetadata(spec.At("runnerLabels"), spec.At("runnerAnnotations"))
	spec.At("runnerRules").Unsupported("a runner may do nothing in Kubernetes; grant rights to a ServiceAccount " +
		"whose token the code has from a Secret")
	for _, script := range []struct{ field, task string }{
		{"preInitScript", "preinit"}, {"postInitScript", "postinit"}, {"prePlanScript", "preplan"},
		{"postPlanScript", "postplan"},
		{"preApplyScript", "preapply"}, {"postApplyScript", "postapply"},
		{"preInitDeleteScript", "preinit-delete"}, {"postInitDeleteScript", "postinit-delete"},
		{"prePlanDeleteScript", "preplan-delete"},
		{"postPlanDeleteScript", "postplan-delete"}, {"preApplyDeleteScript", "preapply-delete"},
		{"postApplyDeleteScript", "postapply-delete"},
	} {
		if f := spec.At(script.field); f.Text() != "" {
			g.task(f, script.task, v1alpha1.Command{Script: f.Text()})
		}
	}
	g.scriptsOfV03()
	if image := spec.At("terraformRunner"); image.Text() != "" {
		g.ownImage(image, cmp.Or(spec.At("terraformVersion").Text(), "latest"))
	}
	if policy := spec.At("terraformRunnerPullPolicy"); policy.Exists() {
		g.r.AddToContainer(policy, "imagePullPolicy")
	}
	for _, name := range []string{"scriptRunner", "setupRunner", "scriptRunnerVersion", "setupRunnerVersion",
		"scriptRunnerPullPolicy", "setupRunnerPullPolicy"} {
		spec.At(name).Unsupported("scripts run in the runner's image: what they call has to be in spec.runner.image")
	}
	for _, name := range []string{"terraformRunnerExecutionScriptConfigMap", "scriptRunnerExecutionScriptConfigMap",
		"setupRunnerExecutionScriptConfigMap"} {
		spec.At(name).Unsupported("what runs the engine is Cairn's: only apply and destroy may be scripts of one's " +
			"own (spec.commands)")
	}
	if again := spec.At("reconcile"); again.Exists() {
		again.At("enable").Ignored("nothing reads it: spec.drift.interval looks for drift")
		again.At("syncPeriod").Ignored("nothing reads it: spec.drift.interval looks for drift")
	}
	spec.At("exportRepo").Unsupported("variables are not written to a repository")
}

// terraform-operator v0.3 has the same version of its API as those up to v0.9, with other fields. It applied only what
// spec.applyOn... allows; a field that is absent is false there, and a plan then waited for an action in a ConfigMap.
// Versions after it do not read these fields and apply everything.

// readV03 finds the fields of v0.3, if the object has any.
func (g *terraform) readV03() {
	spec := g.At("spec")
	g.sources = spec.At("sources")
	for _, name := range []string{"applyOnCreate", "applyOnUpdate", "applyOnDelete", "prerunScript", "postrunScript",
		"sources"} {
		g.isV03 = g.isV03 || spec.At(name).Exists()
	}
	module := spec.At("terraformModule")
	if _, isMap := module.Value.(map[string]any); isMap {
		g.isV03, g.source = true, module.At("address")
		module.At("extras").Ignored("of an address of code nothing reads them")
	}
}

// applyOn is what may be applied without being asked for.
func (g *terraform) applyOn() {
	spec := g.At("spec")
	create, update, remove := spec.At("applyOnCreate"), spec.At("applyOnUpdate"), spec.At("applyOnDelete")
	waits := false
	if !create.Bool() && !update.Bool() && !remove.Bool() {
		g.s.Apply, waits = v1alpha1.ApplyManual, true
	}
	for _, a := range []struct {
		manifest.Field
		kinds []v1alpha1.ChangeKind
		text  string
	}{
		{create, []v1alpha1.ChangeKind{v1alpha1.ChangeCreate}, "spec.requireApprovalFor Create. There only the first " +
			"plan of the object waited, here each plan that creates something does: take it out where the object was " +
			"applied already"},
		{update, []v1alpha1.ChangeKind{v1alpha1.ChangeCreate, v1alpha1.ChangeUpdate, v1alpha1.ChangeReplace,
			v1alpha1.ChangeDelete},
			"spec.requireApprovalFor Create, Update, Replace and Delete. A plan that only changes outputs does not " +
				"wait; the destroy of a deleted Stack does, as a Delete"},
		{remove, []v1alpha1.ChangeKind{v1alpha1.ChangeStackDeletion}, "spec.requireApprovalFor StackDeletion"},
	} {
		how := "false"
		if !a.Exists() {
			how = "absent, which is false"
		}
		switch {
		case a.Bool():
			a.Became("spec.apply Automatic")
		case waits:
			g.Note(manifest.Became, a.Path, "%s: spec.apply Manual, since the others are too; cairn approve, in "+
				"place of an action in a ConfigMap", how)
		default:
			g.s.RequireApprovalFor = appendMissing(g.s.RequireApprovalFor, a.kinds...)
			g.Note(manifest.Became, a.Path, "%s: %s; cairn approve, in place of an action in a ConfigMap", how, a.text)
		}
	}
}

// appendMissing adds what is not in a list yet.
func appendMissing(list []v1alpha1.ChangeKind, kinds ...v1alpha1.ChangeKind) []v1alpha1.ChangeKind {
	for _, kind := range kinds {
		if !slices.Contains(list, kind) {
			list = append(list, kind)
		}
	}
	return list
}

// scriptsOfV03 are the two scripts around the engine's commands.
func (g *terraform) scriptsOfV03() {
	const beside = "the script runs as user 65532 in the runner's image now: the image has to contain what it calls; " +
		version.Docs + "how-to/hooks.md#environment-variables lists its variables"
	if before := g.At("spec", "prerunScript"); before.Text() != "" {
		g.s.Hooks = append(g.s.Hooks, v1alpha1.Hook{Step: "init", When: v1alpha1.HookBefore, Script: before.Text()})
		before.Became("spec.hooks before init: for applies and destroys, as there")
		before.ToDo(beside)
	} else {
		before.Ignored("it is empty")
	}
	if after := g.At("spec", "postrunScript"); after.Text() != "" {
		g.s.Hooks = append(g.s.Hooks, v1alpha1.Hook{Step: "apply", When: v1alpha1.HookAfter, Script: after.Text()})
		after.Became("spec.hooks after apply: there it ran after a plan without changes too, which applies " +
			"nothing here")
		after.ToDo("hooks run for applies and destroys: this one was not for destroys; let it end at once if " +
			"CAIRN_OPERATION is Destroy and that matters")
		after.ToDo(beside)
	} else {
		after.Ignored("it is empty")
	}
}
