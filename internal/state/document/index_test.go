package document

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIndex(t *testing.T) {
	state := `{"version":4,"serial":1,"lineage":"l","outputs":{"resources":{"value":"canary"}},"resources":[
		{"mode":"managed","type":"aws_subnet","name":"a","provider":"module.p.provider[\"registry.opentofu.org/hashicorp/aws\"].east",
			"instances":[{"index_key":0,"attributes":{"id":"canary","index_key":7}},{"index_key":10,"status":"tainted"}]},
		{"mode":"data","type":"aws_ami","name":"b","instances":[{}]},
		{"module":"module.m[\"x\"]","instances":[{"index_key":"\u003ca\"${b}\u001b","deposed":"0a1b"}, {}],
			"mode":"managed","type":"t","name":"c"},
		{"mode":"managed","type":"t","name":"none","instances":[]},
		{"mode":"managed","type":"t","name":"null","instances":null}]}`
	got, err := NewIndex([]byte(state))
	want := Index{SHA256: Digest([]byte(state)), Resources: []IndexedResource{
		{
			Type: "aws_subnet", Name: "a", Provider: "registry.opentofu.org/hashicorp/aws",
			Instances: []IndexedInstance{{Key: "[0]"}, {Key: "[10]", Tainted: true}},
		},
		{
			Module: `module.m["x"]`, Type: "t", Name: "c",
			Instances: []IndexedInstance{{Key: `["<a\"$${b}\u001b"]`, Deposed: "0a1b"}, {}},
		},
	}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatal(diff, err)
	}
	if strings.Contains(fmt.Sprint(got), "canary") {
		t.Error("the index has values")
	}
	c := got.Resources[1]
	if address := c.Address(c.Instances[0]); address != `module.m["x"].t.c["<a\"$${b}\u001b"]` {
		t.Error(address)
	}
}

func TestIndexIsBounded(t *testing.T) {
	managed := func(name, instances string) []byte {
		return []byte(`{"version":4,"serial":1,"lineage":"l","resources":[{"mode":"managed","type":"t","name":"` +
			name +
			`","instances":[` + instances + `]}]}`)
	}
	const many = 200_000
	index, err := NewIndex(managed("n", strings.Repeat("{},", many-1)+"{}"))
	if err != nil {
		t.Fatal(err)
	}
	kept := len(index.Resources[0].Instances)
	if kept+index.Omitted != many || kept*(perInstance+len("t.n")) > MaxIndex || index.Omitted == 0 {
		t.Errorf("%d kept, %d omitted", kept, index.Omitted)
	}
	index, err = NewIndex(managed(strings.Repeat("n", MaxAddress), "{}"))
	if err != nil || len(index.Resources) != 0 || index.Omitted != 1 {
		t.Errorf("%d resources, %d omitted, %v", len(index.Resources), index.Omitted, err)
	}
}

func TestIndexOfWhatIsNoState(t *testing.T) {
	for _, text := range []string{"", "tofu", "[]", `{"resources":{}}`, `{"resources":[1]}`,
		`{"resources":[{"mode":"managed","instances":[1]}]}`,
		`{"resources":[{"mode":1}]}`} {
		if _, err := NewIndex([]byte(text)); !errors.Is(err, ErrNotState) {
			t.Errorf("%s: %v", text, err)
		}
	}
}
