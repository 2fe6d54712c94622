package state

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/cli/statefile"
	"cairn.dev/cairn/internal/state/document"
	"cairn.dev/cairn/internal/userapi"
)

func pushCommand(s *session.Session) *cobra.Command {
	var (
		force, yes bool
		format     string
	)
	cmd := &cobra.Command{
		Use:   "push STACK FILE|-",
		Short: "Push a file as the new version of a Stack's state",
		Long: `Makes a file, or what comes from standard input, the new version of the state. As with tofu state push it has
to have the state's lineage and a higher serial, unless --force is given. It is refused while the state is locked or a
Run of the Stack is at work. Nothing real is changed: the next plan compares what is there with the new state.`,
		Example: s.Examples(`
			cairn state push net net.tfstate
			tofu state pull | cairn state push net - --yes`),
		Args: cobra.ExactArgs(2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return nil, cobra.ShellCompDirectiveDefault // a file
			}
			return s.Complete(completeStates)(cmd, args, toComplete)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := session.CheckFormat(format, session.FormatJSON, session.FormatYAML); err != nil {
				return err
			}
			return pushState(cmd.Context(), s, args[0], args[1], force, yes, format)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "take it also with another lineage, or with a serial that does not follow")
	cmd.Flags().StringVarP(&format, "output", "o", "", "json or yaml")
	yesFlag(cmd, &yes)
	return cmd
}

func pushState(ctx context.Context, s *session.Session, arg, file string, force, yes bool, format string) error {
	key, err := stateKey(s, arg)
	if err != nil {
		return err
	}
	data, err := readFile(ctx, s, file, userapi.LargestState)
	if err != nil {
		return err
	}
	document, err := document.Parse(data)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	shown := int64(0)
	if !yes {
		fmt.Fprintf(s.ErrOut, "The state in %s has serial %d and %s.\n", file, document.Serial, countResources(int64(document.Resources)))
		if shown, err = showReplacement(ctx, s, key, data); err != nil {
			return err
		}
	}
	if err := s.Confirm(ctx, yes, file != "-", fmt.Sprintf("Make it the state of Stack %s?", key.Name)); err != nil {
		return err
	}
	server, err := s.Server(ctx)
	if err != nil {
		return err
	}
	version, err := server.At(shown).PushState(ctx, key.Namespace, key.Name, data, force)
	if err != nil {
		return s.ExplainServer(err)
	}
	return printVersion(s, format, key, version)
}

// readFile reads a file, or standard input for -.
func readFile(ctx context.Context, s *session.Session, name string, most int64) (data []byte, err error) {
	if name == "-" {
		data, err = s.ReadInput(ctx, most+1)
	} else {
		data, err = readUpTo(name, most+1)
	}
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s is larger than the %d MiB that a state may have", name, most>>20)
	}
	return data, err
}

func readUpTo(name string, most int64) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // only read
	return io.ReadAll(io.LimitReader(file, most))
}

// showReplacement shows what a new state has otherwise than the current one, as far as this person may see that. It
// gives the version that this was; 0 when it is not known.
func showReplacement(ctx context.Context, s *session.Session, key client.ObjectKey, data []byte) (shown int64, err error) {
	if st, err := getState(ctx, s, key); err == nil {
		shown = st.Status.Version
	}
	next, err := statefile.Parse(data)
	if errors.Is(err, statefile.ErrEncrypted) {
		return shown, nil
	}
	if err != nil {
		return 0, err
	}
	now, err := readState(ctx, s, key, shown)
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if err != nil {
		fmt.Fprintf(s.ErrOut, "It is not compared with the current one: %v.\n", err)
		return shown, nil
	}
	fmt.Fprintf(s.ErrOut, "From the current one, serial %d, it is different in this:\n\n", now.Serial)
	d := statefile.Compare(now, next)
	if err := d.Write(s.ErrOut, style(s)); err != nil {
		return 0, err
	}
	if n := d.Count(statefile.Removed); n > 0 {
		fmt.Fprintf(s.ErrOut, "\nWhat is removed from the state lives on without it, and an apply would make it once more: %s.\n", countResources(int64(n)))
	}
	return shown, nil
}
