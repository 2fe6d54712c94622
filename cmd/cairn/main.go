// Command cairn is Cairn's command line.
package main

import (
	"os"

	"cairn.dev/cairn/internal/cli"
)

func main() { os.Exit(cli.Main()) }
