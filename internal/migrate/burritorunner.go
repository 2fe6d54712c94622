package migrate

import (
	"path"
	"slices"
	"strings"
	"unicode"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// runner shapes the pod: of some settings the layer's win whole, others are laid over those of the repository, item by item.
func (l layered) runner(o *object, s *v1alpha1.StackSpec) {
	var r runner
	at := func(name string) field { return l.pick("overrideRunnerSpec", name) }
	both := func(name string) []field {
		var fields []field
		if l.repo.of != nil {
			fields = append(fields, l.repo.at("overrideRunnerSpec", name))
		}
		return append(fields, l.layer.at("overrideRunnerSpec", name))
	}
	r.Image = at("image").text()
	at("image").became("spec.runner.image; nothing of burrito needs to be in it")
	r.ServiceAccountName = at("serviceAccountName").text()
	at("serviceAccountName").became("spec.runner.serviceAccountName")
	if r.ServiceAccountName == "" {
		r.ServiceAccountName = "burrito-runner"
		o.note(Became, "spec.overrideRunnerSpec.serviceAccountName", "spec.runner.serviceAccountName burrito-runner, as burrito's default: clouds may know the runner by it. It goes with burrito's chart: make one of your own before you uninstall that")
	}
	for _, name := range []string{"tolerations", "affinity"} {
		if at(name).there() {
			r.ofPod(at(name), name)
		}
	}
	for _, f := range both("nodeSelector") {
		if f.there() {
			r.ofPod(f, "nodeSelector")
		}
	}
	if at("imagePullPolicy").there() {
		r.ofEngine(at("imagePullPolicy"), "imagePullPolicy")
	}
	for _, name := range []string{"imagePullSecrets", "volumes", "initContainers"} {
		l.byName(&r, name, both(name))
	}
	mounts := both("volumeMounts")
	if len(mounts) == 2 {
		mounts[0].value = withoutNames(mounts[0], mounts[1])
	}
	for _, f := range mounts {
		if f.there() {
			r.ofEngine(f, "volumeMounts")
		}
	}
	for _, f := range both("metadata") {
		r.meta(f.at("labels"), f.at("annotations"))
	}
	for _, f := range both("resources") {
		r.resources(f)
	}
	for _, f := range both("envFrom") {
		r.environmentFrom(f)
	}
	r.environment(at("env"))
	if first := l.repo; first.of != nil && l.layer.at("overrideRunnerSpec", "env").there() && first.at("overrideRunnerSpec", "env").there() {
		l.layer.at("overrideRunnerSpec", "env").became("spec.env; those of the repository are not in it, as with burrito, where the layer's replace them all")
	}
	for _, name := range []string{"command", "args"} {
		at(name).cannot("what runs in the pod is Cairn's; hooks and commands run scripts (docs/hooks.md)")
	}
	for _, name := range []string{"extraInitArgs", "extraPlanArgs", "extraApplyArgs"} {
		l.arguments(at(name), s)
	}
	r.add(s)
}

// byName takes lists over whose items have names: the layer's in place of the repository's of the same name.
func (l layered) byName(r *runner, name string, both []field) {
	if len(both) == 2 {
		both[0].value = withoutNames(both[0], both[1])
	}
	for _, f := range both {
		switch {
		case !f.there():
		case name == "volumes":
			r.volumes(f)
		default:
			r.ofPod(f, name)
		}
	}
}

// withoutNames is a list without the items whose name is in the other; nil when nothing is left.
func withoutNames(list, other field) any {
	var names []string
	for _, item := range other.items() {
		names = append(names, item.at("name").text())
	}
	var left []any
	for _, item := range list.items() {
		if !slices.Contains(names, item.at("name").text()) {
			left = append(left, item.value)
		}
	}
	if left == nil {
		return nil
	}
	return left
}

// arguments are more of the engine's. Some say what a Stack says elsewhere.
func (l layered) arguments(f field, s *v1alpha1.StackSpec) {
	for _, item := range f.items() {
		// They are joined into one variable with spaces between, which the engine takes apart as a shell does.
		arguments, whole := words(item.text())
		if !whole {
			item.cannot("a quote in it does not end: look what the engine was given, and say it in spec.backend.config or spec.variableFiles")
			continue
		}
		for _, argument := range arguments {
			name, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(argument, "-"), "-"), "=")
			key, given, pair := strings.Cut(value, "=")
			switch {
			case name == "var-file" && value != "":
				in, err := inRepository(path.Join(s.Source.Git.Path, value))
				if err != nil || path.Ext(strings.TrimSuffix(in, ".json")) != ".tfvars" {
					item.cannot("%s: put the values into spec.variables, or into a file of the repository that ends in .tfvars", argument)
					continue
				}
				file := v1alpha1.VariableFile{Path: in}
				if !slices.Contains(s.VariableFiles, file) {
					s.VariableFiles = append(s.VariableFiles, file)
				}
				item.became("spec.variableFiles path %s", in)
			case name == "backend-config" && pair && !secretArgument.MatchString(key):
				p := place{Backend: *s.Backend}
				p.text(key, given)
				s.Backend.Config = p.Config
				item.became("spec.backend.config %s", key)
			case name == "backend-config":
				item.todo("%s: write the arguments into spec.backend.config, and secret ones into a Secret for spec.backend.configFrom", key)
			case name == "upgrade" || name == "no-color" || name == "input" || name == "reconfigure":
				item.notNeeded("-%s: Cairn runs the engine as is right for it, with the lock file of the code", name)
			default:
				item.cannot("-%s: arguments of the engine are Cairn's own, so that what was approved is what is applied", name)
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

// burritoWindows are the repository's windows, as far as they are about this layer.
func (c *conversion) burritoWindows(o *object, l layered, s *v1alpha1.StackSpec) {
	if l.repo.of == nil {
		return
	}
	for _, f := range l.repo.at("syncWindows").items() {
		if !matches(f.at("layers").texts(), o.ref.Name) {
			continue
		}
		var operations []v1alpha1.Operation
		for _, action := range f.at("actions").texts() {
			switch action {
			case "plan":
				operations = append(operations, v1alpha1.OperationPlan)
			case "apply":
				operations = append(operations, v1alpha1.OperationApply)
			}
		}
		if len(operations) == 0 {
			o.note(Ignored, f.path, "of the repository: a window without actions is about nothing there")
			continue
		}
		length, ok := duration(f.at("duration"))
		if !ok || length.Duration <= 0 {
			o.note(Ignored, f.path, "of the repository: its duration cannot be read, and burrito leaves such a window out")
			continue
		}
		kind := v1alpha1.WindowDeny
		if f.at("kind").text() == "allow" {
			kind = v1alpha1.WindowAllow
		}
		slices.Sort(operations)
		s.Windows = append(s.Windows, v1alpha1.Window{
			Kind: kind, Schedule: f.at("schedule").text(), Duration: length, Operations: slices.Compact(operations),
		})
		o.note(Became, f.path, "spec.windows, from the repository; the time zone is UTC, as that of burrito's pod mostly is")
	}
}

// matches says whether one of the patterns is about a name, as burrito matches layers.
func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return err == nil && ok
	})
}

// duration is the value of a duration; ok is false when it is none.
func duration(f field) (metav1.Duration, bool) {
	var d metav1.Duration
	if !f.there() {
		return d, false
	}
	if err := d.UnmarshalJSON([]byte(`"` + strings.Map(plainCharacter, f.text()) + `"`)); err != nil {
		return d, false
	}
	return d, true
}

// plainCharacter keeps what would end a string of JSON out of it.
func plainCharacter(r rune) rune {
	if r == '"' || r == '\\' || r < ' ' {
		return '?'
	}
	return r
}
