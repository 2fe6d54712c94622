package server

import (
	"net/http"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/people"
)

// showJournal gives what applies have done of which it is not known that the state has it all. Who may read the state may read that:
// it holds less.
func (s *userAPI) showJournal(w http.ResponseWriter, r *http.Request, a ask) error {
	st := &v1alpha1.State{}
	if err := s.Live.Get(r.Context(), a.NamespacedName, st); client.IgnoreNotFound(err) != nil {
		return err
	}
	if st.UID == "" {
		return noVersion(a, 0)
	}
	a.noted("journal", true)
	free, err := s.memory.hold(r.Context(), a.Namespace, 2*st.Status.Size)
	if err != nil {
		return err
	}
	defer free()
	told, err := s.State.Told(r.Context(), a.NamespacedName)
	if err != nil {
		return err
	}
	journal := people.Journal{Resources: make([]people.JournalResource, len(told))}
	for i, t := range told {
		journal.Resources[i] = people.JournalResource{
			Address: t.Address, Type: t.Type, Action: t.Action, IDKey: t.IDKey, ID: t.ID,
			Run: t.Run, Attempt: t.Attempt, Standing: string(t.How),
		}
	}
	return writeJSON(w, http.StatusOK, journal)
}
