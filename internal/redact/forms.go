package redact

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
)

// shortestPart is the length from which a part of a value (a line, a string within a JSON document) is hidden where it
// stands alone.
const shortestPart = 8

// forms are the ways in which a value is likely to be written. Some may be equal, and some too short to be hidden.
func forms(value string) []string {
	value = strings.Trim(value, " \t\r\n")
	all := escaped(value)
	all = append(all, url.QueryEscape(value), url.PathEscape(value))
	all = append(all, encoded(value)...)
	for _, part := range parts(value) {
		all = append(all, escaped(part)...)
	}
	return all
}

// escaped returns a value as it is, and as it is between quotes in JSON, in Go and in the engine's language; in
// JSON twice over too, as in a document within a document.
func escaped(value string) []string {
	plain, html := quoted(value, false), quoted(value, true)
	goes := strconv.Quote(value)
	return []string{
		value, plain, html, goes[1 : len(goes)-1], quoted(plain, false), quoted(html, false),
		strings.NewReplacer("${", "$${", "%{", "%%{").Replace(plain),
	}
}

func quoted(value string, html bool) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(html)
	if err := encoder.Encode(value); err != nil {
		return value
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(b.String()), `"`), `"`)
}

// encoded returns a value in base64, with each of the three ways it can lie in a longer text that was encoded as a
// whole. The characters at both ends, which depend on what is around the value, are left out.
func encoded(value string) []string {
	var all []string
	for before := range 3 {
		padded := append(make([]byte, before), value...)
		first, last := (before*8+5)/6, len(padded)*8/6
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			all = append(all, encoding.EncodeToString(padded)[first:last])
		}
	}
	return all
}

// parts returns the lines of a value that has several, and the strings within a value that is a JSON document: the
// engine shows such values piece by piece.
func parts(value string) []string {
	var all []string
	add := func(s string) {
		if s = strings.TrimSpace(s); len(s) >= shortestPart {
			all = append(all, s)
		}
	}
	addLines := func(s string) {
		for line := range strings.Lines(s) {
			add(line)
		}
	}
	if strings.Contains(value, "\n") {
		addLines(value)
	}
	if strings.HasPrefix(value, "{") || strings.HasPrefix(value, "[") {
		var document any
		if json.Unmarshal([]byte(value), &document) == nil {
			for _, leaf := range leaves(nil, document) {
				add(leaf)
				addLines(leaf)
			}
		}
	}
	return all
}
