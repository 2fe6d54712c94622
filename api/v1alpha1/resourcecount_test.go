package v1alpha1

import (
	"encoding/json"
	"testing"
)

func TestUnknownResourceCountIsText(t *testing.T) {
	for text, want := range map[string]ResourceCount{`{"resources":"unknown"}`: ResourcesUnknown, `{"resources":3}`: 3,
		`{}`: 0} {
		var got struct {
			Resources ResourceCount `json:"resources,omitempty"`
		}
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.Resources != want {
			t.Errorf("%s: %v, %v", text, got.Resources, err)
		}
		if back, err := json.Marshal(got); err != nil || string(back) != text {
			t.Errorf("%s became %s, %v", text, back, err)
		}
	}
	for _, text := range []string{"-1", `"3"`, "1.5", "{}", "3000000000"} {
		var c ResourceCount
		if err := json.Unmarshal([]byte(text), &c); err != nil || c != ResourcesUnknown {
			t.Errorf("%s is %s, %v", text, c, err)
		}
	}
}
