package cli

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/cli/statefile"
)

func stateListCommand(s *session) *cobra.Command {
	var (
		version int64
		format  string
	)
	cmd := &cobra.Command{
		Use:   "list STACK [ADDRESS...]",
		Short: "List the resources in a Stack's state",
		Long: `Lists the addresses of the resources in the state, as tofu state list does. An ADDRESS is that of a resource, or of a
module or a resource with several instances, which stands for all that is in it.`,
		Example: s.examples(`
			cairn state list net
			cairn state list net module.subnets
			cairn state list net --version 3 -o json`),
		Args:              cobra.MinimumNArgs(1),
		ValidArgsFunction: s.complete(completeAddresses),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format, formatJSON, formatYAML, formatWide, formatName); err != nil {
				return err
			}
			return s.stateList(cmd.Context(), args[0], args[1:], version, format)
		},
	}
	cmd.Flags().Int64Var(&version, "version", 0, "version of the state; default: the current one")
	cmd.Flags().StringVarP(&format, "output", "o", "", "json, yaml, wide or name")
	return cmd
}

func (s *session) stateList(ctx context.Context, arg string, addresses []string, version int64, format string) error {
	key, err := s.stateName(arg)
	if err != nil {
		return err
	}
	state, err := s.look(ctx, key, version)
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
	case formatJSON, formatYAML:
		return s.printValue(format, resources)
	case formatWide:
		return s.stateTable(resources)
	}
	for _, r := range resources {
		fmt.Fprintln(s.Out, r.Address)
	}
	return nil
}

func (s *session) stateTable(resources []statefile.Resource) error {
	table := tabwriter.NewWriter(s.Out, 0, 8, 3, ' ', 0)
	fmt.Fprintln(table, "ADDRESS\tMODE\tPROVIDER\tNOTE")
	for _, r := range resources {
		note := "-"
		switch {
		case r.Deposed != "":
			note = "deposed " + statefile.Printable(r.Deposed)
		case r.Tainted:
			note = "tainted"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", r.Address, statefile.Printable(r.Mode), providerName(r.Provider), note)
	}
	return table.Flush()
}

// providerName is the provider's source, which the state has as provider["..."], with an alias behind it.
func providerName(in string) string {
	before, source, found := strings.Cut(in, `provider["`)
	if !found {
		return statefile.Printable(in)
	}
	source, alias, _ := strings.Cut(source, `"]`)
	return statefile.Printable(before + source + alias)
}

// notInState says that there is no such resource, and which ones may be meant.
func notInState(state *statefile.State, name, address string) error {
	var addresses []string
	for _, r := range state.Resources {
		addresses = append(addresses, r.Address)
	}
	text := fmt.Sprintf("there is no %s in the state of Stack %s", statefile.Printable(address), name)
	if near := similar(address, addresses); len(near) > 0 {
		return fmt.Errorf("%s: did you mean %s?", text, strings.Join(near, ", "))
	}
	return fmt.Errorf("%s: `cairn state list %s` shows what is", text, name)
}
