package screen

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/lifecycle/kinds"
)

// StateVersions returns a table of the stored versions of a state, newest first.
func StateVersions(st *v1alpha1.State, s Style) *metav1.Table {
	versions := slices.Clone(st.Status.Versions)
	slices.Reverse(versions)
	return table(versions, func(v *v1alpha1.StateVersion) []any {
		resources := "-"
		switch n := v.Resources; {
		case n == nil:
		case *n < 0:
			resources = "encrypted"
		default:
			resources = strconv.Itoa(int(*n))
		}
		return []any{
			strconv.FormatInt(v.Version, 10), v.Serial, resources, kinds.Size(v.Size), s.age(v.At.Time), writer(v),
			string(v.Storage), v.At.UTC().Format("2006-01-02 15:04:05Z"), v.SHA256,
		}
	}, func(*v1alpha1.StateVersion) runtime.Object { return st },
		"Version", "Serial", "Resources", "Size", "Age", "By", "+Storage", "+At", "+SHA256")
}

// writer returns the Run or the user that wrote a version.
func writer(v *v1alpha1.StateVersion) string {
	switch {
	case v.Run != "" && v.By != "":
		return v.Run + ", by " + v.By
	case v.Run != "":
		return v.Run
	}
	return cmp.Or(v.By, "-")
}

// StateNotes prints the lock of a state, its backend, and whether there is a rescued state.
func StateNotes(w io.Writer, st *v1alpha1.State, s Style) error {
	if lock := st.Status.Lock; lock != nil {
		if _, err := fmt.Fprintln(w, "\n"+LockOf(lock, s)); err != nil {
			return err
		}
	}
	if err := backendNotes(w, st); err != nil {
		return err
	}
	if r := st.Status.Rescued; r != nil {
		_, err := fmt.Fprintf(w, "\nThere is a rescued state, serial %d, which Run %s could not save %s ago. "+
			"It becomes a version before the next plan.\n",
			r.Serial, Clean(r.Run), s.age(r.At.Time))
		return err
	}
	return nil
}

// backendNotes prints the engine's backend of the state, and whether the next plan writes to it.
func backendNotes(w io.Writer, st *v1alpha1.State) error {
	in, move := st.Status.Backend, st.Status.Move
	if in != nil {
		text := fmt.Sprintf("This state is in the engine's backend %s, which had serial %d at the last check.",
			Clean(in.Type), in.Serial)
		if in.Version < st.Status.Version {
			text += " The current version is newer; the next plan writes it there."
		}
		if _, err := fmt.Fprintln(w, "\n"+text); err != nil {
			return err
		}
	}
	if move == nil || move.Version != st.Status.Version {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s requested that the next plan writes version %d into the Stack's backend.\n",
		Clean(move.By), move.Version)
	return err
}

// LockOf describes the holder of a lock.
func LockOf(lock *v1alpha1.Lock, s Style) string {
	holder := ""
	switch {
	case lock.By != "":
		holder = "user " + lock.By
	case lock.Run != "":
		holder = "Run " + lock.Run
		if lock.Attempt > 0 {
			holder += fmt.Sprintf(", attempt %d", lock.Attempt)
		}
	}
	switch {
	case holder == "":
		holder = cmp.Or(lock.Who, "an unknown holder")
	case lock.Who != "":
		holder += " (" + lock.Who + ")"
	}
	return s.paint(yellow, Clean(fmt.Sprintf("Locked by %s, for %s. Lock ID: %s",
		holder, s.age(lock.Since.Time), lock.ID)))
}
