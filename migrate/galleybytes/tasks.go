package galleybytes

import (
	"cmp"
	"slices"
	"strings"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/migrate/convert/manifest"
)

// A task of the operator is a step of its workflow. Those before and after init, plan and apply are hooks; the same
// with -delete are those of a destroy.
var taskHooks = map[string]v1alpha1.Hook{
	"preinit": {Step: "init", When: v1alpha1.HookBefore}, "postinit": {Step: "init", When: v1alpha1.HookAfter},
	"preplan": {Step: "plan", When: v1alpha1.HookBefore}, "postplan": {Step: "plan", When: v1alpha1.HookAfter},
	"preapply": {Step: "apply", When: v1alpha1.HookBefore}, "postapply": {Step: "apply", When: v1alpha1.HookAfter},
}

// tasks are options of tasks' pods. Cairn has one pod for them all, so what is for some tasks is for all now.
func (g *terraform) tasks() {
	for _, f := range g.At("spec", "taskOptions").Items() {
		tasks := f.At("for").Texts()
		all := slices.Contains(tasks, "*")
		if all {
			f.At("for").Became("the whole Run")
		} else {
			f.At("for").Became("see the notes on each script; variables and volumes are for the whole Run now, not " +
				"for these tasks alone")
		}
		f.At("policyRules").Unsupported("a runner may do nothing in Kubernetes; grant rights to a ServiceAccount " +
			"whose token the code has from a Secret")
		g.r.AddMetadata(f.At("labels"), f.At("annotations"))
		g.r.AddEnvironment(f.At("env"))
		g.r.AddEnvironmentFrom(f.At("envFrom"))
		f.At("resources").Ignored("nothing reads it: write spec.runner.resources")
		f.At("restartPolicy").NotNeeded("a pod is not restarted; failures for a passing reason are tried again " +
			"(spec.retry)")
		g.r.AddVolumes(f.At("volumes"))
		if mounts := f.At("volumeMounts"); mounts.Exists() {
			g.r.AddToContainer(mounts, "volumeMounts")
		}
		g.script(f.At("script"), tasks)
	}
}

// script is what a task runs in place of what the operator's does: inline wins over a ConfigMap, that over a URL.
func (g *terraform) script(f manifest.Field, tasks []string) {
	inline, selector, source := f.At("inline"), f.At("configMapSelector"), f.At("source")
	command := v1alpha1.Command{}
	var at manifest.Field
	switch {
	case inline.Text() != "":
		at, command.Script = inline, inline.Text()
		selector.Ignored("the inline script wins over it")
		source.Ignored("the inline script wins over it")
	case selector.At("name").Text() != "" && selector.At("key").Text() != "":
		at, command.ConfigMap = selector, &v1alpha1.KeyRef{Name: selector.At("name").Text(),
			Key: selector.At("key").Text()}
		source.Ignored("the script of the ConfigMap wins over it")
	case source.Exists():
		source.Unsupported("a script from a URL is not run: put it into a ConfigMap and name it in spec.hooks, for %s",
			strings.Join(tasks, ", "))
		return
	default:
		selector.Ignored("without a name and a key nothing is run")
		inline.Ignored("it is empty")
		return
	}
	said := false
	for _, task := range tasks {
		said = g.task(at, task, command) || said
	}
	if !said {
		at.Ignored("a script for * runs nowhere")
	}
}

// task adds a hook or a command for a script; false for one that runs nowhere.
func (g *terraform) task(at manifest.Field, task string, command v1alpha1.Command) bool {
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
		at.Became("spec.commands.apply: the script of task apply; the approved plan is at CAIRN_PLAN_FILE")
	case task == "apply-delete":
		g.commands().Destroy = &command
		at.Became("spec.commands.destroy: the script of task apply-delete")
	default:
		at.Unsupported("task %s: only apply and destroy may be scripts of one's own (spec.commands); hooks run "+
			"before and after the others", task)
		return true
	}
	at.ToDo("the script runs beside the code now, as user 65532 in the runner's image; the operator's variables " +
		"(TFO_...) do not exist: " + version.Docs + "how-to/hooks.md#environment-variables lists Cairn's")
	return true
}

// hook adds a hook. One for tasks of applies runs for destroys too, unless it checks the operation.
func (g *terraform) hook(at manifest.Field, task string, hook v1alpha1.Hook, destroys bool) {
	other := "Destroy"
	if destroys {
		at.Became("spec.hooks %s %s: the script of task %s", strings.ToLower(string(hook.When)), hook.Step, task)
		at.ToDo("hooks run for applies and destroys: this one was for destroys alone; let it end at once unless "+
			"CAIRN_OPERATION is %s", other)
	} else {
		at.Became("spec.hooks %s %s: the script of task %s", strings.ToLower(string(hook.When)), hook.Step, task)
		at.ToDo("hooks run for applies and destroys: this one was not for destroys; let it end at once if "+
			"CAIRN_OPERATION is %s and that matters", other)
	}
	g.s.Hooks = append(g.s.Hooks, hook)
}

func (g *terraform) commands() *v1alpha1.Commands {
	if g.s.Commands == nil {
		g.s.Commands = &v1alpha1.Commands{}
	}
	return g.s.Commands
}

// images are those of the three classes of tasks. The engine is downloaded, so that an image needs no version in its
// tag.
func (g *terraform) images() {
	images := g.At("spec", "images")
	if image := images.At("terraform", "image"); image.Text() != "" {
		g.ownImage(image, cmp.Or(g.At("spec", "terraformVersion").Text(), "latest"))
	}
	if policy := images.At("terraform", "imagePullPolicy"); policy.Exists() {
		g.r.AddToContainer(policy, "imagePullPolicy")
	}
	for _, class := range []string{"script", "setup"} {
		images.At(class).Unsupported("scripts run in the runner's image: what they call has to be in spec.runner.image")
	}
}

// ownImage is the image of the operator's terraform tasks, whose tag is the engine's version.
func (g *terraform) ownImage(image manifest.Field, version string) {
	name := image.Text()
	if i := strings.LastIndex(name, ":"); i > strings.LastIndex(name, "/") {
		name = name[:i]
	}
	g.r.Image = name + ":" + version
	image.Became("spec.runner.image %s; nothing of the operator needs to be in it", g.r.Image)
}

// noteOthers speaks of what has no place in a Stack.
func (g *terraform) noteOthers() {
	spec := g.At("spec")
	spec.At("keepLatestPodsOnly").NotNeeded("pods go when their Run has ended; logs and plans stay, for " +
		"spec.runHistoryLimit Runs")
	spec.At("keepCompletedPods").NotNeeded("pods go when their Run has ended; logs and plans stay, for " +
		"spec.runHistoryLimit Runs")
	spec.At("persistentVolumeSize").NotNeeded("there is no volume: what is kept is in the bucket")
	spec.At("storageClassName").NotNeeded("there is no volume: what is kept is in the bucket")
	spec.At("setup", "cleanupDisk").NotNeeded("each pod begins with an empty folder")
	spec.At("cleanupDisk").NotNeeded("each pod begins with an empty folder")
	for _, f := range spec.At("plugins").Fields() {
		f.Unsupported("pods beside a Run are not supported: a sidecar is an init container with restartPolicy Always " +
			"in spec.runner.template, a script a hook")
	}
}
