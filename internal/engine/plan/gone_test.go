package plan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The engine shows it as drift alone, and the apply takes it out of the state.
func TestAResourceThatIsGoneEverywhereIsForgotten(t *testing.T) {
	gone := func(address, more string) string {
		return `{"address":"` + address + `","mode":"managed","type":"x"` + more +
			`,"change":{"actions":["delete"],"before":{"a":1},"after":null}}`
	}
	const created = `{"address":"x.back","mode":"managed","type":"x","change":{"actions":["create"],"before":null,"after":{},"after_unknown":{}}}`
	const same = `{"address":"x.same","mode":"managed","type":"x","change":{"actions":["no-op"],"before":{},"after":{}}}`
	view, err := Parse([]byte(`{"format_version":"1.2","resource_drift":[` +
		gone("x.out", "") + `,` + gone("x.back", "") + `,` + gone("x.old", `,"deposed":"ab12"`) +
		`,{"address":"x.same","mode":"managed","type":"x","change":{"actions":["update"],"before":{},"after":{}}}` +
		`],"resource_changes":[` + created + `,` + same + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range view.Changes {
		got = append(got, c.Action+" "+c.Address)
	}
	if diff := cmp.Diff([]string{"forget x.out", "create x.back"}, got); diff != "" {
		t.Error(diff)
	}
}
