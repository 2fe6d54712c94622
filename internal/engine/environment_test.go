package engine

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWithheldVariables(t *testing.T) {
	for ownBackend, want := range map[bool][]string{
		false: {"TF_VAR_x", "TF_LOG", "TF_PLUGIN_CACHE_DIR", "AWS_REGION", "TG_FEATURE", "TG_IAM_ASSUME_ROLE"},
		true: {
			"TF_VAR_x", "TF_LOG", "TF_PLUGIN_CACHE_DIR", "AWS_REGION", "TG_FEATURE", "TG_IAM_ASSUME_ROLE",
			"TF_HTTP_LOCK_ADDRESS",
		},
	} {
		var got []string
		for _, name := range []string{
			"TF_VAR_x", "TF_LOG", "TF_PLUGIN_CACHE_DIR", "AWS_REGION", "TG_FEATURE", "TG_IAM_ASSUME_ROLE",
			"TF_CLI_ARGS",
			"TF_CLI_ARGS_apply", "TF_DATA_DIR", "TF_WORKSPACE", "TF_HTTP_LOCK_ADDRESS", "TG_ALL", "TG_WORKING_DIR",
			"TERRAGRUNT_SOURCE", "CAIRN_TOKEN",
		} {
			if Withheld(name, ownBackend) == "" {
				got = append(got, name)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("own backend %v: %s", ownBackend, diff)
		}
	}
}
