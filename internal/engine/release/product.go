package release

import (
	"slices"
	"strings"

	"cairn.dev/cairn/internal/engine"
)

// Product is an engine, by the name that a Stack has for it.
type Product string

// The products that have a name here; the others are those of engine.All.
const (
	OpenTofu   Product = "OpenTofu"
	Terraform  Product = "Terraform"
	Terragrunt Product = "Terragrunt"
)

// makers are the releases of all engines.
func makers() map[Product]engine.Release {
	all := map[Product]engine.Release{}
	for _, e := range engine.All() {
		all[Product(e.Name())] = e.Release
	}
	return all
}

// wanted is one program.
type wanted struct {
	product           Product
	version, os, arch string
	// pin is the digest of the list of checksums where that replaces the signature; empty otherwise.
	pin string
}

// key names the download of it.
func (w wanted) key() string { return w.name(string(w.product) + " {version} {os} {arch}") }

func (w wanted) platform() string { return w.os + "_" + w.arch }

// folder is where the program is stored, below that of the product. Programs without a signature are apart: once their
// digest is no longer in the configuration, they are not used.
func (w wanted) folder() string {
	name := w.platform()
	if w.pin != "" {
		name += "_" + strings.TrimPrefix(w.pin, "sha256:")
	}
	return w.version + "/" + name
}

// name fills in a name of a file.
func (w wanted) name(pattern string) string {
	return strings.NewReplacer("{version}", w.version, "{os}", w.os, "{arch}", w.arch).Replace(pattern)
}

// known lists the products for a message.
func known(all map[Product]engine.Release) string {
	var names []string
	for p := range all {
		names = append(names, string(p))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
