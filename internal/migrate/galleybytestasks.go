package migrate

import (
	"slices"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
)

// A task of the operator is a step of its workflow. Those before and after init, plan and apply are hooks; the same with -delete are those of a destroy.
var taskHooks = map[string]v1alpha1.Hook{
	"preinit": {Step: "init", When: v1alpha1.HookBefore}, "postinit": {Step: "init", When: v1alpha1.HookAfter},
	"preplan": {Step: "plan", When: v1alpha1.HookBefore}, "postplan": {Step: "plan", When: v1alpha1.HookAfter},
	"preapply": {Step: "apply", When: v1alpha1.HookBefore}, "postapply": {Step: "apply", When: v1alpha1.HookAfter},
}

// tasks are options of tasks' pods. Cairn has one pod for them all, so what is for some tasks is for all now.
func (g *galley) tasks() {
	for _, f := range g.at("spec", "taskOptions").items() {
		tasks := f.at("for").texts()
		all := slices.Contains(tasks, "*")
		if all {
			f.at("for").became("the whole Run")
		} else {
			f.at("for").became("what is said of each script; variables and volumes are for the whole Run now, not for these tasks alone")
		}
		f.at("policyRules").cannot("a runner may do nothing in Kubernetes; give rights to an account whose token the code has from a Secret")
		g.r.meta(f.at("labels"), f.at("annotations"))
		g.r.environment(f.at("env"))
		g.r.environmentFrom(f.at("envFrom"))
		f.at("resources").ignored("nothing reads it: write spec.runner.resources")
		f.at("restartPolicy").notNeeded("a pod is not restarted; failures for a passing reason are tried again (spec.retry)")
		g.r.volumes(f.at("volumes"))
		if mounts := f.at("volumeMounts"); mounts.there() {
			g.r.ofEngine(mounts, "volumeMounts")
		}
		g.script(f.at("script"), tasks)
	}
}

// script is what a task runs in place of what the operator's does: inline wins over a ConfigMap, that over a URL.
func (g *galley) script(f field, tasks []string) {
	inline, selector, source := f.at("inline"), f.at("configMapSelector"), f.at("source")
	command := v1alpha1.Command{}
	var at field
	switch {
	case inline.text() != "":
		at, command.Script = inline, inline.text()
		selector.ignored("the inline script wins over it")
		source.ignored("the inline script wins over it")
	case selector.at("name").text() != "" && selector.at("key").text() != "":
		at, command.ConfigMap = selector, &v1alpha1.KeyRef{Name: selector.at("name").text(), Key: selector.at("key").text()}
		source.ignored("the script of the ConfigMap wins over it")
	case source.there():
		source.cannot("a script from a URL is not run: put it into a ConfigMap and name it in spec.hooks, for %s", strings.Join(tasks, ", "))
		return
	default:
		selector.ignored("without a name and a key nothing is run")
		inline.ignored("it is empty")
		return
	}
	said := false
	for _, task := range tasks {
		said = g.task(at, task, command) || said
	}
	if !said {
		at.ignored("a script for * runs nowhere")
	}
}

// task makes a hook or a command of a script; false for one that runs nowhere.
func (g *galley) task(at field, task string, command v1alpha1.Command) bool {
	hook, isHook := taskHooks[strings.TrimSuffix(task, "-delete")]
	destroys := strings.HasSuffix(task, "-delete")
	switch {
	case task == "*":
		return false
	case isHook:
		hook.Script, hook.ConfigMap = command.Script, command.ConfigMap
		g.hook(at, task, hook, destroys)
	case task == "apply":
		g.commands().Apply = &command
		at.became("spec.commands.apply: the script of task apply; the approved plan is at CAIRN_PLAN_FILE")
	case task == "apply-delete":
		g.commands().Destroy = &command
		at.became("spec.commands.destroy: the script of task apply-delete")
	default:
		at.cannot("task %s: only apply and destroy may be scripts of one's own (spec.commands); hooks run before and after the others", task)
		return true
	}
	at.todo("the script runs beside the code now, as user 65532 in the runner's image; what the operator told it (TFO_...) is not there: docs/hooks.md has what is")
	return true
}

// hook adds a hook. One for tasks of applies runs for destroys too, unless it looks.
func (g *galley) hook(at field, task string, hook v1alpha1.Hook, destroys bool) {
	other := "Destroy"
	if destroys {
		at.became("spec.hooks %s %s: the script of task %s", strings.ToLower(string(hook.When)), hook.Step, task)
		at.todo("hooks run for applies and destroys: this one was for destroys alone; let it end at once unless CAIRN_OPERATION is %s", other)
	} else {
		at.became("spec.hooks %s %s: the script of task %s", strings.ToLower(string(hook.When)), hook.Step, task)
		at.todo("hooks run for applies and destroys: this one was not for destroys; let it end at once if CAIRN_OPERATION is %s and that matters", other)
	}
	g.s.Hooks = append(g.s.Hooks, hook)
}

func (g *galley) commands() *v1alpha1.Commands {
	if g.s.Commands == nil {
		g.s.Commands = &v1alpha1.Commands{}
	}
	return g.s.Commands
}

// images are those of the three classes of tasks. The engine is downloaded, so that an image needs no version in its tag.
func (g *galley) images() {
	images := g.at("spec", "images")
	if image := images.at("terraform", "image"); image.text() != "" {
		g.ownImage(image, or(g.at("spec", "terraformVersion").text(), "latest"))
	}
	if policy := images.at("terraform", "imagePullPolicy"); policy.there() {
		g.r.ofEngine(policy, "imagePullPolicy")
	}
	for _, class := range []string{"script", "setup"} {
		images.at(class).cannot("scripts run in the runner's image: what they call has to be in spec.runner.image")
	}
}

// ownImage is the image of the operator's terraform tasks, whose tag is the engine's version.
func (g *galley) ownImage(image field, version string) {
	name := image.text()
	if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
		name = name[:i]
	}
	g.r.Image = name + ":" + version
	image.became("spec.runner.image %s; nothing of the operator needs to be in it", g.r.Image)
}

// rest speaks of what has no place in a Stack.
func (g *galley) rest() {
	spec := g.at("spec")
	spec.at("keepLatestPodsOnly").notNeeded("pods go when their Run has ended; logs and plans stay, for spec.runHistoryLimit Runs")
	spec.at("keepCompletedPods").notNeeded("pods go when their Run has ended; logs and plans stay, for spec.runHistoryLimit Runs")
	spec.at("persistentVolumeSize").notNeeded("there is no volume: what is kept is in the bucket")
	spec.at("storageClassName").notNeeded("there is no volume: what is kept is in the bucket")
	spec.at("setup", "cleanupDisk").notNeeded("each pod begins with an empty folder")
	spec.at("cleanupDisk").notNeeded("each pod begins with an empty folder")
	for _, f := range spec.at("plugins").fields() {
		f.cannot("pods beside a Run are not made: a sidecar is an init container with restartPolicy Always in spec.runner.template, a script a hook")
	}
}
