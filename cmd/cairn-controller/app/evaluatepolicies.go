package app

import (
	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/policy"
)

// evaluatePolicies is what Cairn's own process calls itself with, to ask policies in a process that it can kill.
const evaluatePolicies = "evaluate-policies"

func evaluatePoliciesCommand() *cobra.Command {
	return &cobra.Command{
		Use:    evaluatePolicies,
		Short:  "Ask policies on standard input about a plan there; for cairn-controller serve only",
		Hidden: true,
		Args:   cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return policy.Answer(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
}
