package fingerprint_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cairn.dev/cairn/dev/tools"
	"cairn.dev/cairn/internal/engine/plan/fingerprint"
)

type object = map[string]any

// recorded are plans of real engines.
func recorded(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("../testdata/*.json")
	if err != nil || len(files) < 10 {
		t.Fatalf("there are %d recordings: %v", len(files), err)
	}
	plans := map[string][]byte{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		plans[strings.TrimSuffix(filepath.Base(file), ".json")] = data
	}
	return plans
}

func decoded(t *testing.T, plan []byte) object {
	t.Helper()
	var o object
	decoder := json.NewDecoder(bytes.NewReader(plan))
	decoder.UseNumber()
	if err := decoder.Decode(&o); err != nil {
		t.Fatal(err)
	}
	return o
}

func of(t *testing.T, plan object) (string, error) {
	t.Helper()
	data, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	text, err := fingerprint.Of(data)
	return string(text), err
}

// TestEqualEffectsHaveEqualFingerprints changes what an apply does not depend on.
func TestEqualEffectsHaveEqualFingerprints(t *testing.T) {
	for name, plan := range recorded(t) {
		want, err := fingerprint.Of(plan)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		random := rand.New(rand.NewPCG(1, 2))
		for try := range 20 {
			again := decoded(t, plan)
			changes, _ := again["resource_changes"].([]any)
			for _, c := range changes {
				c.(object)["action_reason"] = fmt.Sprint(try)
				if paths, ok := c.(object)["change"].(object)["replace_paths"].([]any); ok {
					random.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
				}
			}
			changes = append(changes, object{
				"address": fmt.Sprintf("test.unchanged[%d]", try), "mode": "managed", "type": "test",
				"name": "unchanged", "index": try,
				"provider_name": "test", "change": object{"actions": []any{"no-op"}, "before": object{"a": try},
					"after": object{"a": try}},
			})
			random.Shuffle(len(changes), func(i, j int) { changes[i], changes[j] = changes[j], changes[i] })
			again["resource_changes"], again["resource_drift"] = changes, []any{object{"address": "test.drifted"}}
			again["timestamp"], again["terraform_version"] = fmt.Sprint(try), fmt.Sprint(try)
			again["variables"] = object{"unused": object{"value": try}}
			delete(again, "prior_state")
			delete(again, "planned_values")
			if got, err := of(t, again); err != nil || got != string(want) {
				t.Fatalf("%s: the fingerprint changed (%v)\n%s\n%s", name, err, want, got)
			}
		}
	}
}

// The drift counts in a plan whose apply writes it to the state, so it has no fingerprint.
func TestAPlanWithRefreshOnlyHasNoFingerprint(t *testing.T) {
	plan := []byte(`{"format_version":"1.2","refresh_only":true,"resource_drift":[],"resource_changes":[],"configuration":{}}`)
	if _, err := fingerprint.Of(plan); !errors.Is(err, fingerprint.ErrNone) {
		t.Error(err)
	}
	if _, err := fingerprint.Of(bytes.Replace(plan, []byte(`"refresh_only":true,`), nil, 1)); err != nil {
		t.Error(err)
	}
}

// counted calls do for each value of a plan that an apply depends on, with a function that replaces it.
func counted(plan object, do func(path string, value any, replace func(any))) {
	for _, list := range []string{"resource_changes", "deferred_changes", "action_invocations"} {
		elements, _ := plan[list].([]any)
		for _, e := range elements {
			change, _ := e.(object)["change"].(object)
			if change != nil && fmt.Sprint(change["actions"]) == "[no-op]" && change["importing"] == nil &&
				e.(object)["previous_address"] == nil {
				continue
			}
			walk(list, e, nil, do)
		}
	}
	outputs, _ := plan["output_changes"].(object)
	for name, o := range outputs {
		if fmt.Sprint(o.(object)["actions"]) != "[no-op]" {
			walk("output "+name, o, nil, do)
		}
	}
	configuration, _ := plan["configuration"].(object)
	walk("provider_config", configuration["provider_config"], nil, do)
	provisioners(configuration["root_module"], do)
}

