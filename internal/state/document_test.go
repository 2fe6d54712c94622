package state

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"cairn.dev/cairn/internal/state/document"
)

const example = `{"version":4,"terraform_version":"1.12.6","serial":7,"lineage":"3f2a",
"outputs":{"id":{"value":"vpc-1","type":"string"},"password":{"value":"x","type":"string","sensitive":true}},
"resources":[
 {"mode":"managed","type":"terraform_data","name":"a","instances":[{"index_key":0,"attributes":{}},{"index_key":1}]},
 {"mode":"data","type":"aws_ami","name":"b","instances":[{}]},
 {"module":"module.m","mode":"managed","type":"terraform_data","name":"c","instances":[{"deposed":"1"}]}],
"check_results":null}`

func TestParseReadsAState(t *testing.T) {
	got, err := document.Parse([]byte(example))
	want := document.State{Serial: 7, Lineage: "3f2a", Resources: 3, Outputs: map[string]document.Output{
		"id":       {Value: []byte(`"vpc-1"`)},
		"password": {Value: []byte(`"x"`), Sensitive: true},
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
}

func TestParseTakesWhatItCannotCount(t *testing.T) {
	for name, text := range map[string]string{
		"a state that the engine encrypted": `{"serial":7,"lineage":"3f2a","meta":{},"encrypted_data":"eA==","encryption_version":"v0"}`,
		"a state of a format to come":       `{"version":5,"serial":7,"lineage":"3f2a","resources":[]}`,
	} {
		t.Run(name, func(t *testing.T) {
			got, err := document.Parse([]byte(text))
			if diff := cmp.Diff(document.State{Serial: 7, Lineage: "3f2a", Resources: document.UnknownResources}, got); diff != "" || err != nil {
				t.Fatal(diff, err)
			}
		})
	}
}

func TestParseRefusesWhatIsNoState(t *testing.T) {
	for name, text := range map[string]string{
		"nothing":             ``,
		"no JSON":             `version: 4`,
		"half a state":        example[:200],
		"no lineage":          `{"version":4,"serial":7}`,
		"no serial":           `{"version":4,"lineage":"3f2a"}`,
		"a negative serial":   `{"version":4,"lineage":"3f2a","serial":-1}`,
		"a serial past int64": `{"version":4,"lineage":"3f2a","serial":9223372036854775808}`,
		"two states":          example + example,
	} {
		t.Run(name, func(t *testing.T) {
			if d, err := document.Parse([]byte(text)); !errors.Is(err, document.ErrInvalid) {
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
		d, err := document.Parse(data)
		if err != nil {
			if !errors.Is(err, document.ErrInvalid) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		if d.Lineage == "" || d.Serial < 0 || d.Resources < document.UnknownResources {
			t.Fatalf("got %+v", d)
		}
		s, err := new(Store).summarize(types.NamespacedName{}, data)
		if err != nil || s.Size != int64(len(data)) || s.Serial != d.Serial {
			t.Fatalf("summary %+v, %v", s, err)
		}
	})
}

// A state is whatever its runner sends: of a list of empty resources, or of empty outputs, the text is the least.
func TestParseTakesNoMoreMemoryThanTheState(t *testing.T) {
	const size = 16 << 20
	list := func(one string) string { return strings.TrimSuffix(strings.Repeat(one+",", size/(len(one)+1)), ",") }
	var names strings.Builder
	for i := 0; names.Len() < size; i++ {
		fmt.Fprintf(&names, `"%x":{},`, i)
	}
	for name, text := range map[string]string{
		"resources":            `{"version":4,"serial":1,"lineage":"x","resources":[` + list("{}") + `]}`,
		"of nothing":           `{"version":4,"serial":1,"lineage":"x","resources":[` + list("null") + `]}`,
		"instances":            `{"version":4,"serial":1,"lineage":"x","resources":[{"mode":"managed","instances":[` + list("{}") + `]}]}`,
		"instances of nothing": `{"version":4,"serial":1,"lineage":"x","resources":[{"mode":"managed","instances":[` + list("1") + `]}]}`,
		"outputs":              `{"version":4,"serial":1,"lineage":"x","outputs":{` + names.String() + `"z":{}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			took := peak(func() { _, _ = document.Parse([]byte(text)) }) - size // which is the text itself, as bytes
			if took > 6*size {                                                  // the longest resource is read as a whole
				t.Errorf("%d MiB take %d MiB", size>>20, took>>20)
			}
		})
	}
}

// peak is how much more memory there is from the machine while something is done.
func peak(do func()) int64 {
	defer debug.SetGCPercent(debug.SetGCPercent(20))
	var before, after runtime.MemStats
	debug.FreeOSMemory()
	runtime.ReadMemStats(&before)
	do()
	runtime.ReadMemStats(&after)
	return int64(after.HeapSys-after.HeapReleased) - int64(before.HeapSys-before.HeapReleased)
}
