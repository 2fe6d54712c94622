package engine

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"cairn.dev/cairn/internal/runnerapi"
)

func created(address, id string) Done { return done(Create, address, id) }

func done(action Action, address, id string) Done {
	return Done{Address: address, Type: "aws_vpc", Action: string(action), IDKey: "id", ID: id}
}

// vpcs returns a state with resources aws_vpc, each "index id" or "index id deposed" of its resource. The part after a
// dash in an ID is its name too.
func vpcs(t *testing.T, resources ...string) *Instances {
	t.Helper()
	var text []string
	for _, r := range resources {
		module, instances, _ := strings.Cut(r, ": ")
		module, name, _ := strings.Cut(module, "|")
		var list []string
		for _, i := range strings.Split(instances, ", ") {
			var key, id, deposed string
			fmt.Sscan(i, &key, &id, &deposed)
			if key == "-" {
				key = ""
			} else {
				key = `"index_key":` + key + ","
			}
			if deposed != "" {
				key += `"deposed":"` + deposed + `",`
			}
			attributes := fmt.Sprintf(`"id":%q`, id)
			if _, name, ok := strings.Cut(id, "-"); ok {
				attributes += fmt.Sprintf(`,"name":%q`, name)
			}
			list = append(list, fmt.Sprintf(`{%s"schema_version":0,"attributes":{%s}}`, key, attributes))
		}
		text = append(text, fmt.Sprintf(`{"module":%q,"mode":"managed","type":"aws_vpc","name":%q,"instances":[%s]}`,
			module, name, strings.Join(list, ",")))
	}
	s, err := ReadInstances([]byte(`{"version":4,"serial":7,"lineage":"L","outputs":{},"resources":[` +
		strings.Join(text, ",") + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestFindMissing(t *testing.T) {
	a := func(old Old) []Missing { return []Missing{{Address: "aws_vpc.a", ID: "new", Old: old}} }
	for name, test := range map[string]struct {
		journal []Done
		state   []string
		want    []Missing
	}{
		"nothing was done":          {nil, []string{"|a: - old"}, nil},
		"created, not in the state": {[]Done{created("aws_vpc.a", "new")}, nil, a(OldNone)},
		"created, in the state":     {[]Done{created("aws_vpc.a", "new")}, []string{"|a: - new"}, nil},
		"created and changed, not in the state": {
			[]Done{created("aws_vpc.a", "new"), done(Update, "aws_vpc.a", "new")}, nil, a(OldNone)},
		"created and destroyed": {
			[]Done{created("aws_vpc.a", "new"), done(Delete, "aws_vpc.a", "new")}, nil, nil},
		"created and destroyed, with unknown ID": {[]Done{created("aws_vpc.a", "new"), done(Delete, "aws_vpc.a", "")},
			nil, nil},
		"it was destroyed and is in the state, which a refresh sees": {
			[]Done{done(Delete, "aws_vpc.a", "old")}, []string{"|a: - old"}, nil},
		"it was changed and is in the state, which a refresh sees": {
			[]Done{done(Update, "aws_vpc.a", "old")}, []string{"|a: - old"}, nil},
		"changed, and a user rolled the state back to before its creation": {
			[]Done{done(Update, "aws_vpc.a", "new")}, []string{"|b: - other"}, a(OldNone)},
		"a change gave it another ID": {[]Done{done(Update, "aws_vpc.a", "new")}, []string{"|a: - old"}, a(OldGone)},
		"it was replaced, destroyed first": {
			[]Done{done(Delete, "aws_vpc.a", "old"), created("aws_vpc.a", "new")}, []string{"|a: - old"}, a(OldGone)},
		"destroyed and not created again yet": {
			[]Done{done(Delete, "aws_vpc.a", "old")}, []string{"|a: - old"}, nil},
		"replaced, created first": {
			[]Done{created("aws_vpc.a", "new"), done(Delete, "aws_vpc.a", "old")}, []string{"|a: - old"}, a(OldGone)},
		"replaced, created first, and the old one exists": {
			[]Done{created("aws_vpc.a", "new")}, []string{"|a: - old"}, a(OldThere)},
		"replaced, created first, in the state": {
			[]Done{created("aws_vpc.a", "new")}, []string{"|a: - new, - old deadbeef"}, nil},
		"it was replaced twice, by two applies": {
			[]Done{created("aws_vpc.a", "between"), done(Delete, "aws_vpc.a", "old"),
				done(Delete, "aws_vpc.a", "between"), created("aws_vpc.a", "new")},
			[]string{"|a: - old"}, a(OldGone)},
		"a later apply imported and destroyed it": {
			[]Done{created("aws_vpc.a", "one"), done(Delete, "aws_vpc.a", "one"), created("aws_vpc.a", "new")}, nil,
			a(OldNone)},
		"the same batch came twice": {
			[]Done{created("aws_vpc.a", "new"), created("aws_vpc.a", "new")}, nil, a(OldNone)},
		"created again with the ID of the destroyed one": {
			[]Done{done(Delete, "aws_vpc.a", "new"), created("aws_vpc.a", "new")}, nil, a(OldNone)},
		"removed from the state, not destroyed": {[]Done{created("aws_vpc.a", "new"), done(Forget, "aws_vpc.a", "")},
			nil, nil},
		"moved by a user": {
			[]Done{created("aws_vpc.a", "new")}, []string{"module.net|b: - new"}, nil},
		"moved by a user and changed": {
			[]Done{created("aws_vpc.a", "new"), done(Update, "aws_vpc.b", "new")}, []string{"|b: - new"}, nil},
		"another one of a type without unique IDs was created with the same ID": {
			[]Done{created("aws_vpc.a", "new"), created("aws_vpc.b", "new")}, []string{"|b: - new"}, a(OldNone)},
		"both of one ID are in the state": {
			[]Done{created("aws_vpc.a", "new"), created("aws_vpc.b", "new")}, []string{"|a: - new", "|b: - new"}, nil},
		"another one has the same name, which is not unique": {
			[]Done{{Address: "aws_vpc.a", Type: "aws_vpc", Action: "create", IDKey: "name", ID: "new"}},
			[]string{"|b: - other-new"}, a(OldNone)},
		"in an earlier version of the state, removed by a user": {
			[]Done{created("aws_vpc.a", "new"), done(Held, "aws_vpc.a", "new")}, nil, nil},
		"a version had it, and a rollback has what it replaced": {
			[]Done{done(Delete, "aws_vpc.a", "old"), created("aws_vpc.a", "new"), done(Held, "aws_vpc.a", "new")},
			[]string{"|a: - old"}, nil},
		"a version had what it replaced": {
			[]Done{created("aws_vpc.a", "old"), done(Held, "aws_vpc.a", "old"), created("aws_vpc.a", "new")},
			[]string{"|a: - old"}, a(OldThere)},
		"in an earlier version, created again with the same ID": {
			[]Done{created("aws_vpc.a", "new"), done(Held, "aws_vpc.a", "new"), done(Delete, "aws_vpc.a", "new"),
				created("aws_vpc.a", "new")}, nil, a(OldNone)},
		"a version had it before it was changed": {
			[]Done{created("aws_vpc.a", "new"), done(Held, "aws_vpc.a", "new"), done(Update, "aws_vpc.a", "new")}, nil,
			nil},
		"in an earlier version, before a change of its ID": {
			[]Done{created("aws_vpc.a", "one"), done(Held, "aws_vpc.a", "one"), done(Update, "aws_vpc.a", "new")},
			[]string{"|a: - one"}, a(OldGone)},
		"another resource in an earlier version, without a reported ID": {
			[]Done{created("aws_vpc.a", ""), done(Held, "aws_vpc.a", "")}, nil, nil},
		"only what it replaced is in the state, to be destroyed": {
			[]Done{created("aws_vpc.a", "new")}, []string{"|a: - old deadbeef"}, a(OldThere)},
		"no resource in the state, and a user imported another one": {
			[]Done{created("aws_vpc.a", "new"), done(Instead, "aws_vpc.a", "")}, []string{"|a: - theirs"},
			a(OldTheirs)},
		"the replaced one in the state, and a user imported another one": {
			[]Done{created("aws_vpc.a", "new"), done(Instead, "aws_vpc.a", "old")},
			[]string{"|a: - theirs, - old deadbeef"}, a(OldTheirs)},
		"a change of its ID, and a user imported another one": {
			[]Done{done(Update, "aws_vpc.a", "new"), done(Instead, "aws_vpc.a", "old")}, []string{"|a: - theirs"},
			a(OldTheirs)},
		"the state has what it had there": {
			[]Done{created("aws_vpc.a", "new"), done(Instead, "aws_vpc.a", "old")}, []string{"|a: - old"}, a(OldThere)},
		"a user restored the destroyed one": {
			[]Done{created("aws_vpc.a", "new"), done(Instead, "aws_vpc.a", ""), done(Delete, "aws_vpc.a", "old")},
			[]string{"|a: - old"}, a(OldGone)},
		"imported by a user": {
			[]Done{created("aws_vpc.a", "new"), done(Instead, "aws_vpc.a", "")}, []string{"|a: - new"}, nil},
		"no resource in the state, and an apply created two more": {
			[]Done{created("aws_vpc.a", "one"), done(Instead, "aws_vpc.a", ""), created("aws_vpc.a", "old"),
				created("aws_vpc.a", "new")}, []string{"|a: - old"}, a(OldThere)},
		"no resource in the state, and a change of its ID": {
			[]Done{created("aws_vpc.a", "one"), done(Instead, "aws_vpc.a", ""), done(Update, "aws_vpc.a", "new")},
			[]string{"|a: - one"}, a(OldGone)},
		"a resource of the state is reported for the first time": {
			[]Done{created("aws_vpc.a", "new"), done(Instead, "aws_vpc.a", ""), done(Instead, "aws_vpc.a", "theirs")},
			[]string{"|a: - theirs"}, a(OldTheirs)},
		"another instance is in the state": {
			[]Done{created(`module.net["a.b"].aws_vpc.a["x"]`, "new"), created("aws_vpc.c[1]", "one")},
			[]string{`module.net["a.b"]|a: "y" other`, `|c: 0 zero, 1 one`},
			[]Missing{{Address: `module.net["a.b"].aws_vpc.a["x"]`, ID: "new"}}},
		"keys with special characters": {
			[]Done{created(`aws_vpc.a["$${x}\"\\\n"]`, "other")}, []string{`|a: "${x}\"\\\n" there`},
			[]Missing{{Address: `aws_vpc.a["$${x}\"\\\n"]`, ID: "other", Old: OldThere}}},
		"no reported ID, not in the state": {
			[]Done{created("aws_vpc.a", "")}, nil, []Missing{{Address: "aws_vpc.a"}}},
		"no reported ID, a resource in the state": {[]Done{created("aws_vpc.a", "")}, []string{"|a: - old"}, nil},
		"a reported name from its tags": {
			[]Done{{Address: "aws_vpc.a", Type: "aws_vpc", Action: "create", IDKey: "tags.Name", ID: "web"}}, nil,
			[]Missing{{Address: "aws_vpc.a"}}},
	} {
		if diff := cmp.Diff(test.want, FindMissing(test.journal, vpcs(t, test.state...))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestFindHeld checks that a resource which a version of the state has is recorded, and is not checked again.
func TestFindHeld(t *testing.T) {
	for name, test := range map[string]struct {
		journal []Done
		state   []string
		want    []Done
	}{
		"in the state": {[]Done{created("aws_vpc.a", "new")}, []string{"|a: - new"},
			[]Done{done(Held, "aws_vpc.a", "new")}},
		"not in the state": {[]Done{created("aws_vpc.a", "new")}, nil,
			[]Done{done(Instead, "aws_vpc.a", "")}},
		"moved": {[]Done{created("aws_vpc.a", "new")}, []string{"|b: - new"},
			[]Done{done(Held, "aws_vpc.a", "new")}},
		"deposed": {[]Done{created("aws_vpc.a", "new")}, []string{"|a: - new deposed"},
			[]Done{done(Held, "aws_vpc.a", "new")}},
		"the replaced one is in the state": {[]Done{created("aws_vpc.a", "new")}, []string{"|a: - old"},
			[]Done{done(Instead, "aws_vpc.a", "old")}},
		"destroyed since": {[]Done{created("aws_vpc.a", "new"), done(Delete, "aws_vpc.a", "new")},
			[]string{"|a: - new"}, nil},
		"recorded already": {[]Done{created("aws_vpc.a", "new"), done(Held, "aws_vpc.a", "new")},
			[]string{"|a: - new"}, nil},
		"in the state, without a reported ID": {[]Done{created("aws_vpc.a", "")}, []string{"|a: - x"},
			[]Done{done(Held, "aws_vpc.a", "")}},
	} {
		got := FindHeld(test.journal, vpcs(t, test.state...))
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
		if left := FindHeld(append(test.journal, got...), vpcs(t, test.state...)); left != nil {
			t.Errorf("%s: once more %v", name, left)
		}
		if missing := FindMissing(append(test.journal, got...), vpcs(t)); len(got) > 0 &&
			got[0].Action == string(Held) && missing != nil {
			t.Errorf("%s: missing in a later state: %v", name, missing)
		}
	}
}

func TestStandings(t *testing.T) {
	journal := []Done{
		created("aws_vpc.here", "1"), created("aws_vpc.missing", "2"), created("aws_vpc.gone", "3"),
		done(Delete, "aws_vpc.gone", "3"),
		created("aws_vpc.taken", "4"), done(Held, "aws_vpc.taken", "4"), done(Update, "aws_vpc.here", "1"),
	}
	want := []Standing{
		{journal[3], 3, Destroyed}, {journal[6], 6, InState}, {journal[1], 1, NotInState}, {journal[4], 4, TakenOut},
	}
	if diff := cmp.Diff(want, Standings(journal, vpcs(t, "|here: - 1"))); diff != "" {
		t.Error(diff)
	}
	for i := range want {
		if want[i].How == InState || want[i].How == NotInState {
			want[i].How = Unknown
		}
	}
	if diff := cmp.Diff(want, Standings(journal, nil)); diff != "" {
		t.Error(diff)
	}
}

func TestLiving(t *testing.T) {
	got := Living([]Done{
		created("aws_vpc.b", "b"), created("aws_vpc.a", "a"), created("aws_vpc.gone", "x"),
		done(Delete, "aws_vpc.gone", "x"),
		created("aws_vpc.c", "new"), done(Delete, "aws_vpc.c", "old"), created("aws_vpc.d", "d"),
		done(Held, "aws_vpc.d", "d"),
	})
	if diff := cmp.Diff([]Done{created("aws_vpc.a", "a"), created("aws_vpc.b", "b"), created("aws_vpc.c", "new")},
		got); diff != "" {
		t.Error(diff)
	}
}

func TestCopyOfAState(t *testing.T) {
	was := vpcs(t, "|a: - old", `module.m|k: "x" one, "y" two`)
	now := vpcs(t, "|a: - new", `module.m|k: "x" one, "y" two`)
	now.Depose("aws_vpc.a", was)
	now.Drop(`module.m.aws_vpc.k["x"]`)
	now.Drop("aws_vpc.none")
	now.top["serial"], now.top["lineage"] = []byte("99"), []byte(`"other"`)
	got, err := now.Bytes(was)
	want := `{"lineage":"L","outputs":{},"resources":[` +
		`{"instances":[{"attributes":{"id":"new"},"schema_version":0},{"attributes":{"id":"old"},"deposed":"ca120000","schema_version":0}],"mode":"managed","module":"","name":"a","type":"aws_vpc"},` +
		`{"instances":[{"attributes":{"id":"two"},"index_key":"y","schema_version":0}],"mode":"managed","module":"module.m","name":"k","type":"aws_vpc"}],"serial":7,"version":4}`
	if diff := cmp.Diff(want, string(got)); diff != "" || err != nil {
		t.Error(diff, err)
	}
	now.Drop("aws_vpc.a")
	has := func(id string) bool {
		return compare([]Done{created("aws_vpc.x", id)}, now).holders[identity{"aws_vpc", "id", id}] != nil
	}
	if has("old") || has("new") || !has("two") {
		t.Error("the wrong values were dropped")
	}
	none, err := ReadInstances(nil)
	if err != nil {
		t.Fatal(err)
	}
	if got, err = now.Bytes(none); err != nil || !strings.Contains(string(got), `"lineage":""`) ||
		!strings.Contains(string(got), `"serial":0`) {
		t.Errorf("%s, %v", got, err)
	}
}

func TestEncryptedState(t *testing.T) {
	if _, err := ReadInstances(
		[]byte(`{"serial":1,"lineage":"x","encrypted_data":"abc","encryption_version":"v0"}`)); !errors.Is(err,
		errEncrypted) {
		t.Error(err)
	}
}

func TestImportBlocks(t *testing.T) {
	got := string(ImportBlocks([]Missing{{Address: `module.m[0].aws_vpc.a["x"]`, ID: `a"${b}%{c}\d`}}))
	want := `import {
  to = module.m[0].aws_vpc.a["x"]
  id = "a\"$${b}%%{c}\\d"
}
`
	if !strings.HasSuffix(got, want) {
		t.Error(got)
	}
}

func TestIsAddress(t *testing.T) {
	for text, want := range map[string]bool{
		"aws_vpc.a": true, `module.m["x"].aws_vpc.a[0]`: true, "aws_vpc": false, "": false, "aws_vpc.a\nid = 1": false,
		"aws_vpc.a }": false, `aws_vpc.a[file("x")]`: false, "aws_vpc.*": false,
	} {
		if got := IsAddress(text); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func FuzzReadInstances(f *testing.F) {
	f.Add(`{"version":4,"resources":[{"mode":"managed","type":"a","name":"b","instances":[{"index_key":"x","attributes":{"id":1}}]}]}`)
	f.Add(`{"resources":[{"instances":[{"index_key":{}}]}]}`)
	f.Add(`null`)
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ReadInstances([]byte(text))
		if err != nil {
			return
		}
		FindMissing([]Done{{Address: "a.b", Type: "a", IDKey: "id", ID: "1", Action: "create"}}, s)
		s.Depose("a.b", s)
		s.Drop("a.b")
		data, err := s.Bytes(s)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ReadInstances(data); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
	})
}

// TestDoneIsReportedDuringAnApply checks that each change is reported at its end, and that a destroyed resource has the
// ID of its start event.
func TestDoneIsReportedDuringAnApply(t *testing.T) {
	const events = `{"type":"apply_start","hook":{"resource":{"addr":"a.b","resource_type":"a"},"action":"delete","id_key":"id","id_value":"old"}}
{"type":"apply_start","hook":{"resource":{"addr":"data.a.b","resource_type":"a"},"action":"read"}}
{"type":"apply_complete","hook":{"resource":{"addr":"data.a.b","resource_type":"a"},"action":"read","id_key":"id","id_value":"x"}}
{"type":"apply_complete","hook":{"resource":{"addr":"a.b","resource_type":"a"},"action":"delete","elapsed_seconds":0}}
{"type":"apply_start","hook":{"resource":{"addr":"a.b","resource_type":"a"},"action":"create"}}
{"type":"apply_complete","hook":{"resource":{"addr":"a.b","resource_type":"a"},"action":"create","id_key":"id","id_value":"new"}}
{"type":"apply_errored","hook":{"resource":{"addr":"a.c","resource_type":"a"},"action":"create"}}
{"type":"apply_complete","hook":{"resource":{"addr":"a.d"`
	type operation struct {
		What  Done
		State runnerapi.OperationState
	}
	deleted := Done{Address: "a.b", Type: "a", Action: "delete", IDKey: "id", ID: "old"}
	want := []operation{
		{deleted, "Started"},
		{deleted, "Succeeded"},
		{Done{Address: "a.b", Type: "a", Action: "create"}, "Started"},
		{Done{Address: "a.b", Type: "a", Action: "create", IDKey: "id", ID: "new"}, "Succeeded"},
		{Done{Address: "a.c", Type: "a", Action: "create"}, "Failed"},
	}
	var got []operation
	observe := func(d Done, state runnerapi.OperationState) { got = append(got, operation{d, state}) }
	if _, err := FollowEvents(strings.NewReader(events), observe); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	got = nil
	l := NewListener(&strings.Builder{})
	l.Notify(observe)
	for _, c := range []byte(events) {
		if _, err := l.Write([]byte{c}); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
