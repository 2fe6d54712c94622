package jsonsize

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzForEach compares the elements of any JSON with those that encoding/json finds.
func FuzzForEach(f *testing.F) {
	for _, text := range []string{
		`null`, ` [ ] `, `{ }`, `[1]`, `[ 1 , -2.5e3 , true , null ]`, `["a\\","b\"]",[[],{}],{"x":[1,{"y":"}"}]}]`,
		`{"a":1, "b" : {"c":[1,2]},"d\u0022":"\\", "e":"x:,"}`, `"text"`, `7`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		var list, gotList []json.RawMessage
		wantErr := json.Unmarshal(text, &list)
		err := ForEach(text, '[', func(_, value []byte) error {
			gotList = append(gotList, value)
			return nil
		})
		if (err == nil) != (wantErr == nil) || err == nil && len(list)+len(gotList) > 0 && !cmp.Equal(gotList, list) {
			t.Errorf("%s has elements %s, %v, want %s, %v", text, gotList, err, list, wantErr)
		}
		var object map[string]json.RawMessage
		gotObject := map[string]json.RawMessage{}
		wantErr = json.Unmarshal(text, &object)
		err = ForEach(text, '{', func(quoted, value []byte) error {
			var name string
			err := json.Unmarshal(quoted, &name)
			gotObject[name] = value
			return err
		})
		if (err == nil) != (wantErr == nil) || err == nil && len(object)+len(gotObject) > 0 &&
			!cmp.Equal(gotObject, object) {
			t.Errorf("%s has fields %s, %v, want %s, %v", text, gotObject, err, object, wantErr)
		}
	})
}
