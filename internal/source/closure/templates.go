package closure

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"cairn.dev/cairn/internal/engine/hclparse"
	"cairn.dev/cairn/internal/source/git"
)

const (
	// longestTemplate is the most bytes of a template whose calls are evaluated.
	longestTemplate = 256 << 10
	// mostTemplates is how many templates one call may render, if their name is not known.
	mostTemplates = 1000
	// mostRendered is how deep templates render others.
	mostRendered = 10
)

// render has the calls of functions that read files in a template.
type render struct {
	calls []*hclsyntax.FunctionCallExpr
	// problem is why the calls are not known, for messages.
	problem string
	weight  int
}

// templates adds the files that the templates read that an expression renders.
func (s *search) templates(ctx context.Context, m *scope, expr hclsyntax.Expression, depth int) (err error) {
	anyOf(expr, func(e hclsyntax.Expression) bool {
		call, ok := e.(*hclsyntax.FunctionCallExpr)
		if !ok || nameOf(call) != "templatefile" || len(call.Args) != 2 {
			return false
		}
		var files []git.Entry
		var known bool
		if files, known, err = s.templatesNamed(ctx, m, call.Args[0]); err != nil {
			return true
		}
		var inner *scope
		for _, file := range files {
			var r render
			if r, err = s.render(ctx, file); err != nil {
				return true
			}
			if len(r.calls) == 0 && (r.problem == "" || !known) {
				continue
			}
			if inner == nil {
				inner = m.template(call.Args[1])
			}
			if err = s.rendered(ctx, inner, file.Path, r, depth+1); err != nil {
				return true
			}
		}
		return false
	})
	return err
}

// rendered adds the files that a template reads.
func (s *search) rendered(ctx context.Context, m *scope, file string, r render, depth int) error {
	if len(r.calls) > 0 && depth > mostRendered {
		r.problem = "templates that render more others than Cairn follows"
	}
	if r.problem != "" {
		s.open = append(s.open, file+": "+r.problem)
		return nil
	}
	for _, call := range r.calls {
		at := fmt.Sprintf("%s:%d", file, call.Range().Start.Line)
		for _, arg := range call.Args {
			if err := s.texts(ctx, m, arg, true, at, reader{}); err != nil {
				return err
			}
		}
		if err := s.functionCalls(ctx, m, call, depth); err != nil {
			return err
		}
	}
	return nil
}

// templatesNamed returns the files that the first argument of templatefile may name. known is false if only the engine
// can evaluate a part of it: there may be files that are no templates among them.
func (s *search) templatesNamed(
	ctx context.Context, m *scope, expr hclsyntax.Expression,
) (files []git.Entry, known bool, err error) {
	text, known := asText(m.value(expr))
	if !known {
		text = prefixOf(m.value(expr)) + unknown
		if parts, ok := m.parts(expr); ok {
			text = m.join(parts)
		}
	}
	before, after, holes := strings.Cut(text, unknown)
	name, absolute := strings.CutPrefix(before, repositoryRoot)
	if !absolute {
		name = m.root + "/" + before
	}
	if !holes {
		p, err := s.resolve(ctx, name)
		if err != nil || !isFile(p.Kind) {
			return nil, true, err
		}
		return []git.Entry{p.Entry}, true, nil
	}
	if before == "" {
		name = m.dir + "/" // where modules have their templates
	}
	dir, begin := path.Split(name)
	p, err := s.resolve(ctx, dir)
	if err != nil || p.Kind != git.KindDir {
		return nil, false, err
	}
	end := after[strings.LastIndex(after, unknown)+1:]
	walk(s.tree, p.Path, -1, func(e git.Entry) {
		name := below(p.Path, e.Path)
		if isFile(e.Kind) && strings.HasPrefix(name, begin) && strings.HasSuffix(name, end) &&
			len(files) <= mostTemplates {
			files = append(files, e)
		}
	})
	if len(files) > mostTemplates {
		s.open = append(s.open, shown(p.Path)+": more templates than Cairn follows")
		files = nil
	}
	return files, false, s.budget.spend(len(files) * entryWork)
}

// render reads the calls in a template that read files.
func (s *search) render(ctx context.Context, e git.Entry) (render, error) {
	r, err := cached(s.c, e.ID, "template", func() (r render, _ int, _ error) {
		text, err := s.read(ctx, e, longestTemplate)
		switch {
		case errors.Is(err, ErrTooLarge):
			r.problem, err = fmt.Sprintf("a template of more than %d bytes", longestTemplate), nil
		case err == nil && readsFiles.Match(text):
			r, err = parseTemplate(ctx, text)
		}
		return r, expressionWeight * r.weight, err
	})
	if err != nil {
		return render{}, err
	}
	return r, s.budget.spend(entryWork + parseWork*r.weight)
}

// readsFiles matches a call of one of the engine's functions that read files.
var readsFiles = regexp.MustCompile(`\b(?:file\w*|templatefile)\s*\(`)

func parseTemplate(ctx context.Context, text []byte) (render, error) {
	release, err := hclparse.Acquire(ctx, len(text))
	if err != nil {
		return render{}, err
	}
	defer release()
	expr, err := hclparse.ParseTemplate(text)
	if errors.Is(err, hclparse.ErrTooLarge) || errors.Is(err, hclparse.ErrNesting) {
		return render{problem: "the template: " + err.Error()}, nil
	}
	r := render{weight: len(text)}
	if err != nil {
		return r, nil // the engine reports it
	}
	anyOf(expr, func(e hclsyntax.Expression) bool {
		call, ok := e.(*hclsyntax.FunctionCallExpr)
		switch {
		case !ok || !readsFiles.MatchString(call.Name+"("):
		case size(call) > longestExpression:
			r.problem = "a call that is too long to be evaluated"
		default:
			r.calls = append(r.calls, call)
		}
		return false
	})
	return r, nil
}
