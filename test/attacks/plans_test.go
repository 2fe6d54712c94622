package attacks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/plan"
	"cairn.dev/cairn/internal/engine/plan/planfile"
	"cairn.dev/cairn/internal/engine/plan/planfile/planfiletest"
	"cairn.dev/cairn/internal/engine/policy"
	"cairn.dev/cairn/internal/engine/redact"
)

// deletion is a plan that destroys a database, beside a change.
var deletion = planfiletest.Plan{
	{Address: "aws_db.main", Action: planfiletest.Delete, Before: map[string]any{"name": "main"}},
	{Address: "aws_tag.a", Action: planfiletest.Update, Before: map[string]any{"v": "a"},
		After: map[string]any{"v": "b"}},
}

// noDeletion is a policy that denies to destroy a database.
const noDeletion = `package main
import rego.v1
deny contains r.address if {
	some r in input.resource_changes
	r.type == "aws_db"
	"delete" in r.change.actions
}`

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// denies reports whether a policy denies a plan.
func denies(t *testing.T, rule string, document []byte) bool {
	t.Helper()
	set, err := policy.Compile([]policy.Module{{Name: "rules/a.rego", Text: rule}})
	must(t, err)
	result, err := set.Check(t.Context(), document, func(string) {})
	must(t, err)
	return result.Denied() > 0
}

// Two bytes in a change make it a no-op for a reader that ignores the types of fields; the engine deletes.
func TestHiddenDeletionIsUnverified(t *testing.T) {
	raw := deletion.Message(t)
	change := planfiletest.Message(planfiletest.Number(nil, 1, planfiletest.Delete), 2,
		planfiletest.Message(nil, 1, []byte("\x81\xa4name\xa4main")))
	hidden := bytes.Replace(raw, append([]byte{byte(len(change))}, change...),
		append(append([]byte{byte(len(change) + 2)}, change...), 0x0a, 0), 1)
	size := bytes.IndexByte(hidden, 0x1a) + 1 // of the resource, which is the first with a change
	hidden[size] += 2
	if len(hidden) != len(raw)+2 {
		t.Fatalf("the bytes are not in the plan: %x", hidden)
	}
	_, err := planfile.Read(planfiletest.Zip(t, hidden))
	if !errors.Is(err, planfile.ErrUnreadable) || !strings.Contains(err.Error(), "field 1 of Change has another type") {
		t.Error(err)
	}
}

// encoding/json takes names in other letters for those of a struct, and the last one; policies do not.
func TestPoliciesReadWhatWasCompared(t *testing.T) {
	file, err := planfile.Read(deletion.File(t))
	must(t, err)
	for name, change := range map[string][2]string{
		"a list in other letters":        {`"resource_changes":[`, `"resource_changes":[],"RESOURCE_CHANGES":[`},
		"an empty list behind the list":  {`"terraform_version"`, `"resource_changes":[],"terraform_version"`},
		"actions in other letters":       {`"actions":["delete"]`, `"actions":["no-op"],"action\u017f":["delete"]`},
		"actions twice":                  {`"actions":["delete"]`, `"actions":["delete"],"actions":["no-op"]`},
		"a list in other letters beside": {`"resource_changes":[`, `"Resource_changes":[],"resource_changes":[`},
	} {
		t.Run(name, func(t *testing.T) {
			document, err := file.Document(bytes.Replace(deletion.JSON(t), []byte(change[0]), []byte(change[1]), 1))
			if differs := (*planfile.Mismatch)(nil); err != nil && !errors.As(err, &differs) {
				t.Fatal(err)
			} else if err == nil && !denies(t, noDeletion, document) {
				t.Errorf("the policy does not see the deletion in %s", document)
			}
		})
	}
}

// An output that is marked as sensitive has the word as its value for which a rule searches; and a value is marked
// itself.
func TestSensitiveValuesHideNothingFromPolicies(t *testing.T) {
	shown := bytes.Replace(deletion.JSON(t), []byte(`"after_unknown"`),
		[]byte(`"before_sensitive":{"name":true},"after_unknown"`), 1)
	file, err := planfile.Read(deletion.File(t))
	must(t, err)
	document, err := file.Document(shown)
	must(t, err)
	byValue := strings.Replace(noDeletion, `r.type == "aws_db"`, `r.change.before.name == "main"`, 1)
	if !denies(t, noDeletion, document) || !denies(t, byValue, document) {
		t.Errorf("a rule was evaded: %s", document)
	}
	secrets := redact.New()
	secrets.Add("aws_db", "main", "aws_tag")
	masked, err := plan.Mask(document, secrets.String, nil)
	must(t, err)
	view, err := plan.Parse(masked)
	must(t, err)
	if len(view.Changes) != 2 || view.Changes[0].Address != "aws_db.main" || view.Changes[0].Type != "aws_db" ||
		string(view.Changes[0].Attributes[0].Before) != `"(sensitive value)"` {
		t.Errorf("approvers read %+v", view.Changes)
	}
}

