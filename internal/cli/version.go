package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
)

// versionTimeout is how long the command waits for the server.
const versionTimeout = 10 * time.Second

func versionCommand(s *session.Session) *cobra.Command {
	var client bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the versions of this program and of the server",
		Long: `Prints the version of this program, and that of the server of the cluster. If the server's cannot be read, it prints
why, and the exit code is 1. Where no cluster is configured there is no server to ask, and the exit code is 0. cairn --version
prints only that of this program.`,
		Example: s.Examples(`
			cairn version
			cairn version --client`),
		Args:              session.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if client {
				fmt.Fprintln(s.Out, version.Version)
				return nil
			}
			fmt.Fprintf(s.Out, "Client: %s\n", version.Version)
			server, err := serverVersion(cmd.Context(), s)
			switch {
			case errors.Is(err, session.ErrNoCluster):
				fmt.Fprintln(s.ErrOut, "Server: not asked:", err)
				return nil
			case err != nil:
				return fmt.Errorf("the version of the server cannot be read: %w", err)
			}
			fmt.Fprintf(s.Text(), "Server: %s\n", server)
			return nil
		},
	}
	cmd.Flags().BoolVar(&client, "client", false, "only the version of this program, without a request")
	return cmd
}

// serverVersion reads the version of the server of the cluster.
func serverVersion(ctx context.Context, s *session.Session) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	server, err := s.Server(ctx)
	if err != nil {
		return "", s.Explain(err)
	}
	build, err := server.Build(ctx)
	if session.HasCode(err, http.StatusNotFound) {
		return "", fmt.Errorf("it is older than this program, and does not report it: update it, or read the tag " +
			"of its image")
	}
	return screen.Clean(build.Version), s.ExplainServer(err)
}
