package kubelet

import "testing"

// The cases are those of Kubernetes' own expansion package.
func TestExpand(t *testing.T) {
	vars := map[string]string{"VAR_A": "A", "VAR_B": "B", "VAR_C": "C", "VAR_REF": "$(VAR_A)", "VAR_EMPTY": ""}
	for _, tt := range []struct{ name, in, want string }{
		{"whole string", "$(VAR_A)", "A"},
		{"no second round", "$(VAR_REF)", "$(VAR_A)"},
		{"an escape", "$$(VAR_A)", "$(VAR_A)"},
		{"an escape, then a reference", "f000-$$$(VAR_A)", "f000-$A"},
		{"two escapes", "foo$$$$(BAR)", "foo$$(BAR)"},
		{"in the middle", "a-$(VAR_A)-b-$(VAR_B)", "a-A-b-B"},
		{"an empty value", "foo $(VAR_EMPTY) bar", "foo  bar"},
		{"unknown stays", "$(DEFAULT)", "$(DEFAULT)"},
		{"unknown, then known", "$(NOPE)$(VAR_A)", "$(NOPE)A"},
		{"not closed", "foo-$(VAR_A", "foo-$(VAR_A"},
		{"not closed, then a dollar", "$(VAR$$", "$(VAR$"},
		{"nested names are not looked into", "$(A$(VAR_B))", "$(A$(VAR_B))"},
		{"a dollar and other characters", "$VAR_A $ $-", "$VAR_A $ $-"},
		{"a dollar at the end", "100$", "100$"},
		{"empty reference", "$()", "$()"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := expand(tt.in, vars); got != tt.want {
				t.Errorf("expand(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}
