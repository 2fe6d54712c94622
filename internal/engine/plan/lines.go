package plan

import (
	"bytes"
	"encoding/json"
	"strings"
)

// A text of several lines is shown line by line when it is no longer than this.
const (
	mostLines = 200
	mostText  = 16 << 10
)

// textLine is a line of a text that is shown line by line.
type textLine struct{ symbol, action, text string }

// lines returns a text of several lines, with what changes in it; nil where it is better shown on one line. A JSON
// document in a text, such as a policy of a cloud, is shown as one.
func lines(a Attribute) (kind string, all []textLine) {
	before, okBefore := textOf(a.Before)
	after, okAfter := textOf(a.After)
	if a.Sensitive || a.Unknown || !okBefore || !okAfter || len(before) > mostText || len(after) > mostText {
		return "", nil
	}
	kind = "EOT"
	if indentedBefore, indentedAfter := indented(before), indented(after); (a.Before == nil || indentedBefore != "") &&
		(a.After == nil || indentedAfter != "") && indentedBefore != indentedAfter {
		kind, before, after = "JSON", indentedBefore, indentedAfter
	}
	if !several(before) && !several(after) {
		return "", nil
	}
	from, to := splitLines(before), splitLines(after)
	if len(from) > mostLines || len(to) > mostLines {
		return "", nil
	}
	if a.Before != nil && a.After != nil && strings.HasSuffix(before, "\n") != strings.HasSuffix(after, "\n") {
		from, to = endsWith(from, before), endsWith(to, after)
	}
	return kind, compareLines(from, to, a.Before == nil || a.After == nil)
}

func several(s string) bool { return strings.Contains(strings.TrimSuffix(s, "\n"), "\n") }

// indented returns a text that is a JSON document with members or elements with one on each line.
func indented(s string) string {
	if !strings.HasPrefix(s, "{") && !strings.HasPrefix(s, "[") {
		return ""
	}
	var value any
	if decode([]byte(s), &value) != nil || !json.Valid([]byte(s)) {
		return ""
	}
	var b bytes.Buffer
	if json.Indent(&b, encode(value), "", "  ") != nil {
		return ""
	}
	return b.String()
}

func compareLines(from, to []string, one bool) []textLine {
	if one {
		var all []textLine
		for _, l := range append(from, to...) {
			all = append(all, textLine{text: l})
		}
		return all
	}
	var all []textLine
	var added []textLine // after all that is removed in the same place
	for _, step := range align(len(from), len(to), func(i, j int) bool { return from[i] == to[j] }) {
		if step.from >= 0 && step.to >= 0 && from[step.from] == to[step.to] {
			all = append(append(all, added...), textLine{text: from[step.from]})
			added = nil
			continue
		}
		if step.from >= 0 {
			all = append(all, textLine{"-", Delete, from[step.from]})
		}
		if step.to >= 0 {
			added = append(added, textLine{"+", Create, to[step.to]})
		}
	}
	return append(all, added...)
}

// textOf returns the text that a value is; an absent value is an empty one.
func textOf(value json.RawMessage) (string, bool) {
	if value == nil {
		return "", true
	}
	var s string
	return s, json.Unmarshal(value, &s) == nil && string(value) != "null"
}

func splitLines(s string) []string {
	if s == "" {
		return nil
	}
	all := strings.Split(strings.TrimSuffix(s, "\n"), "\n")
	for i, l := range all {
		all[i] = cut(escape(l))
	}
	return all
}

// endsWith marks a last line without a line break, when that is all that differs.
func endsWith(all []string, s string) []string {
	if len(all) > 0 && !strings.HasSuffix(s, "\n") {
		all[len(all)-1] += " (no line break at the end)"
	}
	return all
}
