package main

import (
	"fmt"
	"regexp"
	"strings"
)

// width is the longest line of a paragraph.
const width = 120

var (
	// pathOfPage is a page of the documentation in a text of the source: by its path in the repository, or its URL.
	pathOfPage = regexp.MustCompile(
		`(?:https://github\.com/cairn-dev/cairn/blob/[a-z]+/)?\bdocs/([a-z-]+/[\w-]+\.md)(#[a-z0-9-]+)?`)
	// linkToPage is a link to one, as in charts/cairn/README.md.
	linkToPage = regexp.MustCompile(`\[[^\]]*\]\((?:\.\./)+docs/([a-z-]+/[\w-]+\.md)(#[a-z0-9-]+)?\)`)
	// example is the end of a description, which Go comments do not quote.
	example = regexp.MustCompile(`(Examples?: )([^\s"{\[` + "`" + `][^\s]*)\.$`)
	literal = regexp.MustCompile(strings.Join([]string{
		`--[a-z][a-z-]*(?:=\S*[^\s.,;:)])?`,                             // a flag
		`\b(?:spec|status|metadata)(?:\.[a-zA-Z]+)+`,                    // a field
		`\b[a-z]+[A-Z][a-zA-Z]*\b`,                                      // a field, alone
		`\b[a-z]+(?:_[a-z]+)+\b`,                                        // a label or an argument
		`\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b`,                                 // a variable of the environment
		`[*\w-]*\.(?:auto\.)?(?:tfvars|tf|hcl|json|ya?ml)(?:\.json)?\b`, // a file
	}, "|"))
)

// prose returns a text of the source as Markdown: literals in code spans, and pages of the documentation as links.
func prose(text string) string {
	text = strings.Join(strings.Fields(linkToPage.ReplaceAllString(text, "docs/$1$2")), " ")
	var out strings.Builder
	for i, part := range strings.Split(quoteExamples(text), "`") {
		if i%2 == 1 {
			out.WriteString("`" + part + "`")
			continue
		}
		links := pathOfPage.FindAllStringSubmatchIndex(part, -1)
		at := 0
		for _, m := range links {
			out.WriteString(plain(part[at:m[0]]))
			out.WriteString(pathOfPage.ReplaceAllString(part[m[0]:m[1]], "[$1](../$1$2)"))
			at = m[1]
		}
		out.WriteString(plain(part[at:]))
	}
	return out.String()
}

// plain escapes what Markdown and the site's templates would interpret, and puts literals into code spans.
func plain(text string) string {
	var out strings.Builder
	at := 0
	for _, m := range literal.FindAllStringIndex(text, -1) {
		out.WriteString(escape.Replace(text[at:m[0]]))
		out.WriteString("`" + text[m[0]:m[1]] + "`")
		at = m[1]
	}
	out.WriteString(escape.Replace(text[at:]))
	return out.String()
}

var escape = strings.NewReplacer("<", `\<`, "*", `\*`, "[", `\[`, "{{", `\{\{`)

// quoteExamples puts the examples of a description, which are YAML, into code spans.
func quoteExamples(text string) string {
	if strings.Contains(text, "`") {
		return text
	}
	text = example.ReplaceAllString(text, "$1`$2`.")
	var out strings.Builder
	for {
		at := strings.IndexAny(text, "{[\"")
		if at < 0 {
			return out.String() + text
		}
		end := balanced(text[at:])
		if end == 0 {
			out.WriteString(text[:at+1])
			text = text[at+1:]
			continue
		}
		out.WriteString(text[:at] + "`" + text[at:at+end] + "`")
		text = text[at+end:]
	}
}

// balanced returns the length of the YAML or the string that a text begins with, 0 if it does not end.
func balanced(text string) int {
	depth, quoted := 0, false
	for i, c := range text {
		switch {
		case c == '"':
			if quoted = !quoted; !quoted && depth == 0 {
				return i + 1
			}
		case quoted:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return 0
}

// cell returns a text as a cell of a table, which is one line.
func cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", `\|`)
}

// stop returns a text with a full stop at its end.
func stop(text string) string {
	if text = strings.TrimSpace(text); text == "" || strings.ContainsAny(text[len(text)-1:], ".!?:") {
		return text
	}
	return text + "."
}

// table returns a table. The cells are Markdown.
func table(head []string, rows [][]string) string {
	if len(rows) == 0 {
		return ""
	}
	var out strings.Builder
	line := func(cells []string) {
		out.WriteString("|")
		for _, text := range cells {
			fmt.Fprintf(&out, " %s |", cell(text))
		}
		out.WriteString("\n")
	}
	line(head)
	out.WriteString("|" + strings.Repeat("---|", len(head)) + "\n")
	for _, row := range rows {
		line(row)
	}
	return out.String() + "\n"
}

// paragraph returns a text in lines that are not too long.
func paragraph(text string) string {
	var out strings.Builder
	n := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case n+1+len([]rune(word)) > width:
			out.WriteString("\n")
			n = 0
		default:
			out.WriteString(" ")
			n++
		}
		out.WriteString(word)
		n += len([]rune(word))
	}
	return out.String() + "\n\n"
}

// code returns a block of code.
func code(language, text string) string {
	return "```" + language + "\n" + strings.Trim(text, "\n") + "\n```\n\n"
}
