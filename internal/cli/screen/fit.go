package screen

import (
	"fmt"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"cairn.dev/cairn/internal/base/shorten"
	"cairn.dev/cairn/internal/lifecycle/kinds"
)

const (
	// shortestMessage is how much of a message is printed where the other columns leave less space for it.
	shortestMessage = 20
	// narrowestColumn and gap are the width of a column and the space after its longest cell, as kubectl prints tables.
	narrowestColumn, gap = 6, 3
)

// A Fit cuts messages, so that each row of a table is one line of a terminal. Like the printer, it remembers the widest
// cell of each column, because a watch prints tables below each other.
type Fit struct {
	// Width is the width of the terminal. Nothing is cut if it is 0.
	Width int
	// widest are the widths of the columns; the first one is that of the namespaces.
	widest []int
}

// Cut cuts the messages of the table that is printed next, without its wide columns.
func (f *Fit) Cut(t *metav1.Table, namespaces bool) {
	last := len(t.ColumnDefinitions) - 1
	if f.Width == 0 || t.ColumnDefinitions[last].Name != kinds.MessageColumn {
		return
	}
	if f.widest == nil {
		f.widest = make([]int, last+1)
		if namespaces {
			f.widest[0] = len("NAMESPACE")
		}
		for i, c := range t.ColumnDefinitions[:last] {
			if c.Priority == 0 {
				f.widest[i+1] = len(c.Name)
			}
		}
	}
	for _, row := range t.Rows {
		if o, err := apimeta.Accessor(row.Object.Object); namespaces && err == nil {
			f.widest[0] = max(f.widest[0], len(o.GetNamespace()))
		}
		for i, c := range t.ColumnDefinitions[:last] {
			if c.Priority == 0 {
				f.widest[i+1] = max(f.widest[i+1], len(fmt.Sprint(row.Cells[i])))
			}
		}
	}
	space := f.Width
	for _, width := range f.widest {
		if width > 0 {
			space -= max(width+gap, narrowestColumn)
		}
	}
	for _, row := range t.Rows {
		if message, ok := row.Cells[last].(string); ok {
			row.Cells[last] = shorten.Characters(message, max(space, shortestMessage))
		}
	}
}
