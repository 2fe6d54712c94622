package burrito

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/migrate/convert"
	"cairn.dev/cairn/migrate/convert/manifest"
	"cairn.dev/cairn/migrate/pod"
	"cairn.dev/cairn/migrate/states"
)

// runner shapes the pod: of some settings the layer's win whole, others are laid over those of the repository, item by
// item.
func (l layerSettings) runner(o *convert.Object, s *v1alpha1.StackSpec) {
	var r pod.Runner
	at := func(name string) manifest.Field { return l.pick("overrideRunnerSpec", name) }
	both := func(name string) []manifest.Field {
		var fields []manifest.Field
		if l.repo.Object != nil {
			fields = append(fields, l.repo.At("overrideRunnerSpec", name))
		}
		return append(fields, l.layer.At("overrideRunnerSpec", name))
	}
	r.Image = at("image").Text()
	at("image").Became("spec.runner.image; nothing of burrito needs to be in it")
	r.ServiceAccountName = at("serviceAccountName").Text()
	at("serviceAccountName").Became("spec.runner.serviceAccountName")
	if r.ServiceAccountName == "" {
		r.ServiceAccountName = "burrito-runner"
		o.Note(manifest.Became, "spec.overrideRunnerSpec.serviceAccountName",
			"spec.runner.serviceAccountName burrito-runner, as burrito's default: clouds may know the runner by it. "+
				"It goes with burrito's chart: create one of your own before you uninstall that")
	}
	for _, name := range []string{"tolerations", "affinity"} {
		if at(name).Exists() {
			r.AddToPod(at(name), name)
		}
	}
	for _, f := range both("nodeSelector") {
		if f.Exists() {
			r.AddToPod(f, "nodeSelector")
		}
	}
	if at("imagePullPolicy").Exists() {
		r.AddToContainer(at("imagePullPolicy"), "imagePullPolicy")
	}
	for _, name := range []string{"imagePullSecrets", "volumes", "initContainers"} {
		l.byName(&r, name, both(name))
	}
	mounts := both("volumeMounts")
	if len(mounts) == 2 {
		mounts[0].Value = withoutNames(mounts[0], mounts[1])
	}
	for _, f := range mounts {
		if f.Exists() {
			r.AddToContainer(f, "volumeMounts")
		}
	}
	for _, f := range both("metadata") {
		r.AddMetadata(f.At("labels"), f.At("annotations"))
	}
	for _, f := range both("resources") {
		r.AddResources(f)
	}
	for _, f := range both("envFrom") {
		r.AddEnvironmentFrom(f)
	}
	r.AddEnvironment(at("env"))
	if first := l.repo; first.Object != nil && l.layer.At("overrideRunnerSpec", "env").Exists() &&
		first.At("overrideRunnerSpec", "env").Exists() {
		l.layer.At("overrideRunnerSpec", "env").Became("spec.env; those of the repository are not in it, as with " +
			"burrito, where the layer's replace them all")
	}
	for _, name := range []string{"command", "args"} {
		at(name).Unsupported("what runs in the pod is Cairn's; hooks and commands run scripts (" + version.Docs +
			"how-to/hooks.md)")
	}
	for _, name := range []string{"extraInitArgs", "extraPlanArgs", "extraApplyArgs"} {
		l.arguments(at(name), s)
	}
	r.Apply(s)
}

// byName takes lists over whose items have names: the layer's in place of the repository's of the same name.
func (l layerSettings) byName(r *pod.Runner, name string, both []manifest.Field) {
	if len(both) == 2 {
		both[0].Value = withoutNames(both[0], both[1])
	}
	for _, f := range both {
		switch {
		case !f.Exists():
		case name == "volumes":
			r.AddVolumes(f)
		default:
			r.AddToPod(f, name)
		}
	}
}

// withoutNames is a list without the items whose name is in the other; nil when nothing is left.
func withoutNames(list, other manifest.Field) any {
	var names []string
	for _, item := range other.Items() {
		names = append(names, item.At("name").Text())
	}
	var left []any
	for _, item := range list.Items() {
		if !slices.Contains(names, item.At("name").Text()) {
			left = append(left, item.Value)
		}
	}
	if left == nil {
		return nil
	}
	return left
}

