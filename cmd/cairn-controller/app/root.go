// Package app has the commands of what runs in the cluster: the operator and the server, in one process or in one each.
package app

import "github.com/spf13/cobra"

// Commands are the commands of the operator and the server.
func Commands() []*cobra.Command {
	return []*cobra.Command{serveCommand(), operatorCommand(), serverCommand(), evaluatePoliciesCommand()}
}
