package app

import (
	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/engine/policy"
)

// evaluatePolicies is the command with which Cairn runs itself to evaluate policies in a process that it can kill.
const evaluatePolicies = "evaluate-policies"

func evaluatePoliciesCommand() *cobra.Command {
	return &cobra.Command{
		Use:    evaluatePolicies,
		Short:  "Evaluate the policies on standard input for a plan there; for cairn-controller serve only",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return policy.Answer(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
