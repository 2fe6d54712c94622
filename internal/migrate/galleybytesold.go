package migrate

import (
	"cairn.dev/cairn/api/v1alpha1"
)

// old says where v1alpha1 has what.
func (g *galley) old() {
	spec := g.at("spec")
	g.source, g.inline = spec.at("terraformModule"), spec.at("terraformModuleInline")
	g.selectors = []field{spec.at("terraformModuleConfigMap")}
	g.backend, g.downloads = spec.at("customBackend"), spec.at("resourceDownloads")
	g.old03()
}

// oldTasks are scripts, variables and images of v1alpha1.
func (g *galley) oldTasks() {
	spec := g.at("spec")
	g.r.environment(spec.at("env"))
	g.r.meta(spec.at("runnerLabels"), spec.at("runnerAnnotations"))
	spec.at("runnerRules").cannot("a runner may do nothing in Kubernetes; give rights to an account whose token the code has from a Secret")
	for _, script := range []struct{ field, task string }{
		{"preInitScript", "preinit"}, {"postInitScript", "postinit"}, {"prePlanScript", "preplan"}, {"postPlanScript", "postplan"},
		{"preApplyScript", "preapply"}, {"postApplyScript", "postapply"},
		{"preInitDeleteScript", "preinit-delete"}, {"postInitDeleteScript", "postinit-delete"}, {"prePlanDeleteScript", "preplan-delete"},
		{"postPlanDeleteScript", "postplan-delete"}, {"preApplyDeleteScript", "preapply-delete"}, {"postApplyDeleteScript", "postapply-delete"},
	} {
		if f := spec.at(script.field); f.text() != "" {
			g.task(f, script.task, v1alpha1.Command{Script: f.text()})
		}
	}
	g.scripts03()
	if image := spec.at("terraformRunner"); image.text() != "" {
		g.ownImage(image, or(spec.at("terraformVersion").text(), "latest"))
	}
	if policy := spec.at("terraformRunnerPullPolicy"); policy.there() {
		g.r.ofEngine(policy, "imagePullPolicy")
	}
	for _, name := range []string{"scriptRunner", "setupRunner", "scriptRunnerVersion", "setupRunnerVersion", "scriptRunnerPullPolicy", "setupRunnerPullPolicy"} {
		spec.at(name).cannot("scripts run in the runner's image: what they call has to be in spec.runner.image")
	}
	for _, name := range []string{"terraformRunnerExecutionScriptConfigMap", "scriptRunnerExecutionScriptConfigMap", "setupRunnerExecutionScriptConfigMap"} {
		spec.at(name).cannot("what runs the engine is Cairn's: only apply and destroy may be scripts of one's own (spec.commands)")
	}
	if again := spec.at("reconcile"); again.there() {
		again.at("enable").ignored("nothing reads it: spec.drift.interval looks for drift")
		again.at("syncPeriod").ignored("nothing reads it: spec.drift.interval looks for drift")
	}
	spec.at("exportRepo").cannot("variables are not written to a repository")
}
