// Command cairn is Cairn's operator, store and command line.
package main

import (
	"os"

	"cairn.dev/cairn/internal/cli"
)

func main() { os.Exit(cli.Main()) }
