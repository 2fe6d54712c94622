// Package version knows which build this is.
package version

// Version of this build; set by the linker.
var Version = "dev"

// Docs is the URL of the documentation, for messages: Docs + "how-to/access.md".
const Docs = "https://github.com/cairn-dev/cairn/blob/main/docs/"
