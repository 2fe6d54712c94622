package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/internal/cli/statefile"
	"cairn.dev/cairn/internal/state"
	"cairn.dev/cairn/internal/userapi"
)

func statePushCommand(s *session) *cobra.Command {
	var (
		force, yes bool
		format     string
	)
	cmd := &cobra.Command{
		Use:   "push STACK FILE|-",
		Short: "Push a file as the new version of a Stack's state",
		Long: `Makes a file, or what comes from standard input, the new version of the state. As with tofu state push it has to have the
state's lineage and a higher serial, unless --force is given. It is refused while the state is locked or a Run of the
Stack is at work. Nothing real is changed: the next plan compares what is there with the new state.`,
		Example: s.examples(`
			cairn state push net net.tfstate
			tofu state pull | cairn state push net - --yes`),
		Args: cobra.ExactArgs(2),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return nil, cobra.ShellCompDirectiveDefault // a file
			}
			return s.complete(completeStates)(cmd, args, toComplete)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkFormat(format, formatJSON, formatYAML); err != nil {
				return err
			}
			return s.statePush(cmd.Context(), args[0], args[1], force, yes, format)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "take it also with another lineage, or with a serial that does not follow")
	cmd.Flags().StringVarP(&format, "output", "o", "", "json or yaml")
	yesFlag(cmd, &yes)
	return cmd
}

func (s *session) statePush(ctx context.Context, arg, file string, force, yes bool, format string) error {
	key, err := s.stateName(arg)
	if err != nil {
		return err
	}
	data, err := s.readFile(ctx, file, userapi.LargestState)
	if err != nil {
		return err
	}
	document, err := state.Parse(data)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	shown := int64(0)
	if !yes {
		fmt.Fprintf(s.ErrOut, "The state in %s has serial %d and %s.\n", file, document.Serial, countResources(int64(document.Resources)))
		if shown, err = s.showReplacement(ctx, key, data); err != nil {
			return err
		}
	}
	if err := s.agree(ctx, yes, file != "-", fmt.Sprintf("Make it the state of Stack %s?", key.Name)); err != nil {
		return err
	}
	server, err := s.server(ctx)
	if err != nil {
		return err
	}
	version, err := server.At(shown).PushState(ctx, key.Namespace, key.Name, data, force)
	if err != nil {
		return s.explainServer(err)
	}
	return s.tellVersion(format, key, version)
}

// readFile reads a file, or standard input for -.
func (s *session) readFile(ctx context.Context, name string, most int64) (data []byte, err error) {
	if name == "-" {
		data, err = s.typedIn(ctx, most+1)
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
func (s *session) showReplacement(ctx context.Context, key client.ObjectKey, data []byte) (shown int64, err error) {
	if st, err := s.stateOf(ctx, key); err == nil {
		shown = st.Status.Version
	}
	next, err := statefile.Parse(data)
	if errors.Is(err, statefile.ErrEncrypted) {
		return shown, nil
	}
	if err != nil {
		return 0, err
	}
	now, err := s.look(ctx, key, shown)
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	if err != nil {
		fmt.Fprintf(s.ErrOut, "It is not compared with the current one: %v.\n", err)
		return shown, nil
	}
	fmt.Fprintf(s.ErrOut, "From the current one, serial %d, it is different in this:\n\n", now.Serial)
	d := statefile.Compare(now, next)
	if err := d.Write(s.ErrOut, s.stateStyle()); err != nil {
		return 0, err
	}
	if n := d.Count(statefile.Removed); n > 0 {
		fmt.Fprintf(s.ErrOut, "\nWhat is removed from the state lives on without it, and an apply would make it once more: %s.\n", countResources(int64(n)))
	}
	return shown, nil
}
