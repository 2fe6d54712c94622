package state

import (
	"testing"
)

func TestParseVersion(t *testing.T) {
	for text, want := range map[string]int64{"1": 1, "12": 12, "0": 0, "-1": 0, "one": 0, "": 0, "1.5": 0} {
		if got, err := parseVersion(text); got != want || (err == nil) != (want > 0) {
			t.Errorf("%q: %d %v", text, got, err)
		}
	}
}

func TestProviderName(t *testing.T) {
	for in, want := range map[string]string{
		`provider["registry.opentofu.org/hashicorp/aws"]`:            "registry.opentofu.org/hashicorp/aws",
		`provider["registry.opentofu.org/hashicorp/aws"].eu`:         "registry.opentofu.org/hashicorp/aws.eu",
		`module.a.provider["registry.opentofu.org/hashicorp/aws"].x`: "module.a.registry.opentofu.org/hashicorp/aws.x",
		"provider.aws\x1b": `provider.aws\u001b`,
	} {
		if got := providerName(in); got != want {
			t.Errorf("%s: %s", in, got)
		}
	}
}
