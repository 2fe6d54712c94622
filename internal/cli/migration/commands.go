// Package migration describes `cairn migrate` and `cairn generate`: their flags, help and completion. The program
// cairn-migrate, of the module cairn.dev/cairn/migrate, has what they do.
package migration

import (
	"context"

	"github.com/spf13/cobra"

	"cairn.dev/cairn/internal/cli/session"
)

// Program is the name of the program that runs the commands.
const Program = "cairn-migrate"

// Systems are the names of the systems whose objects are converted.
const Systems = "alustan, burrito, terraform-operator, tofu-controller, tf-operator"

// Actions are what the commands do.
type Actions struct {
	Migrate  func(ctx context.Context, o MigrateOptions) error
	Generate func(ctx context.Context, directory string, o GenerateOptions) error
}

// MigrateOptions are the flags of `cairn migrate`.
type MigrateOptions struct {
	// Files are files and directories with objects; - is standard input.
	Files []string
	// FromCluster converts the objects in the cluster, of all namespaces with AllNamespaces.
	FromCluster, AllNamespaces bool
	// KeepApply keeps the settings of the objects for applies and deletion.
	KeepApply bool
	// Format of the output; empty for manifests.
	Format string
}

// GenerateOptions are the flags of `cairn generate`.
type GenerateOptions struct {
	// Repository is its URL, and Ref a branch, tag or commit of it; empty for those of the Git remote.
	Repository, Ref string
	// StackSet writes one StackSet in place of the Stacks that can share a template.
	StackSet bool
	// Format of the output; empty for manifests.
	Format string
}

// Commands returns the commands.
func Commands(s *session.Session, a Actions) []*cobra.Command {
	return []*cobra.Command{migrateCommand(s, a), generateCommand(s, a)}
}

func migrateCommand(s *session.Session, a Actions) *cobra.Command {
	var o MigrateOptions
	cmd := &cobra.Command{
		Use:   "migrate (-f FILE... | --from-cluster)",
		Short: "Convert objects of another system to Stacks",
		Long: `Generates Stacks and Repositories from objects of ` + Systems + `, and changes nothing. It writes
manifests to standard output, and for each field a note to standard error: its new field, or why there is none and what
to do. States remain in their backends if the engine can use those.

The Stacks are safe during the migration: a plan with changes waits (apply: Manual), and deleting a Stack keeps its
resources (deletionPolicy: Orphan). --keep-apply keeps these settings of the objects.

Values of Secrets are never read: of a Secret in a file, only the names of its keys are used, and --from-cluster does not
read Secrets. It lists the resources above that the cluster has, and reads the sources and ConfigMaps that they name. If
an input has an error, nothing is printed.`,
		Example: s.Examples(`
			cairn migrate -f terraform.yaml > stacks.yaml
			cairn migrate -f manifests/ -n infra 2> notes.txt
			kubectl get terraforms -A -o yaml | cairn migrate -f -
			cairn migrate --from-cluster -A
			cairn migrate --from-cluster -n infra --keep-apply | kubectl apply -f -`),
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 || len(o.Files) == 0 && !o.FromCluster {
				return session.Usage(cmd)
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.Migrate(cmd.Context(), o)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	f := cmd.Flags()
	f.StringArrayVarP(&o.Files, "filename", "f", nil,
		"file with objects, directory that is searched for *.yaml, *.yml and *.json files, or - for standard input")
	f.BoolVar(&o.FromCluster, "from-cluster", false, "convert the objects in the cluster")
	f.BoolVarP(&o.AllNamespaces, "all-namespaces", "A", false, "with --from-cluster: in all namespaces")
	f.BoolVar(&o.KeepApply, "keep-apply", false,
		"keep the settings of the objects for applies and deletion, in place of Manual and Orphan")
	session.AddFormatFlag(cmd, &o.Format)
	f.Lookup("output").Usage += ": one document with objects and notes on standard output"
	cmd.MarkFlagsMutuallyExclusive("filename", "from-cluster")
	return cmd
}

func generateCommand(s *session.Session, a Actions) *cobra.Command {
	var o GenerateOptions
	cmd := &cobra.Command{
		Use:   "generate DIR",
		Short: "Generate a Stack for each root module in a directory",
		Long: `Finds the root modules in DIR and its subdirectories, and writes the manifests of one Stack for each and of
one Repository to standard output. Standard error gets what was found, what was skipped and why, and what you have to
do. The command changes neither the cluster nor the code, and imports no resources.

A root module is a directory with code that has a backend block, or that no other directory calls as a module; with a
terragrunt.hcl that has a source, Terragrunt runs it, and the directory of that source is no root module. Where the code
has a backend block, the state stays there (backend: {fromCode: true}); otherwise Cairn stores the state.

The repository's URL is that of git's remote origin, unless --repository is set. Plans wait for an approval (apply:
Manual), and deleting a Stack keeps its resources (deletionPolicy: Orphan), until you change these fields.

With --stackset it writes one StackSet in place of the Stacks that differ only in their names and directories. Its
patterns match exactly their directories: what else they would match is excluded. Root modules with other settings keep
a Stack of their own. cairn preview FILE shows the Stacks that the StackSet generates.`,
		Example: s.Examples(`
			cairn generate . > stacks.yaml
			cairn generate envs/prod -n prod
			cairn generate . --stackset > stackset.yaml
			cairn generate . --repository https://git.example.com/acme/infra.git --ref main`),
		Args: s.MaxArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.Generate(cmd.Context(), args[0], o)
		},
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 0 {
				return nil, cobra.ShellCompDirectiveFilterDirs
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.Repository, "repository", "",
		"URL of the repository, for example https://git.example.com/acme/infra.git; default: that of git's "+
			"remote origin")
	f.StringVar(&o.Ref, "ref", "", "branch, tag or commit of the Repository; default: the remote's default branch")
	f.BoolVar(&o.StackSet, "stackset", false, "write one StackSet in place of the Stacks that can share a template")
	session.AddFormatFlag(cmd, &o.Format)
	f.Lookup("output").Usage += ": one document with objects and notes on standard output"
	return cmd
}