func provisioners(of any, do func(string, any, func(any))) {
	module, _ := of.(object)
	resources, _ := module["resources"].([]any)
	for _, r := range resources {
		walk("provisioners", r.(object)["provisioners"], nil, do)
	}
	calls, _ := module["module_calls"].(object)
	for _, c := range calls {
		provisioners(c.(object)["module"], do)
	}
}

func walk(path string, value any, replace func(any), do func(string, any, func(any))) {
	switch value := value.(type) {
	case object:
		for name, member := range value {
			if name != "module_address" && name != "action_reason" {
				walk(path+"."+name, member, func(other any) { value[name] = other }, do)
			}
		}
	case []any:
		for i, element := range value {
			walk(fmt.Sprintf("%s[%d]", path, i), element, func(other any) { value[i] = other }, do)
		}
	default:
		if replace != nil {
			do(path, value, replace)
		}
	}
}

// TestAnotherEffectIsAnotherFingerprint replaces each value that an apply depends on by another, one after the other.
func TestAnotherEffectIsAnotherFingerprint(t *testing.T) {
	n := 0
	for name, data := range recorded(t) {
		plan := decoded(t, data)
		want, err := of(t, plan)
		if err != nil {
			t.Fatal(err)
		}
		counted(plan, func(path string, value any, replace func(any)) {
			for _, other := range []any{"another", nil, true, json.Number("7")} {
				if other == value || strings.HasSuffix(path, ".previous_address") && other == nil {
					continue
				}
				replace(other)
				if got, err := of(t, decoded(t, encoded(t, plan))); err == nil && got == want {
					t.Errorf("%s: the fingerprint is the same with %v at %s in place of %v", name, other, path, value)
				}
				n++
			}
			replace(value)
		})
	}
	if n < 1000 {
		t.Errorf("the recordings have only %d values to replace", n)
	}
}

