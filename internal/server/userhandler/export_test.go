package userhandler

import (
	"net/http"
	"slices"

	"cairn.dev/cairn/internal/server/listing"
)

type recorded []string

func (r *recorded) Handle(pattern string, _ http.Handler) { *r = append(*r, pattern) }

// Patterns are the routes of the user API.
func Patterns() []string {
	var all recorded
	New(Options{Catalog: listing.NewCatalog()}).addRoutes(&all)
	slices.Sort(all)
	return all
}
