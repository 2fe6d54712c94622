package screen

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// TestDriftSentence checks the drift checks in the output of `cairn describe STACK`: the interval, its source, and the
// time of the next check.
func TestDriftSentence(t *testing.T) {
	every := func(d time.Duration) *v1alpha1.Drift { return &v1alpha1.Drift{Interval: &metav1.Duration{Duration: d}} }
	checks := func(by v1alpha1.IntervalSource, in time.Duration) *v1alpha1.DriftChecks {
		c := &v1alpha1.DriftChecks{Interval: metav1.Duration{Duration: 12 * time.Hour}, IntervalSource: by}
		if in != 0 {
			c.NextCheckTime = &metav1.Time{Time: noon.Add(in)}
		}
		return c
	}
	applied := func(c *v1alpha1.DriftChecks) v1alpha1.StackStatus {
		return v1alpha1.StackStatus{ObservedGeneration: 1, AppliedInputsDigest: "sha256:a", DriftChecks: c}
	}
	found := applied(checks(v1alpha1.IntervalFromInstallation, time.Hour))
	found.Drift = &v1alpha1.DriftStatus{CheckedAt: metav1.Time{Time: noon.Add(-11 * time.Hour)}}
	ignoring := applied(checks(v1alpha1.IntervalFromInstallation, time.Hour))
	ignoring.Drift = &v1alpha1.DriftStatus{CheckedAt: metav1.Time{Time: noon.Add(-11 * time.Hour)}, Run: "net-9",
		Ignored: 6}
	for _, address := range []string{"a.a", "a.b", "a.c", "a.d", "a.e", "a.f"} {
		ignoring.Drift.Differences = append(ignoring.Drift.Differences, v1alpha1.DriftDifference{
			Difference: v1alpha1.Difference{Address: address, Action: "update"}, Ignored: "known",
		})
	}
	for name, tt := range map[string]struct {
		spec   v1alpha1.StackSpec
		status v1alpha1.StackStatus
		want   string
	}{
		"the installation's default": {
			v1alpha1.StackSpec{}, applied(checks(v1alpha1.IntervalFromInstallation, 3*time.Hour)),
			"checked every 12h, the installation's default; next check in 3h, at 2026-11-20T15:00:00Z",
		},
		"the Stack's own interval": {
			v1alpha1.StackSpec{Drift: every(12 * time.Hour)}, applied(checks(v1alpha1.IntervalFromStack, time.Minute)),
			"checked every 12h (spec.drift.interval); next check in 60s, at 2026-11-20T12:01:00Z",
		},
		"after what the last check found": {
			v1alpha1.StackSpec{}, found, "none 11h ago; checked every 12h, the installation's default; next check in " +
				"60m, at 2026-11-20T13:00:00Z",
		},
		"what is ignored": {
			v1alpha1.StackSpec{}, ignoring, "none 11h ago; ignored by spec.drift.ignore: a.a (known), a.b (known), " +
				"a.c (known), a.d (known), a.e (known) and 1 more, see cairn diff net-9; checked every 12h, the " +
				"installation's default; next check in 60m, at 2026-11-20T13:00:00Z",
		},
		"a check that is due": {
			v1alpha1.StackSpec{}, applied(checks(v1alpha1.IntervalFromInstallation, -time.Second)),
			"checked every 12h, the installation's default; a check is due now",
		},
		"a suspended Stack": {
			v1alpha1.StackSpec{Suspend: true}, applied(checks(v1alpha1.IntervalFromStack, 0)),
			"checked every 12h (spec.drift.interval); no check while the Stack is suspended",
		},
		"a Stack that was never applied": {
			v1alpha1.StackSpec{}, v1alpha1.StackStatus{DriftChecks: checks(v1alpha1.IntervalFromInstallation, 0)},
			"checked every 12h, the installation's default; no check before the Stack is applied",
		},
		"a Stack with a change that is not applied": {
			v1alpha1.StackSpec{}, applied(checks(v1alpha1.IntervalFromInstallation, 0)),
			"checked every 12h, the installation's default; no check before all changes are applied",
		},
		"a Stack that turns its checks off": {
			v1alpha1.StackSpec{Drift: every(0)}, applied(nil), "checks are off, since spec.drift.interval is 0s",
		},
		"an installation without a default": {
			v1alpha1.StackSpec{}, applied(nil), "checks are off: neither spec.drift.interval nor the installation's " +
				"default sets an interval",
		},
		"a Stack that no operator has seen": {v1alpha1.StackSpec{}, v1alpha1.StackStatus{ObservedGeneration: -1}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			st := &v1alpha1.Stack{Spec: tt.spec, Status: tt.status}
			if got := driftSentence(st, Style{Now: noon}); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}
