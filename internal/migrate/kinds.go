package migrate

import (
	"slices"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// kind is a kind of another system.
type kind struct {
	system   string
	group    string
	versions []string
	name     string
	// plural is its name in the API's paths.
	plural string
	// stack says that each object becomes a Stack, of the same name where that is free.
	stack bool
	// convert adds to the conversion what the object becomes, and speaks of each field of spec. Metadata and status are seen to.
	convert func(*conversion, *object)
}

// To add a system: a file with a list of its kinds and their converters, the list named below, and in testdata/<system> for each version
// <version>.fields (one path of its schema a line, as in Terraform.spec.vars[].name) and <version>.yaml (objects that have all of them), beside
// examples. A converter reads fields (o.at("spec", "path").text()), says of each what it became (became, notNeeded, cannot, ignored, todo: they do
// nothing for a field that is not there; o.note speaks of one that is absent), and gives the conversion a Stack (c.add), with a Repository
// from c.repository where its code is in git. `go test ./internal/migrate -update` writes the golden files.

// kinds are all that are known, each system's together. Where two objects would become Stacks of one name, that of the system which is
// named first here keeps it.
var kinds = slices.Concat(
	own, alustan, burrito, galleybytes, flux, tofuController, tfOperator, kubernetes,
)

// kindOf is the place of a kind in the list, whatever its version; -1 when it is not in it.
func kindOf(apiVersion, name string) int {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return -1
	}
	return slices.IndexFunc(kinds, func(k kind) bool { return k.group == gv.Group && k.name == name })
}
