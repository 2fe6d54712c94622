package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"cairn.dev/cairn/internal/lifecycle/kinds"
)

// openAPI is what the page shows of an OpenAPI document.
type openAPI struct {
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]schema }
}

type operation struct {
	Summary     string
	Parameters  []parameter
	RequestBody *struct{ Content map[string]media }
	Responses   map[string]struct{ Content map[string]media }
}

type parameter struct{ Name, In, Description string }

type media struct{ Schema *schema }

type schema struct {
	Description, Type, Format string
	Ref                       string `json:"$ref"`
	Items                     *schema
	Properties                map[string]schema
}

// A group is a section of the page, with the part of a path that its requests have.
type group struct{ title, part string }

// groups returns a section for each kind, and one for the other requests.
func groups() []group {
	var all []group
	for _, k := range kinds.All {
		all = append(all, group{k.Named().Plural, "/" + k.Named().Resource()})
	}
	return append(all, group{"Other requests", ""})
}

// methods is the order of the methods of a path.
var methods = []string{"get", "post", "delete", "x-lock", "x-unlock"}

// httpPage returns a section for the requests about each resource, and one for the types.
func httpPage(repository fs.FS) (string, error) {
	data, err := fs.ReadFile(repository, "internal/server/userhandler/openapi.json")
	if err != nil {
		return "", err
	}
	var api openAPI
	if err := json.Unmarshal(data, &api); err != nil {
		return "", err
	}
	var out strings.Builder
	paths := slices.Sorted(maps.Keys(api.Paths))
	for _, group := range groups() {
		var rows [][]string
		paths = slices.DeleteFunc(paths, func(path string) bool {
			if !strings.Contains(path, group.part) {
				return false
			}
			for _, method := range methods {
				if o, ok := api.Paths[path][method]; ok {
					name := strings.ToUpper(strings.TrimPrefix(method, "x-"))
					rows = append(rows, []string{"`" + name + " " + path + "`", o.describe()})
				}
			}
			return true
		})
		fmt.Fprintf(&out, "## %s\n\n%s", group.title, table([]string{"Request", "Description"}, rows))
	}
	out.WriteString("## Types\n\n")
	for _, name := range slices.Sorted(maps.Keys(api.Components.Schemas)) {
		s := api.Components.Schemas[name]
		fmt.Fprintf(&out, "### %s\n\n%s", name, paragraph(prose(s.Description)))
		var rows [][]string
		for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
			p := s.Properties[field]
			description := prose(stop(p.Description))
			rows = append(rows, []string{"`" + field + "`", p.name(), description})
		}
		out.WriteString(table([]string{"Field", "Type", "Description"}, rows))
	}
	return out.String(), nil
}

// describe returns what a request does, with its parameters, its body and its response.
func (o operation) describe() string {
	parts := []string{prose(stop(o.Summary))}
	var means []string // the descriptions of the parameters, each once
	names := map[string][]string{}
	for _, p := range o.Parameters {
		if p.In != "query" {
			continue
		}
		if names[p.Description] == nil {
			means = append(means, p.Description)
		}
		names[p.Description] = append(names[p.Description], "`"+p.Name+"`")
	}
	for _, text := range means {
		parts = append(parts, strings.Join(names[text], ", ")+": "+prose(stop(text)))
	}
	if o.RequestBody != nil {
		parts = append(parts, "Body: "+contents(o.RequestBody.Content)+".")
	}
	for _, code := range slices.Sorted(maps.Keys(o.Responses)) {
		if code == "default" {
			continue
		}
		if answer := contents(o.Responses[code].Content); answer != "" {
			parts = append(parts, "Response: "+answer+".")
		} else {
			parts = append(parts, "Response: "+code+".")
		}
	}
	return strings.Join(parts, " ")
}

// contents returns the type of a body, or its media type.
func contents(content map[string]media) string {
	var names []string
	for mime, m := range content {
		if m.Schema == nil {
			names = append(names, "`"+mime+"`")
		} else {
			names = append(names, m.Schema.name())
		}
	}
	slices.Sort(names)
	return strings.Join(names, " or ")
}

// name returns the name of a type.
func (s schema) name() string {
	switch {
	case s.Ref != "":
		name := s.Ref[strings.LastIndex(s.Ref, "/")+1:]
		return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name))
	case s.Type == "array" && s.Items != nil:
		return "list of " + s.Items.name()
	case s.Format == "date-time":
		return "time"
	case s.Type == "":
		return "any"
	}
	return s.Type
}
