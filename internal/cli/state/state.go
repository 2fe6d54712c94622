// Package state has the commands below `cairn state`.
package state

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"cairn.dev/cairn/api/v1alpha1"
	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/internal/cli/session"
	"cairn.dev/cairn/internal/cli/statefile"
	"cairn.dev/cairn/internal/userapi"
)

// Command returns `cairn state` with its subcommands.
func Command(s *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "state",
		Short: "Read, change and repair a Stack's state",
		Long: `Reads, changes and repairs the state of a Stack. These commands need Cairn's server, not its operator. Each
command has its own verb on states:
` + version.Docs + `how-to/state.md#permissions

Three commands recover a state from different sources:
  rollback  from an earlier version, as history lists them
  recover   from the log of a pod, when an apply could save its state nowhere else
  restore   from the backup in the bucket, when Kubernetes lost the State object`,
		Example: s.Examples(`
			cairn state list net
			cairn state show net 'aws_subnet.this["a"]'
			cairn state history net
			cairn state diff net 3 5
			cairn state rollback net 3`),
	}
	cmd.AddCommand(
		listCommand(s), showCommand(s), pullCommand(s), pushCommand(s), historyCommand(s),
		journalCommand(s), diffCommand(s), rollbackCommand(s), restoreCommand(s), migrateCommand(s), unlockCommand(s),
		recoverCommand(s), backendCommand(s),
	)
	return cmd
}

// stateKey returns the namespace and the name of the State for an argument: net, stack/net or state/net.
func stateKey(s *session.Session, arg string) (client.ObjectKey, error) {
	ns, err := s.Namespace()
	if err != nil {
		return client.ObjectKey{}, err
	}
	name := arg
	if kind, after, found := strings.Cut(arg, "/"); found {
		kind, _, _ = strings.Cut(strings.ToLower(kind), ".")
		if !slices.Contains([]string{"stack", "stacks", "state", "states"}, kind) {
			return client.ObjectKey{}, fmt.Errorf("%s is not a Stack: use the name of a Stack", arg)
		}
		name = after
	}
	return client.ObjectKey{Namespace: ns, Name: name}, nil
}

// onState completes a command whose first argument is a State, by default the only one. do gets the others.
func onState(
	s *session.Session, cmd *cobra.Command, do func(ctx context.Context, key client.ObjectKey, args []string) error,
) *cobra.Command {
	if cmd.Args == nil {
		cmd.Args = session.Args(cobra.ExactArgs(1))
	}
	if cmd.ValidArgsFunction == nil {
		cmd.ValidArgsFunction = s.Complete(completeStates)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		key, err := stateKey(s, args[0])
		if err != nil {
			return err
		}
		return do(cmd.Context(), key, args[1:])
	}
	return cmd
}

// A change of a state: the flags of the commands that ask the user before it.
type change struct {
	*session.Session
	yes    bool
	format string
}

func (c *change) addFlags(cmd *cobra.Command) {
	session.AddFormatFlag(cmd, &c.format)
	yesFlag(cmd, &c.yes)
}

// getState returns the State with a name. It may exist without its Stack, if that was deleted and its resources were
// not.
func getState(ctx context.Context, s *session.Session, key client.ObjectKey) (*v1alpha1.State, error) {
	state := &v1alpha1.State{}
	err := s.Get(ctx, key, state)
	if apierrors.IsNotFound(err) {
		return nil, noState(ctx, s, key, err)
	}
	return state, err
}

// noState returns why there is no State: its Stack was never applied, or does not exist.
func noState(ctx context.Context, s *session.Session, key client.ObjectKey, err error) error {
	if _, missing := s.Stack(ctx, key.Name); missing != nil {
		return missing
	}
	return session.Explained(err, "Stack %s has no state yet: its first apply writes one", key.Name)
}

// Pull returns a version of a state as its engine wrote it; version 0 is the current one.
func Pull(ctx context.Context, s *session.Session, key client.ObjectKey, version int64) ([]byte, error) {
	data, err := session.Call(ctx, s, func(server *userapi.Client) ([]byte, error) {
		return server.State(ctx, key.Namespace, key.Name, version)
	})
	if version == 0 && session.HasCode(err, http.StatusNotFound) {
		return nil, noState(ctx, s, key, err)
	}
	return data, err
}

// readState reads a version of a state; version 0 is the current one.
func readState(ctx context.Context, s *session.Session, key client.ObjectKey, version int64) (*statefile.State, error) {
	data, err := Pull(ctx, s, key, version)
	if err != nil {
		return nil, err
	}
	return statefile.Parse(data)
}

// style returns the style of states.
func style(s *session.Session) statefile.Style { return statefile.Style{Color: s.Color} }

// parseVersion parses the number of a version.
func parseVersion(text string) (int64, error) {
	version, err := strconv.ParseInt(text, 10, 64)
	if err != nil || version < 1 {
		return 0, fmt.Errorf("%q is not a version of a state: versions are numbers from 1; cairn state "+
			"history lists them",
			text)
	}
	return version, nil
}

// yesFlag adds the flag --yes of commands that ask for a confirmation.
func yesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "do not ask")
}

// writeVersion has the server write a version of a state, and prints it.
func writeVersion(
	ctx context.Context, s *session.Session, format string, key client.ObjectKey,
	write func(*userapi.Client) (userapi.StateVersion, error),
) error {
	v, err := session.Call(ctx, s, write)
	switch {
	case err != nil:
		return err
	case v.Version == 0: // of a backup that was discarded
		_, err = fmt.Fprintf(s.Text(), "Stack %s has no state.\n", key.Name)
		return err
	case format != "":
		return s.PrintValue(format, v)
	}
	_, err = fmt.Fprintf(s.Text(), "State %s is at version %d now: serial %d, %s.\n",
		key.Name, v.Version, v.Serial, countResources(int64(v.Resources)))
	return err
}

func countResources(n int64) string {
	switch {
	case n < 0:
		return "resources encrypted"
	case n == 1:
		return "1 resource"
	}
	return fmt.Sprintf("%d resources", n)
}

// completeStates completes the name of a State.
func completeStates(ctx context.Context, s *session.Session, args []string) ([]string, error) {
	return s.CompleteNames(ctx, args, &v1alpha1.StateList{})
}

// completeVersions completes a State and then up to a number of its versions, newest first.
func completeVersions(limit int) session.Completion {
	return func(ctx context.Context, s *session.Session, args []string) ([]string, error) {
		if len(args) == 0 || len(args) > limit {
			return completeStates(ctx, s, args)
		}
		key, err := stateKey(s, args[0])
		if err != nil {
			return nil, err
		}
		state, err := getState(ctx, s, key)
		if err != nil {
			return nil, err
		}
		var versions []string
		for _, v := range slices.Backward(state.Status.Versions) {
			versions = append(versions, strconv.FormatInt(v.Version, 10))
		}
		return versions, nil
	}
}

// completeAddresses completes a State and then addresses of its resources.
func completeAddresses(ctx context.Context, s *session.Session, args []string) ([]string, error) {
	if len(args) == 0 {
		return completeStates(ctx, s, args)
	}
	key, err := stateKey(s, args[0])
	if err != nil {
		return nil, err
	}
	state, err := readState(ctx, s, key, 0)
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, r := range state.Resources {
		addresses = append(addresses, r.Address)
	}
	return addresses, nil
}
