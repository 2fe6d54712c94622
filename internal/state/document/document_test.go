package document

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const example = `{"version":4,"terraform_version":"1.12.6","serial":7,"lineage":"3f2a",

"outputs":{"id":{"value":"vpc-1","type":"string"},"password":{"value":"x","type":"string","sensitive":true}},

"resources":[

 {"mode":"managed","type":"terraform_data","name":"a","instances":[{"index_key":0,"attributes":{}},{"index_key":1}]},

 {"mode":"data","type":"aws_ami","name":"b","instances":[{}]},

 {"module":"module.m","mode":"managed","type":"terraform_data","name":"c","instances":[{"deposed":"1"}]}],

"check_results":null}`

func TestParse(t *testing.T) {
	got, err := Parse([]byte(example))
	want := Document{Serial: 7, Lineage: "3f2a", Resources: 3, Outputs: map[string]Output{
		"id":       {Value: []byte(`"vpc-1"`)},
		"password": {Value: []byte(`"x"`), Sensitive: true},
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
}

func TestParseStatesWithUnknownResources(t *testing.T) {
	for name, text := range map[string]string{
		"a state that the engine encrypted": `{"serial":7,"lineage":"3f2a","meta":{},"encrypted_data":"eA==","encryption_version":"v0"}`,
		"a state of a later format":         `{"version":5,"serial":7,"lineage":"3f2a","resources":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := Parse([]byte(text))
			if diff := cmp.Diff(Document{Serial: 7, Lineage: "3f2a", Resources: Unknown}, got); diff != "" ||
				err != nil {
				t.Fatal(diff, err)
			}
		})
	}
}

func TestAStateOfFormat3IsOutdated(t *testing.T) {
	got, err := Parse([]byte(`{"version":3,"terraform_version":"0.11.14","serial":7,"lineage":"3f2a","modules":[]}`))
	if diff := cmp.Diff(Document{Serial: 7, Lineage: "3f2a", Resources: Unknown, Outdated: 3}, got); diff != "" ||
		err != nil {
		t.Fatal(diff, err)
	}
}

func TestParseRejectsInvalidStates(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":             ``,
		"not JSON":            `version: 4`,
		"half a state":        example[:200],
		"no lineage":          `{"version":4,"serial":7}`,
		"no serial":           `{"version":4,"lineage":"3f2a"}`,
		"a negative serial":   `{"version":4,"lineage":"3f2a","serial":-1}`,
		"a serial past int64": `{"version":4,"lineage":"3f2a","serial":9223372036854775808}`,
		"two states":          example + example,
	} {
		t.Run(name, func(t *testing.T) {
			if d, err := Parse([]byte(text)); !errors.Is(err, ErrNotState) {
				t.Fatalf("got %+v, %v", d, err)
			}
		})
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(example))
	f.Add([]byte(`{"serial":7,"lineage":"3f2a","encryption_version":"v0"}`))
	f.Add([]byte(`{"version":4,"serial":1e3,"lineage":"x","resources":[{"mode":"managed","instances":null}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := Parse(data)
		if err != nil {
			if !errors.Is(err, ErrNotState) {
				t.Fatalf("got another error: %v", err)
			}
			return
		}
		if d.Lineage == "" || d.Serial < 0 || d.Resources < Unknown {
			t.Fatalf("got %+v", d)
		}
	})
}

// TestMemoryOfParse checks states with the most elements per byte, such as a list of empty resources.
func TestMemoryOfParse(t *testing.T) {
	const size = 4 << 20
	list := func(one string) string { return strings.TrimSuffix(strings.Repeat(one+",", size/(len(one)+1)), ",") }
	var names strings.Builder
	for i := 0; names.Len() < size; i++ {
		fmt.Fprintf(&names, `"%x":{},`, i)
	}
	for name, text := range map[string]string{
		"resources":                `{"version":4,"serial":1,"lineage":"x","resources":[` + list("{}") + `]}`,
		"of null":                  `{"version":4,"serial":1,"lineage":"x","resources":[` + list("null") + `]}`,
		"instances":                `{"version":4,"serial":1,"lineage":"x","resources":[{"mode":"managed","instances":[` + list("{}") + `]}]}`,
		"instances without fields": `{"version":4,"serial":1,"lineage":"x","resources":[{"mode":"managed","instances":[` + list("1") + `]}]}`,
		"outputs":                  `{"version":4,"serial":1,"lineage":"x","outputs":{` + names.String() + `"z":{}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			used := peak(func() { _, _ = Parse([]byte(text)) }) - size // less the text itself
			if used > 6*size {                                         // the longest resource is read as a whole
				t.Errorf("a state of %d MiB uses %d MiB", size>>20, used>>20)
			}
		})
	}
	t.Run("one resource", func(t *testing.T) { // which is not copied
		text := []byte(`{"version":4,"serial":1,"lineage":"x","resources":[{"mode":"managed","instances":[{"attributes":{"text":"` +
			strings.Repeat("x", 4<<20) + `"}}]}]}`)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		d, err := Parse(text)
		runtime.ReadMemStats(&after)
		if err != nil || d.Resources != 1 {
			t.Fatalf("%+v, %v", d, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 64<<10 {
			t.Errorf("a state of 4 MiB uses %d KiB beside its text", used>>10)
		}
	})
}

// peak returns the memory that a function allocates from the system.
func peak(do func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	var before, after runtime.MemStats
	debug.FreeOSMemory()
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int64(after.HeapSys-after.HeapReleased) - int64(before.HeapSys-before.HeapReleased)
}

func TestWithSerialChangesOnlyTheSerial(t *testing.T) {
	for name, test := range map[string][2]string{
		"formatted as by the engines": {"{\n  \"version\": 4,\n  \"serial\": 4,\n  \"lineage\": \"L\",\n  " +
			"\"outputs\": {\"serial\": {\"value\": 4}}\n}\n",
			"{\n  \"version\": 4,\n  \"serial\": 10,\n  \"lineage\": \"L\",\n  \"outputs\": {\"serial\": " +
				"{\"value\": 4}}\n}\n"},
		"numbers outside of float64": {`{"serial":4,"lineage":"L","x":12345678901234567890.10}`,
			`{"serial":10,"lineage":"L","x":12345678901234567890.10}`},
		"as the last field": {`{"lineage":"L","serial":  4  }`, `{"lineage":"L","serial":  10  }`},
		"twice":             {`{"serial":4,"lineage":"L","serial":3}`, `{"serial":10,"lineage":"L","serial":10}`},
	} {
		if got, err := WithSerial([]byte(test[0]), 10); err != nil || string(got) != test[1] {
			t.Errorf("%s: got %s, %v", name, got, err)
		}
	}
	for _, bad := range []string{"", "[]", `{"serial":4}`, `{"serial":4,"lineage":"L"`, `{"SERIAL":4,"lineage":"L"}`,
		`{"serial":4,"lineage":"L","Serial":3}`} {
		if got, err := WithSerial([]byte(bad), 10); err == nil {
			t.Errorf("%s became %s", bad, got)
		}
	}
}

// FuzzWithSerial checks that a state with a new serial equals the original in all other fields, or is rejected.
func FuzzWithSerial(f *testing.F) {
	f.Add([]byte(`{"version":4,"serial":4,"lineage":"L","resources":[{"mode":"managed","instances":[{}]}]}`))
	f.Add([]byte(`{"serial":4,"lineage":"L","Serial":3}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		before, err := Parse(data)
		if err != nil {
			return
		}
		counted, err := WithSerial(data, 77)
		if err != nil {
			return
		}
		after, err := Parse(counted)
		if err != nil || after.Serial != 77 || after.Lineage != before.Lineage || after.Resources != before.Resources ||
			len(after.Outputs) != len(before.Outputs) {
			t.Fatalf("%s became %s: %v", data, counted, err)
		}
		back, err := WithSerial(counted, 77)
		if err != nil || !bytes.Equal(back, counted) {
			t.Fatalf("%s became %s: %v", counted, back, err)
		}
	})
}

func TestSameContent(t *testing.T) {
	const one = `{"version":4,"terraform_version":"1.12.6","serial":1,"lineage":"a","outputs":{},"resources":[{"n":12345678901234567890}],"check_results":null}`
	for name, test := range map[string]struct {
		other string
		want  bool
	}{
		"another serial, engine and lineage": {
			`{"version":4,"terraform_version":"1.5.7","serial":2,"lineage":"b","resources":[{"n":12345678901234567890}],"outputs":{}}`, true},
		"another number": {strings.Replace(one, "890}", "891}", 1), false},
		"another output": {strings.Replace(one, `"outputs":{}`, `"outputs":{"x":{}}`, 1), false},
		"a check result": {strings.Replace(one, `"check_results":null`, `"check_results":[]`, 1), false},
	} {
		if same, err := SameContent([]byte(one), []byte(test.other)); same != test.want || err != nil {
			t.Errorf("%s: %v %v", name, same, err)
		}
	}
}
