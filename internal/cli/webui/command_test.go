package webui

import (
	"slices"
	"testing"
)

func TestBrowserCommand(t *testing.T) {
	for name, test := range map[string]struct {
		system string
		env    map[string]string
		want   []string
	}{
		"macOS":             {"darwin", nil, []string{"open"}},
		"Windows":           {"windows", nil, []string{"rundll32", "url.dll,FileProtocolHandler"}},
		"X":                 {"linux", map[string]string{"DISPLAY": ":0"}, []string{"xdg-open"}},
		"Wayland":           {"linux", map[string]string{"WAYLAND_DISPLAY": "wayland-0"}, []string{"xdg-open"}},
		"without a desktop": {"linux", nil, nil},
	} {
		if got := browserCommand(test.system, func(name string) string { return test.env[name] }); !slices.Equal(got,
			test.want) {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}
