package statefile

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"cairn.dev/cairn/internal/engine"
	"cairn.dev/cairn/internal/engine/plan"
)

// Style is the style of the output.
type Style struct{ Color bool }

const (
	red    = "31"
	green  = "32"
	yellow = "33"
	blue   = "34"
	faint  = "2"
)

func (s Style) paint(code, text string) string {
	if !s.Color {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// WriteResource writes a resource in the engine's language.
func WriteResource(w io.Writer, r Resource, style Style) error {
	var out strings.Builder
	comment := "# " + r.Address
	switch {
	case r.Deposed != "":
		comment += " (deposed object " + plan.Escape(r.Deposed) + ", which is still to be destroyed)"
	case r.Tainted:
		comment += " (tainted: the next plan replaces it)"
	}
	out.WriteString(style.paint(faint, comment) + "\n")
	kind := "resource"
	if r.Mode == "data" {
		kind = "data"
	}
	fmt.Fprintf(&out, "%s %s %s ", kind, engine.Quote(r.Type), engine.Quote(r.Name))
	if attributes, ok := r.Attributes.(map[string]any); ok {
		p := printer{&out, style}
		p.fields(attributes, "")
	} else {
		out.WriteString("{}")
	}
	out.WriteByte('\n')
	_, err := io.WriteString(w, out.String())
	return err
}

type printer struct {
	*strings.Builder
	style Style
}

// fields writes names and values, aligned as the engine's formatter does.
func (p printer) fields(values map[string]any, indent string) {
	names := slices.Sorted(maps.Keys(values))
	if len(names) == 0 {
		p.WriteString("{}")
		return
	}
	p.WriteString("{\n")
	longest := 0
	for _, name := range names {
		longest = max(longest, utf8.RuneCountInString(field(name)))
	}
	for _, name := range names {
		fmt.Fprintf(p, "%s    %-*s = ", indent, longest, field(name))
		p.value(values[name], indent+"    ")
		p.WriteByte('\n')
	}
	p.WriteString(indent + "}")
}

func field(name string) string {
	if plain(name) {
		return name
	}
	return engine.Quote(name)
}

func (p printer) value(v any, indent string) {
	if inner, ok := dynamic(v); ok {
		v = inner
	}
	switch v := v.(type) {
	case map[string]any:
		p.fields(v, indent)
	case []any:
		if len(v) == 0 {
			p.WriteString("[]")
			return
		}
		p.WriteString("[\n")
		for _, element := range v {
			p.WriteString(indent + "    ")
			p.value(element, indent+"    ")
			p.WriteString(",\n")
		}
		p.WriteString(indent + "]")
	case string:
		p.text(v, indent)
	case Secret:
		p.WriteString(p.style.paint(faint, Masked))
	case nil:
		p.WriteString("null")
	default:
		fmt.Fprint(p, v)
	}
}

// text writes a text of several lines.
func (p printer) text(s, indent string) {
	lines := strings.Split(s, "\n")
	if len(lines) < 3 || lines[len(lines)-1] != "" || slices.Contains(lines, "EOT") ||
		strings.ContainsAny(s, "\r\x00") {
		p.WriteString(engine.Quote(s))
		return
	}
	p.WriteString("<<-EOT\n")
	for _, line := range lines[:len(lines)-1] {
		quoted := strings.NewReplacer("${", "$${", "%{", "%%{").Replace(line)
		if quoted != "" {
			quoted = indent + "    " + plan.Escape(quoted)
		}
		p.WriteString(quoted + "\n")
	}
	p.WriteString(indent + "EOT")
}

// longestShown is the length to which values are cut in a comparison.
const longestShown = 200

var headings = map[string]string{Removed: "Removed", Changed: "Changed", Added: "Added", Moved: "Moved"}

// Write writes the differences as text.
func (d Difference) Write(w io.Writer, style Style) error {
	var out strings.Builder
	if d.None() {
		out.WriteString("Nothing is different but what the engine counts.\n")
	}
	group := ""
	for _, r := range d.Resources {
		if r.Action != group {
			group = r.Action
			fmt.Fprintf(&out, "%s (%d):\n", headings[group], d.Count(group))
		}
		name := r.Address
		if r.Deposed != "" {
			name += " (deposed " + plan.Escape(r.Deposed) + ")"
		}
		if r.Previous != "" {
			name += " (moved from " + r.Previous + ")"
		}
		out.WriteString("  " + style.mark(r.Action) + " " + name + "\n")
		for _, a := range r.Attributes {
			out.WriteString("      " + style.attribute(a) + "\n")
		}
		for _, note := range r.Notes {
			out.WriteString("      " + style.paint(faint, "# "+plan.Escape(note)) + "\n")
		}
	}
	if len(d.Outputs) > 0 {
		out.WriteString("Outputs:\n")
		for _, o := range d.Outputs {
			out.WriteString("  " + style.attribute(o) + "\n")
		}
	}
	if len(d.Resources) > 0 {
		out.WriteString("\n" + d.Summary() + "\n")
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// Summary counts the differences of resources.
func (d Difference) Summary() string {
	return fmt.Sprintf("%d added, %d removed, %d changed, %d moved",
		d.Count(Added), d.Count(Removed), d.Count(Changed), d.Count(Moved))
}

func (s Style) mark(action string) string {
	switch action {
	case Added:
		return s.paint(green, "+")
	case Removed:
		return s.paint(red, "-")
	case Moved:
		return s.paint(blue, ">")
	}
	return s.paint(yellow, "~")
}

func (s Style) attribute(a AttributeDifference) string {
	path := plan.Escape(a.Path)
	switch mark := s.mark(a.Action); a.Action {
	case Added:
		return fmt.Sprintf("%s %s = %s", mark, path, short(a.After))
	case Removed:
		return fmt.Sprintf("%s %s = %s", mark, path, short(a.Before))
	default:
		if _, secret := a.After.(Secret); secret {
			return fmt.Sprintf("%s %s = %s", mark, path, Masked)
		}
		return fmt.Sprintf("%s %s = %s -> %s", mark, path, short(a.Before), short(a.After))
	}
}

// short returns a value on one line.
func short(v any) string {
	if inner, ok := dynamic(v); ok {
		v = inner
	}
	text := ""
	switch v := v.(type) {
	case string:
		text = engine.Quote(v)
	case Secret:
		return Masked
	default:
		var data strings.Builder
		encoder := json.NewEncoder(&data)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(v); err != nil {
			return err.Error()
		}
		text = plan.Escape(strings.ReplaceAll(strings.TrimSuffix(data.String(), "\n"), `"`+Masked+`"`, Masked))
	}
	if runes := []rune(text); len(runes) > longestShown {
		return fmt.Sprintf("%s... (%d characters)", string(runes[:longestShown]), len(runes))
	}
	return text
}
