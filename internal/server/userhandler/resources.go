package userhandler

import (
	"net/http"
	"slices"

	"cairn.dev/cairn/internal/lifecycle/kinds"
	"cairn.dev/cairn/internal/server/auth"
	"cairn.dev/cairn/internal/server/httpapi"
	"cairn.dev/cairn/internal/server/listing"
	"cairn.dev/cairn/internal/userapi"
)

// listResources responds with a page of the resources in the states of the namespaces in which a user can read every
// state. Addresses are a part of a state, so that takes the same right.
func (s *API) listResources(w http.ResponseWriter, r *http.Request, p auth.User) error {
	rows, err := s.seenBy(r.Context(), p, mayPull, kinds.States, r.PathValue("namespace"))
	if err != nil {
		return err
	}
	query := r.URL.Query()
	// The values of a field are counted also in rows that this field's filter leaves out.
	chosen := func(name, value string) bool {
		return !query.Has(name) || slices.Contains(query["facet"], name) || slices.Contains(query[name], value)
	}
	states := slices.DeleteFunc(kinds.Typed[userapi.State](rows), func(st *userapi.State) bool {
		return !chosen("namespace", st.Namespace) || !chosen("stack", st.Name)
	})
	resources, missing, err := s.inventory.Rows(r.Context(), states)
	if err != nil {
		return err
	}
	page, err := listing.Resources.PageOf(resources, query)
	if err != nil {
		return err
	}
	return httpapi.WriteJSON(w, http.StatusOK, userapi.Resources{Page: page, Missing: missing})
}
