package state

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/cli/statefile"
)

func showCommand(s *session.Session) *cobra.Command {
	var (
		version int64
		format  string
		reveal  bool
	)
	cmd := onState(s, &cobra.Command{
		Use:   "show STACK ADDRESS",
		Short: "Show the attributes of a resource in a Stack's state",
		Long: `Shows the attributes of one resource in the state. It hides values that the state marks as sensitive, texts
that contain such a value, and texts of attributes with a name such as password or token, as a state does not record which
attributes a provider declares as sensitive.`,
		Example: s.Examples(`
			cairn state show net aws_vpc.this
			cairn state show net 'module.subnets.aws_subnet.this["a"]' -o json
			cairn state show net random_password.db --show-sensitive`),
		Args:              session.Args(cobra.ExactArgs(2)),
		ValidArgsFunction: s.Complete(completeAddress),
	}, func(ctx context.Context, key client.ObjectKey, args []string) error {
		return showResources(ctx, s, key, args[0], version, format, reveal)
	})
	f := cmd.Flags()
	f.Int64Var(&version, "version", 0, "version of the state; default: the current one")
	f.BoolVar(&reveal, "show-sensitive", false, "show sensitive values too")
	session.AddFormatFlag(cmd, &format)
	return cmd
}

// shownResource is a resource with its attributes, as JSON and YAML.
type shownResource struct {
	statefile.Resource
	Attributes any `json:"attributes"`
}

func showResources(
	ctx context.Context, s *session.Session, key client.ObjectKey, address string, version int64, format string,
	reveal bool,
) error {
	state, err := readState(ctx, s, key, version)
	if err != nil {
		return err
	}
	found := state.Find(address)
	if len(found) == 0 {
		if below := state.Below(address); len(below) > 0 {
			var addresses []string
			for _, r := range below[:min(3, len(below))] {
				addresses = append(addresses, r.Address)
			}
			return fmt.Errorf("%s is not a single resource: `cairn state list %s %s` lists its %d resources, "+
				"for example %s",
				address, key.Name, address, len(below), strings.Join(addresses, ", "))
		}
		return notInState(state, key.Name, address)
	}
	all := []shownResource{}
	for _, r := range found {
		if reveal {
			r.Attributes = statefile.Reveal(r.Attributes)
		}
		all = append(all, shownResource{r, r.Attributes})
		if format == "" {
			if err := statefile.WriteResource(s.Text(), r, style(s)); err != nil {
				return err
			}
		}
	}
	switch {
	case format == "":
		return nil
	case len(all) == 1:
		return s.PrintValue(format, all[0])
	}
	return s.PrintValue(format, all)
}

// completeAddress completes a State and then one address.
func completeAddress(ctx context.Context, s *session.Session, args []string) ([]string, error) {
	if len(args) > 1 {
		return nil, nil
	}
	return completeAddresses(ctx, s, args)
}
