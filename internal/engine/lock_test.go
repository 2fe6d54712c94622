package engine

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLockedBy(t *testing.T) {
	const lockError = "Error message: %s\nLock Info:\n  ID:        f00\n  Path:      %s\n  Operation: " +
		"OperationTypeApply\n  Who:       somebody@else\n  Version:   1.12.6\n  Created:   2026-01-02 03:04:05 +0000 " +
		"UTC\n  Info:      \n\n\nOpenTofu acquires a state lock to protect the state from being written\nby multiple " +
		"users at the same time."
	bob := HeldLock{ID: "f00", Who: "somebody@else", Since: "2026-01-02 03:04:05 +0000 UTC",
		Operation: "OperationTypeApply"}
	for name, test := range map[string]struct {
		backend, message, path string
		want                   HeldLock
	}{
		"S3": {"s3", "operation error S3: PutObject\nPreconditionFailed",
			"states/net.tfstate", bob},
		"Kubernetes, without a path":   {"kubernetes", "the state is already locked by another client", "", bob},
		"PostgreSQL, without a holder": {"pg", "Workspace is already locked: default", "", HeldLock{}},
		"http, with the ID twice":      {"http", "HTTP remote state already locked: ID=f00", "", bob},
		"http, with the ID only": {"http", "HTTP remote state already locked: ID=other (by alice)", "",
			HeldLock{ID: "other"}},
		"http, without a holder": {"http", "HTTP remote state already locked, failed to unmarshal body", "",
			HeldLock{}},
	} {
		t.Run(name, func(t *testing.T) {
			text := fmt.Sprintf(lockError, test.message, test.path)
			test.want.Message = test.message
			if name == "S3" {
				test.want.Message = "operation error S3: PutObject PreconditionFailed"
			}
			event := Diagnostic{Severity: "error", Summary: "Error acquiring the state lock", Detail: text}
			for _, d := range []Diagnostic{event, ReadErrors("Error: Error acquiring the state lock\n\n" + text)[0]} {
				if got, ok := LockedBy(test.backend, d); !ok || got != test.want {
					t.Error(cmp.Diff(test.want, got))
				}
			}
		})
	}
	for _, d := range []Diagnostic{
		{Summary: "Error acquiring the state lock", Detail: "Error message: Failed to lock: LOCK http://server/state " +
			"giving up after 1 attempt(s)"},
		{Summary: "Another error", Detail: fmt.Sprintf(lockError, "no", "")},
	} {
		if got, ok := LockedBy("s3", d); ok {
			t.Errorf("%+v", got)
		}
	}
}

// TestLockedByAsRecorded checks recorded errors of the engines.
func TestLockedByAsRecorded(t *testing.T) {
	_, events := load(t, "lock-held")
	want := HeldLock{
		Message: "HTTP remote state already locked: ID=8d4f5661", ID: "8d4f5661", Who: "somebody@else",
		Since: "2026-01-02 03:04:05 +0000 UTC", Operation: "OperationTypeApply",
	}
	if got, ok := LockedBy("http", *FirstError(events.Errors)); !ok || got != want {
		t.Error(cmp.Diff(want, got))
	}
}
