package plan

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// TestMemoryOfAView checks plans with the most values per byte, such as a list of numbers.
func TestMemoryOfAView(t *testing.T) {
	const size, most = 8 << 20, 16 << 20
	list := func(one string) string { return strings.TrimSuffix(strings.Repeat(one+",", size/(len(one)+1)), ",") }
	var names, outputs strings.Builder
	for i := 0; names.Len() < size; i++ {
		fmt.Fprintf(&names, `"%x":1,`, i)
	}
	for i := 0; outputs.Len() < size; i++ {
		fmt.Fprintf(&outputs, `"%x":{"actions":["create"],"after":1},`, i)
	}
	key := strings.Repeat("k", 8<<10)
	deep := strings.Repeat(`{"a":1,"`+key+`":`, 1000) + "1" + strings.Repeat("}", 1000)
	change := func(text string) string {
		return `{"address":"a.b","mode":"managed","change":{"actions":["update"],"before":null,` + text + `}}`
	}
	changes := func(text string) string { return `{"format_version":"1.2","resource_changes":[` + text + `]}` }
	for name, text := range map[string]string{
		"numbers":        changes(change(`"after":{"a":[` + list("1") + `]}`)),
		"lists in lists": changes(change(`"after":{"a":[` + list("[[1]]") + `]}`)),
		"empty objects":  changes(change(`"after":{"a":[` + list("{}") + `]}`)),
		"names":          changes(change(`"after":{` + names.String() + `"z":1}`)),
		"long paths":     changes(change(`"after":` + deep)),
		"marks":          changes(change(`"after_sensitive":[` + list("{}") + `],"after":{"b":1}`)),
		"paths":          changes(change(`"replace_paths":[` + list("[0]") + `],"after":{"b":1}`)),
		"many changes with a few values": changes(
			strings.TrimSuffix(strings.Repeat(change(`"after":{"b":[`+strings.Repeat("1,", 500)+`1]}`)+",", 5000),
				",")),
		"empty resources": changes(list(`{"mode":"managed","change":{"actions":["create"]}}`)),
		"outputs":         `{"format_version":"1.2","output_changes":{` + outputs.String() + `"z":{}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			var err error
			used := peak(func() {
				var view View
				view, err = ParseWithin([]byte(text), most)
				_, _ = json.Marshal(view)
			})
			if !errors.Is(err, ErrTooLarge) || used > 8*int64(len(text))+2*most {
				t.Errorf("a plan of %d MiB uses %d MiB: %v", len(text)>>20, used>>20, err)
			}
		})
	}
	few := changes(strings.TrimSuffix(strings.Repeat(change(`"after":{"b":[1,2,3],"c":"x"}`)+",", 5000), ","))
	if view, err := ParseWithin([]byte(few), most); err != nil || len(view.Changes) != 5000 {
		t.Errorf("a plan of five thousand resources has %d changes: %v", len(view.Changes), err)
	}
	unchanged := strings.ReplaceAll(
		changes(strings.TrimSuffix(strings.Repeat(change(`"after":{"b":[1,2,3],"c":"x"}`)+",", 50_000), ",")),
		"update", "no-op")
	if view, err := ParseWithin([]byte(unchanged), most); err != nil || len(view.Changes) != 0 {
		t.Errorf("a plan of fifty thousand unchanged resources has %d changes: %v", len(view.Changes), err)
	}
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
