// Package check checks whether a cluster is ready for an installation of Cairn.
package check

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/base/version"
	"cairn.dev/cairn/internal/cli/screen"
	"cairn.dev/cairn/internal/cli/session"
)

// defaultNamespace is the namespace of the documentation, which the namespace of a user's context is not.
const defaultNamespace = "cairn-system"

// Command returns the command check.
func Command(s *session.Session) *cobra.Command {
	var release, bucket string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check whether a cluster is ready for an installation of Cairn",
		Long: `Checks the cluster of your kubeconfig before you install or upgrade Cairn: the version of Kubernetes, your permissions,
CRDs of another version or release, other installations, nodes, storage, and admission webhooks. It changes nothing.

Each line is OK, a warning or an error, with what to do. What cannot be read is a warning: it is not verified. The exit
code is 1 if a line is an error. -n is the namespace to install into, by default cairn-system.`,
		Example: s.Examples(`
			cairn check
			cairn check --bucket 's3://acme-cairn?region=eu-west-1' -n tools`),
		Args:              session.NoArgs,
		ValidArgsFunction: cobra.NoFileCompletions,
		RunE: func(cmd *cobra.Command, _ []string) error {
			namespace := s.Overrides.Context.Namespace
			if namespace == "" {
				namespace = defaultNamespace
			}
			f := Facts{Program: version.Version, Release: release, Namespace: namespace, Bucket: bucket}
			return run(cmd.Context(), s, f)
		},
	}
	cmd.Flags().StringVar(&release, "release", "cairn", "name of the Helm release to install")
	cmd.Flags().StringVar(&bucket, "bucket", "", "value bucket.url of the chart; default: a volume")
	return cmd
}

func run(ctx context.Context, s *session.Session, f Facts) error {
	f, err := gather(ctx, s, f)
	if err != nil {
		return err
	}
	results := Decide(f)
	if err := write(s.Text(), results); err != nil {
		return err
	}
	count := map[Level]int{}
	for _, r := range results {
		count[r.Level]++
	}
	if count[Error] > 0 {
		return fmt.Errorf("the cluster is not ready for Cairn: %d errors, %d warnings", count[Error], count[Warning])
	}
	s.Note("The cluster is ready for Cairn: no errors, %d warnings.", count[Warning])
	return nil
}

// write prints the results, each with what to do below it.
func write(to io.Writer, results []Result) error {
	out := tabwriter.NewWriter(to, 0, 8, 2, ' ', 0)
	for _, r := range results {
		fmt.Fprintf(out, "%s\t%s\t%s\n", r.Level, r.Check, screen.Clean(r.Message))
		if r.ToDo != "" {
			fmt.Fprintf(out, "\t\t-> %s\n", screen.Clean(r.ToDo))
		}
	}
	return out.Flush()
}
