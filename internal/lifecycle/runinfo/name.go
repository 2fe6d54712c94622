// Package runinfo has the pure functions over Runs, and over requests for Runs, that the controllers of Stacks and
// Runs, the server and the CLI share.
package runinfo

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/api/v1alpha1"
)

// Name of the n-th Run of a Stack.
func Name(stack string, n int) string { return fmt.Sprintf("%s-%d", stack, n) }

// Number of a Run by its name; 0 when Name does not return such a name.
func Number(name string) int {
	n, err := strconv.Atoi(name[strings.LastIndexByte(name, '-')+1:])
	if err != nil || n < 0 {
		return 0
	}
	return n
}

// StackName is the name of the Stack whose Run has this name; empty when Name does not return such a name.
func StackName(run string) string {
	stack, ok := strings.CutSuffix(run, fmt.Sprintf("-%d", Number(run)))
	if !ok {
		return ""
	}
	return stack
}

// Of returns the Runs of a Stack, the newest first, and none of an earlier Stack of its name.
func Of(runs []v1alpha1.Run, stack *v1alpha1.Stack) []v1alpha1.Run {
	return newestFirst(runs, func(r *v1alpha1.Run) bool { return metav1.IsControlledBy(r, stack) })
}

// OfState returns the Runs that used the State of a name, the newest first: a State outlives its Stack.
func OfState(runs []v1alpha1.Run, state string) []v1alpha1.Run {
	return newestFirst(runs, func(r *v1alpha1.Run) bool { return r.Spec.Stack.Name == state })
}

func newestFirst(runs []v1alpha1.Run, of func(*v1alpha1.Run) bool) []v1alpha1.Run {
	runs = slices.DeleteFunc(runs, func(r v1alpha1.Run) bool { return !of(&r) })
	slices.SortFunc(runs, func(a, b v1alpha1.Run) int { return cmp.Compare(Number(b.Name), Number(a.Name)) })
	return runs
}

// CommitOf is the commit that a revision names; empty when it names none.
func CommitOf(revision string) string {
	if _, commit, ok := strings.Cut(revision, "@sha1:"); ok {
		return commit
	}
	commit, ok := strings.CutPrefix(revision, "sha1:")
	if !ok {
		return ""
	}
	return commit
}

// Labels of the objects of a Run.
const (
	LabelStack = "cairn.dev/stack"
	LabelRun   = "cairn.dev/run"
)

// LabelValue shortens a name to what a label may hold; labels are for users and selectors, nothing is decided by them.
func LabelValue(name string) string {
	const limit = 63
	if len(name) <= limit {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return strings.TrimRight(name[:limit-9], "-.") + "-" + hex.EncodeToString(sum[:4])
}
