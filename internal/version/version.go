// Package version knows which build this is.
package version

// Version of this build; set by the linker.
var Version = "dev"
