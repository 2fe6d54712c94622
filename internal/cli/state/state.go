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
command has its own verb on states; docs/state.md lists them.

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

// getState returns the State with a name. It may exist without its Stack, if that was deleted and its resources were
// not.
func getState(ctx context.Context, s *session.Session, key client.ObjectKey) (*v1alpha1.State, error) {
	c, err := s.Kubernetes()
	if err != nil {
		return nil, err
	}
	state := &v1alpha1.State{}
	err = c.Get(ctx, key, state)
	if apierrors.IsNotFound(err) {
		return nil, noState(ctx, s, key, err)
	}
	return state, s.Explain(err)
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
	server, err := s.Server(ctx)
	if err != nil {
		return nil, err
	}
	data, err := server.State(ctx, key.Namespace, key.Name, version)
	if version == 0 && session.HasCode(err, http.StatusNotFound) {
		return nil, noState(ctx, s, key, err)
	}
	return data, s.ExplainServer(err)
}

// pullRescued returns the state that an attempt could not save.
func pullRescued(ctx context.Context, s *session.Session, key client.ObjectKey) ([]byte, error) {
	server, err := s.Server(ctx)
	if err != nil {
		return nil, err
	}
	data, err := server.RescuedState(ctx, key.Namespace, key.Name)
	return data, s.ExplainServer(err)
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
		return 0, fmt.Errorf("%q is not a version of a state: versions are numbers from 1; cairn state history lists them",
			text)
	}
	return version, nil
}

// yesFlag adds the flag --yes of commands that ask for a confirmation.
func yesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVarP(yes, "yes", "y", false, "do not ask")
}

// printVersion prints the new version of a state.
func printVersion(s *session.Session, format string, key client.ObjectKey, v userapi.StateVersion) error {
	if format != "" {
		return s.PrintValue(format, v)
	}
	_, err := fmt.Fprintf(s.Out, "State %s is at version %d now: serial %d, %s.\n",
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
	if len(args) > 0 {
		return nil, nil
	}
	return stateNames(ctx, s)
}

func stateNames(ctx context.Context, s *session.Session) ([]string, error) {
	c, err := s.Kubernetes()
	if err != nil {
		return nil, err
	}
	ns, err := s.Namespace()
	if err != nil {
		return nil, err
	}
	var states v1alpha1.StateList
	if err := c.List(ctx, &states, client.InNamespace(ns)); err != nil {
		return nil, err
	}
	var names []string
	for _, state := range states.Items {
		names = append(names, state.Name)
	}
	return names, nil
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
		return stateNames(ctx, s)
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
