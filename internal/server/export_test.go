package server

import (
	"net/http"
	"slices"

	"cairn.dev/cairn/internal/listing"
)

// AnswerTo gives the status and the text of the answer to an error.
var AnswerTo = answerTo

type recorded []string

func (r *recorded) Handle(pattern string, _ http.Handler) { *r = append(*r, pattern) }

// Patterns are all that people can ask.
func Patterns() []string {
	var all recorded
	newUserAPI(userOptions{Catalog: listing.NewCatalog()}).addPeople(&all)
	slices.Sort(all)
	return all
}

// OpenAPI is the description that is served.
func OpenAPI() []byte { return openAPI }

// CheckSite says what is wrong with the URL of the page.
func CheckSite(url string) error {
	_, err := siteOf(SignIn{URL: url})
	return err
}
