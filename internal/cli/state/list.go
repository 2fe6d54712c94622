package state

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/cli/statefile"
	"cairn.dev/cairn/internal/engine/plan"
)

func listCommand(s *session.Session) *cobra.Command {
	var (
		version int64
		format  string
	)
	cmd := onState(s, &cobra.Command{
		Use:   "list STACK [ADDRESS...]",
		Short: "List the resources in a Stack's state",
		Long: `Lists the addresses of the resources in the state, as tofu state list does. An ADDRESS is that of a resource,
or of a module or a resource with several instances, which selects all of them.`,
		Example: s.Examples(`
			cairn state list net
			cairn state list net module.subnets
			cairn state list net --version 3 -o json`),
		Args:              session.Args(cobra.MinimumNArgs(1)),
		ValidArgsFunction: s.Complete(completeAddresses),
	}, func(ctx context.Context, key client.ObjectKey, args []string) error {
		return listResources(ctx, s, key, args, version, format)
	})
	cmd.Flags().Int64Var(&version, "version", 0, "version of the state; default: the current one")
	session.AddFormatFlag(cmd, &format, session.FormatWide, session.FormatName)
	return cmd
}

func listResources(
	ctx context.Context, s *session.Session, key client.ObjectKey, addresses []string, version int64, format string,
) error {
	state, err := readState(ctx, s, key, version)
	if err != nil {
		return err
	}
	resources := []statefile.Resource{}
	if len(addresses) == 0 {
		resources = append(resources, state.Resources...)
	}
	for _, address := range addresses {
		found := append(state.Find(address), state.Below(address)...)
		if len(found) == 0 {
			return notInState(state, key.Name, address)
		}
		resources = append(resources, found...)
	}
	switch format {
	case session.FormatJSON, session.FormatYAML:
		return s.PrintValue(format, resources)
	case session.FormatWide:
		return table(s, resources)
	}
	for _, r := range resources {
		fmt.Fprintln(s.Text(), r.Address)
	}
	return nil
}

func table(s *session.Session, resources []statefile.Resource) error {
	table := tabwriter.NewWriter(s.Text(), 0, 8, 3, ' ', 0)
	fmt.Fprintln(table, "ADDRESS\tMODE\tPROVIDER\tNOTE")
	for _, r := range resources {
		note := "-"
		switch {
		case r.Deposed != "":
			note = "deposed " + plan.Escape(r.Deposed)
		case r.Tainted:
			note = "tainted"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.Address, plan.Escape(r.Mode), providerName(r.Provider), note)
	}
	return table.Flush()
}

// providerName returns the source of a provider, which the state has as provider["..."], with its alias.
func providerName(in string) string {
	before, source, found := strings.Cut(in, `provider["`)
	if !found {
		return plan.Escape(in)
	}
	source, alias, _ := strings.Cut(source, `"]`)
	return plan.Escape(before + source + alias)
}

// notInState returns the error of a resource that the state does not have, with similar ones.
func notInState(state *statefile.State, name, address string) error {
	var addresses []string
	for _, r := range state.Resources {
		addresses = append(addresses, r.Address)
	}
	text := fmt.Sprintf("there is no %s in the state of Stack %s", plan.Escape(address), name)
	if near := session.Similar(address, addresses); len(near) > 0 {
		return fmt.Errorf("%s: did you mean %s?", text, strings.Join(near, ", "))
	}
	return fmt.Errorf("%s: `cairn state list %s` lists its resources", text, name)
}
