package decision

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// A verification is about the Stacks that have applied the release. Only drift that is found rejects a release: a check
// that fails, or does not start, has no result, and the stage waits for one.

// defaultTimeout is that of a verification of the API.
const defaultTimeout = time.Hour

// verify verifies the release that all affected Stacks of a stage have applied. It reports whether the release passes;
// otherwise it returns the time until the result is overdue, 0 if that does not matter.
func (w Snapshot) verify(spec *v1alpha1.PipelineStage, s *v1alpha1.StageStatus) (time.Duration, bool) {
	if spec.Verify == nil || spec.Verify.Drift == nil {
		s.VerifiedAt = nil
		return 0, true
	}
	by := map[Verification][]Stack{}
	for _, one := range w.Stages[spec.Name] {
		if one.Affected {
			by[one.Verification] = append(by[one.Verification], one)
		}
	}
	switch {
	case len(by[Rejected]) > 0:
		s.VerifiedAt = nil
		w.set(s, v1alpha1.StageFailed, "drift after the apply: "+named(by[Rejected]))
		return 0, false
	case len(by[Unchecked]) > 0:
		s.VerifiedAt = nil
		w.set(s, v1alpha1.StageVerifying, "without drift checks, which spec.drift.interval enables: "+
			named(by[Unchecked]))
		return max(0, overdue(spec, s, w.Now)), false
	case len(by[Unverified]) > 0:
		s.VerifiedAt = nil
		w.set(s, v1alpha1.StageVerifying, "waits for a drift check of "+named(by[Unverified]))
		return max(0, overdue(spec, s, w.Now)), false
	}
	if s.VerifiedAt == nil {
		s.VerifiedAt = &metav1.Time{Time: w.Now}
	}
	return 0, true
}

// overdue is the time until the result of the verification of a stage is overdue; not positive if it is.
func overdue(spec *v1alpha1.PipelineStage, s *v1alpha1.StageStatus, now time.Time) time.Duration {
	return s.Since.Add(timeoutOf(spec)).Sub(now)
}

func timeoutOf(spec *v1alpha1.PipelineStage) time.Duration {
	if v := spec.Verify; v != nil && v.Drift != nil && v.Drift.Timeout != nil {
		return v.Drift.Timeout.Duration
	}
	return defaultTimeout
}
