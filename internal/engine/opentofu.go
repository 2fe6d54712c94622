package engine

import "github.com/opentofu/tofudl/branding"

// OpenTofu is https://opentofu.org, from version 1.12 on: older ones have no -json-into.
type OpenTofu struct{}

var openTofuDialect = dialect{eventsToFile: true, encrypts: true}

// Name for messages.
func (OpenTofu) Name() string { return "OpenTofu" }

// Program is the command's name.
func (OpenTofu) Program() string { return "tofu" }

// Version asks for the version.
func (OpenTofu) Version() []string { return []string{"version", "-json"} }

// Args returns the arguments of a command.
func (OpenTofu) Args(c Command) []string { return c.args(openTofuDialect) }

// Traits of OpenTofu.
func (OpenTofu) Traits() Traits { return Traits{Encrypts: true, ReadsTofu: true} }

// Release of OpenTofu. A library has its key.
func (OpenTofu) Release() Release {
	return Release{
		Folder:     "opentofu",
		Index:      branding.DefaultDownloadAPIURL,
		Base:       "https://github.com/opentofu/opentofu/releases/download/v{version}",
		Archive:    "tofu_{version}_{os}_{arch}.zip",
		Program:    "tofu",
		Sums:       "tofu_{version}_SHA256SUMS",
		Signatures: []string{"tofu_{version}_SHA256SUMS.gpgsig"},
		Key:        branding.DefaultGPGKey,
	}
}

// PrintsEvents is false: they go to a file of their own.
func (OpenTofu) PrintsEvents(step Step) bool { return openTofuDialect.printsEvents(step) }
