package stack

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"text/tabwriter"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/userapi"
)

// inventoryNames are what users can write for the resources in the states.
var inventoryNames = []string{"resources", "resource"}

// getResources shows the resources in the states of some Stacks; of all Stacks if none is named.
func getResources(ctx context.Context, s *session.Session, stacks []string, g getOptions) error {
	ns, err := s.Namespace()
	switch {
	case err != nil:
		return err
	case g.everywhere && len(stacks) > 0:
		return errors.New("names are of one namespace: use either -A or names")
	case g.watch || g.selector != "":
		return errors.New("resources of states have no labels, and cannot be watched: use neither -l nor -w")
	case g.everywhere:
		ns = ""
	}
	all, err := readResources(ctx, s, ns, url.Values{"stack": stacks, "type": g.types})
	if err != nil {
		return err
	}
	for _, name := range stacks { // a State can have resources after its Stack was deleted
		if slices.ContainsFunc(all.Items, func(r userapi.Resource) bool { return r.Stack == name }) {
			continue
		}
		if _, err := s.Stack(ctx, name); apierrors.IsNotFound(err) {
			return err
		}
	}
	switch g.format {
	case session.FormatJSON, session.FormatYAML:
		err = s.PrintValue(g.format, all.Items)
	case session.FormatName:
		for _, r := range all.Items {
			fmt.Fprintln(s.Text(), screen.Clean(r.Address))
		}
	default:
		err = tableOfResources(s, all.Items, g)
	}
	noteMissing(s, all.Missing)
	return err
}

// readResources reads all pages.
func readResources(ctx context.Context, s *session.Session, ns string, query url.Values) (userapi.Resources, error) {
	for name, values := range query {
		if len(values) == 0 {
			delete(query, name)
		}
	}
	query.Set("limit", "500")
	return session.Call(ctx, s, func(server *userapi.Client) (userapi.Resources, error) {
		all := userapi.Resources{Page: userapi.Page[userapi.Resource]{Items: []userapi.Resource{}}}
		for {
			page, err := server.Resources(ctx, ns, query)
			if err != nil {
				return all, err
			}
			if page.Missing.Pending > 0 { // the server responded after some seconds with what it had
				query.Del("after")
				all.Items = all.Items[:0]
				continue
			}
			all.Items = append(all.Items, page.Items...)
			if page.Next == "" {
				all.Missing = page.Missing
				return all, nil
			}
			query.Set("after", page.Next)
		}
	})
}

func tableOfResources(s *session.Session, resources []userapi.Resource, g getOptions) error {
	if len(resources) == 0 {
		fmt.Fprintln(s.ErrOut, "There are no resources in these states.")
		return nil
	}
	table := tabwriter.NewWriter(s.Text(), 0, 8, 3, ' ', 0)
	row := func(namespace, stack, address, kind, provider, note string) {
		cells := []string{stack, address, kind}
		if g.everywhere {
			cells = append([]string{namespace}, cells...)
		}
		if g.format == session.FormatWide {
			cells = append(cells, provider, note)
		}
		for i, cell := range cells {
			cells[i] = screen.Clean(cell)
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	row("NAMESPACE", "STACK", "ADDRESS", "TYPE", "PROVIDER", "NOTE")
	for _, r := range resources {
		note := "-"
		switch {
		case r.Deposed != "":
			note = "deposed " + r.Deposed
		case r.Tainted:
			note = "tainted"
		}
		row(r.Namespace, r.Stack, r.Address, r.Type, r.Provider, note)
	}
	return table.Flush()
}

// noteMissing prints to standard error which States are not in the list.
func noteMissing(s *session.Session, missing userapi.MissingResources) {
	for _, reason := range []struct {
		states int
		text   string
	}{
		{missing.Encrypted, "encrypted by its engine, so its resources are not known"},
		{missing.Unreadable, "not readable: the log of the server has the reason"},
		{missing.Omitted, "not listed: the server has no memory left for its index"},
		{missing.Cut, "listed in part: it has more resources than an index"},
	} {
		switch {
		case reason.states == 1:
			s.Note("1 State is %s.", reason.text)
		case reason.states > 1:
			s.Note("%d States: each is %s.", reason.states, reason.text)
		}
	}
}
