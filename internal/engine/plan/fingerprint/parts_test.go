package fingerprint_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/engine/plan/fingerprint"
)

// partsOf returns the parts of a plan as a map, as they are stored.
func partsOf(t *testing.T, plan object) map[string]string {
	t.Helper()
	what, err := fingerprint.Read(encoded(t, plan))
	if err != nil {
		t.Fatal(err)
	}
	parts, err := what.Parts()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, p := range parts {
		all[p.Name] += string(p.Text) + "\n"
	}
	return all
}

// TestEachDifferenceOfPlansIsOneOfAPart replaces each value that an apply depends on, in plans of real engines. So what
// voids an approval is always named.
func TestEachDifferenceOfPlansIsOneOfAPart(t *testing.T) {
	n := 0
	for name, data := range recorded(t) {
		plan := decoded(t, data)
		text, err := of(t, plan)
		if err != nil {
			t.Fatal(err)
		}
		before := partsOf(t, plan)
		counted(plan, func(path string, value any, replace func(any)) {
			replace("another")
			defer replace(value)
			if after, err := of(t, plan); err != nil || after == text {
				return
			}
			n++
			names := fingerprint.Differences(before, partsOf(t, plan))
			if len(names) == 0 || len(names) > 2 { // two if the name itself is replaced
				t.Errorf("%s: with another value at %s, the plans differ in %q", name, path, names)
			}
			if list, _, _ := strings.Cut(path, "."); strings.HasPrefix(list, "output ") &&
				!slices.Contains(names, list) {
				t.Errorf("%s: with another value at %s, the plans differ in %q", name, path, names)
			}
		})
		if same := fingerprint.Differences(before, partsOf(t, decoded(t, data))); len(same) > 0 {
			t.Errorf("%s: it differs from itself in %q", name, same)
		}
	}
	if n < 300 {
		t.Errorf("the recordings have only %d values to replace", n)
	}
}

func TestNamesOfParts(t *testing.T) {
	plan := func(change func(object)) object {
		p := object{"format_version": "1.2", "resource_changes": []any{
			object{"address": "test.a", "change": object{"actions": []any{"update"}, "after": object{"v": 1}}},
			object{"address": "test.a", "deposed": "byebye", "change": object{"actions": []any{"delete"}}},
			object{"address": "test.same", "change": object{"actions": []any{"no-op"}}},
		}, "output_changes": object{"vpc": object{"actions": []any{"create"}, "after": "x"}}, "complete": true}
		change(p)
		return p
	}
	before := partsOf(t, plan(func(object) {}))
	for name, test := range map[string]struct {
		change func(object)
		want   []string
	}{
		"nothing": {func(object) {}, nil},
		"an output": {func(p object) { p["output_changes"].(object)["vpc"].(object)["after"] = "y" },
			[]string{"output vpc"}},
		"a value": {func(p object) {
			p["resource_changes"].([]any)[0].(object)["change"].(object)["after"] = object{"v": 2}
		}, []string{"test.a"}},
		"a deposed object less": {func(p object) {
			p["resource_changes"] = p["resource_changes"].([]any)[:1]
		}, []string{"test.a (deposed byebye)"}},
		"another resource": {func(p object) {
			p["resource_changes"].([]any)[2].(object)["change"].(object)["actions"] = []any{"delete"}
		}, []string{"test.same"}},
		"what is left out": {func(p object) { p["complete"] = false }, []string{"parts that the plan leaves out"}},
		"an action": {func(p object) { p["action_invocations"] = []any{object{"address": "action.test.call"}} },
			[]string{"action action.test.call"}},
		"what is deferred": {func(p object) {
			p["deferred_changes"] = []any{object{"reason": "unknown", "resource_change": object{
				"address": "test.later", "change": object{"actions": []any{"create"}},
			}}}
		}, []string{"deferred test.later"}},
		"a provider": {func(p object) {
			p["configuration"] = object{"provider_config": object{"aws": object{"name": "aws"}}}
		}, []string{"provider aws"}},
		"a provisioner": {func(p object) {
			p["configuration"] = object{
				"root_module": object{
					"resources": []any{
						object{"address": "test.a", "provisioners": []any{object{"type": "local-exec"}}}}}}
		}, []string{"provisioners of test.a"}},
	} {
		if diff := cmp.Diff(test.want, fingerprint.Differences(before, partsOf(t, plan(test.change)))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}
