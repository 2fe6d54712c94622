package engine

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// ImportFile takes resources into the state that applies have created and could not record there. An engine plans it
// with the rest, so that users see it.
const ImportFile = "zz_cairn_journal.tf"

// goneRemote is the message of engines for a resource to import that does not exist.
const goneRemote = "Cannot import non-existent remote object"

// undeclared are the messages of engines for a resource to import that is not in the code.
var undeclared = []string{
	"Configuration for import target does not exist", "Import block target does not exist",
	"Cannot import to non-existent resource address",
	"does not exist in the configuration", "Import to non-existent module",
}

// ImportBlocks is what ImportFile holds.
func ImportBlocks(missing []Missing) []byte {
	var text bytes.Buffer
	text.WriteString("# Created by Cairn: an apply that was killed created these, and the state does not have them.\n")
	for _, m := range missing {
		text.WriteString(importBlock(m))
	}
	return text.Bytes()
}

// ImportSize is how many bytes of that are for one.
func ImportSize(m Missing) int { return len(importBlock(m)) }

func importBlock(m Missing) string {
	return fmt.Sprintf("import {\n  to = %s\n  id = %s\n}\n", m.Address, Quote(m.ID))
}

// IsAddress reports whether a text is the address of a resource, and can stand in code.
func IsAddress(text string) bool {
	way, diags := hclsyntax.ParseTraversalAbs([]byte(text), "", hcl.InitialPos)
	return !diags.HasErrors() && len(way) >= 2
}

// SaysGone reports whether what was to be imported does not exist any more: then nothing is lost.
func SaysGone(message string) bool { return strings.Contains(message, goneRemote) }

// SaysUndeclared reports whether the code does not have the address of what was to be imported.
func SaysUndeclared(message string) bool {
	return slices.ContainsFunc(undeclared, func(text string) bool { return strings.Contains(message, text) })
}
