package runinfo

import "testing"

func TestKeepIfEquivalent(t *testing.T) {
	const before = "delete plans/a/1: https response error StatusCode: 403, RequestID: 4QX9ZT7V, HostID: b/3+x=, " +
		"AccessDenied"
	for name, tt := range map[string]struct {
		now  string
		same bool
	}{
		"another request": {"delete plans/a/2: https response error StatusCode: 403, RequestID: 7YY0AAAA, HostID: " +
			"99+/0=, AccessDenied", true},
		"another reason": {"delete plans/a/1: https response error StatusCode: 403, RequestID: 4QX9ZT7V, HostID: " +
			"b/3+x=, InvalidObjectState", false},
		"a longer text": {before + " for another user", false},
		"nothing":       {"", false},
	} {
		want := tt.now
		if tt.same {
			want = before
		}
		if got := KeepIfEquivalent(before, tt.now); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
	const port = `failed calling webhook "a.b": Post "https://a.b:443/": read tcp 10.0.0.7:41234->10.0.0.8:443: read: connection reset by peer`
	if got := KeepIfEquivalent(port,
		`failed calling webhook "a.b": Post "https://a.b:443/": read tcp 10.0.0.7:50001->10.0.0.8:443: read: connection reset by peer`); got != port {
		t.Errorf("another port: %q", got)
	}
}
