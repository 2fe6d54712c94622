package fingerprint_test

import (
	"encoding/json"
	"testing"

	"cairn.dev/cairn/internal/engine/plan/fingerprint"
)

// shapeOf returns the shape of a plan; empty for none.
func shapeOf(t *testing.T, plan []byte) string {
	t.Helper()
	what, err := fingerprint.Read(plan)
	if err != nil {
		t.Fatal(err)
	}
	text, ok, err := what.Shape()
	if err != nil || ok == (text == nil) {
		t.Fatalf("%v, %q: %v", ok, text, err)
	}
	return string(text)
}

// inStage is a plan of a stage: its values differ from those of another one.
func inStage(t *testing.T, env string, size int, change func(object)) string {
	t.Helper()
	p := object{
		"format_version": "1.2", "complete": true,
		"configuration": object{
			"provider_config": object{
				"aws": object{"name": "aws", "expressions": object{"region": object{"constant_value": env}}}},
			"root_module": object{"resources": []any{object{
				"address": "aws_vpc.main", "provisioners": []any{object{"type": "local-exec"}},
			}}},
		},
		"resource_changes": []any{
			object{"address": "aws_vpc.main", "type": "aws_vpc", "provider_name": "aws", "change": object{
				"actions": []any{"update"},
				"before": object{"size": size, "name": env, "gone": env, "tags": object{"env": env},
					"rules": []any{1, 2}},
				"after": object{"size": size + 1, "name": env, "tags": object{"env": env, "team": env},
					"rules": []any{1, size}},
				"after_unknown": object{"id": true, "rules": []any{false, false}},
			}},
			object{"address": "aws_vpc.new", "type": "aws_vpc", "provider_name": "aws", "change": object{
				"actions": []any{"create"}, "after": object{"name": env, "empty": nil}, "importing": object{"id": env},
			}},
		},
		"output_changes": object{"vpc": object{"actions": []any{"update"}, "before": env, "after": env + "2"}},
		"action_invocations": []any{object{"address": "action.call", "type": "call",
			"config_values": object{"name": env}}},
	}
	change(p)
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return shapeOf(t, data)
}

// resource is a change of the plan of a stage.
func resource(p object, i int) object { return p["resource_changes"].([]any)[i].(object) }

func changeOf(p object, i int) object { return resource(p, i)["change"].(object) }

func TestShapesOfPlans(t *testing.T) {
	want := inStage(t, "staging", 1, func(object) {})
	if want == "" || inStage(t, "production", 7, func(object) {}) != want {
		t.Fatal("other values are another shape")
	}
	for name, test := range map[string]struct {
		change func(object)
		want   string
	}{
		"another address": {func(p object) { resource(p, 0)["address"] = "aws_vpc.other" }, "other"},
		"a resource more": {func(p object) {
			p["resource_changes"] = append(p["resource_changes"].([]any), resource(p, 1))
		}, "other"},
		"a move":                  {func(p object) { resource(p, 0)["previous_address"] = "aws_vpc.old" }, "other"},
		"another provider":        {func(p object) { resource(p, 0)["provider_name"] = "fake" }, "other"},
		"another action":          {func(p object) { changeOf(p, 1)["actions"] = []any{"read"} }, "other"},
		"no import":               {func(p object) { delete(changeOf(p, 1), "importing") }, "other"},
		"another attribute":       {func(p object) { changeOf(p, 0)["after"].(object)["name"] = "x" }, "other"},
		"an attribute that stays": {func(p object) { changeOf(p, 0)["after"].(object)["size"] = 7 }, "other"},
		"an attribute is removed": {func(p object) { delete(changeOf(p, 0)["after"].(object), "size") }, "other"},
		"an attribute is set":     {func(p object) { changeOf(p, 0)["after"].(object)["gone"] = "x" }, "other"},
		"an unknown attribute": {func(p object) {
			delete(changeOf(p, 0)["after"].(object), "size")
			changeOf(p, 0)["after_unknown"].(object)["size"] = true
		}, "other"},
		"an element of a map": {func(p object) {
			changeOf(p, 0)["after"].(object)["tags"].(object)["env"] = "x"
		}, "other"},
		"a key of a map": {func(p object) {
			changeOf(p, 0)["after"].(object)["tags"].(object)["more"] = "x"
		}, "other"},
		"an element of a list": {func(p object) { changeOf(p, 0)["after"].(object)["rules"].([]any)[0] = 5 }, "other"},
		"a longer list": {func(p object) {
			changeOf(p, 0)["after"].(object)["rules"] = []any{1, 9, 3}
		}, "other"},
		"a list that was a map": {func(p object) { changeOf(p, 0)["after"].(object)["tags"] = []any{1} }, "other"},
		"a sensitive attribute": {func(p object) { changeOf(p, 0)["after_sensitive"] = object{"size": true} }, "other"},
		"another output": {func(p object) {
			p["output_changes"].(object)["other"] = p["output_changes"].(object)["vpc"]
		}, "other"},
		"another provisioner": {func(p object) {
			root := p["configuration"].(object)["root_module"].(object)
			root["resources"].([]any)[0].(object)["provisioners"] = []any{object{"type": "remote-exec"}}
		}, "other"},
		"another call": {func(p object) {
			p["action_invocations"].([]any)[0].(object)["address"] = "action.other"
		}, "other"},
		"another argument of it": {func(p object) {
			p["action_invocations"].([]any)[0].(object)["config_values"] = object{"force": true}
		}, "other"},
		"a deletion":               {func(p object) { changeOf(p, 0)["actions"] = []any{"delete"} }, "none"},
		"a replacement":            {func(p object) { changeOf(p, 0)["actions"] = []any{"delete", "create"} }, "none"},
		"a replacement, the other": {func(p object) { changeOf(p, 0)["actions"] = []any{"create", "delete"} }, "none"},
		"a forgotten resource":     {func(p object) { changeOf(p, 0)["actions"] = []any{"forget"} }, "none"},
		"a deposed object":         {func(p object) { resource(p, 0)["deposed"] = "byebye" }, "none"},
		"generated code":           {func(p object) { changeOf(p, 1)["generated_config"] = "resource {}" }, "none"},
		"a deleted output": {func(p object) {
			p["output_changes"].(object)["vpc"].(object)["actions"] = []any{"delete"}
		}, "none"},
		"a partial plan": {func(p object) { p["complete"] = false }, "none"},
		"a deferred change": {func(p object) {
			p["deferred_changes"] = []any{object{"reason": "unknown", "resource_change": object{
				"address": "test.later", "change": object{"actions": []any{"create"}},
			}}}
		}, "none"},
	} {
		got := "other"
		switch inStage(t, "production", 7, test.change) {
		case want:
			got = "same"
		case "":
			got = "none"
		}
		if got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestShapesOfRecordedPlans checks that plans of real engines have the shapes that their changes allow.
func TestShapesOfRecordedPlans(t *testing.T) {
	shapes := 0
	for name, plan := range recorded(t) {
		what, err := fingerprint.Read(plan)
		if err != nil {
			continue
		}
		_, ok, err := what.Shape()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		harmless := true
		changes, _ := decoded(t, plan)["resource_changes"].([]any)
		for _, r := range changes {
			for _, action := range r.(object)["change"].(object)["actions"].([]any) {
				harmless = harmless && action != "delete" && action != "forget"
			}
		}
		if ok && !harmless {
			t.Errorf("%s: it deletes something, and has a shape", name)
		}
		if ok {
			shapes++
		}
	}
	if shapes < 3 {
		t.Errorf("only %d recordings have a shape", shapes)
	}
}
