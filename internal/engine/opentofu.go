package engine

import "github.com/opentofu/tofudl/branding"

// OpenTofu is https://opentofu.org, from version 1.12 on: older ones have no -json-into. A library has its key.
var OpenTofu = Engine{
	name: "OpenTofu", program: "tofu", version: []string{"version", "-json"},
	Traits: Traits{eventsToFile: true, Encrypts: true, ReadsTofu: true},
	Release: Release{
		Folder:     "opentofu",
		Index:      branding.DefaultDownloadAPIURL,
		Base:       "https://github.com/opentofu/opentofu/releases/download/v{version}",
		Archive:    "tofu_{version}_{os}_{arch}.zip",
		Program:    "tofu",
		Sums:       "tofu_{version}_SHA256SUMS",
		Signatures: []string{"tofu_{version}_SHA256SUMS.gpgsig"},
		Key:        branding.DefaultGPGKey,
	},
}
