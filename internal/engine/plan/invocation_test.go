package plan

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestActionsOfProvidersAreShown(t *testing.T) {
	view, err := Parse([]byte(`{"format_version":"1.2","terraform_version":"1.14.0",
		"resource_changes":[{"address":"test_disk.a","mode":"managed","type":"test_disk","name":"a","change":{
			"actions":["update"],"before":{"size":1},"after":{"size":2},"after_unknown":{}}}],
		"action_invocations":[{"address":"module.net.action.test_call.wipe[\"x\"]","type":"test_call","name":"wipe",
			"provider_name":"registry.terraform.io/hashicorp/test","config_values":{"function":"wipe","key":"s1"},
			"config_sensitive":{"key":true},"config_unknown":{"at":true},
			"lifecycle_action_trigger":{"triggering_resource_address":"test_disk.a","action_trigger_event":"AfterUpdate"}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if len(view.Changes) != 2 || view.Changes[0].Module != "module.net" || view.Changes[0].Action != Invoke {
		t.Errorf("%+v", view.Changes)
	}
	var text bytes.Buffer
	if err := Text(&text, view); err != nil {
		t.Fatal(err)
	}
	want := `  ! module.net.action.test_call.wipe["x"] will be invoked
      # after the update of test_disk.a
      + at       = (known after apply)
      + function = "wipe"
      + key      = (sensitive value)

  ~ test_disk.a will be changed
      ~ size = 1 -> 2

Plan: 0 to add, 1 to change, 0 to destroy, 1 to invoke.
`
	if diff := cmp.Diff(want, text.String()); diff != "" {
		t.Error(diff)
	}
}
