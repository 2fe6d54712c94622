package closure

import (
	"strings"
	"testing"
)

func TestVersionFiles(t *testing.T) {
	for text, want := range map[string]string{
		"1.9.2":                             "= 1.9.2",
		"v1.9.2":                            "= 1.9.2",
		"1.9.2\n":                           "= 1.9.2",
		"\ufeff# why\r\n\r\n 1.9.2 # x\r\n": "= 1.9.2",
		"1.10.0-beta1":                      "= 1.10.0-beta1",
		"1.9":                               "= 1.9.0",
		"~> 1.8":                            "~> 1.8",
		">= 1.8, < 1.10":                    ">= 1.8, < 1.10",
		"latest":                            "",
		"latest-stable":                     "",
		"latest-allowed":                    "",
		"min-required":                      "",
		"latest:^1.8":                       "~> 1.8.0",
		`latest:^1\.8\.`:                    "~> 1.8.0",
		"latest:^1.8.*":                     "~> 1.8.0",
		"latest:1":                          "~> 1.0",
		"latest:^v1.8.3$":                   "= 1.8.3",
	} {
		if got, err := ParseVersionFile([]byte(text)); got != want || err != nil {
			t.Errorf("%q is %q, not %q: %v", text, got, want, err)
		}
	}
}

func TestInvalidVersionFilesAreRejected(t *testing.T) {
	for _, text := range []string{
		"", "\n# 1.9.2\n", "new", "1.9.2 1.9.3", "1.9.2\n1.9.3\n", "latest:", "latest:^(1.8|1.9)", "latest:.*",
		"latest-pre!", "min:^1.8", "1.9.2\x00", "\xff\xfe1",
		"<<<<<<< HEAD\n1.9.2", "~> ", ">= 1.8,", "opentofu 1.9.2", strings.Repeat("9", 4000), "-1",
	} {
		if got, err := ParseVersionFile([]byte(text)); err == nil || got != "" {
			t.Errorf("%.60q is %q", text, got)
		}
	}
}
