// Command cairn-migrate has `cairn migrate` and `cairn generate`, which start it.
package main

import (
	"os"

	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/migrate/command"
)

func main() { os.Exit(session.Main(command.New)) }
