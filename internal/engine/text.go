package engine

import (
	"regexp"
	"strconv"
	"strings"
)

// place is how an engine's text tells where in the code an error is.
var place = regexp.MustCompile(`^  on (.+) line (\d+)(?:,|:|$)`)

// ReadErrors finds the errors in what an engine printed for people, for when it tells no events. Of each it reads what
// an event would tell:
//
//	Error: summary
//
//	  with address,
//	  on file line 3, in block:
//	   3: code
//
//	detail
func ReadErrors(text string) []Diagnostic {
	var all []Diagnostic
	var detail []string
	end := func() {
		if len(all) > 0 {
			all[len(all)-1].Detail = strings.Join(detail, " ")
		}
		detail = nil
	}
	within := false // an error, and not a warning
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		summary, isError := strings.CutPrefix(line, "Error: ")
		switch {
		case isError || strings.HasPrefix(line, "Warning: "):
			if within {
				end()
			}
			if within = isError && len(all) < mostErrors; within {
				all = append(all, Diagnostic{Severity: "error", Summary: summary})
			}
		case !within:
		case strings.HasPrefix(line, "  ") && len(detail) == 0:
			all[len(all)-1].locate(line)
		default:
			detail = append(detail, strings.Fields(line)...)
		}
	}
	if within {
		end()
	}
	return all
}

// locate reads a line before the detail; those with code say nothing.
func (d *Diagnostic) locate(line string) {
	if address, ok := strings.CutPrefix(line, "  with "); ok {
		d.Address = strings.TrimSuffix(strings.TrimSuffix(address, ","), ":")
		return
	}
	if found := place.FindStringSubmatch(line); found != nil && d.Range == nil {
		if number, err := strconv.Atoi(found[2]); err == nil {
			d.Range = &Range{Filename: found[1], Start: Position{Line: number}}
		}
	}
}
