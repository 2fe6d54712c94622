// Command cairn-controller is what runs in the cluster: the operator and the server.
package main

import (
	"os"

	"cairn.dev/cairn/cmd/cairn-controller/app"
)

func main() { os.Exit(app.Main()) }
