package state

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

func TestBehind(t *testing.T) {
	at := func(minute int) metav1.Time { return metav1.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC) }
	st := func(version, serial int64, lineage, sum string, minute int) v1alpha1.StateStatus {
		return v1alpha1.StateStatus{
			Version: version, Serial: serial, Lineage: lineage, SHA256: sum,
			Versions: []v1alpha1.StateVersion{{Version: version, Serial: serial, SHA256: sum, At: at(minute)}},
		}
	}
	backup := func(version, serial int64, lineage, sum string, minute int) Backup {
		return Backup{Stack: "mine", Lineage: lineage, StateVersion: v1alpha1.StateVersion{Version: version, Serial: serial, SHA256: sum, At: at(minute)}}
	}
	theirs := backup(3, 5, "L", "c", 3)
	theirs.Stack = "another"
	for name, c := range map[string]struct {
		st   v1alpha1.StateStatus
		b    Backup
		want Standing
	}{
		"the same":                                          {st(3, 5, "L", "c", 3), backup(3, 5, "L", "c", 3), Same},
		"the same, counted anew":                            {st(1, 5, "L", "c", 9), backup(3, 5, "L", "c", 3), Same},
		"a State from before":                               {st(2, 4, "L", "b", 2), backup(3, 5, "L", "c", 3), Newer},
		"a State from before its first version":             {v1alpha1.StateStatus{}, backup(3, 5, "L", "c", 3), Newer},
		"the same of another Stack":                         {st(3, 5, "L", "c", 3), theirs, Same},
		"a State from before, of a Stack made anew":         {st(2, 4, "L", "b", 2), theirs, Newer},
		"none, of a Stack made anew":                        {v1alpha1.StateStatus{}, theirs, Forked},
		"a backup that was not written":                     {st(3, 5, "L", "c", 3), backup(2, 4, "L", "b", 2), Older},
		"one that another writer overtook":                  {st(4, 5, "L", "d", 3), backup(3, 5, "L", "c", 3), Older},
		"the same serial, and a State from before":          {st(2, 5, "L", "b", 2), backup(3, 5, "L", "c", 3), Newer},
		"another lineage by force, and no backup of it":     {st(4, 1, "M", "d", 4), backup(3, 5, "L", "c", 3), Older},
		"a State from before another lineage came by force": {st(2, 4, "L", "b", 2), backup(3, 5, "M", "c", 3), Forked},
		"another lineage at the same time":                  {st(2, 4, "L", "b", 3), backup(3, 5, "M", "c", 3), Forked},
	} {
		t.Run(name, func(t *testing.T) {
			if got := behind(c.st, c.b, "mine"); got != c.want {
				t.Errorf("%s, want %s", got, c.want)
			}
		})
	}
}