func encoded(t *testing.T, plan object) []byte {
	t.Helper()
	data, err := json.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestValuesOfProvidersCount: what a provider or a provisioner gets decides where and how a change is applied.
func TestValuesOfProvidersCount(t *testing.T) {
	of := func(change func(plan, config object)) string {
		t.Helper()
		plan := decoded(t, recorded(t)["replace"])
		change(plan, plan["configuration"].(object))
		text, err := of(t, plan)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	refer := func(names ...any) any {
		if len(names) == 0 {
			return object{"region": object{"constant_value": "eu"}}
		}
		return object{"region": object{"references": names}}
	}
	provider := func(module string, names ...any) func(object) {
		p := object{"name": "test", "expressions": refer(names...)}
		if module != "" {
			p["module_address"] = module
		}
		return func(config object) { config["provider_config"] = object{"test": p} }
	}
	provisioner := func(names ...any) func(object) {
		return func(config object) {
			config["root_module"].(object)["resources"].([]any)[0].(object)["provisioners"] = []any{
				object{"type": "local-exec", "expressions": refer(names...)},
			}
		}
	}
	argument := func(config object) {
		config["provider_config"] = object{
			"test": object{"name": "test", "expressions": object{"references": object{}}}}
	}
	for name, test := range map[string]struct {
		refers          func(config object)
		variables, read bool
	}{
		"constants":              {provider(""), false, false},
		"a variable":             {provider("", "var.region"), true, false},
		"a variable of a module": {provider("module.a", "var.region"), true, true},
		"a data source": {provider("", "var.region", "data.test.a.region", "data.test.a"),
			true, true},
		"a local value":                        {provider("", "local.region"), true, true},
		"a path":                               {provider("", "path.module"), false, false},
		"a provisioner of its own resource":    {provisioner("self.id", "self"), false, false},
		"a provisioner of a variable":          {provisioner("var.region"), true, false},
		"a provisioner of another resource":    {provisioner("terraform_data.b.id"), true, true},
		"an argument with the name references": {argument, true, true},
	} {
		want := of(func(_, config object) { test.refers(config) })
		variables := of(func(plan, config object) {
			test.refers(config)
			plan["variables"] = object{"region": object{"value": "another"}}
		})
		read := of(func(plan, config object) {
			test.refers(config)
			plan["prior_state"] = object{"values": object{}}
		})
		if (variables != want) != test.variables || (read != want) != test.read {
			t.Errorf("%s: the variables count: %v, and what the plan read: %v", name, variables != want, read != want)
		}
	}
}

func TestRecordedPlansDiffer(t *testing.T) {
	seen := map[string]string{}
	for name, plan := range recorded(t) {
		text, err := fingerprint.Of(plan)
		if err != nil {
			t.Fatal(err)
		}
		if other, ok := seen[string(text)]; ok {
			t.Errorf("%s and %s have one fingerprint", name, other)
		}
		seen[string(text)] = name
	}
}

// What a newer engine adds may change what is done: such a plan is compared with no other.
func TestUnknownMemberHasNoFingerprint(t *testing.T) {
	plan := recorded(t)["replace"]
	for name, change := range map[string]func(object){
		"a member of the plan":   func(o object) { o["future"] = object{} },
		"a member of a resource": func(o object) { o["resource_changes"].([]any)[0].(object)["future"] = 1 },
		"a member of a change": func(o object) {
			o["resource_changes"].([]any)[0].(object)["change"].(object)["future"] = 1
		},
		"a member of an output": func(o object) {
			o["output_changes"] = object{"a": object{"actions": []any{"create"}, "future": 1}}
		},
		"a member of an action":         func(o object) { o["action_invocations"] = []any{object{"future": 1}} },
		"a member of a deferred change": func(o object) { o["deferred_changes"] = []any{object{"future": 1}} },
		"a resource of deferred changes": func(o object) {
			o["deferred_changes"] = []any{object{"resource_change": object{"future": 1}}}
		},
		"another format": func(o object) { o["format_version"] = "2.0" },
		"a failed plan":  func(o object) { o["errored"] = true },
		"a change without actions": func(o object) {
			o["resource_changes"].([]any)[0].(object)["change"] = object{}
		},
		"a resource without a change": func(o object) { delete(o["resource_changes"].([]any)[0].(object), "change") },
	} {
		o := decoded(t, plan)
		change(o)
		if text, err := of(t, o); !errors.Is(err, fingerprint.ErrNone) {
			t.Errorf("%s: %v, %s", name, err, text)
		}
	}
	for _, bad := range []string{"", "[]", `{"resource_changes":{}}`, `{"output_changes":[]}`,
		`{"resource_changes":[`} {
		if _, err := fingerprint.Of([]byte(bad)); err == nil {
			t.Errorf("%q has a fingerprint", bad)
		}
	}
}

// TestFingerprintsOfEngines plans real code twice: the plans differ in their time, and do the same.
func TestFingerprintsOfEngines(t *testing.T) {
	const code = `variable "size" {}
resource "terraform_data" "disk" {
  for_each = toset(["a", "b", "c"])
  input    = "${each.key}-${var.size}"
  provisioner "local-exec" { command = "COMMAND" }
}
output "disks" { value = terraform_data.disk }
`
	bin, err := tools.Dir()
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"tofu", "terraform"} {
		plan := func(size, command string) string {
			t.Helper()
			dir := t.TempDir()
			if err := os.WriteFile(dir+"/main.tf", []byte(strings.Replace(code, "COMMAND", command, 1)),
				0o600); err != nil {
				t.Fatal(err)
			}
			var out []byte
			for _, args := range [][]string{{"init"}, {"plan", "-out=plan", "-var=size=" + size},
				{"show", "-json", "plan"}} {
				cmd := exec.Command(filepath.Join(bin, engine), args...)
				cmd.Dir, cmd.Env = dir, []string{"HOME=" + dir, "CHECKPOINT_DISABLE=1", "PATH=" + os.Getenv("PATH")}
				if out, err = cmd.CombinedOutput(); err != nil {
					t.Fatalf("%s %s: %v\n%s", engine, args, err, out)
				}
			}
			text, err := fingerprint.Of(out)
			if err != nil {
				t.Fatalf("%s: %v", engine, err)
			}
			return string(text)
		}
		first := plan("1", "true")
		if again := plan("1", "true"); again != first {
			t.Errorf("%s: two equal plans differ:\n%s\n%s", engine, first, again)
		}
		if slices.Contains([]string{plan("2", "true"), plan("1", "false")}, first) {
			t.Errorf("%s: another value or another provisioner has the same fingerprint", engine)
		}
	}
}
