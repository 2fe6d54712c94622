package release

import (
	"slices"
	"strings"

	"github.com/opentofu/tofudl/branding"
)

// Product is an engine, by the name that a Stack has for it.
type Product string

// The products that are known.
const (
	OpenTofu   Product = "OpenTofu"
	Terraform  Product = "Terraform"
	Terragrunt Product = "Terragrunt"
)

// maker describes how the releases of a product are published. In the names of files {version}, {os} and {arch} stand
// for the requested ones.
type maker struct {
	// folder of the product on a mirror, and below Options.Dir.
	folder string
	// index is the maker's list of versions, and release the folder of one of them: URLs.
	index, release string
	// archive that holds the program, or is the program when program is empty.
	archive, program string
	// sums is the list of checksums, signatures are names that its signature may have.
	sums       string
	signatures []string
	// key is the maker's armored public key.
	key string
}

// makers is the one table of all products.
func makers() map[Product]maker {
	return map[Product]maker{
		OpenTofu: {
			folder:     "opentofu",
			index:      branding.DefaultDownloadAPIURL,
			release:    "https://github.com/opentofu/opentofu/releases/download/v{version}",
			archive:    "tofu_{version}_{os}_{arch}.zip",
			program:    "tofu",
			sums:       "tofu_{version}_SHA256SUMS",
			signatures: []string{"tofu_{version}_SHA256SUMS.gpgsig"},
			key:        branding.DefaultGPGKey,
		},
		Terraform: {
			folder:  "terraform",
			index:   "https://releases.hashicorp.com/terraform/index.json",
			release: "https://releases.hashicorp.com/terraform/{version}",
			archive: "terraform_{version}_{os}_{arch}.zip",
			program: "terraform",
			sums:    "terraform_{version}_SHA256SUMS",
			// The first is by the key of 2021. Of releases before it, the other is by a key that was revoked.
			signatures: []string{"terraform_{version}_SHA256SUMS.72D7468F.sig", "terraform_{version}_SHA256SUMS.sig"},
			key:        hashicorpKey,
		},
		Terragrunt: {
			folder: "terragrunt",
			// The tags are one small answer. The list of releases is many pages of megabytes, and GitHub answers only
			// sixty questions an hour.
			index:      "https://api.github.com/repos/gruntwork-io/terragrunt/git/matching-refs/tags/v",
			release:    "https://github.com/gruntwork-io/terragrunt/releases/download/v{version}",
			archive:    "terragrunt_{os}_{arch}",
			sums:       "SHA256SUMS",
			signatures: []string{"SHA256SUMS.gpgsig"}, // since 0.98.0
			key:        gruntworkKey,
		},
	}
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
func known(all map[Product]maker) string {
	var names []string
	for p := range all {
		names = append(names, string(p))
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
