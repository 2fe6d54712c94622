package screen

import (
	"fmt"
	"io"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"cairn.dev/cairn/api/v1alpha1"
)

// StateVersions is a table of the versions of a state that are kept, the newest first. Of those that counts does not have
// it is not said how many resources they hold.
func StateVersions(st *v1alpha1.State, counts map[int64]int32, s Style) *metav1.Table {
	versions := make([]v1alpha1.StateVersion, 0, len(st.Status.Versions))
	for i := len(st.Status.Versions) - 1; i >= 0; i-- {
		versions = append(versions, st.Status.Versions[i])
	}
	return table(versions, func(v *v1alpha1.StateVersion) []any {
		resources := "-"
		if n, ok := counts[v.Version]; ok && n < 0 {
			resources = "encrypted"
		} else if ok {
			resources = strconv.Itoa(int(n))
		}
		return []any{
			strconv.FormatInt(v.Version, 10), v.Serial, resources, size(v.Size), s.age(v.At.Time), writer(v),
			string(v.Storage), v.At.UTC().Format("2006-01-02 15:04:05Z"), v.SHA256,
		}
	}, func(*v1alpha1.StateVersion) runtime.Object { return st },
		"Version", "Serial", "Resources", "Size", "Age", "By", "+Storage", "+At", "+SHA256")
}

// writer is the Run or the person that wrote a version.
func writer(v *v1alpha1.StateVersion) string {
	switch {
	case v.Run != "" && v.By != "":
		return v.Run + ", by " + v.By
	case v.Run != "":
		return v.Run
	}
	return or(v.By, "-")
}

// StateNotes says what else there is to know of a state: that it is locked, and that a newer one waits.
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
		_, err := fmt.Fprintf(w, "\nA newer state waits, serial %d, which Run %s could not write %s ago. It becomes a version before the next plan.\n",
			r.Serial, Clean(r.Run), s.age(r.At.Time))
		return err
	}
	return nil
}

// backendNotes say where the engine keeps the state, and whether it is to go there.
func backendNotes(w io.Writer, st *v1alpha1.State) error {
	in, move := st.Status.Backend, st.Status.Move
	if in != nil {
		text := fmt.Sprintf("The engine keeps this state in its backend %s, which had serial %d when it was last seen.", Clean(in.Type), in.Serial)
		if in.Version < st.Status.Version {
			text += " The current version is newer; the next plan puts it there."
		}
		if _, err := fmt.Fprintln(w, "\n"+text); err != nil {
			return err
		}
	}
	if move == nil || move.Version != st.Status.Version {
		return nil
	}
	_, err := fmt.Fprintf(w, "\n%s lets the next plan put version %d into the Stack's backend.\n", Clean(move.By), move.Version)
	return err
}

// LockOf says who holds a lock.
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
		holder = or(lock.Who, "nobody who is known")
	case lock.Who != "":
		holder += " (" + lock.Who + ")"
	}
	return s.paint(yellow, Clean(fmt.Sprintf("Locked by %s, for %s. Lock ID: %s", holder, s.age(lock.Since.Time), lock.ID)))
}