// arguments are additional arguments of the engine. Some of them are other fields of a Stack.
func (l layerSettings) arguments(f manifest.Field, s *v1alpha1.StackSpec) {
	for _, item := range f.Items() {
		// They are joined into one variable with spaces between, which the engine takes apart as a shell does.
		arguments, whole := words(item.Text())
		if !whole {
			item.Unsupported("a quote in it does not end: check what the engine received, and set it in " +
				"spec.backend.config or spec.variableFiles")
			continue
		}
		for _, argument := range arguments {
			name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(argument, "-"), "-"), "=")
			key, given, pair := strings.Cut(value, "=")
			switch {
			case name == "var-file" && value != "":
				in, err := convert.PathInRepository(path.Join(s.Source.Git.Path, value))
				if err != nil || path.Ext(strings.TrimSuffix(in, ".json")) != ".tfvars" {
					item.Unsupported("%s: put the values into spec.variables, or into a file of the repository that "+
						"ends in .tfvars", argument)
					continue
				}
				file := v1alpha1.VariableFile{Path: in}
				if !slices.Contains(s.VariableFiles, file) {
					s.VariableFiles = append(s.VariableFiles, file)
				}
				item.Became("spec.variableFiles path %s", in)
			case name == "backend-config" && pair && !states.SecretArgument.MatchString(key):
				p := convert.Backend{Backend: *s.Backend}
				p.Set(key, given)
				s.Backend.Config = p.Config
				item.Became("spec.backend.config %s", key)
			case name == "backend-config":
				item.ToDo("%s: write the arguments into spec.backend.config, and secret ones into a Secret for "+
					"spec.backend.configFrom", key)
			case name == "upgrade" || name == "no-color" || name == "input" || name == "reconfigure":
				item.NotNeeded("-%s: Cairn runs the engine as is right for it, with the lock file of the code", name)
			default:
				item.Unsupported("-%s: arguments of the engine are Cairn's own, so that what was approved is "+
					"what is applied", name)
			}
		}
	}
}

// words takes a text apart where a shell would, and takes its quotes off; whole is false when one does not end.
func words(text string) (all []string, whole bool) {
	var word strings.Builder
	var quoted rune
	begun, escaped := false, false
	for _, r := range text {
		switch {
		case escaped:
			word.WriteRune(r)
			escaped = false
		case r == '\\' && quoted != '\'':
			begun, escaped = true, true
		case quoted != 0 && r == quoted:
			quoted = 0
		case quoted == 0 && (r == '"' || r == '\''):
			begun, quoted = true, r
		case quoted == 0 && unicode.IsSpace(r):
			if begun {
				all = append(all, word.String())
			}
			word.Reset()
			begun = false
		default:
			begun = true
			word.WriteRune(r)
		}
	}
	if begun {
		all = append(all, word.String())
	}
	return all, quoted == 0 && !escaped
}

// convertWindows are the repository's windows, as far as they are about this layer.
func convertWindows(o *convert.Object, l layerSettings, s *v1alpha1.StackSpec) {
	if l.repo.Object == nil {
		return
	}
	for _, f := range l.repo.At("syncWindows").Items() {
		if !matches(f.At("layers").Texts(), o.Ref.Name) {
			continue
		}
		var operations []v1alpha1.Operation
		for _, action := range f.At("actions").Texts() {
			switch action {
			case "plan":
				operations = append(operations, v1alpha1.OperationPlan)
			case "apply":
				operations = append(operations, v1alpha1.OperationApply)
			}
		}
		if len(operations) == 0 {
			o.Note(manifest.Ignored, f.Path, "of the repository: a window without actions is about nothing there")
			continue
		}
		length, ok := f.At("duration").Duration()
		if !ok || length.Duration <= 0 {
			o.Note(manifest.Ignored, f.Path, "of the repository: its duration cannot be read, and burrito leaves "+
				"such a window out")
			continue
		}
		kind := v1alpha1.WindowDeny
		if f.At("kind").Text() == "allow" {
			kind = v1alpha1.WindowAllow
		}
		slices.Sort(operations)
		s.Windows = append(s.Windows, v1alpha1.Window{
			Kind: kind, Schedule: f.At("schedule").Text(), Duration: length, Operations: slices.Compact(operations),
		})
		o.Note(manifest.Became, f.Path, "spec.windows, from the repository; the time zone is UTC, as that of "+
			"burrito's pod mostly is")
	}
}

// matches returns true if one of the patterns matches a name, as burrito matches layers.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return err == nil && ok
	})
}