// Whatever is in a plan and its JSON, whatever is masked: approvers and policies get the actions that the engine
// applies, or the plan is not verified, or its JSON is rejected.
func TestWhatApproversAndPoliciesGetIsThePlan(t *testing.T) {
	accepted := 0
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 0))
		resources, want := randomPlan(r)
		message, tampered := resources.Message(t), r.IntN(3) == 0
		if tampered {
			message = append(message, oddFields[r.IntN(len(oddFields))]...)
		}
		file, err := planfile.Read(planfiletest.Zip(t, message))
		if err != nil {
			if !tampered {
				t.Fatalf("seed %d: %v", seed, err)
			}
			continue
		}
		if tampered {
			t.Fatalf("seed %d: a plan with %x is read", seed, message)
		}
		document, err := file.Document(tamper(r, resources.JSON(t)))
		if err != nil {
			continue
		}
		accepted++
		secrets := redact.New()
		for range r.IntN(4) {
			secrets.Add(words[r.IntN(len(words))])
		}
		masked, err := plan.Mask(document, secrets.String, nil)
		must(t, err)
		view, err := plan.Parse(masked)
		must(t, err)
		approvers := map[string]string{}
		for _, c := range view.Changes {
			approvers[c.Address] = c.Action
		}
		counted := map[string]string{}
		for _, c := range file.Changes() {
			counted[c.Address] = string(c.Action)
		}
		for who, got := range map[string]map[string]string{"approvers": approvers, "policies": actionsIn(t, document),
			"counts": counted} {
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("seed %d: %s get another plan: %s", seed, who, diff)
			}
		}
	}
	if accepted < 300 {
		t.Errorf("only %d plans were accepted", accepted)
	}
}

// words are names and values in plans, and secrets.
var words = []string{"aws_db", "aws_tag", "main", "delete", "no-op", "actions", "resource_changes", "address", "create",
	"change", "name"}

// oddFields are appended to a plan: what is not known, or is there twice.
var oddFields = [][]byte{
	{0x9a, 0x06, 0}, {0x08, 3}, {0x0a, 0}, {0x1a, 1, 0xff}, {0x1a, 0}, planfiletest.Message(nil, 14, []byte("1.12.6")),
	{0xf8, 0x01, 1},
	planfiletest.Message(nil, 3, planfiletest.Message(planfiletest.Message(nil, 13, []byte("a.b")), 9,
		[]byte{0x0d, 5, 0, 0, 0})),
}

func randomPlan(r *rand.Rand) (planfiletest.Plan, map[string]string) {
	actions := map[uint64]string{
		planfiletest.Create: "create", planfiletest.Update: "update", planfiletest.Delete: "delete",
		planfiletest.Replace: "replace",
		planfiletest.Forget:  "forget", planfiletest.NoOp: "",
	}
	numbers := slices.Sorted(maps.Keys(actions))
	var all planfiletest.Plan
	want := map[string]string{}
	value := func() map[string]any { return map[string]any{words[r.IntN(len(words))]: words[r.IntN(len(words))]} }
	for i := range 1 + r.IntN(4) {
		one := planfiletest.Resource{
			Address: fmt.Sprintf("aws_%s.%s_%d", []string{"db", "tag"}[r.IntN(2)], "main", i),
			Action:  numbers[r.IntN(len(numbers))],
		}
		if one.Action != planfiletest.Create {
			one.Before = value()
		}
		if one.Action != planfiletest.Delete && one.Action != planfiletest.Forget && one.Action != planfiletest.NoOp {
			one.After = value()
		}
		if word := actions[one.Action]; word != "" {
			want[one.Address] = word
		}
		all = append(all, one)
	}
	return all, want
}

// tamper changes JSON as code in the pod could.
func tamper(r *rand.Rand, shown []byte) []byte {
	for range r.IntN(3) {
		word := []string{"resource_changes", "actions", "address", "change", "type", "name", "after",
			"planned_values"}[r.IntN(8)]
		quoted := []byte(`"` + word + `":`)
		other := [][]byte{
			[]byte(`"` + strings.ToUpper(word) + `":`), []byte(`"` + strings.ToUpper(word) + `":[],"` + word + `":`),
			[]byte(`"` + word + `":[],"` + word + `":`), []byte(`"(sensitive)":`), []byte(`"x":1,"` + word + `":`),
			[]byte(`"` + strings.ReplaceAll(word, "s", "\u017f") + `":["no-op"],"` + word + `":`),
		}[r.IntN(6)]
		shown = bytes.Replace(shown, quoted, other, 1+r.IntN(2))
	}
	return shown
}

// actionsIn is what a policy reads of a plan.
func actionsIn(t *testing.T, document []byte) map[string]string {
	t.Helper()
	var all struct {
		Changes []struct {
			Address string
			Change  struct{ Actions []string }
		} `json:"resource_changes"`
	}
	must(t, json.Unmarshal(document, &all))
	got := map[string]string{}
	for _, c := range all.Changes {
		switch a := strings.Join(c.Change.Actions, " "); a {
		case "no-op":
		case "delete create":
			got[c.Address] = string(engine.Replace)
		default:
			got[c.Address] = a
		}
	}
	return got
}
