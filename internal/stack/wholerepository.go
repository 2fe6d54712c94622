package stack

import (
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/run/runinfo"
)

const (
	// mostOpen is how many of World.Open the condition names, and longestOpen how many bytes each may take.
	mostOpen    = 3
	longestOpen = 300
)

// wholeRepositoryCondition is WholeRepository; nil when nothing of the code is open, or it was not read.
func wholeRepositoryCondition(w World) *metav1.Condition {
	git := w.Stack.Spec.Source.Git
	if len(w.Open) == 0 || git == nil {
		return nil
	}
	var named []string
	for _, open := range w.Open[:min(len(w.Open), mostOpen)] {
		named = append(named, runinfo.Clip(open, longestOpen))
	}
	more := ""
	if n := len(w.Open) - mostOpen; n > 0 {
		more = fmt.Sprintf("; and %d more", n)
	}
	return &metav1.Condition{
		Type: v1alpha1.ConditionWholeRepository, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReadsUnknown,
		Message: fmt.Sprintf("the code names what is not known before the engine runs (%s%s), so every commit to Repository %s plans this Stack; "+
			"literal paths limit that to commits which change what it uses", strings.Join(named, "; "), more, git.Repository.Name),
		ObservedGeneration: w.Stack.Generation, LastTransitionTime: metav1.Time{Time: w.Now},
	}
}
