package gitprovider

import (
	"bytes"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"
)

// payload is the JSON of a webhook: its body, or the field payload of the form that its body is.
func payload(h http.Header, body []byte) ([]byte, error) {
	if kind, _, _ := mime.ParseMediaType(h.Get("Content-Type")); kind != FormType {
		return body, nil
	}
	for len(body) > 0 { // not url.ParseQuery, which allocates much for a form with many fields
		var pair []byte
		pair, body, _ = bytes.Cut(body, []byte("&"))
		if value, ok := bytes.CutPrefix(pair, []byte("payload=")); ok {
			text, err := url.QueryUnescape(string(value))
			return []byte(text), err
		}
	}
	return nil, errors.New("the form has no payload")
}

// Content types of payloads.
const (
	JSONType = "application/json"
	FormType = "application/x-www-form-urlencoded"
)

// Only few fields are decoded, and of lists a fixed number of items: what is decoded is never much larger than that.

// moved turns it into a push of refs, or of tags if all of them are.
func (e *Event) moved(refs, commits []string) {
	e.Kind = KindTag
	for _, r := range refs {
		if !strings.HasPrefix(r, "refs/tags/") {
			e.Kind = KindPush
		}
	}
	switch len(refs) {
	case 0:
		e.Kind = KindPush
	case 1:
		e.Ref, e.Commit = refs[0], commits[0]
	}
}
